//! Which sites are failing, and what a site's state says about its newest check.

use std::collections::BTreeSet;

use super::*;
use crate::sites::site_state::SiteState;

const DOWN: Fingerprint = Fingerprint::StatusDown;

/// The codes in all cases of the property; 0 for no answer.
const CODES: [u16; 4] = [0, 200, 404, 503];

fn no_answer() -> Finish {
    let Finish::Completed(ToolResult::Status(result)) = answered(200) else {
        panic!("a status result")
    };
    Finish::Completed(ToolResult::Status(StatusResult { up: false, code: 0, ..result }))
}

fn listed(changes: &[Option<ListChange>]) -> Vec<&str> {
    let change = |change: &Option<ListChange>| match change {
        None => "-",
        Some(ListChange::Began(_)) => "began",
        Some(ListChange::Ended) => "ended",
    };
    changes.iter().map(change).collect()
}

#[test]
fn a_site_fails_from_the_first_failed_check_to_the_issue() {
    let mut state = ToolState::new();
    let mut changes = Vec::new();
    for (seconds, code) in [(0, 200), (60, 503), (120, 200), (180, 503), (240, 503), (300, 503)] {
        let change = Scenario::scheduled(after(seconds), code).saved(&state);
        changes.push(change.failing);
        state = change.state;
    }
    assert_eq!(listed(&changes), ["-", "began", "ended", "began", "ended", "-"]);
    assert_eq!(changes[3], Some(ListChange::Began(after(180))));
    assert!(state.trackers[&DOWN].tracker.issue().is_some());
}

#[test]
fn a_check_that_repeats_the_failure_or_observes_nothing_changes_nothing() {
    let state = Scenario::scheduled(after(0), 503).saved(&ToolState::new()).state;
    let repeated = fails_of_three(&state, after(60));
    assert_eq!((repeated.failing, repeated.state.failing_since), (None, Some(after(0))));

    // A check that could not run says nothing about the site, and neither does an on-demand check.
    let run = Scenario::automatic(RunReason::Scheduled, after(120), failed());
    let failed = run.saved(&repeated.state);
    assert_eq!((failed.failing, failed.state.failing_since), (None, Some(after(0))));
    let ordered = failed.state.enqueue(None, order(180), after(180), 30);
    assert_eq!(ordered.failing, None);
    let ended = Scenario::on_demand(order(180), answered(200)).saved(&ordered.state);
    assert_eq!((ended.failing, ended.state.failing_since), (None, Some(after(0))));
}

/// A failing check of a site where three failures open an issue.
fn fails_of_three(state: &ToolState, slot: Timestamp) -> ToolChange {
    let mut run = Scenario::scheduled(slot, 503).run();
    run.settings.tools.status.settings.failures_to_open = number(3);
    let finish = answered(503);
    let evaluations = run.evaluate(&finish, None, slot);
    state.apply_run(&run, &finish, evaluations, &Votes::NoLocation, None, slot).expect("it counts")
}

#[test]
fn a_resolution_by_hand_lists_what_still_fails_since_its_first_failure() {
    let failing = Scenario::scheduled(after(0), 503).saved(&ToolState::new()).state;
    let down = Scenario::scheduled(after(60), 503).saved(&failing).state;
    let resolved = down.resolved_by_hand(DOWN, after(90));
    assert_eq!(resolved.failing_change(&down), Some(ListChange::Began(after(0))));
    let again = Scenario::scheduled(after(120), 503).saved(&resolved);
    assert_eq!((again.failing, again.state.failing_since), (None, Some(after(0))));
    let up = Scenario::scheduled(after(120), 200).saved(&resolved);
    assert_eq!(up.failing, Some(ListChange::Ended));

    let recovering = Scenario::scheduled(after(120), 200).saved(&down).state;
    assert!(recovering.trackers[&DOWN].tracker.issue().is_some(), "one success of two");
    assert_eq!(recovering.resolved_by_hand(DOWN, after(90)).failing_change(&recovering), None);
    let other = down.resolved_by_hand(Fingerprint::SslInvalid, after(90));
    assert_eq!(other.failing_change(&down), None);
}

#[test]
fn a_state_of_the_previous_version_is_listed_by_its_next_check() {
    let failing = Scenario::scheduled(after(0), 503).saved(&ToolState::new()).state;
    let mut stored = serde_json::to_value(&failing).expect("json");
    stored.as_object_mut().expect("an object").remove("fa").expect("a slot");
    let read: ToolState = serde_json::from_value(stored).expect("readable");
    assert_eq!(read.failing_since, None);
    assert_eq!(fails_of_three(&read, after(60)).failing, Some(ListChange::Began(after(0))));
}

/// What can happen to a site.
#[derive(Debug, Clone)]
enum Happening {
    /// A check completes with a code, this many seconds after the previous one; 0 repeats its slot.
    Check(u16, i64),
    /// A check cannot run.
    CannotRun,
    /// An on-demand check completes with a code.
    OnDemand(u16),
    /// A person resolves the issue, if there is an active one.
    Resolve,
    /// The codes that count as failed, and the thresholds, change.
    Settings(BTreeSet<u16>, u32, u32),
    /// The URL or the monitoring changes.
    Changed,
}

