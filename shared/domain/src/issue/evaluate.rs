//! What a run means: the evaluations of its result, and the timer it leaves behind.
//!
//! A tool has one function here that turns its result into one [`Evaluation`] per fingerprint that
//! it decides; each goes to the tracker of its fingerprint. A fingerprint about which a result says
//! nothing has no evaluation, and its tracker observes nothing.

mod dns;
mod links;
mod performance;
mod ssl;

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::millisecond;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::{Cause, Fingerprint, Outcome};
use crate::check::StatusResult;
use crate::schedule::Pace;
use crate::settings::STATUS_INCIDENT_CODES;
use crate::tool::RunReason;

pub use self::dns::dns;
pub use self::links::links;
pub use self::performance::performance;
pub use self::ssl::ssl;

/// The longest text taken from outside into an evaluation, in characters: an issue's record, which
/// keeps some of them, is to stay small.
const MAX_TEXT: usize = 200;

/// What one result says of one fingerprint.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The condition.
    pub fingerprint: Fingerprint,
    /// Whether it holds, and why.
    pub outcome: Outcome,
    /// For people, one line without a full stop.
    pub summary: String,
    /// What was measured, and the limits it was held against: part of the issue's context.
    pub measured: serde_json::Value,
}

/// Evaluates a status check: down when no answer came, or one of the `incident_codes`.
///
/// This is not `up`: a 404 that is no incident code is down in the uptime report, and yet a
/// success for the issue.
pub fn status(result: &StatusResult, incident_codes: &BTreeSet<u16>) -> Evaluation {
    let answer = if result.code == 0 {
        match result.error.as_deref().map(str::trim) {
            Some(error) if !error.is_empty() => clipped(error),
            Some(_) | None => "no answer".to_owned(),
        }
    } else {
        http_status(result.code)
    };
    let down = result.code == 0 || incident_codes.contains(&result.code);
    let state = if down { "down" } else { "up" };
    Evaluation {
        fingerprint: Fingerprint::StatusDown,
        summary: format!("{} is {state}: {answer}", host(&result.url)),
        measured: json!({
            "code": result.code,
            "up": result.up,
            "error": result.error.as_deref().map(clipped),
            "response_time": result.response_time,
            "effective_url": clipped(&result.effective_url),
            "redirect_count": result.redirect_count,
            "incident_status_codes": incident_codes,
        }),
        outcome: if down { Outcome::Down(Cause(answer)) } else { Outcome::Up },
    }
}

/// `HTTP 503 Service Unavailable`; without the phrase for codes that cannot be incidents.
fn http_status(code: u16) -> String {
    match STATUS_INCIDENT_CODES.iter().find(|option| option.code == code) {
        Some(option) => format!("HTTP {code} {}", option.label),
        None => format!("HTTP {code}"),
    }
}

/// The host of a monitored URL, or all of a text that is none.
fn host(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    clipped(parsed.as_ref().and_then(Url::host_str).unwrap_or(url))
}

/// At most [`MAX_TEXT`] characters, the last being an ellipsis where something was cut off.
fn clipped(text: &str) -> String {
    if text.chars().nth(MAX_TEXT).is_none() {
        return text.to_owned();
    }
    text.chars().take(MAX_TEXT - 1).chain(['…']).collect()
}

/// A run to come outside the schedule. A tool of a site has at most one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Confirmation retry or incident follow-up; `Scheduled` is the first run on a new site.
    pub reason: RunReason,
    /// When it is due, which is also the slot of its run.
    #[serde(with = "millisecond::required")]
    pub due: Timestamp,
}

