//! Holds email back while all of it is refused. One email at a time tries whether that is over. The others wait, and
//! the log reports it once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tracing::{error, info, warn};
use vedette_runtime::Health;
use vedette_runtime::health::ServiceProblem;

use super::{SendOutcome, SendReason};

/// Waits after each failure in a row.
const WAITS: [Duration; 5] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(5),
    Duration::from_mins(15),
];

/// The first wait after a refusal, as an index into `WAITS`. Somebody has to fix something, and servers ban clients
/// that keep trying wrong credentials.
const FIRST_AFTER_REFUSAL: usize = 3;

/// How long the others wait for the email that is being tried: longer than sending an email may take.
const TRIAL: SignedDuration = SignedDuration::from_secs(35);

/// A hold ends by itself after the longest wait, even if the clock changes.
const LONGEST: SignedDuration = SignedDuration::from_mins(15);

/// Why an email was not sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The reason is this email or its recipient.
    Mail(SendOutcome),
    /// The reason is the sender.
    Sender(SenderFailure),
}

/// A failure that says nothing about the recipient.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SenderFailure {
    /// A text for people.
    pub(super) why: String,
    /// Whether the server refused; otherwise, it did not answer or asked to try later.
    pub(super) is_refused: bool,
    /// Whether every email would fail in the same way.
    pub(super) is_of_all: bool,
    /// When to try again, if the server says so.
    pub(super) after: Option<Duration>,
}

impl SenderFailure {
    /// Every email fails until somebody fixes something.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_refused: true, is_of_all: true, after: None }
    }

    /// Every email fails for the moment.
    pub(super) fn unavailable(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_refused: false, is_of_all: true, after: None }
    }
}

impl From<SenderFailure> for Failure {
    fn from(failure: SenderFailure) -> Self {
        Self::Sender(failure)
    }
}

/// The hold, if email is held back.
#[derive(Debug, Default)]
pub(super) struct Hold {
    state: Mutex<State>,
    health: Health,
    /// Counts the ends of holds, and the first email of this process: an earlier one may have held email back.
    recoveries: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// Increases with every failure that counts.
    failures: u64,
    held: Option<Held>,
    /// Whether the server has accepted an email.
    has_accepted: bool,
}

#[derive(Debug)]
struct Held {
    why: String,
    /// Whether the server refused.
    is_refused: bool,
    /// Until when nothing is sent; `None` if other email may pass.
    until: Option<Timestamp>,
    /// The next wait, as an index into `WAITS`.
    step: usize,
    is_reported: bool,
}

/// Lets one email pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Admission {
    /// The failures that came before it.
    failures: u64,
    reason: SendReason,
}

/// What to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    Nothing,
    Warning,
    Error,
}

