//! When a site can't be checked.

use super::*;

/// The cadence of status checks, in seconds.
const CADENCE: i64 = 300;

fn scheduled(slot: i64, finish: Finish) -> Scenario {
    Scenario::automatic(RunReason::Scheduled, after(slot), finish)
}

/// What happens to the list of sites that can't be checked at each of some runs, and the state after them.
fn listed(runs: Vec<Scenario>) -> (Vec<Option<ListChange>>, ToolState) {
    let mut state = ToolState::new();
    let mut changes = Vec::new();
    for run in runs {
        let change = run.saved(&state);
        assert_eq!(change.unchecked, change.state.unchecked_change(&state));
        changes.push(change.unchecked);
        let stored = serde_json::to_value(&change.state).expect("json");
        state = serde_json::from_value(stored).expect("a state");
        assert_eq!(state, change.state);
    }
    (changes, state)
}

#[test]
fn a_site_cannot_be_checked_while_no_check_completes_for_three_cadences() {
    let began = |slot| Some(ListChange::Began(after(slot)));
    let ended = Some(ListChange::Ended);
    let good = |slot| scheduled(slot, answered(200));
    let bad = |slot| scheduled(slot, answered(503));
    let not_run = |slot| scheduled(slot, failed());
    const SECOND: i64 = CADENCE + 1;
    for (runs, changes) in [
        // It has never been checked.
        (vec![not_run(1), not_run(SECOND)], vec![began(1), None]),
        (vec![not_run(1), good(2)], vec![began(1), ended]),
        // It has been checked before.
        (
            vec![
                good(1),
                not_run(SECOND),
                not_run(SECOND + CADENCE),
                not_run(SECOND + 2 * CADENCE),
            ],
            vec![None, None, None, began(SECOND)],
        ),
        // A check that is slow to come is one of these, too.
        (
            vec![
                good(1),
                not_run(SECOND),
                not_run(SECOND + 9 * CADENCE),
                bad(SECOND + 10 * CADENCE),
            ],
            vec![None, None, began(SECOND), ended],
        ),
        // A check that completes interrupts it, whatever it finds.
        (
            vec![good(1), not_run(SECOND), bad(SECOND + CADENCE), not_run(SECOND + 2 * CADENCE)],
            vec![None, None, None, None],
        ),
    ] {
        assert_eq!(listed(runs).0, changes);
    }
}

#[test]
fn a_check_on_demand_does_not_change_whether_a_site_can_be_checked() {
    let (_, state) = listed(vec![scheduled(1, failed())]);
    let ordered = state.enqueue(None, order(60), after(60), 30);
    assert_eq!(ordered.unchecked, None);
    let ended = Scenario::on_demand(order(60), answered(200)).saved(&ordered.state);
    assert_eq!((ended.unchecked, &ended.state.not_run), (None, &state.not_run));
}

#[test]
fn the_state_says_why_a_site_cannot_be_checked() {
    let error = |message: &str, code: &str| {
        let (message, code) = (message.to_owned(), code.to_owned());
        Finish::Failed(CheckError { message, code, data: serde_json::Value::Null })
    };
    let long = "Not allowed. ".repeat(100);
    for (code, is_of_service) in [("target_forbidden", false), ("no_connectivity", true)] {
        let (_, state) = listed(vec![scheduled(1, failed()), scheduled(300, error(&long, code))]);
        let not_run = state.unchecked().expect("it can't be checked");
        assert_eq!((not_run.since, not_run.code.as_str()), (after(1), code));
        assert_eq!(not_run.notice_due(), after(3_601));
        assert_eq!(not_run.message.chars().count(), 200);
        assert_eq!(not_run.is_of_service(), is_of_service, "{code}");
    }
}
