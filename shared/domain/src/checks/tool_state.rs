//! The state of one tool on one site, and how a finished run changes it.
//!
//! The state is one small item, which every run rewrites: together with the run's row, or with the check packed in the
//! state's open block. Each function here takes the state as it was read, and returns what to write. It is saved on the
//! condition that `rev` is still the same. Otherwise the state is read again and the same run is applied to it, so
//! nothing is probed twice.

mod certificate;
mod days;
mod delete;
mod discard;
mod evidence;
mod failing;
mod learnt;
mod maintenance;
mod missing_timer;
mod newest;
mod not_run;
mod observing;
mod pack;
mod posted;
mod report;
mod source;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::{millisecond, second};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::checks::check::{Check, Finish, ToolResult};
use crate::checks::evidence::{EvidenceMarks, EvidenceWrite};
use crate::checks::history::{Day, Kind, RecentDays};
use crate::checks::pointer::{CheckPointer, Latest};
use crate::checks::run::Run;
use crate::checks::timer::Timer;
use crate::checks::tool::{CheckStatus, RunReason, Tool};
use crate::clock::is_ahead;
use crate::heartbeats::reports::Reports;
use crate::id::{CheckId, IssueId, Trigger};
use crate::issues::Fingerprint;
use crate::issues::evaluate::{Evaluation, any_down};
use crate::issues::record::IssueEvent;
use crate::issues::tracker::{Tracker, resolve_by_hand};
use crate::locations::Votes;

pub use delete::{CheckDeletion, NewestChange};
pub use discard::Discard;
pub use failing::ListChange;
pub use learnt::Learnt;
pub use newest::Newest;
pub use not_run::{NOTIFIED_AFTER, NotRun};
pub use pack::{BlockPlace, ClosedBlock, Keeping, keeps_packed, may_be_packed};
pub use posted::{NoPost, PostsInFlight};
pub use report::{PingEffect, ReportContext, RunReport};
pub use source::CheckSource;

/// The state of one tool on one site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct ToolState {
    /// Increases with every write.
    pub rev: u64,
    /// The site's `cfg`. A run that began under another one is discarded.
    pub cfg: u64,
    /// The trackers of the fingerprints that were ever observed.
    #[serde(rename = "tr", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trackers: BTreeMap<Fingerprint, Tracked>,
    /// The next run outside the schedule: a first run, a retry or a follow-up.
    #[serde(rename = "ti", default, skip_serializing_if = "Option::is_none")]
    pub timer: Option<Timer>,
    /// The pending on-demand check.
    #[serde(rename = "pe", default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<CheckId>,
    /// When the last on-demand check was created, including deleted ones.
    #[serde(rename = "lo", default, skip_serializing_if = "Option::is_none")]
    pub last_on_demand: Option<Timestamp>,
    /// The newest automatic check.
    #[serde(rename = "na", default, skip_serializing_if = "Option::is_none")]
    pub automatic: Option<Latest>,
    /// The newest on-demand check.
    #[serde(rename = "nd", default, skip_serializing_if = "Option::is_none")]
    pub on_demand: Option<Latest>,
    /// The last evaluated check, which is automatic and completed. `previous` is the one before it.
    #[serde(rename = "ev", default, skip_serializing_if = "Option::is_none")]
    pub evaluated: Option<CheckPointer>,
    /// See `evaluated`.
    #[serde(rename = "pv", default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<CheckPointer>,
    /// The slot since which status checks have failed, if the last evaluated one failed and no issue is active. The
    /// team's list of failing sites says the same.
    #[serde(
        rename = "fa",
        default,
        skip_serializing_if = "Option::is_none",
        with = "millisecond::optional"
    )]
    pub failing_since: Option<Timestamp>,
    /// Why the last evaluated status check failed, in a few words; `None` if it succeeded, or if an earlier version
    /// evaluated it.
    #[serde(rename = "wy", default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The automatic status checks since the last one that completed, if none of them could run.
    #[serde(rename = "nr", default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<NotRun>,
    /// When monitoring ended while `status:down` was active. The outage ends then, unless a later check fails.
    #[serde(
        rename = "me",
        default,
        skip_serializing_if = "Option::is_none",
        with = "millisecond::optional"
    )]
    pub monitoring_ended_at: Option<Timestamp>,
    /// Which evidence of status checks is stored about `status:down`. Trackers of expectations have their own.
    #[serde(rename = "em", default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceMarks>,
    /// The records that DNS checks have learned.
    #[serde(rename = "le", default, skip_serializing_if = "Option::is_none")]
    pub learnt: Option<Learnt>,
    /// The open day.
    #[serde(rename = "da", default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Day>,
    /// The newest packed checks of the open day. Every write of the state contains them, and a version that cannot read
    /// them sets them aside.
    #[serde(rename = "bl", default, skip_serializing_if = "Option::is_none")]
    pub block: Option<ByteBuf>,
    /// The days before the open one, for status checks.
    #[serde(rename = "re", default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<RecentDays>,
    /// When the certificate expires, according to the newest check that read it.
    #[serde(
        rename = "ex",
        default,
        skip_serializing_if = "Option::is_none",
        with = "second::optional"
    )]
    pub certificate_ends: Option<Timestamp>,
    /// Whether an automatic check found a valid certificate on the site's host.
    #[serde(rename = "vc", default, skip_serializing_if = "std::ops::Not::not")]
    pub had_certificate: bool,
    /// After the clock was set back: the last slot that was used before. New slots up to it may already have a row.
    #[serde(
        rename = "us",
        default,
        with = "millisecond::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub used_until: Option<Timestamp>,
    /// What is known of a job from its pings.
    #[serde(rename = "hb", default, skip_serializing_if = "Option::is_none")]
    pub reports: Option<Box<Reports>>,
    /// The POSTs of status checks that were begun and are not known to have ended.
    #[serde(rename = "po", default, skip_serializing_if = "PostsInFlight::is_empty")]
    pub posts: PostsInFlight,
}

