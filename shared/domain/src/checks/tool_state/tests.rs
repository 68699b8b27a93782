//! How runs, on-demand requests and people's decisions change a tool's state.

mod certificate;
mod confirmation;
mod failing;
mod maintenance;
mod not_run;
mod pack;
mod pools;
mod posted;

use std::num::NonZeroU32;

use jiff::civil::{Date, date};
use jiff::{SignedDuration, ToSpan};
use proptest::prelude::*;

use super::*;
use crate::accounts::plan::Plan;
use crate::accounts::team::Team;
use crate::checks::check::{CheckError, StatusResult, ToolResult};
use crate::checks::history::{Sum, day_of, day_start};
use crate::checks::schedule::TimeScale;
use crate::checks::tool::Tool;
use crate::id::{SiteId, TeamId};
use crate::issues::Outcome;
use crate::issues::tracker::Event;
use crate::maintenance::Windows;
use crate::sites::settings::Settings;
use crate::sites::site::Site;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

/// Seconds after the start of the test, which is at a quarter past nine.
fn after(seconds: i64) -> Timestamp {
    at("2026-11-20T09:15:00Z") + SignedDuration::from_secs(seconds)
}

fn site() -> SiteId {
    SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id")
}

fn number(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).expect("not zero")
}

fn answered(code: u16) -> Finish {
    Finish::Completed(ToolResult::Status(StatusResult {
        up: code < 400,
        code,
        url: "https://example.com".to_owned(),
        effective_url: "https://example.com".to_owned(),
        response_time: f64::from(code),
        redirected: false,
        redirect_count: 0,
        redirects: Vec::new(),
        error: None,
        phases: None,
        judged: None,
    }))
}

fn failed() -> Finish {
    let (message, code) = ("Not allowed.".to_owned(), "target_forbidden".to_owned());
    Finish::Failed(CheckError { message, code, data: serde_json::Value::Null })
}

/// A status run. Two failures open an issue, and two successes resolve it. A retry follows after 2 minutes, a follow-up
/// after 5.
struct Scenario {
    check: CheckId,
    finish: Finish,
    evaluations: Vec<Evaluation>,
    now: Timestamp,
    cfg: u64,
    windows: Windows,
}

impl Scenario {
    /// A run that ends a second after its slot.
    fn automatic(reason: RunReason, slot: Timestamp, finish: Finish) -> Self {
        let check = CheckId::automatic(site(), Tool::Status, reason, slot);
        let now = slot + 1.second();
        let windows = Windows::default();
        let run = Self { check, finish, evaluations: Vec::new(), now, cfg: 1, windows };
        Self { evaluations: run.run().evaluate(&run.finish, None, now), ..run }
    }

    fn scheduled(slot: Timestamp, code: u16) -> Self {
        Self::automatic(RunReason::Scheduled, slot, answered(code))
    }

    fn on_demand(check: CheckId, finish: Finish) -> Self {
        let now = check.created_at() + 1.second();
        let windows = Windows::default();
        Self { check, finish, evaluations: Vec::new(), now, cfg: 1, windows }
    }

    fn run(&self) -> Run {
        let (id, created_at) = (site().as_uuid(), after(0));
        let mut settings = Settings::default();
        settings.tools.status.settings.failures_to_open = number(2);
        settings.tools.status.settings.successes_to_resolve = number(2);
        settings.tools.status.settings.confirmation_retry_minutes = 2;
        settings.tools.status.settings.incident_follow_up_minutes = 5;
        let url = "https://example.com".parse().expect("a URL");
        let site =
            Site { cfg: self.cfg, synced: 1, ..Site::new(site(), TeamId(id), url, created_at) };
        let team = Team::new(TeamId(id), "Team", Plan::Starter, created_at);
        let team = Team { windows: self.windows.clone(), ..team };
        Run { check: self.check, site, team, settings, time_scale: TimeScale::default() }
    }

    fn on(&self, state: &ToolState) -> Result<ToolChange, Discard> {
        self.on_day(state, None)
    }

    fn on_day(&self, state: &ToolState, closed: Option<&Day>) -> Result<ToolChange, Discard> {
        state.apply_run(
            &self.run(),
            &self.finish,
            self.evaluations.clone(),
            &Votes::NoLocation,
            closed,
            self.now,
        )
    }

    fn saved(&self, state: &ToolState) -> ToolChange {
        self.on(state).expect("it counts")
    }
}

/// The state of the newest check that is written to the directory, if it changes there.
fn told(change: &ToolChange) -> Option<CheckStatus> {
    change.newest.map(|newest| newest.status)
}

fn events(change: &ToolChange) -> Vec<Event> {
    change.events.iter().map(|event| event.event).collect()
}

fn timer(reason: RunReason, due: Timestamp) -> Option<Timer> {
    Some(Timer { reason, due })
}

