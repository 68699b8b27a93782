//! The stored issue, and how events change it.

use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::act::{ACTS_KEPT, Act};
use super::evaluate::Evaluation;
use super::note::{NOTES_KEPT, Note};
use super::opening::Opening;
use super::problem::{Problem, problems};
use super::tracker::{Event, Failures};
use super::{
    Fingerprint, InvalidTransition, IssueStatus, Lifecycle, Responder, SeenTimes, Severity,
    Timeline, Transition,
};
use crate::accounts::team::Team;
use crate::checks::check::certificate_instant;
use crate::checks::pointer::CheckPointer;
use crate::id::{CheckId, IssueId, SiteId, UserId};
use crate::locations::Votes;
use crate::time::wire;

/// An issue: one record per site and fingerprint, opened again when the problem recurs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    /// The id, which determines site and fingerprint.
    pub id: IssueId,
    /// Increases with every write.
    pub rev: u64,
    /// Its state.
    pub lifecycle: Lifecycle,
    /// The history of its state.
    pub timeline: Timeline,
    /// What checks saw of it.
    #[serde(default, skip_serializing_if = "SeenTimes::is_empty")]
    pub seen: SeenTimes,
    /// The severity with which it last opened, if it is not that of its fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_severity: Option<Severity>,
    /// What is wrong, for people.
    pub summary: String,
    /// The evaluation that opened it.
    pub context: Value,
    /// The check of the last transition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckPointer>,
    /// The evaluated check before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_check: Option<CheckPointer>,
    /// When `check` was evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_evaluated_at: Option<Timestamp>,
    /// Until when no reminders are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoozed_until: Option<Timestamp>,
    /// The address that the site had when `status:down` last opened, if it was reached. Sites that fail together may have
    /// the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// What members wrote about it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// What members did besides acknowledging and resolving it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acts: Vec<Act>,
    /// The first opening.
    pub created_at: Timestamp,
    /// The last write.
    pub updated_at: Timestamp,
}

impl Issue {
    /// An issue that opens, of which nothing more is known.
    pub fn opened(site: SiteId, fingerprint: Fingerprint, at: Timestamp) -> Self {
        let lifecycle = Lifecycle::open(at);
        Self {
            id: IssueId::new(site, fingerprint, at),
            rev: 1,
            lifecycle,
            timeline: Timeline::default().then(lifecycle),
            seen: SeenTimes::default(),
            chosen_severity: None,
            summary: String::new(),
            context: Value::Null,
            check: None,
            previous_check: None,
            last_evaluated_at: None,
            snoozed_until: None,
            address: None,
            notes: Vec::new(),
            acts: Vec::new(),
            created_at: at,
            updated_at: at,
        }
    }

    /// Each opening that the timeline tells of, oldest first.
    pub fn problems(&self) -> Vec<Problem> {
        problems(&self.timeline, &self.seen, self.first_failed_at())
    }

    /// The last opening.
    pub fn problem(&self) -> Problem {
        self.problems().pop().unwrap_or_else(|| Problem {
            opened_at: self.lifecycle.opened_at(),
            began_at: self.first_failed_at(),
            ended_at: self.lifecycle.resolved_at(),
        })
    }
}

/// An issue before and after a change.
#[derive(Debug, Clone, PartialEq)]
pub struct IssueChange {
    /// The record that the change was decided on; `None` for a new issue.
    pub before: Option<Issue>,
    /// The record to write.
    pub after: Issue,
    /// The opening that begins, if any.
    pub opening: Option<Opening>,
    /// Whether status pages of the team may show another state after it.
    pub publishes: bool,
}