impl Hold {
    /// Reports to `health` from now on.
    pub(super) fn report_to(&mut self, health: Health) {
        self.health = health;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Receives a number that changes when everything that was held back can be sent.
    pub(super) fn recoveries(&self) -> watch::Receiver<u64> {
        self.recoveries.subscribe()
    }

    /// Lets an email pass. One that a person has asked for tries whether the problem is over, whatever the hold.
    ///
    /// # Errors
    ///
    /// While email is held back: until when, and why.
    pub(super) fn admit(
        &self,
        reason: SendReason,
        now: Timestamp,
    ) -> Result<Admission, SendOutcome> {
        let mut state = self.lock();
        let admission = Admission { failures: state.failures, reason };
        let Some(held) = &mut state.held else { return Ok(admission) };
        let Some(until) = held.until.filter(|_| reason == SendReason::Due) else {
            return Ok(admission);
        };
        match remaining(until, now) {
            Some(after) => {
                Err(SendOutcome::Held { after, was_tried: false, why: held.why.clone() })
            }
            None => {
                held.until = Some(now.saturating_add(TRIAL).unwrap_or(now));
                Ok(admission)
            }
        }
    }

    /// Takes the outcome of an email that was let through, and decides whether to hold back the next ones.
    pub(super) fn settle(
        &self,
        admission: Admission,
        sent: Result<(), Failure>,
        now: Timestamp,
    ) -> SendOutcome {
        match sent {
            Ok(()) => {
                self.accepted(|_| true);
                SendOutcome::DELIVERED
            }
            Err(Failure::Mail(outcome)) => {
                // The server accepted everything up to this email.
                self.accepted(|held| held.until.is_some());
                outcome
            }
            Err(Failure::Sender(failure)) => {
                let (report, outcome) = self.begin(admission, &failure, now);
                let SenderFailure { why, is_of_all, .. } = failure;
                match report {
                    Report::Nothing => {}
                    Report::Warning => warn!(why, "mail waits"),
                    Report::Error if is_of_all => {
                        self.health.report(ServiceProblem::MailHeld { why }, now);
                    }
                    // The reason may name a recipient, which only the operator may see.
                    Report::Error => error!(why, "the mail server refuses the sender"),
                }
                outcome
            }
        }
    }

    /// Notes that the server accepts email, which ends some holds.
    fn accepted(&self, ends: impl Fn(&Held) -> bool) {
        let mut state = self.lock();
        let is_first = !std::mem::replace(&mut state.has_accepted, true);
        let is_over = state.held.take_if(|held| ends(held)).is_some();
        drop(state);
        if is_over {
            info!("mail can be sent again");
            self.health.report_over(|problem| matches!(problem, ServiceProblem::MailHeld { .. }));
        }
        if is_over || is_first {
            self.recoveries.send_modify(|count| *count += 1);
        }
    }

    fn begin(
        &self,
        Admission { failures: seen, reason }: Admission,
        failure: &SenderFailure,
        now: Timestamp,
    ) -> (Report, SendOutcome) {
        let mut state = self.lock();
        let held = |after| SendOutcome::Held { after, was_tried: true, why: failure.why.clone() };
        let is_no_trial = seen != state.failures || reason == SendReason::Requested;
        let is_worse = |held: &Held| failure.is_of_all && failure.is_refused && !held.is_refused;
        if is_no_trial
            && let Some(known) = state.held.as_ref().filter(|held| !is_worse(held))
            && let Some(after) = known.until.and_then(|until| remaining(until, now))
        {
            // It was sent at the same time as another email, which failed first, or a person has tried whether the
            // problem is over. This is the same failure, and does not prolong the hold.
            return (Report::Nothing, held(after));
        }
        let first = if failure.is_refused { FIRST_AFTER_REFUSAL } else { 0 };
        let before = state.held.take();
        let step = before.as_ref().map_or(0, |held| held.step).max(first);
        let after = failure.after.unwrap_or(WAITS[step]);
        let reported = before.as_ref().filter(|held| held.is_reported);
        let was_reported = reported.is_some();
        let is_known = reported.is_some_and(|held| !failure.is_of_all || held.why == failure.why);
        let is_lasting = failure.is_refused || step >= FIRST_AFTER_REFUSAL;
        let until = now.saturating_add(after).unwrap_or(now);
        state.failures += 1;
        state.held = Some(Held {
            why: failure.why.clone(),
            is_refused: failure.is_refused,
            until: failure.is_of_all.then_some(until),
            step: (step + 1).min(WAITS.len() - 1),
            is_reported: was_reported || is_lasting,
        });
        let report = match (is_known, is_lasting, before) {
            (false, true, _) => Report::Error,
            (false, false, None) => Report::Warning,
            _ => Report::Nothing,
        };
        (report, held(after))
    }
}

/// What is left of a wait; `None` when it is over.
fn remaining(until: Timestamp, now: Timestamp) -> Option<Duration> {
    let left = until.duration_since(now);
    (left.is_positive() && left <= LONGEST).then(|| left.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    /// Makes an email fail. Returns what is logged, and how long the email waits.
    fn fail(hold: &Hold, failure: &SenderFailure, second: i64) -> (Report, u64) {
        let admission = hold.admit(SendReason::Due, at(second)).expect("let pass");
        let (report, outcome) = hold.begin(admission, failure, at(second));
        let SendOutcome::Held { after, why, was_tried: true } = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(why, failure.why);
        (report, after.as_secs())
    }

    fn waits(hold: &Hold, second: i64) -> Option<u64> {
        match hold.admit(SendReason::Due, at(second)) {
            Ok(_) => None,
            Err(SendOutcome::Held { after, .. }) => Some(after.as_secs()),
            Err(outcome) => panic!("{outcome:?}"),
        }
    }

    #[test]
    fn a_refusal_holds_all_mail_and_is_reported_once() {
        let (hold, refused) = (Hold::default(), SenderFailure::refused("no"));
        assert_eq!(fail(&hold, &refused, 0), (Report::Error, 300));
        assert_eq!(waits(&hold, 1), Some(299));
        assert_eq!(fail(&hold, &refused, 300), (Report::Nothing, 900));
        assert_eq!(fail(&hold, &refused, 1_200), (Report::Nothing, 900));
        let admission = hold.admit(SendReason::Due, at(2_100)).expect("let pass");
        assert_eq!(waits(&hold, 2_110), Some(25), "one mail finds out");
        assert_eq!(hold.settle(admission, Ok(()), at(2_111)), SendOutcome::DELIVERED);
        assert_eq!(waits(&hold, 2_112), None);
        assert_eq!(fail(&hold, &refused, 2_113), (Report::Error, 300), "another one");
    }

    #[test]
    fn a_person_can_try_at_any_time_whether_a_hold_is_over() {
        let (hold, refused) = (Hold::default(), SenderFailure::refused("no"));
        let recoveries = hold.recoveries();
        assert_eq!(fail(&hold, &refused, 0), (Report::Error, 300));
        let requested = |second| hold.admit(SendReason::Requested, at(second)).expect("let pass");
        let failed = hold.settle(requested(10), Err(SenderFailure::refused("no").into()), at(11));
        let (after, was_tried, why) = (Duration::from_secs(289), true, "no".to_owned());
        assert_eq!(failed, SendOutcome::Held { after, was_tried, why }, "it is not prolonged");
        assert_eq!((waits(&hold, 12), *recoveries.borrow()), (Some(288), 0));
        assert_eq!(hold.settle(requested(20), Ok(()), at(21)), SendOutcome::DELIVERED);
        assert_eq!((waits(&hold, 22), *recoveries.borrow()), (None, 1));
    }

    #[test]
    fn a_worse_result_of_a_manual_try_is_a_new_failure() {
        let (mut hold, health) = (Hold::default(), Health::default());
        hold.report_to(health.clone());
        let settle = |reason, failure: SenderFailure, second| {
            let admission = hold.admit(reason, at(second)).expect("let pass");
            hold.settle(admission, Err(failure.into()), at(second));
        };
        let away = || SenderFailure::unavailable("away");
        for second in [0, 5, 35, 155] {
            settle(SendReason::Due, away(), second);
        }
        assert_eq!(waits(&hold, 156), Some(299));
        settle(SendReason::Requested, SenderFailure::unavailable("away, too"), 160);
        let reported = || health.ongoing().into_iter().map(|it| it.problem).collect::<Vec<_>>();
        assert_eq!(reported(), [ServiceProblem::MailHeld { why: "away".to_owned() }]);
        let relay = SenderFailure { is_of_all: false, ..SenderFailure::refused("no relay") };
        settle(SendReason::Requested, relay, 165);
        assert_eq!(waits(&hold, 166), Some(289));
        settle(SendReason::Requested, SenderFailure::refused("no"), 170);
        assert_eq!(waits(&hold, 171), Some(899));
        assert_eq!(reported(), [ServiceProblem::MailHeld { why: "no".to_owned() }]);
        settle(SendReason::Requested, SenderFailure::refused("no"), 180);
        assert_eq!(waits(&hold, 181), Some(889), "the same");
    }

    #[test]
    fn the_first_email_of_a_process_ends_the_holds_of_earlier_ones() {
        let hold = Hold::default();
        let recoveries = hold.recoveries();
        for (second, count) in [(0, 1), (1, 1)] {
            let admission = hold.admit(SendReason::Due, at(second)).expect("let pass");
            hold.settle(admission, Ok(()), at(second));
            assert_eq!(*recoveries.borrow(), count);
        }
    }

    #[test]
    fn a_server_that_is_away_is_a_warning_first() {
        let (hold, away) = (Hold::default(), SenderFailure::unavailable("away"));
        assert_eq!(fail(&hold, &away, 0), (Report::Warning, 5));
        assert_eq!(fail(&hold, &away, 5), (Report::Nothing, 30));
        assert_eq!(fail(&hold, &away, 35), (Report::Nothing, 120));
        assert_eq!(fail(&hold, &away, 155), (Report::Error, 300));
        assert_eq!(fail(&hold, &away, 455), (Report::Nothing, 900));
        let asked = SenderFailure { after: Some(Duration::from_mins(10)), ..away };
        assert_eq!(fail(&hold, &asked, 1_355), (Report::Nothing, 600));
    }

    #[test]
    fn mails_that_fail_together_are_one_failure() {
        let (hold, away) = (Hold::default(), SenderFailure::unavailable("away"));
        let admissions =
            [0; 20].map(|second| hold.admit(SendReason::Due, at(second)).expect("let pass"));
        let reports = admissions.map(|admission| hold.begin(admission, &away, at(1)).0);
        assert_eq!(reports.iter().filter(|report| **report == Report::Warning).count(), 1);
        assert_eq!(waits(&hold, 2), Some(4));
    }

    #[test]
    fn a_failure_of_one_recipient_holds_no_other_mail() {
        let hold = Hold::default();
        let relay = SenderFailure { is_of_all: false, ..SenderFailure::refused("no relay") };
        assert_eq!(fail(&hold, &relay, 0), (Report::Error, 300));
        assert_eq!(waits(&hold, 1), None);
        assert_eq!(fail(&hold, &relay, 2), (Report::Nothing, 900));
    }

    #[test]
    fn a_clock_that_is_set_back_prolongs_no_hold() {
        let hold = Hold::default();
        fail(&hold, &SenderFailure::refused("no"), 100_000);
        assert_eq!(waits(&hold, 0), None);
    }

    #[test]
    fn a_hold_is_a_problem_of_the_service_until_a_mail_arrives() {
        let (mut hold, health) = (Hold::default(), Health::default());
        hold.report_to(health.clone());
        let settle = |sent, second| {
            let admission = hold.admit(SendReason::Due, at(second)).expect("let pass");
            hold.settle(admission, sent, at(second))
        };
        let relay = SenderFailure { is_of_all: false, ..SenderFailure::refused("no relay") };
        settle(Err(relay.into()), 0);
        assert!(health.is_well(), "other mail arrives");
        settle(Ok(()), 1);
        settle(Err(SenderFailure::refused("no").into()), 2);
        let problems: Vec<_> = health.ongoing().into_iter().map(|it| it.problem).collect();
        assert_eq!(problems, [ServiceProblem::MailHeld { why: "no".to_owned() }]);
        assert_eq!(settle(Ok(()), 302), SendOutcome::DELIVERED);
        assert!(health.is_well());
    }
}