fn order(seconds: i64) -> CheckId {
    CheckId::on_demand(site(), Tool::Status, after(seconds), 7)
}

fn count(state: &ToolState, trigger: Trigger, status: CheckStatus) -> u64 {
    let kind = Kind { trigger, status };
    state.day.as_ref().map_or(0, |day| day.counters.count(kind))
}

const SCHEDULED: Trigger = Trigger::Automatic(RunReason::Scheduled);

#[test]
fn a_new_sites_first_run_is_outstanding_until_something_ran() {
    let state = ToolState::of_new_site(after(0));
    assert_eq!(state.timer, timer(RunReason::Scheduled, after(0)));
    let first = Scenario::scheduled(after(0), 200).saved(&state);
    assert_eq!((first.state.timer, first.timer), (None, None));
    // The scheduled run may come sooner.
    let scheduled = Scenario::scheduled(after(30), 200).saved(&state);
    assert_eq!(scheduled.state.timer, None);
    assert_eq!(Scenario::scheduled(after(0), 200).on(&scheduled.state), Err(Discard::Stale));
    let failing = Scenario::scheduled(after(0), 503).saved(&state);
    assert_eq!(failing.timer, timer(RunReason::ConfirmationRetry, after(121)));
}

#[test]
fn a_message_is_wanted_or_there_is_a_reason() {
    let now = after(600);
    let last = CheckId::automatic(site(), Tool::Status, RunReason::Scheduled, after(300));
    let state = ToolState {
        automatic: Some(Latest::row(last, CheckStatus::Completed)),
        timer: timer(RunReason::ConfirmationRetry, after(420)),
        pending: Some(order(0)),
        ..ToolState::new()
    };
    let wants = |state: &ToolState, check| state.wants(check, now);
    let automatic = |reason, slot| CheckId::automatic(site(), Tool::Status, reason, slot);
    use RunReason::{ConfirmationRetry, IncidentFollowUp, Scheduled};
    for (case, check, expected) in [
        ("the pending check", order(0), Ok(())),
        ("another", order(1), Err(Discard::NotPending)),
        ("the last slot again", automatic(Scheduled, after(300)), Err(Discard::Stale)),
        (
            "the last slot in finer spelling",
            automatic(Scheduled, after(300) + 999.microseconds()),
            Err(Discard::Stale),
        ),
        ("an earlier slot", automatic(Scheduled, after(0)), Err(Discard::Stale)),
        ("a later slot", automatic(Scheduled, after(300) + 1.millisecond()), Ok(())),
        ("now", automatic(Scheduled, now), Ok(())),
        ("a clock ahead", automatic(Scheduled, now + 60.seconds()), Ok(())),
        ("the future", automatic(Scheduled, now + 61.seconds()), Err(Discard::Early)),
        ("the timer", automatic(ConfirmationRetry, after(420)), Ok(())),
        ("not its instant", automatic(ConfirmationRetry, after(421)), Err(Discard::TimerGone)),
        ("not its kind", automatic(IncidentFollowUp, after(420)), Err(Discard::TimerGone)),
        ("overtaken", automatic(ConfirmationRetry, after(300)), Err(Discard::Stale)),
    ] {
        assert_eq!(wants(&state, check), expected, "{case}");
    }
    let fresh = ToolState::new();
    assert_eq!(wants(&fresh, automatic(Scheduled, after(-86_400))), Ok(()), "nothing ran yet");
    let retry = automatic(ConfirmationRetry, after(420));
    assert_eq!(wants(&fresh, retry), Err(Discard::TimerGone));
}

#[test]
fn a_run_counts_once() {
    let run = Scenario::scheduled(after(0), 200);
    let saved = run.saved(&ToolState::new());
    let state = &saved.state;
    assert_eq!((state.rev, state.cfg), (2, 1));
    assert_eq!(state.automatic.map(|latest| latest.id()), Some(run.check));
    assert_eq!((state.evaluated, state.previous), (Some(CheckPointer::row(run.check)), None));
    assert_eq!(count(state, SCHEDULED, CheckStatus::Completed), 1);
    assert_eq!(told(&saved), Some(CheckStatus::Completed));
    assert_eq!(saved.check.completed_at, Some(after(1)));
    assert_eq!(saved.expires_at, at("2026-12-22T00:00:00Z"), "30 days and two");
    assert_eq!((saved.day, saved.events, saved.timer), (None, Vec::new(), None));
    assert_eq!(run.on(state), Err(Discard::Stale));

    let next = Scenario::scheduled(after(300), 200);
    let saved = next.saved(state);
    assert_eq!(saved.newest, None, "the newest check has the state that the one before had");
    let evaluated = (saved.state.evaluated, saved.state.previous);
    assert_eq!(
        evaluated,
        [next.check, run.check].map(|check| Some(CheckPointer::row(check))).into()
    );
    assert_eq!(count(&saved.state, SCHEDULED, CheckStatus::Completed), 2);
}

