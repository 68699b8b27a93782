//! What the trackers of a tool observe about a run, and whether other locations are asked first.

use std::num::NonZeroU32;

use jiff::Timestamp;

use super::ToolState;
use crate::checks::check::{Finish, KnownRecords, ToolResult};
use crate::checks::pointer::CheckPointer;
use crate::checks::run::Run;
use crate::checks::timer::Timer;
use crate::id::{CheckId, IssueId, MonitorId};
use crate::issues::confirmation::{self, rule};
use crate::issues::evaluate::{Evaluation, expected};
use crate::issues::record::{IssueChange, IssueEvent};
use crate::issues::tracker::{Event, Observation, Phase, Step, TrackerPolicy, observe};
use crate::issues::{Fingerprint, Outcome, Problem, Severity};
use crate::locations::Votes;

/// What is observed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    pub(super) check: CheckId,
    pub(super) monitor: MonitorId,
    /// The severity of an issue that opens, if it is not that of its fingerprint.
    pub(super) chosen_severity: Option<Severity>,
}

impl Run {
    fn observed(&self, fingerprint: Fingerprint) -> Observed {
        let chosen_severity = self.chosen_severity(fingerprint);
        Observed { check: self.check, monitor: self.site.id, chosen_severity }
    }
}

impl ToolState {
    /// Lets the trackers observe a run that is not in maintenance, learns from it, and sets the timer.
    pub(super) fn judge(
        &mut self,
        run: &Run,
        finish: &Finish,
        evaluations: Vec<Evaluation>,
        votes: &Votes,
        now: Timestamp,
    ) -> Vec<IssueEvent> {
        self.note_failure(finish, &evaluations);
        let events = self.observe(run, evaluations, votes, now);
        match finish {
            Finish::Completed(ToolResult::Dns(result)) => {
                self.learn(run.check, &KnownRecords::found_by(result));
            }
            Finish::Completed(ToolResult::Ssl(result)) => self.had_certificate |= result.is_valid,
            _ => {}
        }
        let wanted = run.policy().next_run(self.is_down(), self.is_failing_below_threshold());
        let slot = run.check.created_at();
        self.timer = Timer::after_run(self.timer, wanted, slot, now, run.time_scale);
        events
    }

    /// Passes the evaluations to their trackers.
    fn observe(
        &mut self,
        run: &Run,
        evaluations: Vec<Evaluation>,
        votes: &Votes,
        now: Timestamp,
    ) -> Vec<IssueEvent> {
        let is_observed = !evaluations.is_empty();
        let mut events = Vec::new();
        for evaluation in evaluations {
            let fingerprint = evaluation.fingerprint;
            let thresholds = run.thresholds_of(fingerprint);
            if fingerprint == Fingerprint::StatusDown {
                events.extend(self.observe_status(run, evaluation, votes, now));
            } else {
                let observation = evaluation.outcome.into();
                let none = &Votes::NoLocation;
                events.extend(self.observe_one(
                    run.observed(fingerprint),
                    &thresholds,
                    evaluation,
                    observation,
                    none,
                    now,
                ));
            }
        }
        if is_observed {
            events.extend(self.end_unexpected(run, now));
            self.previous = self.evaluated.replace(CheckPointer::row(run.check));
        }
        events
    }

    /// Ends what was about expectations that the site no longer has: an active issue resolves with this check, and a
    /// tracker that never had an issue is forgotten.
    fn end_unexpected(&mut self, run: &Run, now: Timestamp) -> Vec<IssueEvent> {
        let given_up = |fingerprint: &Fingerprint| {
            fingerprint.is_of_expectations() && !run.site.expectations.decide(*fingerprint)
        };
        let given_up: Vec<_> = self.trackers.keys().copied().filter(given_up).collect();
        let mut events = Vec::new();
        for fingerprint in given_up {
            if self.has_active(fingerprint) {
                let at_once = TrackerPolicy {
                    resolve_after: NonZeroU32::MIN,
                    ..run.thresholds_of(fingerprint)
                };
                let evaluation = expected::given_up(fingerprint, run.site.url.domain());
                let (observation, none) = (Observation::Up, &Votes::NoLocation);
                let observed = run.observed(fingerprint);
                events.extend(self.observe_one(
                    observed,
                    &at_once,
                    evaluation,
                    observation,
                    none,
                    now,
                ));
            }
            self.trackers.retain(|one, tracked| *one != fingerprint || tracked.issue.is_some());
        }
        events
    }

