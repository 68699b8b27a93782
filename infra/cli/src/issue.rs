//! `vedette issue`: shows issues, and acknowledges, resolves and snoozes them.

use std::cmp::Reverse;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;
use vedette_domain::id::TeamId;
use vedette_domain::time::wire;

use crate::api::{Api, Call};
use crate::output::{Output, Record, Records, instant_at, moment};
use crate::{Failure, args};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List a team's issues, newest first
    List {
        /// The team
        #[arg(long, value_parser = args::team_id)]
        team: TeamId,
        /// Include resolved issues
        #[arg(long)]
        all: bool,
    },
    /// Show an issue
    Show {
        /// The issue
        #[arg(value_parser = args::issue_id)]
        issue: Uuid,
    },
    /// Acknowledge an open issue
    Ack {
        #[command(flatten)]
        act: Act,
    },
    /// Undo an acknowledgement, so that reminders are sent again
    Unack {
        #[command(flatten)]
        act: Act,
    },
    /// Resolve an issue; failures then count from zero
    Resolve {
        #[command(flatten)]
        act: Act,
    },
    /// Add a note to an issue, which its team sees
    Note {
        /// The issue
        #[arg(value_parser = args::issue_id)]
        issue: Uuid,
        /// The text
        text: String,
    },
    /// Silence the reminders of an active issue for a while
    Snooze {
        /// The issue
        #[arg(value_parser = args::issue_id)]
        issue: Uuid,
        #[command(flatten)]
        end: SnoozeEnd,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct SnoozeEnd {
    /// When reminders start again: 2026-11-20T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = args::instant)]
    until: Option<Timestamp>,
    /// For how long: 2h, 90m, 3d
    #[arg(long = "for", value_name = "DURATION", value_parser = args::duration)]
    duration: Option<SignedDuration>,
    /// Send reminders again
    #[arg(long)]
    off: bool,
}

impl SnoozeEnd {
    /// Until when there are no reminders. `None` to send them.
    fn at(&self, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
        let until = match (self.until, self.duration) {
            (Some(until), _) => until,
            (_, Some(duration)) => now.checked_add(duration).map_err(Failure::because)?,
            _ => return Ok(None),
        };
        if until <= now {
            return Err(Failure::Usage(format!("{} is in the past", moment(until))));
        }
        Ok(Some(until))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Act {
    /// The issue
    #[arg(value_parser = args::issue_id)]
    issue: Uuid,
    /// Email address of the member who does this: anybody in the site's team except viewers. With --url, the owner of the
    /// token does it
    #[arg(long = "as", value_name = "EMAIL", value_parser = args::email)]
    email: Option<String>,
}

impl Command {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let shown = match self {
            Self::List { team, all } => return Ok(out.show(&list(api, *team, *all).await?)?),
            Self::Show { issue } => api.call(&Call::to("issues.get").of("issue", issue)).await?,
            Self::Snooze { issue, end } => {
                let until = end.at(api.now())?;
                let snooze = Call::to("issues.snooze").of("issue", issue);
                api.call(&snooze.sending(json!({ "until": until.map(wire) }))).await?
            }
            Self::Note { issue, text } => {
                let note = Call::to("issues.note").of("issue", issue);
                api.call(&note.sending(json!({ "note": text }))).await?
            }
            Self::Ack { act } => act.carry_out(api, Call::to("issues.acknowledge")).await?,
            Self::Unack { act } => act.carry_out(api, Call::to("issues.unacknowledge")).await?,
            Self::Resolve { act } => act.carry_out(api, Call::to("issues.resolve")).await?,
        };
        Ok(out.show(&issue(shown))?)
    }
}

impl Act {
    async fn carry_out(&self, api: &Api<'_>, call: Call) -> Result<Value, Failure> {
        let api = api.acting_as("--as", self.email.as_deref()).await?;
        api.call(&call.of("issue", self.issue)).await
    }
}

async fn list(api: &Api<'_>, team: TeamId, all: bool) -> Result<Records<Value>, Failure> {
    let states = if all { &["active", "resolved"][..] } else { &["active"] };
    let mut issues = Vec::new();
    for state in states {
        let call = Call::to("issues.list").with("team", team).with("status", state);
        let call = call.with("include", "heartbeats");
        issues.extend(api.all(&call).await?);
    }
    issues.sort_by_key(|issue| Reverse(instant_at(issue, "/opened_at")));
    let labels = &["issue", "status", "severity", "what", "site", "opened"];
    Ok(Records::new("There are no issues.\n", labels, issues.into_iter().map(issue)))
}

fn issue(issue: Value) -> Record<Value> {
    let about = if issue["site"].is_null() { "/heartbeat/name" } else { "/site/url" };
    Record::of(issue)
        .field("issue", "/uuid")
        .field("status", "/status")
        .field("severity", "/severity")
        .field("what", "/fingerprint")
        .field("site", about)
        .instant("opened", "/opened_at")
        .field("summary", "/summary")
        .instant("acknowledged", "/acknowledged_at")
        .instant("resolved", "/resolved_at")
        .instant("snoozed until", "/snoozed_until")
}

#[cfg(test)]
mod tests;