#[test]
fn a_run_under_an_old_configuration_is_discarded() {
    let mut run = Scenario::scheduled(after(0), 200);
    let state = ToolState::new().under(2);
    assert_eq!((state.rev, state.cfg), (2, 2));
    assert_eq!(run.on(&state), Err(Discard::Superseded));
    run.cfg = 2;
    assert!(run.on(&state).is_ok());
    run.cfg = 3;
    assert_eq!(run.on(&state), Err(Discard::Superseded), "or a new one, before the state has it");
}

#[test]
fn an_incident_from_its_first_failure_to_its_last_follow_up() {
    use RunReason::{ConfirmationRetry, IncidentFollowUp};
    let first = Scenario::scheduled(after(0), 503).saved(&ToolState::new());
    assert!(first.events.is_empty());
    assert_eq!(first.timer, timer(ConfirmationRetry, after(121)), "two minutes from its end");
    assert_eq!(first.state.timer, first.timer);

    let retry = Scenario::automatic(ConfirmationRetry, after(121), answered(503));
    let opened = retry.saved(&first.state);
    let issue = IssueId::new(site(), Fingerprint::StatusDown, after(121));
    let [Event::Opened { issue: opened_issue, failures }] = events(&opened)[..] else {
        panic!("{:?}", opened.events)
    };
    assert_eq!((opened_issue, failures.streak, failures.first), (issue, number(2), after(0)));
    assert_eq!(opened.timer, timer(IncidentFollowUp, after(422)));

    let between = Scenario::scheduled(after(300), 503).saved(&opened.state);
    assert_eq!((between.timer, between.state.timer), (None, opened.timer), "kept, and not sent");
    assert!(between.events.is_empty());

    let follow_up = Scenario::automatic(IncidentFollowUp, after(422), answered(200));
    let recovering = follow_up.saved(&between.state);
    assert!(recovering.events.is_empty(), "one success of two");
    assert_eq!(recovering.timer, timer(IncidentFollowUp, after(723)));
    let resolved = Scenario::scheduled(after(600), 200).saved(&recovering.state);
    assert!(matches!(events(&resolved)[..], [Event::Resolved { .. }]));
    assert_eq!((resolved.timer, resolved.state.timer), (None, None));
    let record = resolved.state.trackers[&Fingerprint::StatusDown].issue;
    assert_eq!(record, Some(issue), "remembered for a recurrence");

    let failing = Scenario::scheduled(after(900), 503).saved(&resolved.state);
    let again = Scenario::scheduled(after(1_200), 503).saved(&failing.state);
    let [Event::Opened { issue: reopened, .. }] = events(&again)[..] else {
        panic!("{:?}", again.events)
    };
    assert_eq!(reopened, issue, "the same record");
}

#[test]
fn a_run_that_failed_is_counted_and_not_observed() {
    let failing = Scenario::scheduled(after(0), 503).saved(&ToolState::new());
    let run = Scenario::automatic(RunReason::Scheduled, after(60), failed());
    let saved = run.saved(&failing.state);
    assert_eq!(count(&saved.state, SCHEDULED, CheckStatus::Failed), 1);
    assert_eq!(saved.state.trackers, failing.state.trackers);
    assert_eq!(saved.state.evaluated, failing.state.evaluated);
    assert_eq!(saved.state.automatic.map(|latest| latest.id()), Some(run.check));
    assert_eq!(told(&saved), Some(CheckStatus::Failed));
    assert_eq!(
        (saved.state.timer, saved.timer),
        (failing.timer, None),
        "the retry is still to come"
    );
    let day = saved.state.day.as_ref().expect("a day");
    assert_eq!(day.sums, failing.state.day.expect("a day").sums);

    // The retry itself failed to run: another one is due, because the failure is still unconfirmed.
    let retry = Scenario::automatic(RunReason::ConfirmationRetry, after(121), failed());
    let saved = retry.saved(&saved.state);
    assert_eq!(saved.timer, timer(RunReason::ConfirmationRetry, after(242)));
}