/// The effect of an observation on an issue.
#[derive(Debug, Clone, PartialEq)]
pub struct IssueEvent {
    /// What happened.
    pub event: Event,
    /// What was observed.
    pub evaluation: Evaluation,
    /// The check that observed it.
    pub check: CheckId,
    /// The previous evaluated check.
    pub previous: Option<CheckPointer>,
    /// The last successful check before an opening, if known.
    pub last_good: Option<CheckPointer>,
    /// The severity of an issue that opens, if it is not that of its fingerprint.
    pub chosen_severity: Option<Severity>,
    /// When the check was evaluated.
    pub now: Timestamp,
    /// What other locations said about it.
    pub votes: Votes,
    /// The address that the site had.
    pub address: Option<IpAddr>,
}

impl IssueEvent {
    /// The event of an issue that did not last longer than monitoring.
    #[must_use]
    pub(crate) fn no_later_than(mut self, monitoring_ended_at: Option<Timestamp>) -> Self {
        if let (Event::Resolved { since, .. }, Some(ended_at)) =
            (&mut self.event, monitoring_ended_at)
        {
            *since = ended_at.min(*since);
        }
        self
    }
}

/// The longest context that is kept, in bytes of JSON, so that the record stays small.
const CONTEXT_MAX: usize = 1_500;

/// The change of the record for a tracker's event; `None` if the record stays the same.
///
/// Openings and resolutions happen at the slot of the run, so that a run that is repeated after a crash writes the same
/// record.
///
/// # Errors
///
/// When the record is not in the state that the tracker expects.
pub fn follow(
    before: Option<Issue>,
    observed: &IssueEvent,
) -> Result<Option<IssueChange>, InvalidTransition> {
    let IssueEvent { event, evaluation, check, previous, last_good, now, votes, .. } = observed;
    let slot = check.created_at();
    let lifecycle = match (*event, &before) {
        (Event::Resolved { .. }, None) => return Ok(None),
        (Event::Opened { .. }, None) => Lifecycle::open(slot),
        (Event::Opened { .. }, Some(issue)) => issue.lifecycle.reopen(slot)?,
        (Event::Resolved { .. }, Some(issue)) => issue.lifecycle.resolve(slot, None)?,
    };
    let (summary, context) = match (&before, *event) {
        (Some(issue), Event::Resolved { .. }) => (issue.summary.clone(), issue.context.clone()),
        (_, Event::Opened { failures, .. } | Event::Resolved { failures, .. }) => {
            let mut context = context(evaluation, failures);
            votes.add_to(&mut context);
            (evaluation.summary.clone(), context)
        }
    };
    let known = before.as_ref().map(|issue| issue.seen.clone()).unwrap_or_default();
    let seen = match *event {
        Event::Opened { failures, .. } => known.then(failures.first),
        Event::Resolved { failures, since, .. } => {
            SeenTimes { failed_checks: Some(failures.streak.get()), ..known.then(since) }
        }
    };
    let after = Issue {
        id: event.issue(),
        rev: before.as_ref().map_or(1, |issue| issue.rev.saturating_add(1)),
        lifecycle,
        timeline: before
            .as_ref()
            .map_or_else(Timeline::default, |issue| issue.timeline.clone())
            .then(lifecycle),
        seen,
        chosen_severity: match (&before, *event) {
            (Some(issue), Event::Resolved { .. }) => issue.chosen_severity,
            (None, _) | (_, Event::Opened { .. }) => observed.chosen_severity,
        },
        summary,
        context,
        check: Some(CheckPointer::row(*check)),
        previous_check: *previous,
        last_evaluated_at: Some(*now),
        // A snooze ends with its opening.
        snoozed_until: before.as_ref().and_then(|issue| match event {
            Event::Opened { .. } => None,
            Event::Resolved { .. } => issue.snoozed_until,
        }),
        address: match (&before, *event) {
            (Some(issue), Event::Resolved { .. }) => issue.address,
            (None, _) | (_, Event::Opened { .. }) => observed.address,
        },
        notes: before.as_ref().map(|issue| issue.notes.clone()).unwrap_or_default(),
        acts: before.as_ref().map(|issue| issue.acts.clone()).unwrap_or_default(),
        created_at: before.as_ref().map_or(slot, |issue| issue.created_at),
        updated_at: *now,
    };
    let opening = matches!(event, Event::Opened { .. }).then(|| Opening {
        issue: after.id,
        opened_at: slot,
        summary: after.summary.clone(),
        context: after.context.clone(),
        check: *check,
        last_good: *last_good,
    });
    Ok(Some(IssueChange { before, after, opening, publishes: false }))
}

