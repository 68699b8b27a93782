//! `vedette issue`: shows issues, and acknowledges, resolves and snoozes them.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use uuid::Uuid;
use vedette_actions::Decision;
use vedette_domain::accounts::account::Permission;
use vedette_domain::accounts::audit::Actor;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{IssueId, SiteId, TeamId, UserId};
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{Fingerprint, IssueStatus, Severity};
use vedette_domain::sites::site::Site;
use vedette_domain::time::{wire_time, wire_time_or_null};
use vedette_runtime::App;
use vedette_store::{DirectoryRow, IndexRow, IssueWithSite, StoreError, budget, retry_on_conflict};

use crate::output::{Output, Show, moment, moment_or_dash, table};
use crate::{Failure, args, member, output, team, user};

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
    /// NoVote the reminders of an active issue for a while
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
                Ok(out.show(&Shown::new(&seen.issue, &seen.site))?)
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

async fn list(app: &App, team: TeamId, all: bool) -> Result<Vec<Row>, Failure> {
    let sites = team::find(app, team).await?.team.sites as usize;
    let mut issues = app.store.issue_index(team, true).await?;
    if all {
        issues.extend(app.store.issue_index(team, false).await?);
    }
    issues.sort_by_key(|issue| std::cmp::Reverse((issue.opened_at, issue.id)));
    let directory = app.store.directory(team, sites).await?;
    let sites: BTreeMap<SiteId, DirectoryRow> =
        directory.into_iter().map(|row| (row.id, row)).collect();
    Ok(issues.iter().map(|issue| Row::listed(issue, sites.get(&issue.site))).collect())
}

/// Makes a decision in the name of a member, if their role allows it.
async fn decide(app: &App, act: &Act, decision: fn(UserId) -> Decision) -> Result<Shown, Failure> {
    carry_out(app, act.issue, async |found| {
        Ok(decision(actor(app, &found.site, &act.email).await?))
    })
    .await
}

/// Silences the reminders of an issue, or sends them again.
async fn snooze(app: &App, issue: Uuid, end: &SnoozeEnd) -> Result<Shown, Failure> {
    carry_out(app, issue, async |_| Ok(Decision::Snooze(end.at(app.clock.now())?))).await
}

/// Makes a decision. If a check or another person has changed the same records in the meantime, decides again on their
/// new state.
async fn carry_out(
    app: &App,
    issue: Uuid,
    decision: impl AsyncFn(&IssueWithSite) -> Result<Decision, Failure>,
) -> Result<Shown, Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let found = read(app, issue).await?;
        let decision = decision(&found).await?;
        let now = app.clock.now();
        let team = app.store.team(found.site.team, now).await?.ok_or(StoreError::STALE)?;
        let decided =
            vedette_actions::decide(app, &team.team, &found, decision, Actor::Operator, now);
        Ok(Shown::new(&decided.await?.after, &found.site))
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

#[derive(Serialize)]
struct Row {
    uuid: IssueId,
    site: SiteRef,
    tool: Tool,
    fingerprint: Fingerprint,
    severity: Severity,
    status: IssueStatus,
    #[serde(serialize_with = "wire_time")]
    opened_at: Timestamp,
}

/// A site, without name and URL if it was deleted while the list was read.
#[derive(Serialize)]
struct SiteRef {
    uuid: SiteId,
    name: Option<String>,
    url: Option<String>,
}

impl Row {
    fn listed(issue: &IndexRow, site: Option<&DirectoryRow>) -> Self {
        let site = SiteRef {
            uuid: issue.site,
            name: site.map(|row| row.name.clone()),
            url: site.map(|row| row.url.to_string()),
        };
        Self::new((issue.id, issue.severity()), issue.status, issue.opened_at, site)
    }

    fn new(
        (uuid, severity): (IssueId, Severity),
        status: IssueStatus,
        opened_at: Timestamp,
        site: SiteRef,
    ) -> Self {
        let fingerprint = uuid.fingerprint();
        let tool = fingerprint.tool();
        Self { uuid, site, tool, fingerprint, severity, status, opened_at }
    }
}

impl Show for Vec<Row> {
    fn text(&self) -> String {
        if self.is_empty() {
            return "There are no issues.\n".to_owned();
        }
        let rows = self.iter().map(|issue| {
            [
                issue.uuid.to_string(),
                issue.status.to_string(),
                issue.severity.to_string(),
                issue.fingerprint.to_string(),
                issue.site.url.clone().unwrap_or_else(|| issue.site.uuid.to_string()),
                moment(issue.opened_at),
            ]
        });
        table(["ISSUE", "STATUS", "SEVERITY", "WHAT", "SITE", "OPENED"], rows)
    }
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    row: Row,
    summary: String,
    #[serde(serialize_with = "wire_time")]
    first_failed_at: Timestamp,
    #[serde(serialize_with = "wire_time_or_null")]
    acknowledged_at: Option<Timestamp>,
    #[serde(serialize_with = "wire_time_or_null")]
    resolved_at: Option<Timestamp>,
    #[serde(serialize_with = "wire_time_or_null")]
    snoozed_until: Option<Timestamp>,
}

impl Shown {
    fn new(issue: &Issue, site: &Site) -> Self {
        let Site { id, name, url, .. } = site;
        let site = SiteRef { uuid: *id, name: Some(name.clone()), url: Some(url.to_string()) };
        let Issue { id, lifecycle, summary, .. } = issue;
        let status = issue.status();
        Self {
            row: Row::new((*id, issue.severity()), status, lifecycle.opened_at(), site),
            summary: summary.clone(),
            first_failed_at: issue.first_failed_at(),
            acknowledged_at: lifecycle.acknowledgement().map(|taken| taken.at),
            resolved_at: lifecycle.resolved_at(),
            snoozed_until: issue.snoozed_until,
        }
    }
}

impl Show for Shown {
    fn text(&self) -> String {
        let Row { uuid, site, fingerprint, severity, status, opened_at, .. } = &self.row;
        output::record([
            ("issue", uuid.to_string()),
            ("site", site.url.clone().unwrap_or_default()),
            ("what", format!("{fingerprint}, {severity}")),
            ("summary", self.summary.clone()),
            ("status", status.to_string()),
            ("failing since", moment(self.first_failed_at)),
            ("opened", moment(*opened_at)),
            ("acknowledged", moment_or_dash(self.acknowledged_at)),
            ("resolved", moment_or_dash(self.resolved_at)),
            ("snoozed until", moment_or_dash(self.snoozed_until)),
        ])
    }
}

#[cfg(test)]
mod tests;
