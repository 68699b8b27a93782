//! How the pings of a job, and deadlines that pass without one, change the state of a heartbeat's tool.
//!
//! Other than a run, a ping is never discarded: whoever has sent it was told that it arrived. So each function here
//! decides by the state as it is, and is called again if the state has changed before the decision was saved.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};

use super::observing::Observed;
use super::{Keeping, ToolChange, ToolState};
use crate::accounts::team::Team;
use crate::checks::check::HeartbeatResult;
use crate::checks::check::{Check, Finish, ToolResult};
use crate::checks::history::{Day, Kind};
use crate::checks::pointer::{CheckPointer, Latest};
use crate::checks::schedule::TimeScale;
use crate::checks::timer::Timer;
use crate::checks::tool::{CheckStatus, RunReason, Tool};
use crate::clock::Pause;
use crate::heartbeats::heartbeat::Heartbeat;
use crate::heartbeats::ping::Ping;
use crate::heartbeats::reports::{Awaited, Deadline, Received, Reports, TooOften};
use crate::id::CheckId;
use crate::issues::Outcome;
use crate::issues::evaluate::heartbeat::heartbeat as evaluate;
use crate::issues::evaluate::{Evaluation, any_down};
use crate::issues::tracker::TrackerPolicy;
use crate::locations::Votes;

/// What decides about a report.
#[derive(Debug, Clone, Copy)]
pub struct ReportContext<'a> {
    /// The heartbeat.
    pub heartbeat: &'a Heartbeat,
    /// Its team.
    pub team: &'a Team,
    /// The length of a monitoring minute.
    pub time_scale: TimeScale,
    /// Now.
    pub now: Timestamp,
    /// How many attempts have failed.
    pub attempts: u32,
}

/// A check of a heartbeat: a run has ended, or none was reported.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    /// The check.
    pub check: CheckId,
    reports: Box<Reports>,
    result: HeartbeatResult,
}

/// What a ping or a deadline does.
#[derive(Debug, Clone, PartialEq)]
pub enum PingEffect {
    /// Nothing.
    Nothing,
    /// Only the state changes.
    Noted(Box<ToolState>),
    /// There is a check to save.
    Reported(RunReport),
}

impl ToolState {
    /// What is known of the job.
    pub fn reports(&self) -> &Reports {
        static NOTHING: LazyLock<Reports> = LazyLock::new(Reports::default);
        self.reports.as_deref().unwrap_or(&NOTHING)
    }

    /// What a ping does.
    ///
    /// # Errors
    ///
    /// When there are too many pings.
    pub fn receive(
        &self,
        context: &ReportContext<'_>,
        ping: &Ping,
    ) -> Result<PingEffect, TooOften> {
        Ok(match self.reports().receive(context.heartbeat, ping)? {
            Received::Known => PingEffect::Nothing,
            Received::Noted(reports) => PingEffect::Noted(Box::new(self.noted(context, reports))),
            Received::Checked(reports, result) => {
                PingEffect::Reported(self.report(context, reports, result, ping.at))
            }
        })
    }

    /// What happens at the deadline of a heartbeat. `pauses` are the times in which Vedette did not listen, which are
    /// known up to `until`: a later deadline waits.
    pub fn pass_deadline(
        &self,
        context: &ReportContext<'_>,
        until: Timestamp,
        pauses: &[Pause],
    ) -> PingEffect {
        let ReportContext { heartbeat, time_scale, now, .. } = *context;
        let known = self.reports();
        let reports = known.without_future(now);
        let unchanged = || match self.noted(context, reports.clone()) {
            next if next.timer == self.timer && reports == *known => PingEffect::Nothing,
            next => PingEffect::Noted(Box::new(next)),
        };
        let Some(deadline) = reports.deadline(heartbeat, time_scale, now) else {
            return unchanged();
        };
        if deadline.at > now.min(until) {
            return unchanged();
        }
        let mut pauses = pauses.to_vec();
        pauses.extend(maintenance(context, deadline));
        if let Some(excused) = reports.excused(heartbeat, deadline, &pauses, time_scale) {
            return PingEffect::Noted(Box::new(self.noted(context, excused)));
        }
        let (next, result) = reports.missed(heartbeat, deadline);
        PingEffect::Reported(self.report(context, next, result, deadline.at))
    }

    /// The state after the heartbeat was changed.
    #[must_use]
    pub fn rescheduled(&self, context: &ReportContext<'_>, reports: Reports) -> Self {
        let mut next = self.under(context.heartbeat.cfg);
        next.timer = next_timer(None, &reports, context);
        next.reports = Some(Box::new(reports));
        next
    }

    /// The state with other reports, which change nothing else but the timer.
    fn noted(&self, context: &ReportContext<'_>, reports: Reports) -> Self {
        let mut next = self.clone();
        next.rev += 1;
        next.timer = next_timer(self.timer, &reports, context);
        next.reports = Some(Box::new(reports));
        next
    }

