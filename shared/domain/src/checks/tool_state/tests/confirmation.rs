//! How other locations affect failing runs: what opens, what waits, and what comes next.

use super::*;
use crate::locations::{Answer, HomeStatus, Location, LocationVote, NoVote, RemoteStatus};

/// What one other location says: the code that it saw, or nothing.
fn given(code: Option<u16>) -> Votes {
    let saw = |code| Answer::Checked(RemoteStatus { code, error: None, response_time: 41.0 });
    let answer = code.map(saw).ok_or(NoVote::NoAnswer);
    let incident_codes = &[503].into();
    let location = Location::parse("eu-west-1").expect("a location");
    let home = HomeStatus { code: 503, incident_codes };
    Votes::Given(vec![LocationVote::new(location, answer, home)])
}

/// A site that is checked every two minutes.
struct Life {
    state: ToolState,
    seconds: i64,
}

impl Life {
    fn new() -> Self {
        Self { state: ToolState::new(), seconds: 0 }
    }

    /// Runs a check that finds this code, and returns what happens to issues and what comes next.
    fn check(&mut self, code: u16, votes: &Votes) -> (String, Option<RunReason>) {
        let scenario = Scenario::scheduled(after(self.seconds), code);
        self.seconds += 120;
        let (run, evaluations) = (scenario.run(), scenario.evaluations.clone());
        let change = self
            .state
            .apply_run(&run, &scenario.finish, evaluations, votes, None, scenario.now)
            .expect("it counts");
        let event = |event: &IssueEvent| {
            let verb = match event.event {
                Event::Opened { .. } => "opens",
                Event::Resolved { .. } => "resolves",
            };
            format!("{} {verb}", event.evaluation.fingerprint)
        };
        let happened: Vec<String> = change.events.iter().map(event).collect();
        self.state = change.state;
        let next = self.state.timer.map(|timer| timer.reason);
        (happened.join(", "), next)
    }
}

const RETRY: Option<RunReason> = Some(RunReason::ConfirmationRetry);
const FOLLOW_UP: Option<RunReason> = Some(RunReason::IncidentFollowUp);

fn happened(what: &str, next: Option<RunReason>) -> (String, Option<RunReason>) {
    (what.to_owned(), next)
}

#[test]
fn one_agreeing_location_opens_the_issue_at_once() {
    let mut life = Life::new();
    assert_eq!(life.check(503, &Votes::NotAsked), happened("", RETRY), "one failure of two");
    assert_eq!(life.check(503, &given(Some(503))), happened("status:down opens", FOLLOW_UP));
}

#[test]
fn no_vote_holds_the_issue_once_and_keeps_the_first_failure() {
    let mut life = Life::new();
    life.check(503, &Votes::NotAsked);
    assert_eq!(life.check(503, &given(None)), happened("", RETRY));
    assert_eq!(life.state.failing_since, Some(after(0)));
    assert_eq!(life.check(503, &given(None)), happened("status:down opens", FOLLOW_UP));
    let failures = life.state.trackers[&Fingerprint::StatusDown].tracker.failures();
    let failures = failures.expect("failures");
    assert_eq!((failures.first, failures.streak.get()), (after(0), 3));
    assert_eq!(life.state.failing_since, None);
}

#[test]
fn a_success_resets_the_count_of_failures() {
    let mut life = Life::new();
    for _ in 0..3 {
        life.check(503, &Votes::NotAsked);
        assert_eq!(life.check(503, &given(None)), happened("", RETRY));
        assert_eq!(life.check(200, &Votes::NotAsked), happened("", None));
    }
}

