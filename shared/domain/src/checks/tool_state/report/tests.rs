//! How the reports of an hourly job open and resolve issues, and how their checks are kept.

use jiff::SignedDuration;
use uuid::Uuid;

use super::*;
use crate::accounts::plan::Plan;
use crate::checks::history::block::BlockVersion;
use crate::heartbeats::ping::PingKind;
use crate::heartbeats::schedule::JobSchedule;
use crate::id::{HeartbeatId, TeamId, WindowId};
use crate::issues::Fingerprint;
use crate::issues::tracker::Event;
use crate::maintenance::{NewWindow, Windows};
use crate::time_zone::NamedZone;

fn at(minute: i64) -> Timestamp {
    let start: Timestamp = "2026-11-20T09:00:00Z".parse().expect("a timestamp");
    start + SignedDuration::from_mins(minute)
}

struct Job {
    heartbeat: Heartbeat,
    team: Team,
    state: ToolState,
}

impl Job {
    /// A job that is to run every 60 minutes, with 10 minutes of grace, and must end within 5.
    fn new() -> Self {
        let id = HeartbeatId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("an id");
        let team = Team::new(TeamId(id.as_uuid()), "Team", Plan::Starter, at(0));
        let heartbeat = Heartbeat {
            schedule: JobSchedule::Every { minutes: 60 },
            grace_minutes: 10,
            longest_run_minutes: Some(5),
            ..Heartbeat::new(id, team.id, "Job".to_owned(), at(0))
        };
        Self { heartbeat, team, state: ToolState::new() }
    }

    /// The same with a window.
    fn in_maintenance(start: i64, minutes: u32) -> Self {
        let job = Self::new();
        let new =
            NewWindow { sites: Some([job.heartbeat.id].into()), ..NewWindow::lasting(minutes) };
        let window = new.into_window(WindowId(Uuid::from_u128(1)), &NamedZone::utc(), at(start));
        let windows = Windows::default().with(window, at(start)).expect("a window");
        Self { team: Team { windows, ..job.team }, ..job }
    }

    fn context(&self, minute: i64) -> ReportContext<'_> {
        let (heartbeat, team, time_scale) = (&self.heartbeat, &self.team, TimeScale::default());
        ReportContext { heartbeat, team, time_scale, now: at(minute), attempts: 0 }
    }

    /// Saves an effect, and returns the change if there is a check.
    fn save(&mut self, minute: i64, effect: PingEffect) -> Option<ToolChange> {
        match effect {
            PingEffect::Nothing => None,
            PingEffect::Noted(next) => {
                self.state = *next;
                None
            }
            PingEffect::Reported(report) => {
                let context = self.context(minute);
                let (change, finish) = self.state.apply_report(&context, report, None);
                let change = change.packed(&finish, BlockVersion::Two, |_| true);
                self.state = change.state.clone();
                Some(change)
            }
        }
    }

    fn ping(&mut self, minute: i64, kind: PingKind, body: &str) -> Option<ToolChange> {
        let ping = Ping { kind, run: None, body: body.as_bytes().to_vec(), at: at(minute) };
        let effect = self.state.receive(&self.context(minute), &ping).expect("not too often");
        self.save(minute, effect)
    }

    fn deadline(&mut self, minute: i64, pauses: &[Pause]) -> Option<ToolChange> {
        let effect = self.state.pass_deadline(&self.context(minute), Timestamp::MAX, pauses);
        self.save(minute, effect)
    }

    fn timer(&self) -> Option<Timestamp> {
        self.state.timer.map(|timer| timer.due)
    }
}

/// The issues that a change opens (`true`) and resolves.
fn events(change: Option<ToolChange>) -> Vec<(Fingerprint, bool)> {
    let events = change.expect("a check").events;
    let opens = |event| matches!(event, Event::Opened { .. });
    events.iter().map(|of| (of.evaluation.fingerprint, opens(of.event))).collect()
}

const DOWN: Fingerprint = Fingerprint::HeartbeatDown;
const LONG: Fingerprint = Fingerprint::HeartbeatRunningLong;

#[test]
fn one_report_opens_or_resolves_an_issue() {
    let mut job = Job::new();
    assert_eq!(events(job.ping(0, PingKind::Success, "")), []);
    assert_eq!(job.deadline(69, &[]), None);
    let late = job.deadline(70, &[]);
    assert_eq!(late.as_ref().and_then(|change| change.check.has_failed), Some(true));
    assert_eq!(events(late), [(DOWN, true)]);
    // The issue is open already, and is resolved once.
    assert_eq!(events(job.deadline(130, &[])), []);
    assert_eq!(events(job.ping(131, PingKind::Exit(1), "")), []);
    assert_eq!(events(job.ping(132, PingKind::Exit(0), "")), [(DOWN, false)]);
    assert_eq!(events(job.ping(133, PingKind::Failure, "")), [(DOWN, true)]);
    assert_eq!(events(job.ping(134, PingKind::Log, "still failing")), []);
    assert_eq!(events(job.ping(135, PingKind::Success, "")), [(DOWN, false)]);
}