    /// A check that happened at an instant. Its slot is after all that are known. A row from before the clock was set back
    /// may have the same slot, so each attempt to save it uses another one.
    fn report(
        &self,
        context: &ReportContext<'_>,
        reports: Reports,
        result: HeartbeatResult,
        at: Timestamp,
    ) -> RunReport {
        let after = self
            .last_slot(context.now)
            .and_then(|last| last.checked_add(SignedDuration::from_millis(1)).ok());
        let slot = after.map_or(at, |after| at.max(after));
        let step = SignedDuration::from_millis(context.attempts.into());
        let slot = slot.checked_add(step).unwrap_or(slot);
        let check =
            CheckId::automatic(context.heartbeat.id, Tool::Heartbeat, RunReason::Scheduled, slot);
        RunReport { check, reports: Box::new(reports), result }
    }

    /// Applies a report: counts it, and lets the trackers observe it. `closed` is the item of
    /// [`ToolState::closed_day`], if there is one.
    pub fn apply_report(
        &self,
        context: &ReportContext<'_>,
        RunReport { check, reports, result }: RunReport,
        closed: Option<&Day>,
    ) -> (ToolChange, Finish) {
        let ReportContext { heartbeat, team, now, .. } = *context;
        let slot = check.created_at();
        let in_maintenance =
            team.windows.until(heartbeat.id, &heartbeat.tags, slot, slot).is_some();
        let evaluations = evaluate(&result, &team.zone);
        let finish = Finish::Completed(ToolResult::Heartbeat(Box::new(result)));
        let has_failed = Some(any_down(&evaluations));
        let finished =
            Check { in_maintenance, has_failed, ..Check::finished(check, finish.clone(), now) };
        let mut next = self.clone();
        next.rev += 1;
        let kind = Kind { trigger: check.trigger(), status: CheckStatus::Completed };
        let sample = finish.sample(&crate::expectations::Expectations::default());
        let retention_days = team.plan.limits().history_retention_days;
        let counted = next.count(closed, check, retention_days, |day| {
            day.counters.add(kind, slot);
            let Some(sample) = sample else {
                day.sums.unjudged = day.sums.unjudged.saturating_add(1);
                return;
            };
            day.add_sample(sample, slot);
            if in_maintenance {
                day.add_maintenance_sample(sample);
            }
        });
        next.forget_future(now);
        next.automatic = Some(Latest::row(check, CheckStatus::Completed));
        // A job that recovers in a maintenance window has recovered; its next report may come only in a month.
        let is_observed = |of: &Evaluation| !in_maintenance || of.outcome == Outcome::Up;
        let evaluations: Vec<_> = evaluations.into_iter().filter(is_observed).collect();
        let observed = Observed { check, monitor: heartbeat.id, chosen_severity: None };
        let none = &Votes::NoLocation;
        let events = evaluations
            .iter()
            .filter_map(|evaluation| {
                let (of, observation) = (evaluation.clone(), evaluation.outcome.into());
                next.observe_one(observed, &TrackerPolicy::AT_ONCE, of, observation, none, now)
            })
            .collect();
        if !evaluations.is_empty() {
            next.previous = next.evaluated.replace(CheckPointer::row(check));
        }
        next.timer = next_timer(self.timer, &reports, context);
        next.reports = Some(reports);
        let timer = next.timer.filter(|_| next.timer != self.timer);
        let change = ToolChange {
            state: next,
            check: finished,
            keeping: Keeping::Row,
            closed_block: counted.closed_block,
            was_pending: false,
            expires_at: counted.expires_at,
            day: counted.day,
            events,
            evidence: Vec::new(),
            failing: None,
            unchecked: None,
            newest: None,
            is_first: false,
            timer,
        };
        (change, finish)
    }
}

/// The timer for the next deadline. An earlier timer that has not passed stays: it finds out by itself that a ping has
/// come, so that most pings need not move it in the work index.
fn next_timer(
    outstanding: Option<Timer>,
    reports: &Reports,
    context: &ReportContext<'_>,
) -> Option<Timer> {
    let ReportContext { heartbeat, time_scale, now, .. } = *context;
    let due = reports.deadline(heartbeat, time_scale, now)?.at;
    let kept = outstanding.filter(|timer| timer.due > now && timer.due <= due);
    Some(kept.unwrap_or(Timer { reason: RunReason::Scheduled, due }))
}

/// The maintenance in which the heartbeat was while something was awaited.
fn maintenance(context: &ReportContext<'_>, deadline: Deadline) -> Option<Pause> {
    let ReportContext { heartbeat, team, .. } = *context;
    let (Awaited::Ping(from) | Awaited::End(from)) = deadline.awaited;
    // A team without an active plan is not notified of anything.
    let to = match team.plan_active {
        true => team.windows.until(heartbeat.id, &heartbeat.tags, from, deadline.at)?,
        false => context.now,
    };
    Some(Pause { from, to })
}

#[cfg(test)]
mod tests;
