//! What pings and deadlines mean, as stories of a job that is to run every 60 minutes, with 10 minutes of grace.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::heartbeats::schedule::{CronExpression, JobSchedule};
use crate::id::{HeartbeatId, TeamId};
use crate::time_zone::NamedZone;

/// Minutes after the start of a story, which is on the hour.
fn at(minute: i64) -> Timestamp {
    let start: Timestamp = "2026-11-20T09:00:00Z".parse().expect("a timestamp");
    start + SignedDuration::from_mins(minute)
}

fn minute(at: Timestamp) -> i64 {
    at.duration_since(self::at(0)).as_mins()
}

fn hourly() -> Heartbeat {
    let id = HeartbeatId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("an id");
    let schedule = JobSchedule::Every { minutes: 60 };
    let team = TeamId(id.as_uuid());
    Heartbeat { schedule, grace_minutes: 10, ..Heartbeat::new(id, team, "Job".to_owned(), at(0)) }
}

fn on_the_hour() -> Heartbeat {
    let expression = CronExpression::parse("0 * * * *").expect("an expression");
    Heartbeat { schedule: JobSchedule::Cron { expression, zone: NamedZone::utc() }, ..hourly() }
}

fn due(reports: &Reports, heartbeat: &Heartbeat, now: Timestamp) -> Option<Deadline> {
    reports.deadline(heartbeat, TimeScale::default(), now)
}

/// A ping to a path, where `ok` stands for none. Runs have numbers.
fn ping(path: &str, run: Option<u128>, minute: i64) -> Ping {
    let kind = PingKind::parse(if path == "ok" { "" } else { path }).expect("a kind");
    Ping { kind, run: run.map(Uuid::from_u128), body: Vec::new(), at: at(minute) }
}

/// What each step of a story says. A step is a minute and a ping, with the number of a run if it has one, or:
///
/// - `due`: when is the next deadline?
/// - `is`: what is the state?
/// - `pass`: the deadline passes.
/// - `pause`, `resume`.
fn play(heartbeat: &Heartbeat, story: &str) -> String {
    let mut reports = Reports::default();
    let mut said = Vec::new();
    for step in story.split(", ") {
        let words: Vec<_> = step.split(' ').collect();
        let minutes = words[0].parse().expect("a minute");
        let now = at(minutes);
        let deadline = due(&reports, heartbeat, now);
        let (next, says) = match words[1] {
            "pause" => (reports.paused(), "-".to_owned()),
            "resume" => (reports.resumed(now), "-".to_owned()),
            "is" => (reports.clone(), reports.state().to_string()),
            "due" => (
                reports.clone(),
                match deadline {
                    None => "never".to_owned(),
                    Some(Deadline { at, awaited: Awaited::Ping(_) }) => {
                        format!("ping {}", minute(at))
                    }
                    Some(Deadline { at, awaited: Awaited::End(_) }) => {
                        format!("end {}", minute(at))
                    }
                },
            ),
            "pass" => match deadline.filter(|deadline| deadline.at <= now) {
                None => (reports.clone(), "early".to_owned()),
                Some(deadline) => {
                    let (next, result) = reports.missed(heartbeat, deadline);
                    assert_eq!(result.deadline, Some(deadline.at));
                    (next, format!("{:?}", result.outcome))
                }
            },
            path => {
                let run = words.get(2).map(|run| run.parse().expect("a number"));
                match reports.receive(heartbeat, &ping(path, run, minutes)) {
                    Err(TooOften(_)) => (reports.clone(), "refused".to_owned()),
                    Ok(Received::Known) => (reports.clone(), "known".to_owned()),
                    Ok(Received::Noted(next)) => (next, "-".to_owned()),
                    Ok(Received::Checked(next, result)) => {
                        let lasted =
                            result.duration.map(|millis| format!(" {}", millis / 60_000.0));
                        (next, format!("{:?}{}", result.outcome, lasted.unwrap_or_default()))
                    }
                }
            }
        };
        reports = next;
        said.push(says);
    }
    said.join(", ")
}

fn assert_stories(heartbeat: &Heartbeat, stories: &[(&str, &str)]) {
    for (story, said) in stories {
        assert_eq!(play(heartbeat, story), *said, "{story}");
    }
}