/// A tracker, and the issue record that its fingerprint once got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tracked {
    /// The tracker.
    #[serde(rename = "t")]
    pub tracker: Tracker,
    /// The record to reopen if the problem recurs; `None` while it is active, because then the tracker names it.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueId>,
    /// While failures are below the threshold: the successful check before them, if it is known.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<CheckPointer>,
    /// Which evidence is stored, if expectations decide about the fingerprint.
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceMarks>,
}

/// A day item to write together with the state.
#[derive(Debug, Clone, PartialEq)]
pub enum DayWrite {
    /// The day that was open until now, which has no item yet.
    Close(Day),
    /// A day that was closed before and has changed. `rev` is the new one. The stored item has the one before, or does
    /// not exist if `rev` is 1.
    Amend(Day),
}

/// How a run or an order changes the state.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolChange {
    /// The state to write; `rev` is one above the `rev` that was read.
    pub state: ToolState,
    /// The check.
    pub check: Check,
    /// How it is stored.
    pub keeping: Keeping,
    /// The block to write, if one is closed.
    pub closed_block: Option<ClosedBlock>,
    /// Whether the check already has a row, which is pending.
    pub was_pending: bool,
    /// When the row expires.
    pub expires_at: Timestamp,
    /// The day item to write, if any.
    pub day: Option<DayWrite>,
    /// What happens to issues.
    pub events: Vec<IssueEvent>,
    /// The evidence to write.
    pub evidence: Vec<EvidenceWrite>,
    /// How the site's place in the list of failing sites changes, if it does.
    pub failing: Option<ListChange>,
    /// How its place in the list of sites that can't be checked changes, if it does.
    pub unchecked: Option<ListChange>,
    /// The newest check, if the directory has to change.
    pub newest: Option<Newest>,
    /// Whether this is the first check of the tool to complete, as far as is known.
    pub is_first: bool,
    /// The retry or follow-up to send, if it is a new one.
    pub timer: Option<Timer>,
}

impl ToolState {
    /// The state of a tool that has not run yet.
    pub fn new() -> Self {
        Self { rev: 1, cfg: 1, ..Self::default() }
    }

