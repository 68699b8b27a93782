//! Decisions about issues.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By, IssueDecision};
use vedette_domain::accounts::team::Team;
use vedette_domain::id::{IssueId, UserId};
use vedette_domain::issues::Responder;
use vedette_domain::issues::act::{Act, ActKind};
use vedette_domain::issues::note::Note;
use vedette_domain::issues::record::{self, Issue, IssueChange};
use vedette_domain::monitor::MonitorRef;
use vedette_runs::enqueue_alert;
use vedette_runtime::App;
use vedette_store::{Audit, IssueWithMonitor, budget, retry_on_conflict};

use crate::{ActionError, DecisionError, Fault};

/// The most issues that are acknowledged at once. They take a few seconds, and a Lambda function has 30.
pub const ACKNOWLEDGED_MAX: usize = 1_000;
/// How many of them are written in parallel.
const AT_ONCE: usize = 16;

/// A decision about an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Acknowledge an open issue.
    Acknowledge(Responder),
    /// Withdraw the acknowledgement.
    Unacknowledge,
    /// Resolve the issue; later checks count from zero.
    Resolve(UserId),
    /// Send no reminders until this time; `None` resumes them.
    Snooze(Option<Timestamp>),
    /// Add a note.
    Note(Note),
}

impl Decision {
    fn event(&self, issue: &Issue) -> AuditEvent {
        let decision = match self {
            Self::Acknowledge(_) => IssueDecision::Acknowledged,
            Self::Unacknowledge => IssueDecision::Unacknowledged,
            Self::Resolve(_) => IssueDecision::Resolved,
            Self::Snooze(Some(until)) => IssueDecision::Snoozed(*until),
            Self::Snooze(None) => IssueDecision::Unsnoozed,
            Self::Note(_) => IssueDecision::Noted,
        };
        AuditEvent::issue(issue, decision)
    }

    /// What the issue itself records of a decision that neither its timeline nor its notes show.
    const fn act(&self, by: By) -> Option<Act> {
        let kind = match self {
            Self::Acknowledge(_) | Self::Resolve(_) | Self::Note(_) => return None,
            Self::Unacknowledge => ActKind::Unacknowledged,
            Self::Snooze(Some(until)) => ActKind::Snoozed(*until),
            Self::Snooze(None) => ActKind::Unsnoozed,
        };
        Some(Act { at: by.now, by: by.actor.responder(), kind })
    }
}

/// Carries out a decision about an issue of a team as it was read, and notifies channels.
///
/// # Errors
///
/// When the issue's state does not allow the decision, or the table fails.
pub async fn decide(
    app: &App,
    team: &Team,
    IssueWithMonitor { issue, monitor, state }: &IssueWithMonitor,
    decision: Decision,
    by: By,
) -> Result<IssueChange, DecisionError> {
    let now = by.now;
    let place = MonitorRef::from(monitor);
    let entry = AuditEntry::new(place.team, by, decision.event(issue));
    let audit = Audit::Entry(&entry);
    let issue = issue.clone();
    let act = decision.act(by);
    let resolves = matches!(decision, Decision::Resolve(_));
    let change = match decision {
        Decision::Acknowledge(responder) => record::acknowledge(issue, responder, now)?,
        Decision::Unacknowledge => record::unacknowledge(issue, now)?,
        Decision::Resolve(user) => record::resolve(issue, user, now)?,
        Decision::Snooze(until) => record::snooze(issue, until, now)?,
        Decision::Note(note) => record::note(issue, note, now),
    };
    let change = match act {
        Some(act) => change.with_act(act),
        None => change,
    }
    .published_by(team);
    match resolves {
        false => app.store.commit_issue(place, &change, None, audit).await?,
        true => {
            let fingerprint = change.after.id.fingerprint();
            let next = state.resolved_by_hand(fingerprint, now);
            let tool = Some((fingerprint.tool(), state, &next));
            app.store.commit_issue(place, &change, tool, audit).await?;
        }
    }
    enqueue_alert(app, place.team, &change).await;
    Ok(change)
}

/// Acknowledges those of some issues that are open and belong to a team, each as [`decide`] does, in a transaction with
/// its entry in the audit log. Returns how many it has acknowledged. If it fails, those before it stay acknowledged, and
/// a repetition goes on with the others.
///
/// # Errors
///
/// When the table fails.
pub async fn acknowledge_all(
    app: &App,
    team: &Team,
    issues: impl IntoIterator<Item = IssueId>,
    user: UserId,
    by: By,
) -> Result<usize, Fault> {
    let one =
        |id| retry_on_conflict(budget::WRITE, move || acknowledge_open(app, team, id, user, by));
    let all: Vec<_> = issues.into_iter().take(ACKNOWLEDGED_MAX).map(one).collect();
    let done = stream::iter(all).buffer_unordered(AT_ONCE);
    done.try_fold(0, async |count, is_done| Ok(count + usize::from(is_done))).await
}

/// Returns whether the issue was still open.
async fn acknowledge_open(
    app: &App,
    team: &Team,
    id: IssueId,
    user: UserId,
    by: By,
) -> Result<bool, Fault> {
    let found = app.store.issue_with_monitor(id).await?;
    let Some(read) = found.filter(|found| found.monitor.team() == team.id) else {
        return Ok(false);
    };
    match decide(app, team, &read, Decision::Acknowledge(user.into()), by).await {
        Ok(_) => Ok(true),
        Err(ActionError::Refused(_)) => Ok(false),
        Err(ActionError::Failed(fault)) => Err(fault),
    }
}
