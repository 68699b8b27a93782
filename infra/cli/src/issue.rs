//! `vedette issue`: shows issues, and acknowledges, resolves and snoozes them.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use uuid::Uuid;
use vedette_actions::Decision;
use vedette_domain::accounts::account::Permission;
use vedette_domain::accounts::audit::By;
use vedette_domain::id::{IssueId, SiteId, TeamId, UserId};
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{IssueStatus, Severity};
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_runtime::App;
use vedette_store::{DirectoryRow, IssueWithSite, StoreError, budget, retry_on_conflict};

use crate::output::{Output, Record, Records, moment};
use crate::{Failure, args, member, team, user};

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
    /// Email address of the member who does this: anybody in the site's team except viewers
    #[arg(long = "as", value_name = "EMAIL", value_parser = args::email)]
    email: String,
}

impl Command {
    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        match self {
            Self::List { team, all } => Ok(out.show(&list(app, *team, *all).await?)?),
            Self::Show { issue } => {
                let seen = read(app, *issue).await?;
                Ok(out.show(&shown(&seen.issue, &seen.site))?)
            }
            Self::Snooze { issue, end } => Ok(out.show(&snooze(app, *issue, end).await?)?),
            Self::Ack { act } => Ok(out.show(&decide(app, act, Decision::Acknowledge).await?)?),
            Self::Unack { act } => {
                Ok(out.show(&decide(app, act, |_| Decision::Unacknowledge).await?)?)
            }
            Self::Resolve { act } => Ok(out.show(&decide(app, act, Decision::Resolve).await?)?),
        }
    }
}

async fn list(app: &App, team: TeamId, all: bool) -> Result<Records, Failure> {
    let sites = team::find(app, team).await?.team.sites as usize;
    let mut issues = app.store.issue_index(team, true).await?;
    if all {
        issues.extend(app.store.issue_index(team, false).await?);
    }
    issues.sort_by_key(|issue| std::cmp::Reverse((issue.opened_at, issue.id)));
    let directory = app.store.directory(team, sites).await?;
    let sites: BTreeMap<SiteId, DirectoryRow> =
        directory.into_iter().map(|row| (row.id, row)).collect();
    let shown = issues.iter().map(|issue| {
        let known = sites.get(&issue.site).map(|row| (&*row.name, &row.url));
        listed(issue.id, issue.severity(), issue.status, issue.opened_at, issue.site, known)
    });
    let labels = &["issue", "status", "severity", "what", "site", "opened"];
    Ok(Records::new("There are no issues.\n", labels, shown))
}

/// Makes a decision in the name of a member, if their role allows it.
async fn decide(app: &App, act: &Act, decision: fn(UserId) -> Decision) -> Result<Record, Failure> {
    carry_out(app, act.issue, async |found| {
        Ok(decision(actor(app, &found.site, &act.email).await?))
    })
    .await
}

/// Silences the reminders of an issue, or sends them again.
async fn snooze(app: &App, issue: Uuid, end: &SnoozeEnd) -> Result<Record, Failure> {
    carry_out(app, issue, async |_| Ok(Decision::Snooze(end.at(app.clock.now())?))).await
}

/// Makes a decision. If a check or another person has changed the same records in the meantime, decides again on their
/// new state.
async fn carry_out(
    app: &App,
    issue: Uuid,
    decision: impl AsyncFn(&IssueWithSite) -> Result<Decision, Failure>,
) -> Result<Record, Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let found = read(app, issue).await?;
        let decision = decision(&found).await?;
        let now = app.clock.now();
        let team = app.store.team(found.site.team, now).await?.ok_or(StoreError::STALE)?;
        let decided = vedette_actions::decide(app, &team.team, &found, decision, By::operator(now));
        Ok(shown(&decided.await?.after, &found.site))
    })
    .await
}

async fn read(app: &App, uuid: Uuid) -> Result<IssueWithSite, Failure> {
    let found = match IssueId::try_from(uuid) {
        Ok(id) => app.store.issue_with_site(id).await?,
        Err(_) => None,
    };
    found.ok_or_else(|| Failure::refused(format!("there is no issue {uuid}")))
}

/// The user who acts. They need the same permission as for running checks.
async fn actor(app: &App, site: &Site, email: &str) -> Result<UserId, Failure> {
    let user = user::by_email(app, email).await?;
    match member::role_in(app, site.team, user.id).await? {
        Some(role) if role.grants(Permission::RunChecks) => Ok(user.id),
        Some(_) => Err(Failure::refused(format!("{email} is only a viewer in the site's team"))),
        None => Err(Failure::refused(format!("{email} is not a member of the site's team"))),
    }
}

/// The fields of an issue in a list. A site that was deleted while the list was read has neither name nor URL.
fn listed(
    id: IssueId,
    severity: Severity,
    status: IssueStatus,
    opened_at: Timestamp,
    site: SiteId,
    known: Option<(&str, &SiteUrl)>,
) -> Record {
    let (name, url) = known.map(|(name, url)| (name, url.as_str())).unzip();
    let text = url.map_or_else(|| site.to_string(), str::to_owned);
    let fingerprint = id.fingerprint();
    Record::default()
        .with("uuid", "issue", id.to_string())
        .with("status", "status", status.to_string())
        .with("severity", "severity", severity.to_string())
        .with("tool", "", fingerprint.tool().as_str())
        .with("fingerprint", "what", fingerprint.to_string())
        .worded("site", "site", json!({ "uuid": site, "name": name, "url": url }), text)
        .at("opened_at", "opened", opened_at)
}

fn shown(issue: &Issue, site: &Site) -> Record {
    let Issue { lifecycle, summary, snoozed_until, .. } = issue;
    let (severity, known) = (issue.severity(), Some((&*site.name, &site.url)));
    listed(issue.id, severity, issue.status(), lifecycle.opened_at(), site.id, known)
        .at("first_failed_at", "failing since", issue.first_failed_at())
        .with("summary", "summary", summary.as_str())
        .at("acknowledged_at", "acknowledged", lifecycle.acknowledgement().map(|taken| taken.at))
        .at("resolved_at", "resolved", lifecycle.resolved_at())
        .at("snoozed_until", "snoozed until", *snoozed_until)
}

#[cfg(test)]
mod tests;
