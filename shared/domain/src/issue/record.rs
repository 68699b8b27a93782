//! The stored issue, and what an event makes of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::evaluate::Evaluation;
use super::tracker::{Event, Failures};
use super::{Fingerprint, InvalidTransition, IssueStatus, Lifecycle};
use crate::id::{CheckId, IssueId, UserId};
use crate::time::wire;

/// An issue: one record per site and fingerprint, opened again when the problem recurs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    /// Identity; says site and fingerprint.
    pub id: IssueId,
    /// Rises with every write.
    pub rev: u64,
    /// Where it stands.
    pub lifecycle: Lifecycle,
    /// What is wrong, for people.
    pub summary: String,
    /// The evaluation that opened it.
    pub context: Value,
    /// The check of the last transition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckId>,
    /// The evaluated check before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_check: Option<CheckId>,
    /// When `check` was evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_evaluated_at: Option<Timestamp>,
    /// The first opening.
    pub created_at: Timestamp,
    /// The last write.
    pub updated_at: Timestamp,
}

/// A moment in an issue's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// What happened.
    pub key: TimelineKey,
    /// When.
    pub timestamp: Timestamp,
    /// Who did it; none where a check did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
}

/// What can happen to an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimelineKey {
    /// It opened, or opened again.
    Opened,
    /// A member took it.
    Acknowledged,
    /// It was resolved.
    Resolved,
}

impl TimelineKey {
    /// The value used on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Acknowledged => "acknowledged",
            Self::Resolved => "resolved",
        }
    }
}

/// An issue as it was, as it becomes, and the timeline entry that says so: written together.
#[derive(Debug, Clone, PartialEq)]
pub struct IssueChange {
    /// The record that the change was decided on; none for a new one.
    pub before: Option<Issue>,
    /// The record to write.
    pub after: Issue,
    /// The entry to add.
    pub entry: TimelineEntry,
}

/// The observation behind an event: which check, and what was evaluated.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The check.
    pub check: CheckId,
    /// The evaluated check before it.
    pub previous: Option<CheckId>,
    /// What it said of the fingerprint.
    pub evaluation: &'a Evaluation,
    /// Now.
    pub now: Timestamp,
}

/// Longest context that is kept, in bytes of JSON, so that the record stays small.
const CONTEXT_MAX: usize = 1_500;

/// What a tracker's event makes of the record; nothing where the record stays as it is.
///
/// Opening and resolution take place at the slot of the run, so that a run done again after a
/// crash writes the same record.
///
/// # Errors
///
/// When the record is not in the state that the tracker says.
pub fn follow(
    before: Option<Issue>,
    event: &Event,
    observed: &Observed<'_>,
) -> Result<Option<IssueChange>, InvalidTransition> {
    let slot = observed.check.created_at();
    let (lifecycle, key) = match (*event, &before) {
        (Event::Relapsed { .. }, _) => return Ok(None),
        (Event::Opened { .. }, None) => (Lifecycle::open(slot), TimelineKey::Opened),
        (Event::Opened { .. }, Some(issue)) => (issue.lifecycle.reopen(slot)?, TimelineKey::Opened),
        (Event::Resolved { .. }, None) => return Ok(None),
        (Event::Resolved { .. }, Some(issue)) => {
            (issue.lifecycle.resolve(slot, None)?, TimelineKey::Resolved)
        }
    };
    let opens = key == TimelineKey::Opened;
    let (summary, context) = match (&before, *event) {
        (Some(issue), _) if !opens => (issue.summary.clone(), issue.context.clone()),
        (
            _,
            Event::Opened { failures, .. }
            | Event::Relapsed { failures, .. }
            | Event::Resolved { failures, .. },
        ) => (
            observed.evaluation.summary.clone(),
            context(observed.evaluation, failures),
        ),
    };
    let after = Issue {
        id: event.issue(),
        rev: before
            .as_ref()
            .map_or(1, |issue| issue.rev.saturating_add(1)),
        lifecycle,
        summary,
        context,
        check: Some(observed.check),
        previous_check: observed.previous,
        last_evaluated_at: Some(observed.now),
        created_at: before.as_ref().map_or(slot, |issue| issue.created_at),
        updated_at: observed.now,
    };
    let entry = TimelineEntry {
        key,
        timestamp: slot,
        user: None,
    };
    Ok(Some(IssueChange {
        before,
        after,
        entry,
    }))
}

/// A member takes the issue.
///
/// # Errors
///
/// When the issue is not open.
pub fn acknowledge(
    before: Issue,
    by: UserId,
    now: Timestamp,
) -> Result<IssueChange, InvalidTransition> {
    let lifecycle = before.lifecycle.acknowledge(now, by)?;
    Ok(by_hand(
        before,
        lifecycle,
        TimelineKey::Acknowledged,
        by,
        now,
    ))
}

/// A member resolves the issue; the caller resets the tracker in the same transaction.
///
/// # Errors
///
/// When the issue is resolved already.
pub fn resolve(
    before: Issue,
    by: UserId,
    now: Timestamp,
) -> Result<IssueChange, InvalidTransition> {
    let lifecycle = before.lifecycle.resolve(now, Some(by))?;
    Ok(by_hand(before, lifecycle, TimelineKey::Resolved, by, now))
}

fn by_hand(
    before: Issue,
    lifecycle: Lifecycle,
    key: TimelineKey,
    by: UserId,
    now: Timestamp,
) -> IssueChange {
    let after = Issue {
        rev: before.rev.saturating_add(1),
        lifecycle,
        updated_at: now,
        ..before.clone()
    };
    let entry = TimelineEntry {
        key,
        timestamp: now,
        user: Some(by),
    };
    IssueChange {
        before: Some(before),
        after,
        entry,
    }
}

fn context(evaluation: &Evaluation, failures: Failures) -> Value {
    let context = |measured: &Value| {
        json!({
            "measured": measured,
            "failures": failures.streak,
            "first_failed_at": wire(failures.first),
            "last_failed_at": wire(failures.last),
        })
    };
    let whole = context(&evaluation.measured);
    if whole.to_string().len() <= CONTEXT_MAX {
        whole
    } else {
        context(&Value::Null)
    }
}

impl Issue {
    /// The fingerprint; every stored issue has one.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.id.fingerprint()
    }

    /// Its state.
    pub const fn status(&self) -> IssueStatus {
        self.lifecycle.status()
    }
}