#[test]
fn an_order_is_pending_and_then_ended_and_drives_no_issue() {
    let state = Scenario::scheduled(after(0), 200).saved(&ToolState::new()).state;
    let accepted = state.enqueue(None, order(60), after(60), 30);
    assert_eq!(accepted.state.rev, state.rev + 1);
    assert_eq!(accepted.state.pending, Some(order(60)));
    assert_eq!(accepted.state.last_on_demand, Some(after(60)));
    assert_eq!(told(&accepted), Some(CheckStatus::Pending), "newer than the automatic one");
    assert_eq!(count(&accepted.state, Trigger::OnDemand, CheckStatus::Pending), 1);
    assert_eq!(accepted.check, Check::pending(order(60), after(60)));

    for (finish, status) in [
        (answered(503), CheckStatus::Completed),
        (failed(), CheckStatus::Failed),
        (Finish::Skipped, CheckStatus::Skipped),
    ] {
        let run = Scenario::on_demand(order(60), finish);
        let ended = run.saved(&accepted.state);
        let after_it = &ended.state;
        assert_eq!((ended.check.status, told(&ended)), (status, Some(status)));
        assert_eq!(count(after_it, Trigger::OnDemand, CheckStatus::Pending), 0);
        assert_eq!(count(after_it, Trigger::OnDemand, status), 1);
        assert_eq!((ended.events, ended.timer), (Vec::new(), None));
        assert_eq!(after_it.pending, None);
        assert_eq!(after_it.last_on_demand, Some(after(60)));
        assert_eq!(
            (&after_it.trackers, after_it.automatic, after_it.evaluated, after_it.timer),
            (&state.trackers, state.automatic, state.evaluated, state.timer)
        );
        let sums = |state: &ToolState| state.day.as_ref().expect("a day").sums;
        assert_eq!(sums(after_it), sums(&state), "reports are made of automatic checks");
        assert_eq!(run.on(after_it), Err(Discard::NotPending));
    }
}

#[test]
fn the_newest_check_is_the_one_created_last() {
    let accepted = ToolState::new().enqueue(None, order(60), after(60), 30);
    let newer = Scenario::scheduled(after(90), 200).saved(&accepted.state);
    assert_eq!(told(&newer), Some(CheckStatus::Completed));
    let ended = Scenario::on_demand(order(60), failed()).saved(&newer.state);
    assert_eq!(ended.newest, None, "it ended last and is not the newest");
    assert_eq!(ended.state.on_demand.map(|latest| latest.status), Some(CheckStatus::Failed));
    assert_eq!(ToolState::new().latest(), None);
}

#[test]
fn the_first_check_of_a_later_day_closes_the_open_one() {
    let evening = Scenario::scheduled(at("2026-11-20T23:59:59Z"), 200).saved(&ToolState::new());
    let open = evening.state.day.clone().expect("a day");
    assert_eq!((open.date, open.until, open.rev), (date(2026, 11, 20), date(2026, 12, 20), 0));
    for (slot, today, expires_at) in [
        ("2026-11-21T00:00:00Z", date(2026, 11, 21), "2026-12-23T00:00:00Z"),
        ("2026-12-24T18:00:00Z", date(2026, 12, 24), "2027-01-25T00:00:00Z"),
    ] {
        let morning = Scenario::scheduled(at(slot), 503).saved(&evening.state);
        let closed = Day { rev: 1, ..open.clone() };
        assert_eq!(morning.day, Some(DayWrite::Close(closed)));
        let day = morning.state.day.expect("a day");
        assert_eq!((day.date, day.rev), (today, 0));
        assert_eq!((day.sums.up, day.sums.slowest_ms), (0, Some(503.0)));
        assert_eq!(morning.expires_at, at(expires_at));
        // The directory is updated once a day, even if the state is the same.
        let newest = Newest { status: CheckStatus::Completed, date: today, days: Some(30) };
        assert_eq!(morning.newest, Some(newest));
    }
}

#[test]
fn a_late_check_changes_its_closed_day_and_leaves_the_open_one() {
    let open = ToolState::new().enqueue(None, order(86_400), after(86_400), 30).state;
    let late = Scenario { now: after(86_401), ..Scenario::scheduled(after(0), 503) };
    assert_eq!(open.closed_day(after(0)), Some(date(2026, 11, 20)));
    assert_eq!(open.closed_day(after(86_400)), None, "the open day");
    assert_eq!(open.closed_day(after(2 * 86_400)), None, "a day to come");
    assert_eq!(ToolState::new().closed_day(after(0)), None, "no day is open");

    let made = late.saved(&open);
    let Some(DayWrite::Amend(day)) = &made.day else { panic!("{:?}", made.day) };
    assert_eq!((day.date, day.rev, day.sums.slowest_ms), (date(2026, 11, 20), 1, Some(503.0)));
    assert_eq!(made.state.day, open.day);

    // A day that was closed with another retention keeps it.
    let mut closed = Day { rev: 4, ..Day::new(date(2026, 11, 20), 90) };
    closed.add_sample(
        crate::checks::history::Sample::Status { up: true, met: None, response_ms: 900.0 },
        after(0),
    );
    let amended = late_with(&late, &open, &closed);
    let Some(DayWrite::Amend(day)) = &amended.day else { panic!("{:?}", amended.day) };
    assert_eq!((day.rev, day.until), (5, closed.until));
    assert_eq!((day.sums.up, day.sums.slowest_ms), (1, Some(900.0)));
    assert_eq!(amended.expires_at, closed.rows_expire_at());
    assert_eq!(day.completed_automatic(), 1);
}