    /// Passes the evaluation of a status check to the trackers of `status:down` and `status:partial`. At most one of
    /// them is active.
    fn observe_status(
        &mut self,
        run: &Run,
        evaluation: Evaluation,
        votes: &Votes,
        now: Timestamp,
    ) -> Vec<IssueEvent> {
        let (outcome, policy) = (evaluation.outcome, run.policy());
        let [down, partial] = [Fingerprint::StatusDown, Fingerprint::StatusPartial]
            .map(|fingerprint| policy.thresholds_of(fingerprint));
        let was_partial = self.has_active(Fingerprint::StatusPartial);
        let is_suspected = self.suspects(run, &evaluation);
        let observation = if is_suspected {
            let tracked = self.trackers.get(&Fingerprint::StatusDown);
            let tracker = tracked.map(|tracked| tracked.tracker).unwrap_or_default();
            rule(&tracker, &down, was_partial, votes)
        } else {
            outcome.into()
        };
        // One issue replaces the other as soon as the outage is confirmed.
        let is_confirmed = is_suspected && observation == Observation::Down;
        let opens_partial = matches!(observation, Observation::Held { is_partial: true, .. });
        let of_partial = (was_partial || opens_partial).then(|| {
            let outcome = if is_confirmed { Outcome::Up } else { outcome };
            confirmation::partial(&evaluation, outcome, run.site.url.domain(), votes)
        });
        let mut events = Vec::new();
        let ended_at = self.monitoring_ended_at.take();
        let observed = run.observed(Fingerprint::StatusDown);
        let change = self.observe_one(observed, &down, evaluation, observation, votes, now);
        let change = change.map(|change| change.no_later_than(ended_at));
        self.count_downtime(change.as_ref());
        events.extend(change);
        if outcome == Outcome::Up && self.is_down() {
            self.monitoring_ended_at = ended_at;
        }
        if let Some(evaluation) = of_partial {
            let at_once = TrackerPolicy { resolve_after: NonZeroU32::MIN, ..partial };
            let thresholds = if is_confirmed { at_once } else { partial };
            let observation = evaluation.outcome.into();
            let observed = run.observed(Fingerprint::StatusPartial);
            events.extend(self.observe_one(
                observed,
                &thresholds,
                evaluation,
                observation,
                votes,
                now,
            ));
        }
        self.note_failing(outcome, run.check.created_at());
        events
    }

    /// Counts the outage that an event of `status:down` begins or ends.
    fn count_downtime(&mut self, change: Option<&IssueEvent>) {
        match change.map(|change| change.event) {
            Some(Event::Opened { failures, .. }) => self.count_opening(failures.first),
            Some(Event::Resolved { failures, since, .. }) => self.count_outage(Problem {
                opened_at: failures.first,
                began_at: failures.first,
                ended_at: Some(since),
            }),
            None => {}
        }
    }

    /// Passes an evaluation to its tracker.
    pub(super) fn observe_one(
        &mut self,
        Observed { check, monitor, chosen_severity }: Observed,
        thresholds: &TrackerPolicy,
        evaluation: Evaluation,
        observation: Observation,
        votes: &Votes,
        now: Timestamp,
    ) -> Option<IssueEvent> {
        let slot = check.created_at();
        let fingerprint = evaluation.fingerprint;
        let previous = self.to_compare(fingerprint);
        let tracked = self.trackers.entry(fingerprint).or_default();
        let issue = tracked.issue.unwrap_or_else(|| IssueId::new(monitor, fingerprint, slot));
        let Step::Advanced { next, event } =
            observe(&tracked.tracker, thresholds, slot, observation, issue)
        else {
            return None;
        };
        let last_good = match tracked.tracker.phase {
            Phase::Up { .. } => self.evaluated,
            _ => tracked.last_good,
        };
        tracked.tracker = next;
        tracked.last_good = last_good.filter(|_| next.is_failing_below_threshold());
        let event = event?;
        tracked.issue = next.issue().is_none().then(|| event.issue());
        let votes = votes.clone();
        Some(IssueEvent {
            event,
            evaluation,
            check,
            previous,
            last_good,
            chosen_severity,
            now,
            votes,
            address: None,
        })
    }

    /// The change when a person ends an issue. While it was active, the checks that it was last evaluated with, the
    /// number of failed checks, and the end of monitoring came from its tool's state; from now on, the issue stores them
    /// itself.
    #[must_use]
    pub fn keep_observations(&self, mut change: IssueChange) -> IssueChange {
        let fingerprint = change.after.id.fingerprint();
        let [evaluated, previous] = self.compared(fingerprint);
        let after = &mut change.after;
        if after.check != evaluated {
            (after.check, after.previous_check) = (evaluated, previous);
            after.last_evaluated_at = evaluated.map(|check| check.id.created_at());
        }
        let tracked = self.trackers.get(&fingerprint);
        let failures = tracked.and_then(|tracked| tracked.tracker.failures());
        after.seen.failed_checks = failures.map(|failures| failures.streak.get());
        let ended_at = self.monitoring_ended_at;
        if let Some(ended_at) = ended_at.filter(|_| fingerprint == Fingerprint::StatusDown) {
            after.seen = after.seen.clone().last_at(ended_at);
        }
        change
    }

    /// Whether an evaluation of a run would open `status:down`. If so, other locations are asked first.
    pub fn suspects(&self, run: &Run, evaluation: &Evaluation) -> bool {
        if (evaluation.fingerprint, evaluation.outcome) != (Fingerprint::StatusDown, Outcome::Down)
        {
            return false;
        }
        let opens_after = run.policy().thresholds_of(evaluation.fingerprint).open_after.get();
        let failed = match self.trackers.get(&evaluation.fingerprint).map(|of| of.tracker.phase) {
            None | Some(Phase::Pending | Phase::Up { .. }) => 0,
            Some(Phase::Failing { failures, .. }) => failures.streak.get(),
            Some(Phase::Down { .. } | Phase::Recovering { .. }) => return false,
        };
        failed.saturating_add(1) >= opens_after
    }
}
