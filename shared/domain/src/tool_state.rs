//! What is remembered of one tool on one site, and what a finished run makes of it.
//!
//! The state is one small item, rewritten by every run together with the run's row. It never holds
//! a result. Each function here takes the state as it was read and says what to write; whoever
//! saves does so on the condition that `rev` is still the same, and otherwise reads and asks again
//! with the same run: nothing is probed twice.

mod forget;
mod learnt;
mod newest;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::check::{Check, Finish, ToolResult};
use crate::history::{Day, Kind, day_of};
use crate::id::{CheckId, IssueId, SiteId, Trigger};
use crate::issue::Fingerprint;
use crate::issue::evaluate::{AfterRun, Evaluation, Timer, TimerStep, next_timer};
use crate::issue::tracker::{Event, Observation, Policy, Step, Tracker, observe, resolve_by_hand};
use crate::message::RunOrder;
use crate::schedule::Pace;
use crate::settings::Settings;
use crate::tool::{CheckStatus, RunReason, Tool};

pub use forget::{Forgotten, NewestChange};
pub use learnt::Learnt;
pub use newest::Newest;

/// What is remembered of one tool on one site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct ToolState {
    /// Rises with every write.
    pub rev: u64,
    /// The site's `cfg`; a run that began under another one is discarded.
    pub cfg: u64,
    /// By fingerprint, those that were ever observed.
    #[serde(rename = "tr", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trackers: BTreeMap<Fingerprint, Tracked>,
    /// The run outside the schedule that must still come: first run, retry or follow-up.
    #[serde(rename = "ti", default, skip_serializing_if = "Option::is_none")]
    pub timer: Option<Timer>,
    /// The on-demand check that must still run.
    #[serde(rename = "pe", default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<CheckId>,
    /// When the last on-demand check was created, deleted ones included.
    #[serde(rename = "lo", default, skip_serializing_if = "Option::is_none")]
    pub last_on_demand: Option<Timestamp>,
    /// The newest automatic check.
    #[serde(rename = "na", default, skip_serializing_if = "Option::is_none")]
    pub automatic: Option<Latest>,
    /// The newest on-demand check.
    #[serde(rename = "nd", default, skip_serializing_if = "Option::is_none")]
    pub on_demand: Option<Latest>,
    /// The last evaluated check, and the one before it: automatic and completed.
    #[serde(rename = "ev", default, skip_serializing_if = "Option::is_none")]
    pub evaluated: Option<CheckId>,
    /// See `evaluated`.
    #[serde(rename = "pv", default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<CheckId>,
    /// The records that DNS checks learnt.
    #[serde(rename = "le", default, skip_serializing_if = "Option::is_none")]
    pub learnt: Option<Learnt>,
    /// The open day.
    #[serde(rename = "da", default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Day>,
}

/// A tracker with the issue record that its fingerprint once got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tracked {
    /// The tracker.
    #[serde(rename = "t")]
    pub tracker: Tracker,
    /// The record to open again when the problem recurs; none while it is active, for then the
    /// tracker names it.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueId>,
}

/// A check and its state: enough to find its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latest {
    /// The check.
    pub id: CheckId,
    /// Its state.
    pub status: CheckStatus,
}

/// How a tool's results are judged and followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolPolicy {
    /// When issues open and resolve.
    pub thresholds: Policy,
    /// Minutes to the retry of a failure below the threshold.
    pub retry_minutes: Option<u32>,
    /// Minutes between two follow-ups of an active issue.
    pub follow_up_minutes: Option<u32>,
}

impl ToolPolicy {
    /// The policy that a site's resolved settings say.
    pub fn of(tool: Tool, settings: &Settings) -> Self {
        let tools = &settings.tools;
        let (open_after, resolve_after, retry_minutes, follow_up_minutes) = match tool {
            Tool::Status => {
                let status = &tools.status.settings;
                (
                    status.failures_to_open,
                    status.successes_to_resolve,
                    Some(status.confirmation_retry_minutes),
                    Some(status.incident_follow_up_minutes),
                )
            }
            Tool::Ssl => {
                let ssl = &tools.ssl.settings;
                let retry = Some(ssl.confirmation_retry_minutes);
                (ssl.failures_to_open, NonZeroU32::MIN, retry, None)
            }
            Tool::Dns => {
                let dns = &tools.dns.settings;
                let retry = Some(dns.confirmation_retry_minutes);
                (dns.failures_to_open, NonZeroU32::MIN, retry, None)
            }
            Tool::BrokenLinks => {
                let links = &tools.broken_links.settings;
                (links.consecutive_breaches_to_open, NonZeroU32::MIN, None, None)
            }
            Tool::Performance => {
                let performance = &tools.performance.settings;
                (performance.consecutive_breaches_to_open, NonZeroU32::MIN, None, None)
            }
        };
        let thresholds = Policy { open_after, resolve_after };
        Self { thresholds, retry_minutes, follow_up_minutes }
    }
}

