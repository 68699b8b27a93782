//! Runs in maintenance windows: counted and marked, but not observed.

use uuid::Uuid;

use super::*;
use crate::checks::history::InMaintenance;
use crate::checks::history::block::BlockVersion;
use crate::id::WindowId;
use crate::maintenance::NewWindow;
use crate::sites::selector::Selector;
use crate::time_zone::NamedZone;

/// A window of the site, which starts some seconds into the test and takes some minutes.
fn window(start: i64, minutes: u32) -> Windows {
    let new = NewWindow { sites: Some([site()].into()), ..NewWindow::lasting(minutes) };
    let id = WindowId(Uuid::from_u128(1));
    let window = new.into_window(id, &NamedZone::utc(), after(start));
    Windows::default().with(window, after(start)).expect("a window")
}

/// A scheduled run that ends a second after its slot, with a window of ten minutes that starts after five.
fn run(seconds: i64, code: u16) -> Scenario {
    Scenario { windows: window(300, 10), ..Scenario::scheduled(after(seconds), code) }
}

fn phases(state: &ToolState) -> Vec<crate::issues::tracker::Phase> {
    state.trackers.values().map(|tracked| tracked.tracker.phase).collect()
}

#[test]
fn a_failure_in_a_window_is_no_observation_and_the_next_run_comes_when_it_ends() {
    let before = run(0, 200).saved(&ToolState::new()).state;
    let change = run(360, 503).saved(&before);
    let next = &change.state;
    assert!(change.check.in_maintenance);
    assert_eq!(phases(next), phases(&before));
    assert_eq!(next.evaluated, before.evaluated);
    assert_eq!((change.events.len(), change.failing), (0, None));
    assert_eq!(next.timer, timer(RunReason::ConfirmationRetry, after(900)));
    let counted = next.day.as_ref().expect("a day");
    assert_eq!(counted.completed_automatic(), 2);
    assert_eq!(counted.sums.in_maintenance, InMaintenance { checks: 1, up: 0 });

    // It is set once, and is of no use when the site is up again.
    let again = run(420, 503).saved(next);
    assert_eq!((again.state.timer, again.timer), (next.timer, None));
    assert_eq!(run(480, 200).saved(&again.state).state.timer, None);

    // The first run after the window is the first failure.
    let retry = Scenario::automatic(RunReason::ConfirmationRetry, after(900), answered(503));
    let retry = Scenario { windows: window(300, 10), ..retry }.saved(&again.state);
    assert!(!retry.check.in_maintenance);
    assert_eq!(retry.failing, Some(ListChange::Began(after(900))));
    assert_eq!(retry.state.timer, timer(RunReason::ConfirmationRetry, after(1_021)));
}

#[test]
fn a_run_that_only_begins_or_ends_in_a_window_is_in_it() {
    let up = run(0, 200).saved(&ToolState::new()).state;
    let begins_before = Scenario { now: after(300), ..run(290, 503) };
    let ends_after = Scenario { now: after(910), ..run(899, 503) };
    for inside in [begins_before, ends_after] {
        let change = inside.saved(&up);
        assert!(change.check.in_maintenance);
        assert_eq!(phases(&change.state), phases(&up));
    }
    // The end has passed already, so the next run comes in a minute.
    let late = Scenario { now: after(910), ..run(899, 503) }.saved(&up);
    assert_eq!(late.state.timer, timer(RunReason::ConfirmationRetry, after(970)));
    for outside in [Scenario { now: after(299), ..run(290, 503) }, run(900, 503)] {
        assert!(!outside.saved(&up).check.in_maintenance);
    }
    let sites = Some([SiteId(Uuid::from_u128(7))].into());
    let elsewhere = NewWindow { sites, ..NewWindow::lasting(10) };
    let id = WindowId(Uuid::from_u128(1));
    let elsewhere = elsewhere.into_window(id, &NamedZone::utc(), after(300));
    let windows = Windows::default().with(elsewhere, after(300)).expect("a window");
    let other = Scenario { windows, ..run(360, 503) };
    assert!(!other.saved(&up).check.in_maintenance, "the window is for another site");
    for (selector, is_covered) in [("env", false), ("!env", true)] {
        let selector = Selector::parse(selector).ok();
        let selecting = NewWindow { selector, ..NewWindow::lasting(10) };
        let selecting = selecting.into_window(id, &NamedZone::utc(), after(300));
        let windows = Windows::default().with(selecting, after(300)).expect("a window");
        let run = Scenario { windows, ..run(360, 503) };
        assert_eq!(run.saved(&up).check.in_maintenance, is_covered);
    }
}

#[test]
fn an_active_issue_stays_as_it_is_in_a_window_and_is_followed_up_when_it_ends() {
    let down = run(0, 503).saved(&ToolState::new()).state;
    let down = run(120, 503).saved(&down);
    assert_eq!(events(&down).len(), 1, "it opens");
    for code in [200, 503] {
        let mut state = down.state.clone();
        for seconds in [360, 420, 480, 540] {
            let change = run(seconds, code).saved(&state);
            assert!(change.events.is_empty(), "{code} at {seconds}");
            state = change.state;
        }
        assert_eq!(phases(&state), phases(&down.state));
        assert_eq!(state.timer, timer(RunReason::IncidentFollowUp, after(900)));
    }
}

#[test]
fn checks_in_a_window_have_rows_that_say_so_also_on_demand() {
    let up = run(0, 200).saved(&ToolState::new()).state;
    let packed = run(60, 200).saved(&up).packed(&answered(200), BlockVersion::Two, |_| true);
    assert_eq!(packed.keeping, Keeping::Packed);
    let marked =
        run(360, 200).saved(&packed.state).packed(&answered(200), BlockVersion::Two, |_| true);
    assert_eq!(marked.keeping, Keeping::Row);
    assert_eq!(marked.state.block, packed.state.block);

    let ordered = marked.state.enqueue(None, order(400), after(400), 30);
    assert!(!ordered.check.in_maintenance);
    let ran =
        Scenario { windows: window(300, 10), ..Scenario::on_demand(order(400), answered(503)) };
    let ran = ran.saved(&ordered.state);
    assert!(ran.check.in_maintenance);
    let counted = ran.state.day.expect("a day");
    assert_eq!(
        counted.sums.in_maintenance,
        InMaintenance { checks: 1, up: 1 },
        "no automatic check"
    );
}

#[test]
fn a_timer_that_waits_for_the_end_of_a_window_is_not_too_far_ahead() {
    let before = run(0, 200).saved(&ToolState::new()).state;
    // A window of a day.
    let long = Scenario { windows: window(300, 24 * 60), ..run(360, 503) };
    let waiting = long.saved(&before).state;
    let end = after(300 + 24 * 3_600);
    assert_eq!(waiting.timer, timer(RunReason::ConfirmationRetry, end));
    let policy = long.run().policy();
    let rebuild = |state: &ToolState, until| {
        let rebuilt = state.with_missing_timer(&policy, TimeScale::default(), until, after(3_600));
        rebuilt.map(|next| next.timer)
    };
    assert_eq!(rebuild(&waiting, Some(end)), None);
    let down = Scenario::scheduled(after(61), 503)
        .saved(&Scenario::scheduled(after(0), 503).saved(&ToolState::new()).state)
        .state;
    let lost = ToolState { timer: None, ..down };
    assert_eq!(rebuild(&lost, Some(end)), Some(timer(RunReason::IncidentFollowUp, end)));
    // The window has ended early.
    assert!(rebuild(&waiting, None).is_some());
    assert!(rebuild(&waiting, Some(after(7_200))).is_some());
}