    /// The state of a new site's tool, whose first run does not wait for the schedule.
    pub fn of_new_site(created_at: Timestamp) -> Self {
        Self { timer: Some(Timer { reason: RunReason::Scheduled, due: created_at }), ..Self::new() }
    }

    /// The newest check, automatic or on-demand.
    pub fn latest(&self) -> Option<Latest> {
        [self.automatic, self.on_demand].into_iter().flatten().max_by_key(Latest::id)
    }

    /// The newest check with a result, automatic or on-demand, as far as it is known.
    pub fn latest_completed(&self) -> Option<Latest> {
        let evaluated = self.evaluated.map(Latest::completed);
        let known = [self.automatic, self.on_demand, evaluated].into_iter().flatten();
        known.filter(|known| known.status == CheckStatus::Completed).max_by_key(Latest::id)
    }

    /// Whether the run that a message asks for is still wanted.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub fn wants(&self, check: CheckId, now: Timestamp) -> Result<(), Discard> {
        let slot = check.created_at();
        match check.trigger() {
            Trigger::OnDemand if self.asks_for(check) => Ok(()),
            Trigger::OnDemand => Err(Discard::NotPending),
            Trigger::Automatic(_) if self.last_slot(now).is_some_and(|last| slot <= last) => {
                Err(Discard::Stale)
            }
            Trigger::Automatic(_) if is_ahead(slot, now) => Err(Discard::Early),
            Trigger::Automatic(RunReason::Scheduled) => Ok(()),
            Trigger::Automatic(_) if self.asks_for(check) => Ok(()),
            Trigger::Automatic(_) => Err(Discard::TimerGone),
        }
    }

    /// Whether the state itself asks for a run, so that redelivery sends its message again.
    pub fn asks_for(&self, check: CheckId) -> bool {
        match check.trigger() {
            Trigger::OnDemand => self.pending == Some(check),
            Trigger::Automatic(reason) => {
                self.timer == Some(Timer { reason, due: check.created_at() })
            }
        }
    }

    /// The slot of the last automatic run. A slot in the future is from before the clock was set back, and must not
    /// hold anything up.
    fn last_slot(&self, now: Timestamp) -> Option<Timestamp> {
        let last = self.automatic.map(|latest| latest.id().created_at());
        last.filter(|last| !is_ahead(*last, now))
    }

    /// Whether a run's slot may have been used before the clock was set back. If so, its row must be looked up before
    /// anything is probed.
    pub fn may_be_used(&self, check: CheckId) -> bool {
        check.is_automatic() && self.used_until.is_some_and(|used| check.created_at() <= used)
    }

    /// Forgets everything in the future after the clock was set back, because it would hold up what is due now. The
    /// rows stay: [`ToolState::used_until`] says up to when there may be some.
    fn forget_future(&mut self, now: Timestamp) {
        let trackers = self.trackers.values().filter_map(|tracked| tracked.tracker.last_slot);
        let slots =
            self.automatic.map(|latest| latest.id().created_at()).into_iter().chain(trackers);
        let Some(last) = slots.filter(|slot| is_ahead(*slot, now)).max() else { return };
        self.used_until = self.used_until.max(Some(last));
        for tracked in self.trackers.values_mut() {
            tracked.tracker = tracked.tracker.without_future(now);
        }
        self.timer = None;
        self.last_on_demand = self.last_on_demand.filter(|at| !is_ahead(*at, now));
        let pending = self.pending;
        self.on_demand = self.on_demand.filter(|newest| {
            !is_ahead(newest.id().created_at(), now) || pending == Some(newest.id())
        });
    }

    /// Applies a run that has ended: counts it, and lets the trackers observe its evaluations.
    ///
    /// `evaluations` come from [`Run::evaluate`], `votes` is what other locations say about a suspected outage
    /// ([`ToolState::suspects`]), and `closed` is the item of [`ToolState::closed_day`], if there is one.
    ///
    /// # Errors
    ///
    /// Why the run does not count.
    pub fn apply_run(
        &self,
        run: &Run,
        finish: &Finish,
        evaluations: Vec<Evaluation>,
        votes: &Votes,
        closed: Option<&Day>,
        now: Timestamp,
    ) -> Result<ToolChange, Discard> {
        self.wants(run.check, now)?;
        if self.cfg != run.site.cfg {
            return Err(Discard::Superseded);
        }

        let (created_at, trigger) = (run.check.created_at(), run.check.trigger());
        let maintenance_until = run.maintenance_until(now);
        let in_maintenance = maintenance_until.is_some();
        let has_failed = matches!(finish, Finish::Completed(_)).then(|| any_down(&evaluations));
        let check =
            Check { in_maintenance, has_failed, ..Check::finished(run.check, finish.clone(), now) };
        let evaluations = self.needed(run, evaluations);
        let latest = Latest::row(run.check, check.status);
        let mut next = self.clone();
        next.rev += 1;
        next.posts.end(run.check);
        let kind = Kind { trigger, status: check.status };
        let sample = finish.sample(&run.site.expectations).filter(|_| trigger.is_automatic());
        let counted = next.count(closed, run.check, run.retention_days(), |day| {
            if !trigger.is_automatic() {
                day.counters.remove(Kind { trigger, status: CheckStatus::Pending }, created_at);
            }
            day.counters.add(kind, created_at);
            if let Some(sample) = sample {
                day.add_sample(sample, created_at);
                if in_maintenance {
                    day.add_maintenance_sample(sample);
                }
            }
        });

        if let Finish::Completed(ToolResult::Ssl(result)) = finish {
            next.certificate_ends = result.ends_at();
        }
        let mut events = Vec::new();
        let mut timer = None;
        match trigger {
            Trigger::OnDemand => {
                next.pending = None;
                if next.on_demand.is_some_and(|newest| newest.id() == run.check) {
                    next.on_demand = Some(latest);
                }
            }
            Trigger::Automatic(_) => {
                next.forget_future(now);
                next.used_until = next.used_until.filter(|used| created_at <= *used);
                next.automatic = Some(latest);
                next.note_not_run(run, finish);
                match maintenance_until {
                    Some(end) => next.wait_for_end(run, &evaluations, end, now),
                    None => events = next.judge(run, finish, evaluations, votes, now),
                }
                timer = next.timer.filter(|_| next.timer != self.timer);
            }
        }
        Ok(ToolChange {
            newest: next.newest().filter(|newest| Some(*newest) != self.newest()),
            is_first: self.latest_completed().is_none() && next.latest_completed().is_some(),
            failing: next.failing_change(self),
            unchecked: next.unchecked_change(self),
            state: next,
            check,
            keeping: Keeping::Row,
            closed_block: counted.closed_block,
            was_pending: !trigger.is_automatic(),
            expires_at: counted.expires_at,
            day: counted.day,
            events,
            evidence: Vec::new(),
            timer,
        })
    }

    /// Queues an on-demand check: it becomes pending, counted and newest.
    ///
    /// The caller has made sure that none is pending. `closed` is the item of [`ToolState::closed_day`], if there is
    /// one.
    pub fn enqueue(
        &self,
        closed: Option<&Day>,
        check: CheckId,
        now: Timestamp,
        retention_days: u32,
    ) -> ToolChange {
        let created_at = check.created_at();
        let mut next = self.clone();
        next.rev += 1;
        next.pending = Some(check);
        next.last_on_demand = Some(created_at);
        next.on_demand = Some(Latest::row(check, CheckStatus::Pending));
        let kind = Kind { trigger: Trigger::OnDemand, status: CheckStatus::Pending };
        let counted = next.count(closed, check, retention_days, |day| {
            day.counters.add(kind, created_at);
        });
        ToolChange {
            newest: next.newest().filter(|newest| Some(*newest) != self.newest()),
            is_first: false,
            state: next,
            check: Check::pending(check, now),
            keeping: Keeping::Row,
            closed_block: counted.closed_block,
            was_pending: false,
            expires_at: counted.expires_at,
            day: counted.day,
            events: Vec::new(),
            evidence: Vec::new(),
            failing: None,
            unchecked: None,
            timer: None,
        }
    }

    /// The check with which a fingerprint was last judged, and the check that it was compared with.
    pub fn compared(&self, fingerprint: Fingerprint) -> [Option<CheckPointer>; 2] {
        [self.evaluated, self.baseline(fingerprint).or(self.previous)]
    }

    /// The check that the next one is compared with.
    fn to_compare(&self, fingerprint: Fingerprint) -> Option<CheckPointer> {
        self.baseline(fingerprint).or(self.evaluated)
    }

    /// Records are compared with the learned ones, and everything else with the check before.
    fn baseline(&self, fingerprint: Fingerprint) -> Option<CheckPointer> {
        let learnt = self.learnt.as_ref().map(|learnt| CheckPointer::row(learnt.check));
        learnt.filter(|_| fingerprint == Fingerprint::DnsRecordsChanged)
    }

    /// The state after a person resolved an issue: its tracker starts again, and nothing is outstanding for it. If the
    /// site's newest status check failed, the site is failing from then on. If records had changed, they are accepted
    /// as they are now. For `status:partial`, the failures that it stands for also start again; otherwise the next
    /// failure would reopen it.
    pub fn resolved_by_hand(&self, fingerprint: Fingerprint, now: Timestamp) -> Self {
        let mut next = self.clone();
        next.rev += 1;
        if let Some(outage) = self.outage().filter(|_| fingerprint == Fingerprint::StatusDown) {
            next.count_outage(outage.or_ended(Some(now)));
            next.monitoring_ended_at = None;
        }
        if let Some(tracked) = next.trackers.get_mut(&fingerprint) {
            let before = tracked.tracker;
            tracked.issue = before.issue().or(tracked.issue);
            (tracked.tracker, tracked.last_good) = (resolve_by_hand(&before), None);
            next.note_failing_after_resolution(fingerprint, &before);
        }
        if fingerprint == Fingerprint::StatusPartial
            && let Some(down) = next.trackers.get_mut(&Fingerprint::StatusDown)
        {
            down.tracker = resolve_by_hand(&down.tracker);
        }
        if fingerprint == Fingerprint::DnsRecordsChanged {
            next.accept_records();
        }
        // The timer of a heartbeat is its deadline.
        if fingerprint.tool() != Tool::Heartbeat
            && !next.is_down()
            && !next.is_failing_below_threshold()
        {
            next.timer = None;
        }
        next
    }

    /// Whether a retry is due. Unmet expectations are not retried: the site answers.
    fn is_failing_below_threshold(&self) -> bool {
        self.trackers.iter().any(|(fingerprint, tracked)| {
            !fingerprint.is_of_expectations() && tracked.tracker.is_failing_below_threshold()
        })
    }

    /// Whether `status:down` is active; no other issue is followed up.
    fn is_down(&self) -> bool {
        self.has_active(Fingerprint::StatusDown)
    }

    fn has_active(&self, fingerprint: Fingerprint) -> bool {
        self.trackers.get(&fingerprint).is_some_and(|tracked| tracked.tracker.issue().is_some())
    }

    /// The state after the site's URL or monitoring changed. Runs that began before are discarded. Trackers and issues
    /// stay; the next check decides about them.
    #[must_use]
    pub fn under(&self, cfg: u64) -> Self {
        Self { rev: self.rev + 1, cfg, ..self.clone() }
    }

    /// The state after the tool was disabled: no retry or follow-up is outstanding.
    pub fn without_timer(&self) -> Self {
        Self { rev: self.rev + 1, timer: None, ..self.clone() }
    }

    /// The state after monitoring ended: without a timer, and an outage ends.
    #[must_use]
    pub fn unmonitored(&self, now: Timestamp) -> Self {
        let ended_at = self.monitoring_ended_at.or(self.is_down().then_some(now));
        Self { monitoring_ended_at: ended_at, ..self.without_timer() }
    }
}

#[cfg(test)]
mod tests;