/// All that decides the timer of a tool after one of its runs was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AfterRun {
    /// Whether an issue of the tool is active; recovering counts as active.
    pub issue_active: bool,
    /// Whether any of the tool's fingerprints fails below its threshold.
    pub failing: bool,
    /// The timer as it stood before the run was saved.
    pub outstanding: Option<Timer>,
    /// The slot of the run, whatever its reason.
    pub slot: Timestamp,
    /// The present instant.
    pub now: Timestamp,
    /// Monitoring minutes to a confirmation retry; none for tools that have no retries.
    pub retry_minutes: Option<u32>,
    /// Monitoring minutes between follow-ups; none for tools that have no follow-ups.
    pub follow_up_minutes: Option<u32>,
    /// How long a monitoring minute lasts.
    pub pace: Pace,
}

/// What becomes of the timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerStep {
    /// There was none and none is needed.
    Idle,
    /// There is a new one, to be sent once it is saved; it replaces any other.
    Set(Timer),
    /// The outstanding one stays as it is: it is of the right kind and still to come.
    Kept(Timer),
    /// The outstanding one is not needed any more.
    Cleared,
}

impl TimerStep {
    /// The timer to save.
    pub const fn timer(self) -> Option<Timer> {
        match self {
            Self::Idle | Self::Cleared => None,
            Self::Set(timer) | Self::Kept(timer) => Some(timer),
        }
    }
}

impl std::fmt::Display for TimerStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Idle => f.write_str("no timer needed"),
            Self::Set(Timer { reason, due }) => write!(f, "{} set for {due}", reason.as_str()),
            Self::Kept(Timer { reason, due }) => write!(f, "{} stays at {due}", reason.as_str()),
            Self::Cleared => f.write_str("timer cleared"),
        }
    }
}

/// Decides the timer of a tool after one of its runs was observed.
///
/// Follow-ups are wanted while an issue is active, otherwise a retry while something fails below
/// its threshold. An outstanding timer of the wanted kind stays as it is, or else scheduled runs
/// that come more often than follow-ups would push those away for ever. It is spent, and set anew,
/// once a run at its instant or later was observed: slots must rise, so its own run could not be
/// counted any more.
pub fn next_timer(run: &AfterRun) -> TimerStep {
    let wanted = match (run.follow_up_minutes, run.retry_minutes) {
        (Some(minutes), _) if run.issue_active => Some((RunReason::IncidentFollowUp, minutes)),
        (_, Some(minutes)) if run.failing => Some((RunReason::ConfirmationRetry, minutes)),
        _ => None,
    };
    match (wanted, run.outstanding) {
        (None, None) => TimerStep::Idle,
        (None, Some(_)) => TimerStep::Cleared,
        (Some((reason, _)), Some(timer)) if timer.reason == reason && timer.due > run.slot => {
            TimerStep::Kept(timer)
        }
        (Some((reason, minutes)), _) => {
            // Clocks differ: counted from a `now` before the slot, the run could come too early to
            // count.
            let from = run.now.max(run.slot);
            TimerStep::Set(Timer { reason, due: due(from, minutes, run.pace) })
        }
    }
}