#[test]
fn the_third_dissent_opens_a_warning_which_is_retried_and_gives_way() {
    let mut life = Life::new();
    life.check(503, &Votes::NotAsked);
    for _ in 0..2 {
        assert_eq!(life.check(503, &given(Some(200))), happened("", RETRY));
    }
    // The warning does not turn the retry into a follow-up.
    assert_eq!(life.check(503, &given(Some(200))), happened("status:partial opens", RETRY));
    assert_eq!(life.state.failing_since, None, "an issue says so");
    assert_eq!(life.check(503, &given(None)), happened("", RETRY));
    assert_eq!(life.check(503, &given(Some(200))), happened("", RETRY));
    let confirmed = "status:down opens, status:partial resolves";
    assert_eq!(life.check(503, &given(Some(500))).0, "", "a code that is no incident disagrees");
    assert_eq!(life.check(503, &given(Some(503))), happened(confirmed, FOLLOW_UP));
    assert_eq!(life.check(200, &Votes::NotAsked), happened("", FOLLOW_UP));
    assert_eq!(life.check(200, &Votes::NotAsked), happened("status:down resolves", None));
}

fn partial() -> Life {
    let mut life = Life::new();
    life.check(503, &Votes::NotAsked);
    for _ in 0..3 {
        life.check(503, &given(Some(200)));
    }
    assert!(life.state.has_active(Fingerprint::StatusPartial));
    life
}

#[test]
fn a_warning_resolves_as_an_outage_does() {
    let mut life = partial();
    assert_eq!(life.check(200, &Votes::NotAsked), happened("", None));
    assert_eq!(life.check(503, &Votes::NotAsked), happened("", RETRY), "no success in a row");
    assert_eq!(life.check(200, &Votes::NotAsked), happened("", None));
    assert_eq!(life.check(200, &Votes::NotAsked), happened("status:partial resolves", None));
}

#[test]
fn resolving_a_warning_by_hand_resets_the_confirmation() {
    let mut life = partial();
    life.state = life.state.resolved_by_hand(Fingerprint::StatusPartial, Timestamp::MAX);
    assert_eq!((life.state.timer, life.state.failing_since.is_some()), (None, true));
    assert_eq!(life.check(503, &Votes::NotAsked), happened("", RETRY), "one failure of two");
    for _ in 0..2 {
        assert_eq!(life.check(503, &given(Some(200))), happened("", RETRY));
    }
    assert_eq!(life.check(503, &given(Some(200))), happened("status:partial opens", RETRY));
}

#[test]
fn without_other_locations_from_now_on_home_decides_alone() {
    let mut life = partial();
    let confirmed = "status:down opens, status:partial resolves";
    assert_eq!(life.check(503, &Votes::NoLocation), happened(confirmed, FOLLOW_UP));
}

#[test]
fn a_run_without_a_question_to_locations_opens_no_issue() {
    let mut life = Life::new();
    for _ in 0..9 {
        assert_eq!(life.check(503, &Votes::NotAsked), happened("", RETRY));
    }
    assert_eq!(life.check(503, &given(Some(503))).0, "status:down opens");
}

#[test]
fn locations_are_asked_exactly_when_the_run_would_open_an_issue() {
    let mut state = ToolState::new();
    let mut asked = Vec::new();
    for (number, code) in (0..).zip([503, 503, 503, 200, 200, 503, 503]) {
        let scenario = Scenario::scheduled(after(60 * number), code);
        asked.push(state.suspects(&scenario.run(), &scenario.evaluations[0]));
        state = scenario.saved(&state).state;
    }
    assert_eq!(asked, [false, true, false, false, false, false, true]);
}

#[test]
fn without_other_locations_nothing_else_is_stored() {
    let mut state = ToolState::new();
    for (number, code) in (0..).zip([503, 503, 200, 503, 200, 200, 503]) {
        state = Scenario::scheduled(after(60 * number), code).saved(&state).state;
    }
    let stored = serde_json::to_value(&state).expect("json");
    assert_eq!(stored["tr"].as_object().expect("trackers").len(), 1);
    assert_eq!(stored["tr"]["status:down"]["t"]["p"]["f"].as_object().expect("failing").len(), 1);
}
