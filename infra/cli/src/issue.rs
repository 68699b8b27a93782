//! `vedette issue`: what is wrong with sites, and the people who take it.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use uuid::Uuid;
use vedette_domain::account::Permission;
use vedette_domain::id::{IssueId, SiteId, TeamId, UserId};
use vedette_domain::issue::record::{self, Issue, IssueChange};
use vedette_domain::issue::{Fingerprint, InvalidTransition, IssueStatus, Severity};
use vedette_domain::site::Site;
use vedette_domain::tool::Tool;
use vedette_runs::enqueue_alert;
use vedette_runtime::App;
use vedette_store::{DirectoryRow, IndexRow, SiteWithTools, StoreError, budget, retry_on_conflict};

use crate::output::{Output, Show, moment, moment_or_dash, table, wire};
use crate::{Failure, args, member, output, team, user};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List a team's issues, those opened last first
    List {
        /// The team
        #[arg(long, value_parser = args::team_id)]
        team: TeamId,
        /// Also those that are resolved
        #[arg(long)]
        all: bool,
    },
    /// Show an issue
    Show {
        /// The issue
        #[arg(value_parser = args::issue_id)]
        issue: Uuid,
    },
    /// Take an open issue
    Ack {
        #[command(flatten)]
        act: Act,
    },
    /// Say that an issue is over; the next checks begin to count anew
    Resolve {
        #[command(flatten)]
        act: Act,
    },
    /// Send no reminders of an active issue for a while
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
    /// The instant of the next reminder at the earliest, in the future
    #[arg(long, value_name = "TIME", value_parser = args::instant)]
    until: Option<Timestamp>,
    /// How long: 2h, 90m, 3d
    #[arg(long = "for", value_name = "DURATION", value_parser = args::duration)]
    duration: Option<SignedDuration>,
    /// Send reminders again
    #[arg(long)]
    off: bool,
}

impl SnoozeEnd {
    /// Until when there are no reminders; none where they are sent.
    fn at(&self, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
        let until = match (self.until, self.duration) {
            (Some(until), _) => until,
            (_, Some(duration)) => now.checked_add(duration).map_err(Failure::because)?,
            _ => return Ok(None),
        };
        if until <= now {
            return Err(Failure::Usage(format!("{} is past", moment(until))));
        }
        Ok(Some(until))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Act {
    /// The issue
    #[arg(value_parser = args::issue_id)]
    issue: Uuid,
    /// Address of who does it: a member of the site's team, and more than a viewer
    #[arg(long = "as", value_name = "EMAIL", value_parser = args::email)]
    email: String,
}

#[derive(Debug, Clone, Copy)]
enum Decision {
    Acknowledge,
    Resolve,
}

impl Command {
    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        match self {
            Self::List { team, all } => Ok(out.show(&list(app, *team, *all).await?)?),
            Self::Show { issue } => {
                let seen = Seen::read(app, *issue).await?;
                Ok(out.show(&Shown::new(&seen, &seen.issue))?)
            }
            Self::Snooze { issue, end } => Ok(out.show(&snooze(app, *issue, end).await?)?),
            Self::Ack { act } => Ok(out.show(&decide(app, act, Decision::Acknowledge).await?)?),
            Self::Resolve { act } => Ok(out.show(&decide(app, act, Decision::Resolve).await?)?),
        }
    }
}

async fn list(app: &App, team: TeamId, all: bool) -> Result<Vec<Row>, Failure> {
    team::find(app, team).await?;
    let mut issues = app.store.issue_index(team, true).await?;
    if all {
        issues.extend(app.store.issue_index(team, false).await?);
    }
    issues.sort_by_key(|issue| std::cmp::Reverse((issue.opened_at, issue.id)));
    let directory = app.store.directory(team).await?;
    let sites: BTreeMap<SiteId, DirectoryRow> =
        directory.into_iter().map(|row| (row.id, row)).collect();
    Ok(issues.iter().map(|issue| Row::listed(issue, sites.get(&issue.site))).collect())
}

/// Decides, and decides again on what is there by then, where a check or another person wrote the
/// same records meanwhile.
async fn decide(app: &App, act: &Act, decision: Decision) -> Result<Shown, Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let seen = Seen::read(app, act.issue).await?;
        let by = actor(app, &seen.stored.site, &act.email).await?;
        let change =
            decision.on(seen.issue.clone(), by, app.clock.now()).map_err(Failure::because)?;
        seen.commit(app, decision, &change).await?;
        enqueue_alert(app, &seen.stored.site, &change).await;
        Ok(Shown::new(&seen, &change.after))
    })
    .await
}