fn late_with(late: &Scenario, open: &ToolState, closed: &Day) -> ToolChange {
    late.on_day(open, Some(closed)).expect("it counts")
}

#[test]
fn an_order_that_ends_after_midnight_moves_within_its_own_day() {
    let evening = at("2026-11-20T23:59:59Z");
    let check = CheckId::on_demand(site(), Tool::Status, evening, 0);
    let accepted = ToolState::new().enqueue(None, check, evening, 30);
    let morning = Scenario::scheduled(at("2026-11-21T00:00:00Z"), 200).saved(&accepted.state);
    let Some(DayWrite::Close(closed)) = morning.day else { panic!("{:?}", morning.day) };
    let run = Scenario::on_demand(check, answered(200));
    let ended = run.on_day(&morning.state, Some(&closed)).expect("it counts");
    let Some(DayWrite::Amend(day)) = ended.day else { panic!("{:?}", ended.day) };
    let count = |status| day.counters.count(Kind { trigger: Trigger::OnDemand, status });
    assert_eq!((count(CheckStatus::Pending), count(CheckStatus::Completed), day.rev), (0, 1, 2));
    assert_eq!(ended.state.day, morning.state.day);
}

#[test]
fn an_order_is_counted_on_a_closed_day_where_clocks_differ() {
    let midnight = at("2026-11-21T00:00:00Z");
    let open = Scenario::scheduled(midnight, 200).saved(&ToolState::new()).state;
    let check = CheckId::on_demand(site(), Tool::Status, midnight - 1.second(), 0);
    let accepted = open.enqueue(None, check, midnight - 1.second(), 30);
    assert!(matches!(accepted.day, Some(DayWrite::Amend(Day { rev: 1, .. }))));
    assert_eq!(accepted.state.day, open.day);
    assert_eq!(accepted.newest, None, "the run of midnight is newer");
}

#[test]
fn a_resolution_by_hand_starts_its_tracker_afresh() {
    let failing = Scenario::scheduled(after(0), 503).saved(&ToolState::new());
    let down = Scenario::scheduled(after(60), 503).saved(&failing.state).state;
    let resolved = down.resolved_by_hand(Fingerprint::StatusDown, after(90));
    assert_eq!((resolved.rev, resolved.timer), (down.rev + 1, None));
    let [before, afterwards] =
        [&down, &resolved].map(|state| state.trackers[&Fingerprint::StatusDown]);
    assert_eq!((afterwards.tracker.issue(), before.issue), (None, None));
    assert_eq!(
        afterwards.issue,
        before.tracker.issue(),
        "the record is the fingerprint's for ever"
    );
    assert_eq!(
        resolved.resolved_by_hand(Fingerprint::StatusDown, after(90)).trackers
            [&Fingerprint::StatusDown]
            .issue,
        afterwards.issue
    );
    let next = Scenario::scheduled(after(120), 503).saved(&resolved);
    assert!(next.events.is_empty(), "one failure of two");

    let other = down.resolved_by_hand(Fingerprint::SslInvalid, after(90));
    assert_eq!((other.timer, &other.trackers), (down.timer, &down.trackers), "still followed");
}

#[test]
fn a_tool_that_is_off_keeps_all_but_its_timer() {
    let failing = Scenario::scheduled(after(0), 503).saved(&ToolState::new()).state;
    let off = failing.without_timer();
    assert_eq!(off, ToolState { rev: failing.rev + 1, timer: None, ..failing });
}

#[test]
fn each_fingerprint_has_a_tracker_and_only_an_outage_is_followed_up() {
    let mut run = Scenario::scheduled(after(0), 200);
    let evaluation = |fingerprint, outcome| Evaluation {
        fingerprint,
        outcome,
        summary: String::new(),
        measured: serde_json::Value::Null,
    };
    run.evaluations = vec![
        evaluation(Fingerprint::DnsLookupFailed, Outcome::Up),
        evaluation(Fingerprint::DnsRecordsMissing, Outcome::Down),
    ];
    let first = run.saved(&ToolState::new());
    run.check = CheckId::automatic(site(), Tool::Status, RunReason::Scheduled, after(60));
    run.now = after(61);
    run.evaluations[0].outcome = Outcome::Down;
    let second = run.saved(&first.state);
    let opened = |change: &ToolChange| {
        let opened = change.events.iter().filter(|it| matches!(it.event, Event::Opened { .. }));
        opened.map(|it| it.evaluation.fingerprint).collect::<Vec<_>>()
    };
    assert_eq!(second.events.len(), 1);
    assert_eq!(opened(&second), [Fingerprint::DnsRecordsMissing]);
    let timer = second.state.timer.expect("a timer");
    assert_eq!(timer.reason, RunReason::ConfirmationRetry, "another issue leaves a retry alone");
    run.check = CheckId::automatic(site(), Tool::Status, RunReason::Scheduled, after(120));
    run.now = after(121);
    run.evaluations.remove(1);
    let third = run.saved(&second.state);
    assert_eq!(opened(&third), [Fingerprint::DnsLookupFailed]);
    let said_nothing = Fingerprint::DnsRecordsMissing;
    assert_eq!(third.state.trackers[&said_nothing], second.state.trackers[&said_nothing]);
}