fn happenings() -> impl Strategy<Value = Happening> {
    let code = || prop::sample::select(&CODES[..]);
    let selectable = prop::sample::select(&CODES[2..]);
    prop_oneof![
        8 => (code(), 0..300_i64).prop_map(|(code, later)| Happening::Check(code, later)),
        1 => Just(Happening::CannotRun),
        1 => code().prop_map(Happening::OnDemand),
        2 => Just(Happening::Resolve),
        1 => (prop::collection::btree_set(selectable, 0..3), 1..4_u32, 1..4_u32)
            .prop_map(|(codes, open, resolve)| Happening::Settings(codes, open, resolve)),
        1 => Just(Happening::Changed),
    ]
}

fn finish(code: u16) -> Finish {
    if code == 0 { no_answer() } else { answered(code) }
}

proptest! {
    /// Whatever happens to a site, its state does not contradict its newest check, and a list that follows the reported
    /// changes contains the site exactly while it is failing.
    #[test]
    fn no_state_contradicts_the_newest_check(
        happenings in prop::collection::vec(happenings(), 0..60),
        is_stored in any::<bool>(),
    ) {
        let mut state = ToolState::new();
        let (mut seconds, mut cfg) = (0, 1);
        let mut settings = Scenario::scheduled(after(0), 200).run().settings;
        // What the newest check says, according to the codes that applied when it ran.
        let mut newest = None;
        let mut list = None;
        for happening in happenings {
            let before = state.clone();
            let mut run = Scenario { cfg, ..Scenario::scheduled(after(seconds), 200) }.run();
            run.settings = settings.clone();
            let mut end = |run: &Run, finish: &Finish| {
                let now = run.check.created_at() + 1.second();
                let evaluations = run.evaluate(finish, None, now);
                let closed = state.closed_day(run.check.created_at());
                prop_assert_eq!(closed, None);
                if let Ok(change) = state.apply_run(run, finish, evaluations, &Votes::NoLocation, None, now) {
                    prop_assert_eq!(change.failing, change.state.failing_change(&state));
                    state = change.state;
                    return Ok(true);
                }
                Ok(false)
            };
            match happening {
                Happening::Check(code, later) => {
                    seconds += later;
                    run.check =
                        CheckId::automatic(site(), Tool::Status, RunReason::Scheduled, after(seconds));
                    if end(&run, &finish(code))? {
                        let codes = &settings.tools.status.settings.incident_status_codes;
                        newest = Some(code == 0 || codes.contains(&code));
                    }
                }
                Happening::CannotRun => {
                    seconds += 1;
                    run.check =
                        CheckId::automatic(site(), Tool::Status, RunReason::Scheduled, after(seconds));
                    prop_assert!(end(&run, &failed())?);
                }
                Happening::OnDemand(code) => {
                    let ordered = state.enqueue(None, order(seconds), after(seconds), 30);
                    prop_assert_eq!(ordered.failing, None);
                    run.check = order(seconds);
                    state = ordered.state;
                    let now = after(seconds + 1);
                    let ended = state.apply_run(&run, &finish(code), Vec::new(), &Votes::NoLocation, None, now);
                    state = ended.expect("it is pending").state;
                }
                Happening::Resolve => {
                    let is_active = |tracked: &Tracked| tracked.tracker.issue().is_some();
                    if state.trackers.get(&DOWN).is_some_and(is_active) {
                        state = state.resolved_by_hand(DOWN, after(90));
                    }
                }
                Happening::Settings(codes, open, resolve) => {
                    let status = &mut settings.tools.status.settings;
                    status.incident_status_codes = codes;
                    status.failures_to_open = number(open);
                    status.successes_to_resolve = number(resolve);
                }
                Happening::Changed => {
                    cfg += 1;
                    state = state.under(cfg);
                }
            }
            match state.failing_change(&before) {
                None => {}
                Some(ListChange::Began(since)) => list = Some(since),
                Some(ListChange::Ended) => list = None,
            }
            prop_assert_eq!(list, state.failing_since);
            if is_stored {
                let stored = serde_json::to_value(&state).expect("json");
                prop_assert_eq!(&serde_json::from_value::<ToolState>(stored).expect("read"), &state);
            }

            let issue = state.trackers.get(&DOWN).and_then(|tracked| tracked.tracker.issue());
            let is = SiteState::of(
                issue.map(IssueId::fingerprint),
                list.is_some(),
                false,
                |_| true,
                state.latest_completed().is_some(),
            );
            match (newest, issue) {
                (Some(true), Some(_)) => prop_assert_eq!(is, SiteState::Down),
                (Some(true), None) => prop_assert_eq!(is, SiteState::Failing),
                // Active until enough checks in a row have succeeded.
                (Some(false), Some(_)) => prop_assert_eq!(is, SiteState::Down),
                (Some(false), None) => prop_assert_eq!(is, SiteState::Up),
                (None, _) => prop_assert!([SiteState::Unknown, SiteState::Up].contains(&is)),
            }
        }
    }
}