/// Acknowledges the issue.
///
/// # Errors
///
/// When the issue is not open.
pub fn acknowledge(
    before: Issue,
    by: impl Into<Responder>,
    now: Timestamp,
) -> Result<IssueChange, InvalidTransition> {
    let lifecycle = before.lifecycle.acknowledge(now, by)?;
    Ok(by_hand(before, lifecycle, now))
}

/// Withdraws the acknowledgement. The timeline keeps the earlier acknowledgement.
///
/// # Errors
///
/// When the issue is not acknowledged.
pub fn unacknowledge(before: Issue, now: Timestamp) -> Result<IssueChange, InvalidTransition> {
    let lifecycle = before.lifecycle.unacknowledge()?;
    let rev = before.rev.saturating_add(1);
    let after = Issue { rev, lifecycle, updated_at: now, ..before.clone() };
    Ok(IssueChange { before: Some(before), after, opening: None, publishes: false })
}

/// Resolves the issue for a member; the caller resets the tracker in the same transaction.
///
/// # Errors
///
/// When the issue is already resolved.
pub fn resolve(
    before: Issue,
    by: UserId,
    now: Timestamp,
) -> Result<IssueChange, InvalidTransition> {
    let lifecycle = before.lifecycle.resolve(now, Some(by))?;
    Ok(by_hand(before, lifecycle, now))
}

/// The issue of a deleted site, as its channels receive it: resolved, by the member who deleted the site if a member
/// did. If it was already resolved, only its `rev` rises.
#[must_use]
pub(crate) fn end_with_site(issue: Issue, by: Option<UserId>, now: Timestamp) -> Issue {
    match issue.lifecycle.resolve(now, by) {
        Ok(over) => after_hand(&issue, over, now),
        Err(_) => Issue { rev: issue.rev.saturating_add(1), ..issue },
    }
}