#[test]
fn a_ping_starts_or_ends_a_run() {
    assert_stories(
        &hourly(),
        &[
            (
                "0 is, 0 due, 0 start, 0 is, 5 ok, 5 is",
                "new, never, -, on_time, Success 5, on_time",
            ),
            ("0 ok, 0 is", "Success, on_time"),
            ("0 start, 2 0", "-, Success 2"),
            ("0 start, 2 fail, 2 is, 4 ok, 4 is", "-, Failure 2, failed, Success, on_time"),
            ("0 255, 0 is", "Failure, failed"),
            ("0 fail, 1 start, 1 is", "Failure, -, failed"),
            // Without anything to keep, a log entry is only counted.
            ("0 log, 0 is, 0 due", "-, new, never"),
            ("0 start, 1 log, 5 ok", "-, -, Success 5"),
            // Of a start without an end, only the newer start is known.
            ("0 start, 3 start, 5 ok", "-, -, Success 2"),
            // Without the id of a run, each ping counts.
            ("0 ok, 0 ok, 0 fail, 0 fail", "Success, Success, Failure, Failure"),
        ],
    );
}

#[test]
fn runs_with_ids_may_overlap_and_each_ping_of_them_counts_once() {
    assert_stories(
        &hourly(),
        &[
            ("0 start 1, 1 start 2, 4 ok 1, 6 ok 2", "-, -, Success 4, Success 5"),
            ("0 start 1, 1 ok 9, 3 ok 1", "-, Success, Success 3"),
            ("0 start 1, 1 start, 2 start 3, 5 ok, 6 ok 1", "-, -, -, Success 4, Success"),
            ("0 start 1, 2 start 1, 5 ok 1, 6 ok 1, 6 due", "-, known, Success 5, known, ping 75"),
            ("0 ok 1, 1 fail 1, 2 0 1, 3 1 1", "Success, Failure, Success, Failure"),
            ("0 log 1, 1 log 1", "-, known"),
            // Only four runs are known to be in progress.
            (
                "0 start 1, 0 start 2, 0 start 3, 0 start 4, 0 start 5, 1 ok 1, 2 ok 2",
                "-, -, -, -, -, Success, Success 2",
            ),
        ],
    );
}

#[test]
fn a_deadline_moves_with_each_end_and_passes_only_after_the_grace_period() {
    assert_stories(
        &hourly(),
        &[
            (
                "0 ok, 0 due, 20 fail, 20 due, 30 log, 30 due",
                "Success, ping 70, Failure, ping 90, -, ping 90",
            ),
            ("0 ok, 69 pass, 69 is, 70 pass, 70 is", "Success, early, on_time, Missed, late"),
            (
                "0 ok, 70 pass, 70 due, 130 pass, 130 due",
                "Success, Missed, ping 130, Missed, ping 190",
            ),
            (
                "0 ok, 70 pass, 80 start, 80 is, 85 ok, 85 is, 85 due",
                "Success, Missed, -, late, Success 5, on_time, ping 155",
            ),
            // A run must end within the grace period if nobody chose more.
            (
                "0 start, 0 due, 10 pass, 10 is, 10 due, 12 ok, 12 is",
                "-, end 10, Missed, late, never, Success 12, on_time",
            ),
            ("0 ok, 62 start, 62 due, 70 pass, 72 pass", "Success, -, ping 70, Missed, Missed"),
            // Two runs that began at once pass their deadline one after the other.
            ("0 start 1, 0 start 2, 10 pass, 10 pass, 10 pass", "-, -, Missed, Missed, early"),
        ],
    );
    let on_the_hour = on_the_hour();
    assert_stories(
        &on_the_hour,
        &[
            (
                "0 ok, 0 due, 59 ok, 59 due, 60 ok, 60 due",
                "Success, ping 70, Success, ping 70, Success, ping 130",
            ),
            (
                "0 ok, 70 pass, 70 due, 71 ok, 71 due",
                "Success, Missed, ping 130, Success, ping 130",
            ),
        ],
    );
    let patient = Heartbeat { longest_run_minutes: Some(30), ..hourly() };
    assert_stories(
        &patient,
        &[
            (
                "0 start, 0 due, 29 pass, 30 pass, 30 is, 30 due",
                "-, end 30, early, RunningLong, running_long, never",
            ),
            ("0 start, 30 pass, 45 ok, 45 is", "-, RunningLong, Success 45, on_time"),
            (
                "0 start 1, 5 start 2, 30 pass, 30 due, 31 ok 1, 31 is",
                "-, -, RunningLong, end 35, Success 31, on_time",
            ),
            ("0 ok, 60 start, 70 pass, 90 pass, 90 is", "Success, -, Missed, RunningLong, late"),
        ],
    );
}