#[test]
fn the_stored_form_is_short_and_reads_back() {
    let failing = Scenario::scheduled(after(0), 503).saved(&ToolState::new());
    let state = failing.state.enqueue(None, order(60), after(60), 30).state;
    let stored = serde_json::to_value(&state).expect("json");
    let fields: Vec<&String> = stored.as_object().expect("an object").keys().collect();
    assert_eq!(fields, ["cfg", "da", "ev", "fa", "lo", "na", "nd", "pe", "rev", "ti", "tr", "wy"]);
    assert_eq!(state.failure.as_deref(), Some("HTTP 503"));
    let up = Scenario::scheduled(after(120), 200).saved(&state);
    assert_eq!(up.state.failure, None);
    let empty = serde_json::to_value(ToolState::new()).expect("json");
    assert_eq!(empty, serde_json::json!({ "rev": 1, "cfg": 1 }));
    assert_eq!(serde_json::from_value::<ToolState>(empty).expect("readable"), ToolState::new());
    let sums = failing.state.day.expect("a day").sums;
    assert_eq!((sums.score, sums.response_ms, sums.speed_s), <(Sum, Sum, Sum)>::default());
}

proptest! {
    /// For any runs in any order: slots rise, each counts once, `rev` rises by one, and the sums of all days match the
    /// saved runs.
    #[test]
    fn any_row_of_runs_keeps_the_books(
        runs in prop::collection::vec((0..200_000_i64, 0..3_u8, any::<bool>()), 0..60),
    ) {
        let mut state = ToolState::of_new_site(after(0));
        let mut days: BTreeMap<Date, Day> = BTreeMap::new();
        let (mut saved, mut now) = (0, after(0));
        for (seconds, code, by_timer) in runs {
            let slot = after(seconds);
            let reason = match state.timer {
                Some(timer) if by_timer => timer.reason,
                _ => RunReason::Scheduled,
            };
            let slot = state.timer.filter(|_| by_timer).map_or(slot, |timer| timer.due);
            let finish = match code {
                0 => answered(200),
                1 => answered(503),
                _ => failed(),
            };
            let mut run = Scenario::automatic(reason, slot, finish);
            // Slots come in any order, but time does not go back.
            run.now = run.now.max(now);
            now = run.now;
            let closed = state.closed_day(slot).and_then(|date| days.get(&date).cloned());
            let last = state.automatic.map(|latest| latest.id().created_at());
            match run.on_day(&state, closed.as_ref()) {
                Err(discard) => {
                    prop_assert_eq!(discard, Discard::Stale);
                    prop_assert!(last >= Some(slot));
                }
                Ok(change) => {
                    prop_assert!(last < Some(slot));
                    prop_assert_eq!(change.state.rev, state.rev + 1);
                    prop_assert_eq!(run.on(&change.state).err(), Some(Discard::Stale));
                    prop_assert!(change.timer.is_none() || change.timer == change.state.timer);
                    if let Some(DayWrite::Close(day) | DayWrite::Amend(day)) = change.day {
                        let before = days.get(&day.date).map_or(0, |day| day.rev);
                        prop_assert_eq!(day.rev, before + 1);
                        days.insert(day.date, day);
                    }
                    state = change.state;
                    saved += 1;
                }
            }
        }
        let open = state.day.iter();
        let counted: u64 = days
            .values()
            .chain(open)
            .flat_map(|day| Kind::all().map(|kind| day.counters.count(kind)))
            .sum();
        prop_assert_eq!(counted, saved);
    }

    /// For any change of the clock: the run that is due now counts, unless a slot within the tolerance was already
    /// counted, and the sums of all days match the saved runs.
    #[test]
    fn checks_go_on_whatever_the_clock_says(
        runs in prop::collection::vec((-400_000_i64..400_000, 0..3_u8), 0..60),
    ) {
        let mut state = ToolState::of_new_site(after(0));
        let mut days: BTreeMap<Date, Day> = BTreeMap::new();
        let mut saved = 0;
        for (seconds, code) in runs {
            let slot = after(seconds);
            let finish = if code == 0 { answered(200) } else { answered(503) };
            let run = Scenario::automatic(RunReason::Scheduled, slot, finish);
            let closed = state.closed_day(slot).and_then(|date| days.get(&date).cloned());
            let last = state.automatic.map(|latest| latest.id().created_at());
            let just_ran = last.is_some_and(|last| slot <= last && !is_ahead(last, run.now));
            let change = run.on_day(&state, closed.as_ref());
            prop_assert_eq!(change.is_err(), just_ran);
            let Ok(change) = change else { continue };
            for tracked in change.state.trackers.values() {
                prop_assert!(!tracked.tracker.last_slot.is_some_and(|last| is_ahead(last, run.now)));
            }
            let latest = run.now + SignedDuration::from_mins(5);
            let due = change.state.timer.map(|timer| timer.due);
            prop_assert!(!due.is_some_and(|due| is_ahead(due, latest)));
            if let Some(DayWrite::Close(day) | DayWrite::Amend(day)) = change.day {
                days.insert(day.date, day);
            }
            state = change.state;
            saved += 1;
        }
        let open = state.day.iter();
        let all = days.values().chain(open);
        let counted: u64 = all.flat_map(|day| Kind::all().map(|kind| day.counters.count(kind))).sum();
        prop_assert_eq!(counted, saved);
    }

    /// For anything that is counted in any order, including late slots and on-demand requests: the hours of all days
    /// match what the completed automatic checks measured.
    #[test]
    fn the_hours_of_all_days_are_the_response_times_of_their_rows(
        runs in prop::collection::vec((0..200_000_i64, 0..4_u8, 0..40_000_u32), 0..60),
    ) {
        let mut state = ToolState::new();
        let mut days: BTreeMap<Date, Day> = BTreeMap::new();
        let mut rows: BTreeMap<Timestamp, (u64, u64, u64)> = BTreeMap::new();
        for (seconds, what, ms) in runs {
            let slot = after(seconds);
            let mut finish = answered(200);
            if let Finish::Completed(ToolResult::Status(result)) = &mut finish {
                result.response_time = f64::from(ms) / 4.0;
            }
            let (run, is_order) = match (what, state.pending) {
                (0, _) => (Scenario::automatic(RunReason::Scheduled, slot, failed()), false),
                (3, Some(check)) => (Scenario::on_demand(check, finish), false),
                (3, None) => (Scenario::on_demand(order(seconds), finish), true),
                _ => (Scenario::automatic(RunReason::Scheduled, slot, finish), false),
            };
            let created_at = run.check.created_at();
            let closed = state.closed_day(created_at).and_then(|date| days.get(&date).cloned());
            let change = if is_order {
                state.enqueue(closed.as_ref(), run.check, created_at, 30)
            } else {
                let Ok(change) = run.on_day(&state, closed.as_ref()) else { continue };
                change
            };
            if let Some(sample) = run.finish.sample(&run.run().site.expectations).filter(|_| run.check.is_automatic()) {
                let start = day_start(day_of(created_at));
                let hour = created_at.duration_since(start).as_hours();
                let (count, sum, slowest) = rows.entry(start + hour.hours()).or_default();
                let ms = sample.response_ms().round() as u64;
                (*count, *sum, *slowest) = (*count + 1, *sum + ms, ms.max(*slowest));
            }
            if let Some(DayWrite::Close(day) | DayWrite::Amend(day)) = change.day {
                days.insert(day.date, day);
            }
            state = change.state;
        }
        let counted: BTreeMap<_, _> = days
            .values()
            .chain(&state.day)
            .flat_map(Day::response_hours)
            .map(|hour| (hour.start, (hour.count, hour.sum_ms, hour.slowest_ms)))
            .collect();
        prop_assert_eq!(counted, rows);
    }
}