/// A run that has ended, and the circumstances under which it counts.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The site.
    pub site: SiteId,
    /// The check that the run makes or finishes.
    pub check: CheckId,
    /// The tool.
    pub tool: Tool,
    /// The site's `cfg` under which it ran.
    pub cfg: u64,
    /// How it ended.
    pub finish: &'a Finish,
    /// What its result says of each fingerprint; empty unless it completed.
    pub evaluations: &'a [Evaluation],
    /// How the tool's results are judged.
    pub policy: ToolPolicy,
    /// Now.
    pub now: Timestamp,
    /// The length of a monitoring minute.
    pub pace: Pace,
    /// How long history is kept.
    pub retention_days: u32,
}

/// Why a run counts nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Discard {
    /// A run at this slot, or a later one, was counted already.
    #[error("a run at this slot or a later one was counted already")]
    Stale,
    /// The retry or follow-up is no longer wanted.
    #[error("the retry or follow-up is no longer wanted")]
    TimerGone,
    /// The check is not pending any more: finished or deleted.
    #[error("the check is not pending any more")]
    NotPending,
    /// URL or monitoring changed while it ran.
    #[error("the site's configuration changed while it ran")]
    Superseded,
    /// The slot lies ahead, beyond what clocks may differ.
    #[error("the slot lies in the future")]
    Early,
}

/// Clocks of scheduler and checker may differ by this much.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(60);

/// A day item to write beside the state.
#[derive(Debug, Clone, PartialEq)]
pub enum DayWrite {
    /// The day that was open until now; there is no item of it yet.
    Close(Day),
    /// A day closed before, changed; `rev` is the new one, and the item has the one before, or
    /// does not exist where `rev` is 1.
    Amend(Day),
}

/// What a run, or an order for one, makes of the state.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// The state to write; `rev` is one above the one read.
    pub state: ToolState,
    /// The row to write.
    pub check: Check,
    /// When the row may be forgotten.
    pub expires_at: Timestamp,
    /// The day item to write, if any.
    pub day: Option<DayWrite>,
    /// What to do to issues: the event and the index of the evaluation behind it.
    pub events: Vec<(Event, usize)>,
    /// The newest check, where the directory says something else of it.
    pub newest: Option<Newest>,
    /// The retry or follow-up to send, where it is a new one.
    pub timer: Option<Timer>,
}

impl ToolState {
    /// The state of a tool that nothing is known of.
    pub fn new() -> Self {
        Self { rev: 1, cfg: 1, ..Self::default() }
    }

    /// The state of a new site's tool: its first run does not wait for the schedule.
    pub fn of_new_site(created_at: Timestamp) -> Self {
        Self { timer: Some(Timer { reason: RunReason::Scheduled, due: created_at }), ..Self::new() }
    }

    /// The newest check of either sort.
    pub fn latest(&self) -> Option<Latest> {
        [self.automatic, self.on_demand].into_iter().flatten().max_by_key(|latest| latest.id)
    }

    /// Whether a message still asks for something.
    ///
    /// # Errors
    ///
    /// Why the message asks for nothing.
    pub fn wants(&self, order: RunOrder, now: Timestamp) -> Result<(), Discard> {
        let (reason, slot) = match order {
            RunOrder::OnDemand { check } if self.pending == Some(check) => return Ok(()),
            RunOrder::OnDemand { .. } => return Err(Discard::NotPending),
            RunOrder::Automatic { reason, slot } => (reason, slot),
        };
        // Slots are stored in milliseconds; a finer one must not count twice.
        let is_past = |last: Timestamp| slot.as_millisecond() <= last.as_millisecond();
        if self.last_slot().is_some_and(is_past) {
            Err(Discard::Stale)
        } else if slot > now.saturating_add(CLOCK_SKEW).unwrap_or(now) {
            Err(Discard::Early)
        } else if reason == RunReason::Scheduled || self.timer == Some(Timer { reason, due: slot })
        {
            Ok(())
        } else {
            Err(Discard::TimerGone)
        }
    }

