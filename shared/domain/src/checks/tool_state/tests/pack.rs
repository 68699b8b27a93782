use serde_bytes::ByteBuf;

use super::*;
use crate::checks::check::Check;
use crate::checks::history::block::{Block, BlockVersion, SHAPES_MAX};
use crate::checks::tool_state::{BlockPlace, ClosedBlock, Keeping};
use crate::expectations::Unmet;

/// A day with checks that begin a minute apart.
fn start() -> ToolState {
    Scenario::scheduled(after(0), 200).saved(&ToolState::new()).state
}

fn minute(minutes: i64) -> Timestamp {
    after(60 * minutes)
}

/// Packs the run's check if possible. The block is full if it has more than this many bytes.
fn packed_within(run: &Scenario, state: &ToolState, bytes: usize) -> ToolChange {
    let fits = |state: &ToolState| state.block.as_ref().is_none_or(|block| block.len() <= bytes);
    run.saved(state).packed(&run.finish, BlockVersion::Two, fits)
}

fn packed(run: &Scenario, state: &ToolState) -> ToolChange {
    packed_within(run, state, 800)
}

fn open_checks(state: &ToolState) -> Vec<Check> {
    let block = state.open_block().and_then(Result::ok);
    block.map_or_else(Vec::new, |block| block.checks_of(site().partition(), Tool::Status))
}

fn answered_at(url: &str) -> Finish {
    let Finish::Completed(ToolResult::Status(result)) = answered(200) else { unreachable!() };
    Finish::Completed(ToolResult::Status(StatusResult { effective_url: url.to_owned(), ..result }))
}

#[test]
fn an_uneventful_check_is_packed_and_found_by_what_points_to_it() {
    let mut state = start();
    let mut saved = Vec::new();
    for run in (1..=60).map(|at| Scenario::scheduled(minute(at), 200)) {
        let change = packed(&run, &state);
        assert_eq!((change.keeping, change.closed_block.clone()), (Keeping::Packed, None));
        saved.push(change.check.clone());
        state = change.state;
    }
    assert_eq!(open_checks(&state), saved);
    let block = Some(minute(1));
    let latest = state.latest().expect("a check");
    assert_eq!(latest.check, CheckPointer { id: saved[59].id, block });
    assert_eq!(state.evaluated, Some(latest.check));
    assert_eq!(state.previous, Some(CheckPointer { id: saved[58].id, block }));
    let expires_at = state.day.as_ref().expect("a day").rows_expire_at();
    let source = CheckSource::State { check: saved[59].clone(), expires_at };
    assert_eq!(state.source(latest), source);
    let elsewhere =
        Latest { check: CheckPointer { id: saved[3].id, block: Some(after(0)) }, ..latest };
    assert_eq!(state.source(elsewhere), CheckSource::Table(elsewhere));
    assert!(state.block.expect("a block").len() < 800, "sixty checks in a write unit");
}

#[test]
fn only_scheduled_completed_uneventful_checks_are_packed() {
    let state = start();
    let next = |change: &ToolChange| {
        let Timer { reason, due } = change.state.timer.expect("a timer");
        Scenario::automatic(reason, due, answered(503))
    };
    let first = packed(&Scenario::scheduled(minute(1), 503), &state);
    assert_eq!(first.keeping, Keeping::Packed, "below the threshold nothing has happened");
    let opened = packed(&next(&first), &first.state);
    assert_eq!((events(&opened).len(), opened.keeping), (1, Keeping::Row));
    assert_eq!(open_checks(&opened.state).len(), 1, "the state carries its block on");
    assert_eq!(packed(&next(&opened), &opened.state).keeping, Keeping::Row);
    let resolving = packed(&Scenario::scheduled(minute(9), 200), &opened.state);
    assert_eq!(resolving.keeping, Keeping::Packed);
    let resolved = packed(&Scenario::scheduled(minute(10), 200), &resolving.state);
    assert_eq!((events(&resolved).len(), resolved.keeping), (1, Keeping::Row));
    let unable = Scenario::automatic(RunReason::Scheduled, minute(1), failed());
    assert_eq!(packed(&unable, &state).keeping, Keeping::Row);
    let ordered = state.enqueue(None, order(30), after(30), 30).state;
    let asked = Scenario::on_demand(order(30), answered(200));
    assert_eq!(packed(&asked, &ordered).keeping, Keeping::Row);
}

#[test]
fn a_full_block_is_closed_by_the_check_that_begins_the_next() {
    let mut state = start();
    let mut blocks = Vec::new();
    for run in (1..=200).map(|at| Scenario::scheduled(minute(at), 200)) {
        let change = packed_within(&run, &state, 300);
        assert_eq!(change.keeping, Keeping::Packed);
        blocks.extend(change.closed_block);
        state = change.state;
    }
    let expires_at = state.day.as_ref().expect("a day").rows_expire_at();
    let mut at = 1;
    for ClosedBlock { place, bytes, expires_at: until } in blocks {
        assert_eq!((place, until), (BlockPlace::First(minute(at)), expires_at));
        let block = Block::read(&bytes).expect("a block");
        at += i64::try_from(block.checks().count()).expect("a count");
    }
    assert!(at > 100);
    assert_eq!(state.open_block().expect("a block").expect("readable").first_slot(), minute(at));
}