/// A state after three failing runs according to a clock that was `ahead`. The last run opened an issue.
fn down_by_a_fast_clock(ahead: SignedDuration) -> ToolState {
    let mut state = ToolState::new();
    for minute in 0..3 {
        let slot = after(60 * minute) + ahead;
        state = Scenario::scheduled(slot, 503).saved(&state).state;
    }
    assert!(state.has_active(Fingerprint::StatusDown));
    state
}

const JUMPS: [i64; 2] = [3_600, 365 * 86_400];

#[test]
fn runs_count_at_once_after_the_clock_was_set_back() {
    for ahead in JUMPS.map(SignedDuration::from_secs) {
        let before = down_by_a_fast_clock(ahead);
        let last = after(120) + ahead;
        let run = Scenario::scheduled(after(180), 503).saved(&before);
        let state = &run.state;
        assert_eq!(state.last_slot(after(181)), Some(after(180)), "{ahead}");
        assert_eq!(state.used_until, Some(last));
        assert_eq!(events(&run), [], "still down");
        let follow_up = timer(RunReason::IncidentFollowUp, after(481));
        assert_eq!((state.timer, run.timer), (follow_up, follow_up), "not when the clock said");
        // The usual rules apply: two successes resolve the issue.
        let up = Scenario::scheduled(after(240), 200).saved(state);
        let resolved = Scenario::scheduled(after(300), 200).saved(&up.state);
        assert!(matches!(events(&resolved)[..], [Event::Resolved { failures, .. }]
            if failures.first <= after(181) && failures.last == after(180)));
        assert_eq!(resolved.state.newest().expect("a check").date, date(2026, 11, 20));
    }
}