    /// Whether the state itself asks for a run, so that the keeper's sweep sends its message again.
    pub fn asks_for(&self, order: RunOrder) -> bool {
        match order {
            RunOrder::OnDemand { check } => self.pending == Some(check),
            RunOrder::Automatic { reason, slot } => self.timer == Some(Timer { reason, due: slot }),
        }
    }

    fn last_slot(&self) -> Option<Timestamp> {
        self.automatic.map(|latest| latest.id.created_at())
    }

    /// The closed day that a check created at this instant belongs to: its item must be read
    /// before the check can be counted.
    pub fn closed_day(&self, created_at: Timestamp) -> Option<Date> {
        let date = day_of(created_at);
        self.day.as_ref().is_some_and(|open| date < open.date).then_some(date)
    }

    /// Counts a finished run; `closed` is the item of [`ToolState::closed_day`], if there is one.
    ///
    /// # Errors
    ///
    /// Why the run counts nothing.
    pub fn conclude(&self, closed: Option<&Day>, run: &Run<'_>) -> Result<Conclusion, Discard> {
        let created_at = run.check.created_at();
        let trigger = run.check.trigger();
        let order = match trigger {
            Trigger::OnDemand => RunOrder::OnDemand { check: run.check },
            Trigger::Automatic(reason) => RunOrder::Automatic { reason, slot: created_at },
        };
        self.wants(order, run.now)?;
        if self.cfg != run.cfg {
            return Err(Discard::Superseded);
        }

        let check = Check::finished(run.check, run.finish.clone(), run.now);
        let latest = Latest { id: run.check, status: check.status };
        let mut next = self.clone();
        next.rev += 1;
        let kind = Kind { trigger, status: check.status };
        let sample = run.finish.sample().filter(|_| trigger.is_automatic());
        let (day, expires_at) = next.count(closed, created_at, run.retention_days, |day| {
            if !trigger.is_automatic() {
                day.counters.remove(Kind { trigger, status: CheckStatus::Pending }, created_at);
            }
            day.counters.add(kind, created_at);
            if let Some(sample) = sample {
                day.add_sample(sample, created_at);
            }
        });

        let mut events = Vec::new();
        let mut timer = None;
        match trigger {
            Trigger::OnDemand => {
                next.pending = None;
                if next.on_demand.is_some_and(|newest| newest.id == run.check) {
                    next.on_demand = Some(latest);
                }
            }
            Trigger::Automatic(_) => {
                next.automatic = Some(latest);
                events = next.observe(run);
                if let Finish::Completed(ToolResult::Dns(result)) = run.finish {
                    next.learn(run.check, result.prints());
                }
                let step = next_timer(&AfterRun {
                    issue_active: next.has_active_issue(),
                    failing: next.is_failing_below_threshold(),
                    outstanding: self.timer,
                    slot: created_at,
                    now: run.now,
                    retry_minutes: run.policy.retry_minutes,
                    follow_up_minutes: run.policy.follow_up_minutes,
                    pace: run.pace,
                });
                next.timer = step.timer();
                if let TimerStep::Set(set) = step {
                    timer = Some(set);
                }
            }
        }
        Ok(Conclusion {
            newest: next.newest().filter(|newest| Some(*newest) != self.newest()),
            state: next,
            check,
            expires_at,
            day,
            events,
            timer,
        })
    }

    /// Feeds the evaluations to their trackers.
    fn observe(&mut self, run: &Run<'_>) -> Vec<(Event, usize)> {
        let slot = run.check.created_at();
        let mut events = Vec::new();
        for (index, evaluation) in run.evaluations.iter().enumerate() {
            let fingerprint = evaluation.fingerprint;
            let tracked = self.trackers.entry(fingerprint).or_default();
            let issue = tracked.issue.unwrap_or_else(|| IssueId::new(run.site, fingerprint, slot));
            let observation = Observation { slot, outcome: &evaluation.outcome };
            let step = observe(&tracked.tracker, &run.policy.thresholds, &observation, issue);
            if let Step::Advanced { next, event } = step {
                tracked.tracker = next;
                if let Some(event) = event {
                    tracked.issue = next.issue().is_none().then(|| event.issue());
                    events.push((event, index));
                }
            }
        }
        if !run.evaluations.is_empty() {
            self.previous = self.evaluated.replace(run.check);
        }
        events
    }