/// Silences the reminders of an issue, or has them sent again.
async fn snooze(app: &App, issue: Uuid, end: &SnoozeEnd) -> Result<Shown, Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let seen = Seen::read(app, issue).await?;
        let now = app.clock.now();
        let change =
            record::snooze(seen.issue.clone(), end.at(now)?, now).map_err(Failure::because)?;
        let site = &seen.stored.site;
        app.store.commit_issue(site, &change, None).await?;
        enqueue_alert(app, site, &change).await;
        Ok(Shown::new(&seen, &change.after))
    })
    .await
}

impl Decision {
    fn on(
        self,
        issue: Issue,
        by: UserId,
        now: Timestamp,
    ) -> Result<IssueChange, InvalidTransition> {
        match self {
            Self::Acknowledge => record::acknowledge(issue, by, now),
            Self::Resolve => record::resolve(issue, by, now),
        }
    }
}

/// An issue as it was read, with the site it is about.
struct Seen {
    issue: Issue,
    fingerprint: Fingerprint,
    stored: SiteWithTools,
}

impl Seen {
    async fn read(app: &App, uuid: Uuid) -> Result<Self, Failure> {
        let unknown = || Failure::refused(format!("there is no issue {uuid}"));
        let id = IssueId::try_from(uuid).map_err(|_| unknown())?;
        let fingerprint = id.fingerprint();
        let issue = app.store.issue(id.partition(), fingerprint).await?;
        // Whether the site is still there is known after the issue only.
        let stored = app.store.site(id.partition()).await?.ok_or_else(unknown)?;
        let issue = issue.filter(|issue| issue.id == id).ok_or_else(unknown)?;
        Ok(Self { issue, fingerprint, stored })
    }

    async fn commit(
        &self,
        app: &App,
        decision: Decision,
        change: &IssueChange,
    ) -> Result<(), StoreError> {
        let site = &self.stored.site;
        match decision {
            Decision::Acknowledge => app.store.commit_issue(site, change, None).await,
            Decision::Resolve => {
                let tool = self.fingerprint.tool();
                let read = self.stored.tool(tool)?;
                let next = read.resolved_by_hand(self.fingerprint);
                app.store.commit_issue(site, change, Some((tool, read, &next))).await
            }
        }
    }
}

/// The user who acts, where they may: issues are handled by those who may run checks.
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
    #[serde(serialize_with = "wire::serialize")]
    opened_at: Timestamp,
}

/// A site; without name and URL where it was deleted while the list was read.
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
        Self::new(issue.id, issue.fingerprint, issue.status, issue.opened_at, site)
    }

    const fn new(
        uuid: IssueId,
        fingerprint: Fingerprint,
        status: IssueStatus,
        opened_at: Timestamp,
        site: SiteRef,
    ) -> Self {
        let (tool, severity) = (fingerprint.tool(), fingerprint.severity());
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
    #[serde(serialize_with = "wire::optional::serialize")]
    acknowledged_at: Option<Timestamp>,
    #[serde(serialize_with = "wire::optional::serialize")]
    resolved_at: Option<Timestamp>,
    #[serde(serialize_with = "wire::optional::serialize")]
    snoozed_until: Option<Timestamp>,
}

impl Shown {
    fn new(seen: &Seen, after: &Issue) -> Self {
        let Site { id, name, url, .. } = &seen.stored.site;
        let site = SiteRef { uuid: *id, name: Some(name.clone()), url: Some(url.to_string()) };
        let Issue { id, lifecycle, summary, .. } = after;
        Self {
            row: Row::new(*id, seen.fingerprint, after.status(), lifecycle.opened_at(), site),
            summary: summary.clone(),
            acknowledged_at: lifecycle.acknowledgement().map(|taken| taken.at),
            resolved_at: lifecycle.resolved_at(),
            snoozed_until: after.snoozed_until,
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
            ("opened", moment(*opened_at)),
            ("acknowledged", moment_or_dash(self.acknowledged_at)),
            ("resolved", moment_or_dash(self.resolved_at)),
            ("snoozed until", moment_or_dash(self.snoozed_until)),
        ])
    }
}

#[cfg(test)]
mod tests;