#[test]
fn a_correction_that_clocks_may_need_changes_nothing() {
    let ahead = SignedDuration::from_secs(30);
    let before = down_by_a_fast_clock(ahead);
    let last = after(120) + ahead;
    let at_once = CheckId::automatic(site(), Tool::Status, RunReason::Scheduled, after(121));
    assert_eq!(before.wants(at_once, after(121)), Err(Discard::Stale));
    let run = Scenario::scheduled(after(180), 503).saved(&before);
    assert!(run.check.id.created_at() > last);
    assert_eq!(run.state.used_until, None);
    assert_eq!(run.state.timer, before.timer);
}

#[test]
fn slots_that_were_used_are_known_until_time_has_passed_them() {
    let ahead = SignedDuration::from_secs(3_600);
    let back = Scenario::scheduled(after(180), 503).saved(&down_by_a_fast_clock(ahead)).state;
    let used_until = after(120) + ahead;
    let scheduled = |slot| CheckId::automatic(site(), Tool::Status, RunReason::Scheduled, slot);
    assert!(back.may_be_used(scheduled(after(240))) && back.may_be_used(scheduled(used_until)));
    assert!(!back.may_be_used(scheduled(used_until + 1.millisecond())));
    assert!(!back.may_be_used(order(240)), "an order has an id of its own");
    let still = Scenario::scheduled(used_until, 503).saved(&back).state;
    assert_eq!(still.used_until, Some(used_until));
    let past = Scenario::scheduled(used_until + 60.seconds(), 503).saved(&still).state;
    assert_eq!(past.used_until, None);
    // Set back twice: the last of all slots counts.
    let twice = down_by_a_fast_clock(SignedDuration::from_secs(7_200));
    let twice = ToolState { used_until: Some(after(99_999)), ..twice };
    let twice = Scenario::scheduled(after(180), 503).saved(&twice).state;
    assert_eq!(twice.used_until, Some(after(99_999)));
}

#[test]
fn an_order_by_a_fast_clock_holds_up_no_other() {
    let ahead = SignedDuration::from_secs(3_600);
    let ordered = down_by_a_fast_clock(ahead).enqueue(None, order(3_700), after(3_700), 30).state;
    let pending = Scenario::scheduled(after(180), 503).saved(&ordered).state;
    assert_eq!(pending.pending, Some(order(3_700)), "it still runs");
    assert_eq!(pending.on_demand.map(|newest| newest.id()), pending.pending);
    assert_eq!(pending.last_on_demand, None);
    let mut run = Scenario::on_demand(order(3_700), answered(200));
    run.now = after(190);
    let done = run.saved(&pending).state;
    let newest = Scenario::scheduled(after(240), 503).saved(&done).state.latest();
    assert_eq!(newest.map(|newest| newest.id()), done.on_demand.map(|newest| newest.id()));
    // After the next correction it is no longer the newest.
    let fast = Scenario::scheduled(after(7_200), 503).saved(&done).state;
    let back = Scenario::scheduled(after(300), 503).saved(&fast).state;
    assert_eq!(
        (back.on_demand, back.latest().map(|newest| newest.id().created_at())),
        (None, Some(after(300)))
    );
}

#[test]
fn a_timer_that_lies_too_far_ahead_is_mended() {
    let policy = Scenario::scheduled(after(0), 200).run().policy();
    let rebuild = |state: &ToolState, now| {
        state.with_missing_timer(&policy, TimeScale::default(), None, now).map(|next| next.timer)
    };
    for ahead in JUMPS.map(SignedDuration::from_secs) {
        let down = down_by_a_fast_clock(ahead);
        let follow_up = timer(RunReason::IncidentFollowUp, after(61 + 300) + ahead);
        assert_eq!(down.timer, follow_up);
        assert_eq!(rebuild(&down, after(121) + ahead), None, "by the fast clock");
        let rebuilt = timer(RunReason::IncidentFollowUp, after(180 + 300));
        assert_eq!(rebuild(&down, after(180)), Some(rebuilt));
        let new = ToolState::of_new_site(after(0) + ahead);
        assert_eq!(rebuild(&new, after(10)), Some(timer(RunReason::Scheduled, after(10))));
    }
    let new = ToolState::of_new_site(after(30));
    assert_eq!(rebuild(&new, after(0)), None, "clocks differ");
}
