//! No POST is begun twice.

use super::*;
use crate::checks::tool_state::NoPost;

fn scheduled(seconds: i64) -> CheckId {
    CheckId::automatic(site(), Tool::Status, RunReason::Scheduled, after(seconds))
}

fn begun(state: &ToolState, check: CheckId, seconds: i64) -> ToolState {
    state.begin_post(check, 1, after(seconds)).expect("a POST")
}

#[test]
fn a_post_begins_once_and_is_forgotten_when_its_check_ends() {
    let state = ToolState::new();
    let check = scheduled(60);
    let posting = begun(&state, check, 61);
    assert_eq!(posting.rev, state.rev + 1);
    assert_eq!(posting.begin_post(check, 1, after(62)), Err(NoPost::InProgress));
    assert_eq!(posting.refuses_post(check, after(116)), Some(NoPost::InProgress));
    assert_eq!(posting.begin_post(check, 1, after(117)), Err(NoPost::Lost));
    // An earlier slot whose message is late.
    assert_eq!(
        posting.begin_post(scheduled(0), 1, after(62)),
        Err(NoPost::Discarded(Discard::Stale))
    );
    assert_eq!(posting.refuses_post(scheduled(120), after(121)), None);

    let saved = Scenario::scheduled(after(60), 200).saved(&posting).state;
    assert!(saved.posts.is_empty());
    assert_eq!(saved.begin_post(check, 1, after(62)), Err(NoPost::Discarded(Discard::Stale)));
    // A check that dies is forgotten with the next one.
    let next = begun(&posting, scheduled(120), 121);
    assert!(Scenario::scheduled(after(120), 200).saved(&next).state.posts.is_empty());
}

#[test]
fn automatic_checks_and_those_on_demand_do_not_hide_each_other() {
    let state = ToolState { pending: Some(order(30)), ..ToolState::new() };
    let automatic = begun(&state, scheduled(60), 61);
    let both = begun(&automatic, order(30), 61);
    assert_eq!(both.refuses_post(scheduled(60), after(62)), Some(NoPost::InProgress));
    assert_eq!(both.refuses_post(order(30), after(62)), Some(NoPost::InProgress));
    let saved = Scenario::on_demand(order(30), answered(200)).saved(&both).state;
    assert_eq!(saved.refuses_post(scheduled(60), after(62)), Some(NoPost::InProgress));
    assert_eq!(saved.refuses_post(order(30), after(62)), None);
}

#[test]
fn only_a_run_that_counts_begins_its_post() {
    let state = ToolState { cfg: 2, ..ToolState::new() };
    let check = scheduled(60);
    assert_eq!(state.begin_post(check, 1, after(61)), Err(NoPost::Discarded(Discard::Superseded)));
    assert!(state.begin_post(check, 2, after(61)).is_ok());
    let unwanted =
        CheckId::automatic(site(), Tool::Status, RunReason::ConfirmationRetry, after(60));
    assert_eq!(
        state.begin_post(unwanted, 2, after(61)),
        Err(NoPost::Discarded(Discard::TimerGone))
    );
}

#[test]
fn a_clock_that_was_set_back_holds_nothing_up() {
    let ahead = begun(&ToolState::new(), scheduled(7_200), 7_201);
    assert_eq!(ahead.refuses_post(scheduled(60), after(61)), None);
    assert_eq!(ahead.refuses_post(scheduled(7_200), after(61)), Some(NoPost::Lost));
}

#[test]
fn a_state_without_a_post_is_as_small_as_ever_and_others_read_back() {
    let stored = |state: &ToolState| serde_json::to_value(state).expect("json");
    assert!(stored(&ToolState::new()).get("po").is_none());
    let posting = begun(&ToolState::new(), scheduled(60), 61);
    assert_eq!(serde_json::from_value::<ToolState>(stored(&posting)).expect("a state"), posting);
}