#[test]
fn a_check_that_no_block_has_room_for_is_a_row() {
    let state = packed(&Scenario::scheduled(minute(1), 200), &start()).state;
    let change = packed_within(&Scenario::scheduled(minute(2), 200), &state, 10);
    assert_eq!((change.keeping, change.closed_block), (Keeping::Row, None));
    assert_eq!(change.state.block, state.block);
}

#[test]
fn a_site_that_answers_in_many_ways_begins_another_block() {
    let mut state = start();
    for at in 1..=20 {
        let finish = answered_at(&format!("https://example.com/{at}"));
        let run = Scenario::automatic(RunReason::Scheduled, minute(at), finish);
        let change = packed(&run, &state);
        let is_full = at > 1 && (at - 1) % i64::try_from(SHAPES_MAX).expect("few") == 0;
        assert_eq!((change.keeping, change.closed_block.is_some()), (Keeping::Packed, is_full));
        state = change.state;
    }
}

#[test]
fn the_first_check_of_a_day_closes_the_block_and_late_checks_are_rows() {
    let evening = at("2026-11-20T23:58:50Z");
    let state = packed(&Scenario::scheduled(evening, 200), &start()).state;
    let block = ClosedBlock {
        place: BlockPlace::First(evening),
        bytes: state.block.clone().expect("a block").into_vec(),
        expires_at: at("2026-12-22T00:00:00Z"),
    };
    // A scheduled check begins the block of its own day.
    let morning = packed(&Scenario::scheduled(evening + 2.minutes(), 200), &state);
    assert_eq!((morning.keeping, morning.closed_block.as_ref()), (Keeping::Packed, Some(&block)));
    assert_eq!(open_checks(&morning.state), std::slice::from_ref(&morning.check));
    // An on-demand request comes before the check of ten seconds to midnight.
    let midnight = at("2026-11-21T00:00:05Z");
    let check = CheckId::on_demand(site(), Tool::Status, midnight, 7);
    let ordered = state.enqueue(None, check, midnight, 30);
    assert_eq!((ordered.state.block.as_ref(), ordered.closed_block), (None, Some(block)));
    let Some(DayWrite::Close(day)) = &ordered.day else { panic!("the day ends") };
    let late = Scenario::scheduled(evening + 1.minute(), 200);
    let change = late.on_day(&ordered.state, Some(day)).expect("it counts");
    let change = change.packed(&late.finish, BlockVersion::Two, |_| true);
    assert_eq!((change.keeping, change.closed_block), (Keeping::Row, None));
    assert_eq!(change.expires_at, at("2026-12-22T00:00:00Z"));
    assert!(matches!(change.day, Some(DayWrite::Amend(_))));
}

#[test]
fn a_block_that_cannot_be_read_is_set_aside() {
    let unknown = ByteBuf::from(vec![9, 9, 9]);
    let state = ToolState { block: Some(unknown.clone()), ..start() };
    assert_eq!(open_checks(&state), []);
    let change = packed(&Scenario::scheduled(minute(1), 200), &state);
    let aside = change.closed_block.expect("a block");
    assert_eq!((change.keeping, aside.place), (Keeping::Packed, BlockPlace::Unreadable(minute(1))));
    assert_eq!(aside.bytes, unknown.into_vec());
    assert_eq!(open_checks(&change.state), [change.check]);
    // The end of a day sets the block aside, too.
    let turned = Scenario::scheduled(at("2026-11-21T00:00:00Z"), 200).saved(&state);
    let aside = turned.closed_block.expect("a block").place;
    assert_eq!(aside, BlockPlace::Unreadable(at("2026-11-21T00:00:00Z")));
}

#[test]
fn after_the_clock_was_set_back_checks_are_rows_until_it_has_caught_up() {
    let state = packed(&Scenario::scheduled(after(3_000), 200), &start()).state;
    let back = packed(&Scenario::scheduled(after(600), 200), &state);
    assert_eq!(back.keeping, Keeping::Row);
    let caught_up = packed(&Scenario::scheduled(after(3_060), 200), &back.state);
    assert_eq!(caught_up.keeping, Keeping::Packed);
    assert_eq!(open_checks(&caught_up.state).len(), 2);
}

/// An answer with 200 that was compared with expectations.
fn judged(messages: &[&str]) -> Finish {
    let Finish::Completed(ToolResult::Status(result)) = answered(200) else { unreachable!() };
    let unmet = |message: &&str| Unmet {
        fingerprint: Fingerprint::StatusExpectation,
        message: (*message).to_owned(),
    };
    let judged = Some(messages.iter().map(unmet).collect());
    Finish::Completed(ToolResult::Status(StatusResult { judged, ..result }))
}

#[test]
fn met_expectations_are_packed_as_if_nothing_was_expected_and_unmet_ones_are_not() {
    let scheduled = |at, finish| Scenario::automatic(RunReason::Scheduled, minute(at), finish);
    let state = packed(&Scenario::scheduled(minute(1), 200), &start()).state;
    let plain = packed(&Scenario::scheduled(minute(2), 200), &state);
    let met = packed(&scheduled(2, judged(&[])), &state);
    assert_eq!((met.keeping, &met.state.block), (Keeping::Packed, &plain.state.block));

    let unmet = packed(&scheduled(2, judged(&["expected 1 at /n, got 2"])), &state);
    assert_eq!((unmet.keeping, &unmet.state.block), (Keeping::Row, &state.block));
    assert_eq!(unmet.check.unmet[0].message, "expected 1 at /n, got 2");
    assert_eq!(unmet.check.result, plain.check.result, "the result itself does not say it");
}