#[test]
fn nothing_is_expected_in_a_pause_and_everything_anew_after_it() {
    assert_stories(
        &hourly(),
        &[
            ("0 ok, 5 pause, 5 is, 5 due, 99 pass", "Success, -, paused, never, early"),
            ("0 ok, 5 pause, 99 resume, 99 is, 99 due", "Success, -, -, on_time, ping 169"),
            ("0 ok, 5 pause, 99 ok, 99 is, 99 due", "Success, -, Success, on_time, ping 169"),
            ("0 ok, 70 pass, 75 pause, 99 resume, 99 is", "Success, Missed, -, -, on_time"),
            ("0 fail, 5 pause, 99 resume, 99 is", "Failure, -, -, on_time"),
            ("0 pause, 9 resume, 9 is, 9 due", "-, -, new, never"),
            ("0 start, 5 pause, 6 resume, 7 due, 8 ok", "-, -, -, never, Success"),
            // A start does not end the pause. Its run is not too long as soon as the pause is over.
            ("0 pause, 1 start, 1 is, 99 resume, 99 due", "-, -, paused, -, never"),
        ],
    );
}

#[test]
fn too_many_pings_are_refused_but_no_failure_is() {
    let burst = ["0 log"; 30].join(", ");
    let said = play(&hourly(), &format!("{burst}, 0 ok, 0 start, 0 fail, 0 1, 1 ok"));
    assert!(said.ends_with("-, refused, refused, Failure, Failure, Success"), "{said}");
}

#[test]
fn a_check_keeps_what_the_job_said() {
    let said = |path: &str| {
        let ping = Ping { body: b"disk full".to_vec(), ..ping(path, None, 5) };
        match Reports::default().receive(&hourly(), &ping) {
            Ok(Received::Checked(_, of)) => Some((of.outcome, of.exit_status, of.output)),
            _ => None,
        }
    };
    let output = || Some("disk full".to_owned());
    assert_eq!(said("7"), Some((RunOutcome::Failure, Some(7), output())));
    assert_eq!(said("0"), Some((RunOutcome::Success, Some(0), output())));
    assert_eq!(said("fail"), Some((RunOutcome::Failure, None, output())));
    assert_eq!(said("log"), Some((RunOutcome::Log, None, output())));
    assert_eq!(said("start"), None);
}

/// The next deadline if pauses, in minutes, excuse what has not happened by the last one.
fn excused(reports: &Reports, heartbeat: &Heartbeat, pauses: &[(i64, i64)]) -> Option<Reports> {
    let pauses: Vec<_> =
        pauses.iter().map(|(from, to)| Pause { from: at(*from), to: at(*to) }).collect();
    let deadline = due(reports, heartbeat, at(200)).expect("a deadline");
    reports.excused(heartbeat, deadline, &pauses, TimeScale::default())
}