/// Snoozes the reminders of an issue until an instant, or resumes them. This affects neither the state nor the
/// timeline.
///
/// # Errors
///
/// When the issue is resolved.
pub fn snooze(
    before: Issue,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Result<IssueChange, InvalidTransition> {
    if !before.lifecycle.is_active() {
        let (from, transition) = (before.status(), Transition::Snooze);
        return Err(InvalidTransition { from, transition });
    }
    let rev = before.rev.saturating_add(1);
    let after = Issue { rev, snoozed_until: until, updated_at: now, ..before.clone() };
    Ok(IssueChange { before: Some(before), after, opening: None, publishes: false })
}

/// Adds a member's note in any state; the oldest notes make room.
#[must_use]
pub fn note(before: Issue, note: Note, now: Timestamp) -> IssueChange {
    let mut after = Issue { rev: before.rev.saturating_add(1), updated_at: now, ..before.clone() };
    after.notes.push(note);
    let too_many = after.notes.len().saturating_sub(NOTES_KEPT);
    after.notes.drain(..too_many);
    IssueChange { before: Some(before), after, opening: None, publishes: false }
}

impl IssueChange {
    /// The change for a site of a team, whose status pages may show another state after it.
    #[must_use]
    pub fn published_by(self, team: &Team) -> Self {
        Self { publishes: !team.status_pages.is_empty(), ..self }
    }

    /// Adds what a member did; the oldest acts make room.
    #[must_use]
    pub fn with_act(mut self, act: Act) -> Self {
        self.after.acts.push(act);
        let too_many = self.after.acts.len().saturating_sub(ACTS_KEPT);
        self.after.acts.drain(..too_many);
        self
    }
}

fn by_hand(before: Issue, lifecycle: Lifecycle, now: Timestamp) -> IssueChange {
    let after = after_hand(&before, lifecycle, now);
    IssueChange { before: Some(before), after, opening: None, publishes: false }
}

fn after_hand(before: &Issue, lifecycle: Lifecycle, now: Timestamp) -> Issue {
    Issue {
        rev: before.rev.saturating_add(1),
        lifecycle,
        timeline: before.timeline.then(lifecycle),
        seen: before.seen.then(now),
        updated_at: now,
        ..before.clone()
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
    if whole.to_string().len() <= CONTEXT_MAX { whole } else { context(&Value::Null) }
}

impl Issue {
    /// Its state.
    pub const fn status(&self) -> IssueStatus {
        self.lifecycle.status()
    }

    /// How severe it is.
    pub fn severity(&self) -> Severity {
        self.chosen_severity.unwrap_or(self.id.fingerprint().severity())
    }

    /// When the problem was first seen: at the first of the failed checks that last opened the issue.
    pub fn first_failed_at(&self) -> Timestamp {
        let opened_at = self.lifecycle.opened_at();
        let first = self.context["first_failed_at"].as_str();
        let first = first.and_then(|first| first.parse().ok());
        first.filter(|first| *first <= opened_at).unwrap_or(opened_at)
    }

    /// When the certificate, its chain or the registration that the issue warns about ends.
    pub fn ends_at(&self) -> Option<Timestamp> {
        let measured = |name: &str| self.context["measured"][name].as_str();
        match self.id.fingerprint() {
            Fingerprint::DnsDomainExpiring => measured("expires_at")?.parse().ok(),
            Fingerprint::SslExpiring => {
                let of_chain = self.context["measured"]["first_to_expire"]["valid_to"].as_str();
                certificate_instant(of_chain.or_else(|| measured("valid_to"))?)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use uuid::Uuid;

    use super::*;
    use crate::checks::tool::{RunReason, Tool};
    use crate::checks::tool_state::ToolState;
    use crate::checks::tool_state::Tracked;
    use crate::id::SiteId;
    use crate::issues::act::ActKind;
    use crate::issues::tracker::{Phase, Tracker};
    use crate::issues::{Fingerprint, Outcome};

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    const GOOD: &str = "2026-11-20T09:47:00Z";
    const FAILED: &str = "2026-11-20T09:52:00Z";
    const OPENED: &str = "2026-11-20T09:54:00Z";
    const CLEARED: &str = "2026-11-20T09:59:00Z";
    const AGAIN: &str = "2026-11-20T11:00:00Z";

    fn site() -> SiteId {
        SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id")
    }

    fn user(number: u128) -> UserId {
        UserId(Uuid::from_u128(number))
    }

    fn check(slot: &str) -> CheckId {
        CheckId::automatic(site(), Tool::Status, RunReason::Scheduled, at(slot))
    }

    fn failures(last: &str) -> Failures {
        let streak = NonZeroU32::new(2).expect("not zero");
        Failures { first: at(FAILED), last: at(last), streak }
    }

    fn issue() -> IssueId {
        IssueId::new(site(), Fingerprint::StatusDown, at(OPENED))
    }

    fn opened(slot: &str) -> Event {
        Event::Opened { issue: issue(), failures: failures(slot) }
    }

    fn resolved() -> Event {
        Event::Resolved { issue: issue(), failures: failures(OPENED), since: at(CLEARED) }
    }

    fn evaluation(summary: &str, measured: Value) -> Evaluation {
        Evaluation {
            fingerprint: Fingerprint::StatusDown,
            outcome: Outcome::Down,
            summary: summary.to_owned(),
            measured,
        }
    }

    /// Follows an event of the run at this slot, which was evaluated a second later.
    fn followed(before: Option<Issue>, event: &Event, slot: &str) -> Option<IssueChange> {
        try_to_follow(before, event, slot).expect("the record is as the tracker says")
    }

    fn try_to_follow(
        before: Option<Issue>,
        event: &Event,
        slot: &str,
    ) -> Result<Option<IssueChange>, InvalidTransition> {
        let observed = IssueEvent {
            event: *event,
            evaluation: evaluation(&format!("down at {slot}"), json!({ "code": 503 })),
            check: check(slot),
            previous: Some(CheckPointer::row(check(FAILED))),
            last_good: Some(CheckPointer::row(check(GOOD))),
            chosen_severity: None,
            now: at(slot) + jiff::SignedDuration::from_secs(1),
            votes: Votes::NoLocation,
            address: None,
        };
        follow(before, &observed)
    }

    fn open() -> Issue {
        followed(None, &opened(OPENED), OPENED).expect("a record").after
    }

    #[test]
    fn an_opening_makes_the_record() {
        let IssueChange { before, after, opening, .. } =
            followed(None, &opened(OPENED), OPENED).expect("a record");
        assert_eq!(before, None);
        let expected = Issue {
            id: issue(),
            rev: 1,
            lifecycle: Lifecycle::open(at(OPENED)),
            timeline: Timeline::default().then(Lifecycle::open(at(OPENED))),
            seen: SeenTimes::default().then(at(FAILED)),
            chosen_severity: None,
            summary: format!("down at {OPENED}"),
            context: json!({
                "measured": { "code": 503 },
                "failures": 2,
                "first_failed_at": "2026-11-20T09:52:00+00:00",
                "last_failed_at": "2026-11-20T09:54:00+00:00",
            }),
            check: Some(CheckPointer::row(check(OPENED))),
            previous_check: Some(CheckPointer::row(check(FAILED))),
            last_evaluated_at: Some(at("2026-11-20T09:54:01Z")),
            snoozed_until: None,
            address: None,
            notes: Vec::new(),
            acts: Vec::new(),
            created_at: at(OPENED),
            updated_at: at("2026-11-20T09:54:01Z"),
        };
        assert_eq!(after, expected);
        let begins = Opening {
            issue: after.id,
            opened_at: at(OPENED),
            summary: after.summary.clone(),
            context: after.context.clone(),
            check: check(OPENED),
            last_good: Some(CheckPointer::row(check(GOOD))),
        };
        assert_eq!(opening, Some(begins));
        assert_eq!(
            (after.id.fingerprint(), after.status()),
            (Fingerprint::StatusDown, IssueStatus::Open)
        );
    }

    #[test]
    fn a_problem_is_there_since_its_first_failed_check() {
        assert_eq!(open().first_failed_at(), at(FAILED));
        let unknown = |context| Issue { context, ..open() }.first_failed_at();
        assert_eq!(unknown(Value::Null), at(OPENED));
        assert_eq!(unknown(json!({ "first_failed_at": wire(at(AGAIN)) })), at(OPENED));
    }

    #[test]
    fn a_resolution_keeps_what_the_opening_said() {
        let taken = acknowledge(open(), user(1), at("2026-11-20T09:55:00Z")).expect("open").after;
        let change = followed(Some(taken.clone()), &resolved(), CLEARED).expect("a change");
        let over = taken.lifecycle.resolve(at(CLEARED), None).expect("active");
        let expected = Issue {
            rev: 3,
            lifecycle: over,
            timeline: taken.timeline.then(over),
            seen: SeenTimes { failed_checks: Some(2), ..taken.seen.then(at(CLEARED)) },
            check: Some(CheckPointer::row(check(CLEARED))),
            last_evaluated_at: Some(at("2026-11-20T09:59:01Z")),
            updated_at: at("2026-11-20T09:59:01Z"),
            ..taken.clone()
        };
        assert_eq!((change.before, change.after), (Some(taken), expected));
    }

    #[test]
    fn a_recurrence_opens_the_same_record_again() {
        let taken = acknowledge(open(), user(1), at("2026-11-20T09:55:00Z")).expect("open").after;
        let over = followed(Some(taken), &resolved(), CLEARED).expect("a change").after;
        let again = followed(Some(over.clone()), &opened(AGAIN), AGAIN).expect("a change").after;
        assert_eq!((again.id, again.rev, again.created_at), (over.id, 4, over.created_at));
        assert_eq!(again.lifecycle, Lifecycle::open(at(AGAIN)), "nobody has taken it");
        assert_eq!(again.timeline, over.timeline.then(again.lifecycle));
        assert_eq!(again.timeline.entries().len(), 4);
        assert_eq!(again.summary, format!("down at {AGAIN}"));
        assert_eq!(again.context["last_failed_at"], "2026-11-20T11:00:00+00:00");
    }

    #[test]
    fn the_end_of_what_has_no_record_changes_nothing() {
        assert_eq!(followed(None, &resolved(), CLEARED), None);
    }

    #[test]
    fn a_record_that_is_not_as_the_tracker_says_is_refused() {
        let refused = |from, transition| Err(InvalidTransition { from, transition });
        let over = followed(Some(open()), &resolved(), CLEARED).expect("a change").after;
        assert_eq!(
            try_to_follow(Some(open()), &opened(AGAIN), AGAIN),
            refused(IssueStatus::Open, Transition::Reopen)
        );
        assert_eq!(
            try_to_follow(Some(over), &resolved(), AGAIN),
            refused(IssueStatus::Resolved, Transition::Resolve)
        );
    }

    #[test]
    fn a_run_that_is_done_again_makes_the_same_record_but_for_the_time_of_its_end() {
        let at_second = |second: i64| {
            let now = at(OPENED) + jiff::SignedDuration::from_secs(second);
            let (event, check) = (opened(OPENED), check(OPENED));
            let evaluation = evaluation("down", Value::Null);
            let observed = IssueEvent {
                event,
                evaluation,
                check,
                previous: None,
                last_good: None,
                chosen_severity: None,
                now,
                votes: Votes::NoLocation,
                address: None,
            };
            follow(None, &observed).expect("no record").expect("a record")
        };
        let (first, mut second) = (at_second(1), at_second(90));
        second.after.updated_at = first.after.updated_at;
        second.after.last_evaluated_at = first.after.last_evaluated_at;
        assert_eq!(first, second);
    }

    #[test]
    fn a_context_that_is_too_long_loses_its_measurements_only() {
        let slot = "2026-11-20T09:54:00+00:00";
        let rest = json!({
            "measured": null, "failures": 2,
            "first_failed_at": "2026-11-20T09:52:00+00:00", "last_failed_at": slot,
        });
        let around = rest.to_string().len() - "null".len();
        let longest = Value::String("m".repeat(CONTEXT_MAX - around - 2));
        let whole = context(&evaluation("", longest.clone()), failures(OPENED));
        assert_eq!(whole["measured"], longest);
        assert_eq!(whole.to_string().len(), CONTEXT_MAX);
        let longer = Value::String("m".repeat(CONTEXT_MAX - around - 1));
        assert_eq!(context(&evaluation("", longer), failures(OPENED)), rest);
    }

    #[test]
    fn people_take_an_issue_and_resolve_it() {
        let (taken_at, over_at) = (at("2026-11-20T09:55:00Z"), at("2026-11-20T09:57:00Z"));
        let taken = acknowledge(open(), user(1), taken_at).expect("open");
        let lifecycle = open().lifecycle.acknowledge(taken_at, user(1)).expect("open");
        let expected = Issue {
            rev: 2,
            lifecycle,
            timeline: open().timeline.then(lifecycle),
            seen: open().seen.then(taken_at),
            updated_at: taken_at,
            ..open()
        };
        assert_eq!((taken.before, &taken.after), (Some(open()), &expected));

        let over = resolve(taken.after.clone(), user(2), over_at).expect("active");
        assert_eq!((over.after.rev, over.after.status()), (3, IssueStatus::Resolved));
        assert_eq!(over.after.lifecycle.resolved_by(), Some(user(2)));
        assert_eq!(over.after.check, Some(CheckPointer::row(check(OPENED))));
        assert_eq!(over.after.timeline, taken.after.timeline.then(over.after.lifecycle));

        let refused = |from, transition| Err(InvalidTransition { from, transition });
        let acknowledged = IssueStatus::Acknowledged;
        let again = acknowledge(taken.after, user(2), over_at);
        assert_eq!(again, refused(acknowledged, Transition::Acknowledge));
        let again = resolve(over.after, user(2), over_at);
        assert_eq!(again, refused(IssueStatus::Resolved, Transition::Resolve));
        assert!(resolve(open(), user(2), over_at).is_ok(), "without having taken it");
    }

    fn down(failures: Failures) -> Tracked {
        let phase = Phase::Down { issue: issue(), failures };
        Tracked { tracker: Tracker { phase, last_slot: None }, ..Tracked::default() }
    }

    #[test]
    fn what_a_person_ends_lasts_until_then_or_until_monitoring_ended() {
        let over = resolve(open(), user(1), at(AGAIN)).expect("active");
        assert_eq!(over.after.problem().ended_at, Some(at(AGAIN)));
        let state = ToolState {
            trackers: [(Fingerprint::StatusDown, down(failures(CLEARED)))].into(),
            monitoring_ended_at: Some(at(CLEARED)),
            ..ToolState::new()
        };
        let kept = state.keep_observations(over).after;
        assert_eq!(
            (kept.problem().began_at, kept.problem().ended_at),
            (at(FAILED), Some(at(CLEARED)))
        );
        assert_eq!(kept.seen.failed_checks, Some(2));
    }

    #[test]
    fn an_acknowledgement_is_undone_and_the_newest_acts_are_kept() {
        let taken = acknowledge(open(), user(1), at("2026-11-20T09:55:00Z")).expect("open").after;
        let back = unacknowledge(taken.clone(), at(CLEARED)).expect("acknowledged").after;
        let expected =
            Issue { rev: 3, lifecycle: open().lifecycle, updated_at: at(CLEARED), ..taken.clone() };
        assert_eq!(back, expected, "its timeline keeps that it was taken");
        assert!(unacknowledge(open(), at(CLEARED)).is_err());
        let act = |number| Act {
            at: at(OPENED),
            by: Some(user(number).into()),
            kind: ActKind::Unsnoozed,
        };
        let change = IssueChange { before: None, after: back, opening: None, publishes: false };
        let done = (0..12).fold(change, |change, number| change.with_act(act(number)));
        let by: Vec<_> = done.after.acts.iter().filter_map(|act| act.by).collect();
        assert_eq!(by, (2..12).map(|number| user(number).into()).collect::<Vec<_>>());
    }

    #[test]
    fn what_ends_by_hand_keeps_the_checks_it_was_last_judged_by() {
        let over = resolve(open(), user(1), at(AGAIN)).expect("active");
        let pointer = |slot| Some(CheckPointer::row(check(slot)));
        let state = ToolState {
            evaluated: pointer(CLEARED),
            previous: pointer(OPENED),
            ..ToolState::new()
        };
        let after = state.keep_observations(over.clone()).after;
        assert_eq!((after.check, after.previous_check), (pointer(CLEARED), pointer(OPENED)));
        assert_eq!(after.last_evaluated_at, Some(at(CLEARED)));
        let same = ToolState { evaluated: pointer(OPENED), ..ToolState::new() };
        assert_eq!(same.keep_observations(over.clone()), over);
    }
}