/// So many monitoring minutes, but at least one, after an instant, rounded up to a whole second,
/// the resolution of a check's creation; at most [`Timestamp::MAX`].
fn due(from: Timestamp, minutes: u32, pace: Pace) -> Timestamp {
    let Ok(due) = from.checked_add(pace.minutes(minutes.max(1))) else {
        return Timestamp::MAX;
    };
    // Ceiling of the whole nanoseconds, for instants before the epoch too.
    let second = -(-due.as_nanosecond()).div_euclid(1_000_000_000);
    i64::try_from(second)
        .ok()
        .and_then(|second| Timestamp::from_second(second).ok())
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn codes() -> BTreeSet<u16> {
        STATUS_INCIDENT_CODES.iter().map(|option| option.code).collect()
    }

    fn answer(code: u16) -> StatusResult {
        StatusResult {
            up: (200..400).contains(&code),
            code,
            url: "https://example.com/health".to_owned(),
            effective_url: "https://www.example.com/health".to_owned(),
            response_time: 41.5,
            redirected: true,
            redirect_count: 1,
            redirects: vec!["https://www.example.com/health".to_owned()],
            error: None,
        }
    }

    fn silence(error: Option<&str>) -> StatusResult {
        StatusResult { error: error.map(str::to_owned), ..answer(0) }
    }

    fn down(cause: &str) -> Outcome {
        Outcome::Down(Cause(cause.to_owned()))
    }

    #[test]
    fn a_listed_code_or_no_answer_is_down() {
        let listed: BTreeSet<u16> = [500, 503].into();
        let none = BTreeSet::new();
        let cases = [
            // Listed codes.
            (answer(503), codes(), "example.com is down: HTTP 503 Service Unavailable"),
            (answer(404), codes(), "example.com is down: HTTP 404 Not Found"),
            (answer(500), listed.clone(), "example.com is down: HTTP 500 Internal Server Error"),
            // No answer, also when no code is listed, and whatever is said about it.
            (
                silence(Some("connection refused")),
                codes(),
                "example.com is down: connection refused",
            ),
            (silence(Some(" timed out\n")), none.clone(), "example.com is down: timed out"),
            (silence(Some(" ")), codes(), "example.com is down: no answer"),
            (silence(None), none.clone(), "example.com is down: no answer"),
            // Everything else is a success, whatever `up` says: decision 50.
            (answer(200), codes(), "example.com is up: HTTP 200"),
            (answer(302), codes(), "example.com is up: HTTP 302"),
            (answer(418), codes(), "example.com is up: HTTP 418"),
            (answer(404), listed, "example.com is up: HTTP 404 Not Found"),
            (answer(503), none, "example.com is up: HTTP 503 Service Unavailable"),
        ];
        for (result, incident_codes, summary) in cases {
            let evaluation = status(&result, &incident_codes);
            assert_eq!(evaluation.summary, summary);
            assert_eq!(evaluation.fingerprint, Fingerprint::StatusDown);
            let expected = match summary.strip_prefix("example.com is down: ") {
                Some(cause) => down(cause),
                None => Outcome::Up,
            };
            assert_eq!(evaluation.outcome, expected, "{summary}");
        }
    }

    #[test]
    fn the_context_says_what_was_measured() {
        let evaluation = status(&answer(503), &[500, 503].into());
        let expected = json!({
            "code": 503,
            "up": false,
            "error": null,
            "response_time": 41.5,
            "effective_url": "https://www.example.com/health",
            "redirect_count": 1,
            "incident_status_codes": [500, 503],
        });
        assert_eq!(evaluation.measured, expected);
        let evaluation = status(&silence(Some("timed out")), &codes());
        assert_eq!(evaluation.measured["error"], json!("timed out"));
    }

    #[test]
    fn long_texts_are_cut() {
        let result = StatusResult {
            url: "not a url".repeat(100),
            effective_url: format!("https://example.com/{}", "ü".repeat(5000)),
            response_time: f64::NAN,
            ..silence(Some(&"é".repeat(5000)))
        };
        let evaluation = status(&result, &codes());
        assert_eq!(evaluation.outcome, down(&format!("{}…", "é".repeat(199))));
        assert_eq!(evaluation.summary.chars().count(), 2 * MAX_TEXT + " is down: ".len());
        assert!(evaluation.measured.to_string().len() < 1200);
        assert_eq!(evaluation.measured["response_time"], json!(null), "JSON has no NaN");
        assert_eq!(clipped(&"a".repeat(200)), "a".repeat(200));
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn timer(reason: RunReason, due: &str) -> Timer {
        Timer { reason, due: at(due) }
    }

    /// A scheduled run of 10:00 that ends at 10:00:01.5, with nothing wrong.
    fn run() -> AfterRun {
        AfterRun {
            issue_active: false,
            failing: false,
            outstanding: None,
            slot: at("2026-11-20T10:00:00Z"),
            now: at("2026-11-20T10:00:01.5Z"),
            retry_minutes: Some(2),
            follow_up_minutes: Some(5),
            pace: Pace::default(),
        }
    }

    #[test]
    fn the_timer_follows_the_run() {
        use RunReason::{ConfirmationRetry, IncidentFollowUp};
        use TimerStep::{Cleared, Idle, Kept, Set};
        let failing = AfterRun { failing: true, ..run() };
        let active = AfterRun { issue_active: true, ..run() };
        let retry = |due| timer(ConfirmationRetry, due);
        let follow_up = |due| timer(IncidentFollowUp, due);
        let with = |run: AfterRun, outstanding| AfterRun { outstanding: Some(outstanding), ..run };

        let new_retry = Set(retry("2026-11-20T10:02:02Z"));
        let new_follow_up = Set(follow_up("2026-11-20T10:05:02Z"));
        let cases = [
            ("all is well", run(), Idle),
            ("the first failure", failing, new_retry),
            ("an issue opens", active, new_follow_up),
            ("active goes before failing", AfterRun { failing: true, ..active }, new_follow_up),
            // Kept: a scheduled run in between does not push it away.
            (
                "a retry to come",
                with(failing, retry("2026-11-20T10:01:00Z")),
                Kept(retry("2026-11-20T10:01:00Z")),
            ),
            (
                "a follow-up to come",
                with(active, follow_up("2026-11-20T10:00:00.001Z")),
                Kept(follow_up("2026-11-20T10:00:00.001Z")),
            ),
            (
                "a follow-up further away than the setting now says",
                with(active, follow_up("2026-11-20T11:00:00Z")),
                Kept(follow_up("2026-11-20T11:00:00Z")),
            ),
            // Spent: by its own run, or by one that its own cannot follow any more.
            ("its own run", with(failing, retry("2026-11-20T10:00:00Z")), new_retry),
            ("its own run", with(active, follow_up("2026-11-20T10:00:00Z")), new_follow_up),
            ("overtaken", with(active, follow_up("2026-11-20T09:59:59Z")), new_follow_up),
            // A clock that is behind the one that named the slot.
            (
                "before its slot",
                AfterRun { now: at("2026-11-20T09:55:00Z"), ..failing },
                Set(retry("2026-11-20T10:02:00Z")),
            ),
            // Of the other kind.
            (
                "the retry finds the issue open",
                with(active, retry("2026-11-20T10:01:00Z")),
                new_follow_up,
            ),
            (
                "failing again after a resolution by hand",
                with(failing, follow_up("2026-11-20T10:01:00Z")),
                new_retry,
            ),
            // Not needed any more.
            ("recovered", with(run(), retry("2026-11-20T10:01:00Z")), Cleared),
            ("resolved", with(run(), follow_up("2026-11-20T10:00:00Z")), Cleared),
            // Tools without follow-ups, or without any timer.
            ("ssl is down", AfterRun { follow_up_minutes: None, ..active }, Idle),
            (
                "ssl is down and about to expire",
                AfterRun { follow_up_minutes: None, failing: true, ..active },
                new_retry,
            ),
            (
                "broken links",
                AfterRun { follow_up_minutes: None, retry_minutes: None, ..failing },
                Idle,
            ),
        ];
        for (case, run, expected) in cases {
            assert_eq!(next_timer(&run), expected, "{case}");
        }
    }

    #[test]
    fn it_is_due_at_a_whole_second() {
        let due_after = |now: &str, minutes, pace| due(at(now), minutes, pace).to_string();
        let real = Pace::default();
        let fast = Pace::new(Duration::from_secs(1)).expect("a pace");
        let odd = Pace::new(Duration::from_millis(1)).expect("a pace");
        assert_eq!(due_after("2026-11-20T10:00:01Z", 2, real), "2026-11-20T10:02:01Z");
        assert_eq!(due_after("2026-11-20T10:00:01.000000001Z", 2, real), "2026-11-20T10:02:02Z");
        assert_eq!(due_after("2026-11-20T10:00:01.2Z", 2, fast), "2026-11-20T10:00:04Z");
        assert_eq!(due_after("2026-11-20T10:00:01Z", 2, odd), "2026-11-20T10:00:02Z");
        assert_eq!(due_after("2026-11-20T10:00:01Z", 0, real), "2026-11-20T10:01:01Z");
        assert_eq!(due_after("1969-12-31T23:58:00.5Z", 1, real), "1969-12-31T23:59:01Z");
        assert_eq!(due(Timestamp::MAX, 1, real), Timestamp::MAX);
        let day = Pace::new(Duration::from_secs(86_400)).expect("a pace");
        assert_eq!(due(Timestamp::MIN, u32::MAX, day), Timestamp::MAX);
    }

    #[test]
    fn steps_are_told() {
        let timer = timer(RunReason::IncidentFollowUp, "2026-11-20T10:05:00Z");
        let told =
            [TimerStep::Idle, TimerStep::Set(timer), TimerStep::Kept(timer), TimerStep::Cleared]
                .map(|step| (step.to_string(), step.timer()));
        let expected = [
            ("no timer needed".to_owned(), None),
            ("incident_follow_up set for 2026-11-20T10:05:00Z".to_owned(), Some(timer)),
            ("incident_follow_up stays at 2026-11-20T10:05:00Z".to_owned(), Some(timer)),
            ("timer cleared".to_owned(), None),
        ];
        assert_eq!(told, expected);
        let stored = json!({"reason": "incident_follow_up", "due": 1_795_169_100_000_i64});
        assert_eq!(serde_json::to_value(timer).expect("json"), stored);
        assert_eq!(serde_json::from_value::<Timer>(stored).expect("readable"), timer);
    }

    fn instants() -> impl Strategy<Value = Timestamp> {
        (0_i64..10_000).prop_map(|millis| Timestamp::from_millisecond(millis).expect("in range"))
    }

    proptest! {
        /// Whatever happened, the timer that is left can still be observed, and is of the kind
        /// that the state asks for.
        #[test]
        fn a_timer_left_can_always_run(
            issue_active: bool,
            failing: bool,
            outstanding in prop::option::of((any::<bool>(), instants())),
            slot in instants(),
            now in instants(),
            retry_minutes in prop::option::of(0_u32..6),
            follow_up_minutes in prop::option::of(0_u32..61),
            millis in 1_u64..61_000,
        ) {
            let outstanding = outstanding.map(|(follow_up, due)| Timer {
                reason: if follow_up {
                    RunReason::IncidentFollowUp
                } else {
                    RunReason::ConfirmationRetry
                },
                due,
            });
            let pace = Pace::new(Duration::from_millis(millis)).expect("in bounds");
            let run = AfterRun {
                issue_active, failing, outstanding, slot, now, retry_minutes, follow_up_minutes, pace,
            };
            let step = next_timer(&run);
            let wanted = if issue_active && follow_up_minutes.is_some() {
                Some(RunReason::IncidentFollowUp)
            } else if failing && retry_minutes.is_some() {
                Some(RunReason::ConfirmationRetry)
            } else {
                None
            };
            prop_assert_eq!(step.timer().map(|timer| timer.reason), wanted);
            prop_assert_eq!(matches!(step, TimerStep::Cleared), wanted.is_none() && outstanding.is_some());
            if let Some(timer) = step.timer() {
                prop_assert!(timer.due > slot);
            }
            match step {
                TimerStep::Set(timer) => {
                    prop_assert!(timer.due > now);
                    prop_assert_eq!(timer.due.subsec_nanosecond(), 0);
                }
                TimerStep::Kept(timer) => prop_assert_eq!(Some(timer), outstanding),
                TimerStep::Idle | TimerStep::Cleared => {}
            }
            // Deciding again about the same run changes nothing.
            let again = next_timer(&AfterRun { outstanding: step.timer(), ..run });
            prop_assert_eq!(again.timer(), step.timer());
        }
    }
}