fn received(heartbeat: &Heartbeat, reports: &Reports, ping: &Ping) -> Reports {
    match reports.receive(heartbeat, ping) {
        Ok(Received::Noted(next) | Received::Checked(next, _)) => next,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_ping_that_nobody_listened_to_is_excused_for_a_period() {
    for heartbeat in [hourly(), on_the_hour()] {
        let reports = received(&heartbeat, &Reports::default(), &ping("ok", None, 0));
        for (pauses, next) in [
            (&[][..], None),
            (&[(20, 50)], None),
            (&[(70, 80)], None),
            // The job may be early, but the next deadline is later than this one.
            (&[(20, 51)], Some(130)),
            (&[(40, 59)], Some(130)),
            (&[(60, 61), (66, 69)], Some(130)),
        ] {
            let next_due = excused(&reports, &heartbeat, pauses)
                .map(|next| minute(due(&next, &heartbeat, at(70)).expect("a deadline").at));
            let is_cron = heartbeat.schedule != hourly().schedule;
            let next = match pauses.last() {
                Some((_, 60..)) if !is_cron => next.map(|_| 139),
                _ => next,
            };
            assert_eq!(next_due, next, "{pauses:?} {}", heartbeat.schedule.words());
        }
    }
}

#[test]
fn a_job_that_is_gone_is_found_in_spite_of_restarts_and_a_ping_ends_the_excuse() {
    let heartbeat = hourly();
    let reports = received(&heartbeat, &Reports::default(), &ping("ok", None, 0));
    let once = excused(&reports, &heartbeat, &[(59, 60)]).expect("an excuse");
    assert_eq!(once.excused, Some(Pause { from: at(59), to: at(60) }));
    // The next ping is awaited from 110 to 130.
    assert_eq!(excused(&once, &heartbeat, &[(59, 60), (120, 129)]), None);
    assert!(excused(&once, &heartbeat, &[(59, 60), (115, 125)]).is_some());
    assert_eq!(received(&heartbeat, &once, &ping("ok", None, 80)).excused, None);
    assert_eq!(once.paused().excused, None);
}

#[test]
fn a_run_may_have_ended_while_nobody_listened() {
    let heartbeat = hourly();
    let started =
        |reports, run, minute| received(&heartbeat, &reports, &ping("start", Some(run), minute));
    let reports = started(started(Reports::default(), 1, 0), 2, 5);
    let next = excused(&reports, &heartbeat, &[(3, 4)]).expect("an excuse");
    // The run that began later is still awaited, and no ping is expected from a job that has never ended a run.
    assert_eq!(next.running.iter().map(|run| run.at).collect::<Vec<_>>(), [at(5)]);
    let deadline = Deadline { at: at(15), awaited: Awaited::End(at(5)) };
    assert_eq!(due(&next, &heartbeat, at(10)), Some(deadline));
    assert_eq!(excused(&reports, &heartbeat, &[(-9, 0), (10, 12)]), None);
}

const PATHS: [&str; 6] = ["start", "ok", "fail", "log", "0", "3"];

proptest! {
    /// Pings in the order of arrival; all deadlines before a ping have passed, some of them in a pause of Vedette.
    #[test]
    fn nothing_is_lost_in_any_order(
        is_cron in any::<bool>(),
        longest_run_minutes in proptest::option::of(1_u32..40),
        steps in prop::collection::vec(
            (
                prop_oneof![Just(0_i64), 0_i64..100],
                prop::sample::select(&PATHS[..]),
                proptest::option::of(0_u128..3),
                any::<bool>(),
            ),
            0..30,
        ),
        pauses in prop::collection::vec((0_i64..2_000, 1_i64..90), 0..8),
    ) {
        let heartbeat = if is_cron { on_the_hour() } else { hourly() };
        let heartbeat = Heartbeat { longest_run_minutes, ..heartbeat };
        let pauses: Vec<_> = pauses
            .into_iter()
            .map(|(from, minutes)| Pause { from: at(from), to: at(from + minutes) })
            .collect();
        let (mut reports, mut now, mut runs) = (Reports::default(), 0, 0_usize);
        let mut seen = VecDeque::new();
        for (wait, path, run, pause_follows) in steps {
            now += wait;
            let mut passed = Vec::new();
            while let Some(deadline) =
                due(&reports, &heartbeat, at(now)).filter(|it| it.at <= at(now))
            {
                let known: Vec<_> =
                    pauses.iter().copied().filter(|pause| pause.to <= deadline.at).collect();
                let excused = reports.excused(&heartbeat, deadline, &known, TimeScale::default());
                reports = excused.unwrap_or_else(|| {
                    let (next, result) = reports.missed(&heartbeat, deadline);
                    runs += usize::from(result.outcome == RunOutcome::Missed);
                    next
                });
                // What was awaited is awaited no longer: a ping once, and each run once.
                prop_assert!(passed.last().is_none_or(|last| *last <= deadline.at));
                passed.push(deadline.at);
                let at_once = passed.iter().filter(|at| **at == deadline.at).count();
                prop_assert!(at_once <= RUNNING_MAX + 1, "{deadline:?} has passed before");
            }
            let ping = ping(path, run, now);
            let is_known = run.is_some() && seen.contains(&(path, run));
            match reports.receive(&heartbeat, &ping) {
                Ok(Received::Known) => prop_assert!(is_known),
                Ok(Received::Noted(next)) => {
                    prop_assert!(!is_known && matches!(path, "start" | "log"));
                    reports = next;
                }
                Ok(Received::Checked(next, result)) => {
                    prop_assert!(!is_known && result.outcome.is_end());
                    prop_assert_eq!(next.last, Some(at(now)));
                    let from_now = heartbeat.schedule.next_after(at(now), TimeScale::default());
                    let expected = next.from.and_then(|from| {
                        heartbeat.schedule.next_after(from, TimeScale::default())
                    });
                    prop_assert_eq!(expected, from_now);
                    (reports, runs) = (next, runs + 1);
                }
                Err(refused) => prop_assert!(false, "{refused:?}"),
            }
            if run.is_some() {
                if !is_known {
                    seen.push_back((path, run));
                    if seen.len() > SEEN_MAX {
                        seen.pop_front();
                    }
                }
                prop_assert_eq!(reports.receive(&heartbeat, &ping), Ok(Received::Known));
            }
            if pause_follows {
                let resumed = reports.paused().resumed(at(now));
                let is_later = due(&resumed, &heartbeat, at(now)).is_none_or(|it| it.at > at(now));
                prop_assert!(is_later && resumed.running_since().is_none());
            }
            prop_assert_eq!(reports.recent.iter().len(), runs.min(30));
            let stored = serde_json::to_string(&reports).expect("JSON");
            let read: Reports = serde_json::from_str(&stored).expect("reports");
            prop_assert_eq!(&read, &reports);
        }
    }
}