    /// Applies a change to the day of a check: the open one, a later one that becomes the open
    /// one, or a closed one.
    fn count(
        &mut self,
        closed: Option<&Day>,
        created_at: Timestamp,
        retention_days: u32,
        change: impl FnOnce(&mut Day),
    ) -> (Option<DayWrite>, Timestamp) {
        let date = day_of(created_at);
        if self.closed_day(created_at).is_some() {
            let mut day = closed.cloned().unwrap_or_else(|| Day::new(date, retention_days));
            change(&mut day);
            day.rev += 1;
            let expires_at = day.rows_expire_at();
            return (Some(DayWrite::Amend(day)), expires_at);
        }
        let turned = self.day.take_if(|open| open.date < date);
        let open = self.day.get_or_insert_with(|| Day::new(date, retention_days));
        change(open);
        let expires_at = open.rows_expire_at();
        let write = turned.map(|mut day| {
            day.rev = 1;
            DayWrite::Close(day)
        });
        (write, expires_at)
    }

    /// Accepts an on-demand check: it is pending, counted and newest.
    ///
    /// The caller has made sure that none is pending; `closed` is the item of
    /// [`ToolState::closed_day`], if there is one.
    pub fn accept(
        &self,
        closed: Option<&Day>,
        check: CheckId,
        now: Timestamp,
        retention_days: u32,
    ) -> Conclusion {
        let created_at = check.created_at();
        let mut next = self.clone();
        next.rev += 1;
        next.pending = Some(check);
        next.last_on_demand = Some(created_at);
        next.on_demand = Some(Latest { id: check, status: CheckStatus::Pending });
        let kind = Kind { trigger: Trigger::OnDemand, status: CheckStatus::Pending };
        let (day, expires_at) = next.count(closed, created_at, retention_days, |day| {
            day.counters.add(kind, created_at);
        });
        Conclusion {
            newest: next.newest().filter(|newest| Some(*newest) != self.newest()),
            state: next,
            check: Check::pending(check, now),
            expires_at,
            day,
            events: Vec::new(),
            timer: None,
        }
    }

    /// The check by which a fingerprint was last judged, and the one that it was compared with.
    pub fn compared(&self, fingerprint: Fingerprint) -> [Option<CheckId>; 2] {
        [self.evaluated, self.baseline(fingerprint).or(self.previous)]
    }

    /// The check that the next one is compared with.
    pub fn to_compare(&self, fingerprint: Fingerprint) -> Option<CheckId> {
        self.baseline(fingerprint).or(self.evaluated)
    }

    /// Records are compared with the learnt ones, and all else with the check before.
    fn baseline(&self, fingerprint: Fingerprint) -> Option<CheckId> {
        let learnt = self.learnt.as_ref().map(|learnt| learnt.check);
        learnt.filter(|_| fingerprint == Fingerprint::DnsRecordsChanged)
    }

    /// The state after a person resolved an issue: its tracker starts afresh, and nothing is
    /// outstanding on its behalf. Changed records are accepted as they are now.
    pub fn resolved_by_hand(&self, fingerprint: Fingerprint) -> Self {
        let mut next = self.clone();
        next.rev += 1;
        if let Some(tracked) = next.trackers.get_mut(&fingerprint) {
            tracked.issue = tracked.tracker.issue().or(tracked.issue);
            tracked.tracker = resolve_by_hand(&tracked.tracker);
        }
        if fingerprint == Fingerprint::DnsRecordsChanged {
            next.accept_records();
        }
        if !next.has_active_issue() && !next.is_failing_below_threshold() {
            next.timer = None;
        }
        next
    }

    fn is_failing_below_threshold(&self) -> bool {
        self.trackers.values().any(|tracked| tracked.tracker.is_failing_below_threshold())
    }

    fn has_active_issue(&self) -> bool {
        self.trackers.values().any(|tracked| tracked.tracker.issue().is_some())
    }

    /// The state after the site's URL or monitoring changed: runs that began before are discarded.
    /// Trackers and issues stay; the next check decides about them.
    #[must_use]
    pub fn under(&self, cfg: u64) -> Self {
        Self { rev: self.rev + 1, cfg, ..self.clone() }
    }

    /// The state after the tool was disabled: no retry or follow-up is outstanding.
    pub fn without_timer(&self) -> Self {
        Self { rev: self.rev + 1, timer: None, ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