#[test]
fn the_end_of_a_run_that_took_too_long_ends_only_that_issue() {
    let mut job = Job::new();
    assert_eq!(job.ping(0, PingKind::Start, ""), None);
    assert_eq!(events(job.deadline(5, &[])), [(LONG, true)]);
    assert_eq!(events(job.ping(6, PingKind::Failure, "")), [(DOWN, true), (LONG, false)]);
    assert_eq!(events(job.ping(7, PingKind::Success, "")), [(DOWN, false)]);
}

#[test]
fn a_check_without_output_and_events_needs_no_row() {
    let mut job = Job::new();
    let mut kept = |minute, kind, body| job.ping(minute, kind, body).map(|change| change.keeping);
    assert_eq!(kept(0, PingKind::Success, ""), Some(Keeping::Packed));
    assert_eq!(kept(1, PingKind::Success, "done"), Some(Keeping::Row));
    assert_eq!(kept(2, PingKind::Start, ""), None);
    assert_eq!(kept(3, PingKind::Exit(0), ""), Some(Keeping::Packed));
    assert_eq!(kept(4, PingKind::Exit(9), ""), Some(Keeping::Row), "it opens an issue");
    assert_eq!(kept(5, PingKind::Exit(9), ""), Some(Keeping::Packed));
    assert_eq!(kept(6, PingKind::Log, "why"), Some(Keeping::Row));
    let block = job.state.open_block().expect("a block").expect("readable");
    let checks = block.checks_of(job.heartbeat.id.partition(), Tool::Heartbeat);
    let results: Vec<_> = checks.iter().filter_map(HeartbeatResult::of).collect();
    let said = results.iter().map(|of| (of.exit_status, of.duration));
    assert_eq!(
        said.collect::<Vec<_>>(),
        [(None, None), (Some(0), Some(60_000.0)), (Some(9), None)]
    );
}

#[test]
fn reports_of_one_instant_have_slots_of_their_own() {
    let mut job = Job::new();
    let mut slot = |kind| job.ping(0, kind, "").expect("a check").check.id.created_at();
    let slots = [slot(PingKind::Success), slot(PingKind::Success), slot(PingKind::Failure)];
    let millis = SignedDuration::from_millis;
    assert_eq!(slots, [at(0), at(0) + millis(1), at(0) + millis(2)]);
}

#[test]
fn a_ping_leaves_an_earlier_timer_which_moves_itself() {
    let mut job = Job::new();
    assert_eq!(job.ping(0, PingKind::Success, "").and_then(|change| change.timer), job.state.timer);
    assert_eq!(job.timer(), Some(at(70)));
    assert_eq!(job.ping(50, PingKind::Success, "").and_then(|change| change.timer), None);
    assert_eq!(job.timer(), Some(at(70)));
    assert_eq!((job.deadline(70, &[]), job.timer()), (None, Some(at(120))));
    // The end of a run is awaited earlier.
    assert_eq!((job.ping(71, PingKind::Start, ""), job.timer()), (None, Some(at(76))));
    let rev = job.state.rev;
    assert_eq!((job.deadline(72, &[]), job.state.rev), (None, rev), "too early");
}

#[test]
fn a_deadline_counts_only_if_vedette_listened_outside_maintenance() {
    let mut job = Job::new();
    job.ping(0, PingKind::Success, "");
    assert_eq!(job.deadline(70, &[Pause { from: at(55), to: at(61) }]), None);
    assert_eq!(job.timer(), Some(at(131)));
    assert_eq!(events(job.deadline(131, &[])), [(DOWN, true)]);

    // A pause that is not known yet may cover it.
    let mut job = Job::new();
    job.ping(0, PingKind::Success, "");
    assert_eq!(job.state.pass_deadline(&job.context(80), at(69), &[]), PingEffect::Nothing);

    let mut job = Job::in_maintenance(60, 30);
    job.ping(0, PingKind::Success, "");
    assert_eq!(job.deadline(70, &[]), None);
    // Each look finds that the window, and so the time from which pings count, has not come yet.
    assert_eq!((job.deadline(140, &[]), job.timer()), (None, Some(at(160))));
    assert_eq!(events(job.deadline(160, &[])), [(DOWN, true)]);

    // Pings count from the end of the pause that ended last.
    let mut job = Job::in_maintenance(60, 5);
    job.ping(0, PingKind::Success, "");
    assert_eq!(job.deadline(80, &[Pause { from: at(55), to: at(75) }]), None);
    assert_eq!(job.timer(), Some(at(145)));
}

#[test]
fn in_maintenance_a_job_may_recover_but_not_fail() {
    let mut job = Job::in_maintenance(10, 30);
    assert_eq!(events(job.ping(0, PingKind::Failure, "")), [(DOWN, true)]);
    let recovered = job.ping(20, PingKind::Success, "");
    assert!(recovered.as_ref().is_some_and(|change| change.check.in_maintenance));
    assert_eq!(events(recovered), [(DOWN, false)]);
    assert_eq!(events(job.ping(21, PingKind::Failure, "")), []);
    assert_eq!(events(job.ping(41, PingKind::Failure, "")), [(DOWN, true)]);
}

#[test]
fn a_job_that_is_gone_is_found_after_the_clock_was_set_back() {
    let mut job = Job::new();
    job.ping(10_000, PingKind::Success, "");
    assert_eq!((job.deadline(0, &[]), job.timer()), (None, Some(at(70))));
    assert_eq!(events(job.deadline(70, &[])), [(DOWN, true)]);
}
