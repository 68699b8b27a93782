//! Jobs that ping, and what the guide says follows from their pings, in the plainest way.
//!
//! A ping without an answer may or may not be saved, and so may a look at a deadline. So there can be several beliefs
//! about a heartbeat; what is observed rules out those that are wrong, and one must be left.

use std::iter::successors;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;
use vedette_domain::clock::{CLOCK_SKEW, Pause};
use vedette_domain::id::HeartbeatId;
use vedette_domain::maintenance::Windows;
use vedette_domain::time_zone::NamedZone;

use crate::random::Random;
use crate::windows::maintenance_until;

/// How often `curl --retry 5` sends a ping.
const TRIES: u32 = 6;
/// How many runs at a time can be told apart.
const RUNS: usize = 4;
const PERIOD: u32 = 15;
const GRACE: u32 = 4;
const LONGEST: u32 = 2;
const ZONE: &str = "Europe/Berlin";

/// When a job runs.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    Every(SignedDuration),
    /// In each minute for which this holds by the clocks of the zone.
    Cron(fn(DateTime) -> bool, NamedZone),
}

impl Plan {
    fn next_after(&self, at: Timestamp) -> Timestamp {
        match self {
            Self::Every(period) => at + *period,
            Self::Cron(is_time, zone) => {
                let minute = Timestamp::from_second(at.as_second().div_euclid(60) * 60);
                let minutes =
                    successors(minute.ok(), |at| Some(*at + SignedDuration::from_mins(1)));
                let mut minutes = minutes.skip(1);
                minutes.find(|at| is_time(zone.local(*at).datetime())).expect("a time")
            }
        }
    }
}

/// A ping: the end of its address, and the id of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ping {
    pub(crate) word: &'static str,
    pub(crate) run: Option<Uuid>,
}

impl Ping {
    pub(crate) fn is_start(self) -> bool {
        self.word == "/start"
    }

    pub(crate) fn is_success(self) -> bool {
        ["", "/0"].contains(&self.word)
    }
}

/// What somebody chooses for the heartbeat of the n-th job. Each minute is `slowness` minutes long.
pub(crate) fn settings(number: u64, slowness: u32) -> Value {
    let mut settings = json!({ "name": name_of_job(number), "grace_minutes": GRACE * slowness });
    match number % 3 {
        2 => {
            settings["cron"] = if slowness == 1 { "*/10 * * * *" } else { "0 */8 * * *" }.into();
            settings["time_zone"] = ZONE.into();
        }
        kind => {
            settings["period_minutes"] = (PERIOD * slowness).into();
            settings["longest_run_minutes"] = (kind == 1).then_some(LONGEST * slowness).into();
        }
    }
    settings
}

fn name_of_job(number: u64) -> String {
    format!("job-{number}")
}

/// A job and its heartbeat.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: HeartbeatId,
    pub(crate) name: String,
    /// Of the heartbeat in the API.
    pub(crate) path: String,
    /// The address that it pings.
    pub(crate) key: String,
    pub(crate) plan: Plan,
    grace: SignedDuration,
    longest: Option<SignedDuration>,
    /// Whether it pings the start of each run, and gives each an id.
    habits: [bool; 2],
    /// The run that it has begun.
    run: Option<Option<Uuid>>,
    /// When it does something, by a clock that does not jump.
    pub(crate) wakes_at: Timestamp,
    /// The ping that it sends again, and how many more times.
    again: Option<(Ping, u32)>,
    /// Each ping, with whether it was answered with 200. Its body is its place here.
    pub(crate) sent: Vec<(Ping, bool)>,
    pub(crate) beliefs: Vec<Belief>,
}

impl Job {
    /// The n-th job, with the id and the path of its heartbeat, and the address that it pings.
    pub(crate) fn new(
        number: u64,
        slowness: u32,
        (id, path, key): (HeartbeatId, String, String),
        wakes_at: Timestamp,
    ) -> Self {
        let length = |minutes: u32| SignedDuration::from_mins((minutes * slowness).into());
        let zone = || NamedZone::parse(ZONE).expect("a zone");
        let plan = match (number % 3, slowness) {
            (0 | 1, _) => Plan::Every(length(PERIOD)),
            (_, 1) => Plan::Cron(|at| at.minute() % 10 == 0, zone()),
            _ => Plan::Cron(|at| at.minute() == 0 && at.hour() % 8 == 0, zone()),
        };
        Self {
            id,
            name: name_of_job(number),
            path,
            key,
            plan,
            grace: length(GRACE),
            longest: (number % 3 == 1).then(|| length(LONGEST)),
            habits: [!number.is_multiple_of(3), number % 3 == 1],
            run: None,
            wakes_at,
            again: None,
            sent: Vec::new(),
            beliefs: vec![Belief::default()],
        }
    }

    /// The ping that it sends now.
    pub(crate) fn act(&mut self, random: &mut Random, now: Timestamp) -> Option<Ping> {
        if let Some((ping, _)) = self.again {
            return Some(ping);
        }
        if self.wakes_at > now {
            return None;
        }
        let [has_start, has_id] = self.habits;
        let ping = match self.run.take() {
            None if has_start => {
                let id = || Uuid::from_u64_pair(random.below(u64::MAX), random.below(u64::MAX));
                let run = has_id.then(id);
                self.run = Some(run);
                self.wakes_at = now + self.grace * random.one_of(&[0, 1, 1, 2, 5]) / 4;
                Ping { word: "/start", run }
            }
            run => {
                // Every now and then it stops for a while, or never gets to the end of a run.
                let missed = random.one_of(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 4]);
                let next = (0..missed).fold(now, |at, _| self.plan.next_after(at));
                let delay = self.grace * random.one_of(&[0, 0, 0, 1, 2, 3, 5]) / 4;
                self.wakes_at = self.plan.next_after(next) + delay;
                let is_success = random.happens(850);
                let word = match (has_id, is_success) {
                    (false, true) => "",
                    (false, false) => "/fail",
                    (true, true) => "/0",
                    (true, false) => "/3",
                };
                Ping { word, run: run.flatten() }
            }
        };
        self.again = Some((ping, TRIES));
        Some(ping)
    }

    /// What it does after a ping was sent: it sends it again unless it gets an answer, which may be lost on the way.
    pub(crate) fn go_on(&mut self, random: &mut Random, is_answered: bool) {
        let is_done = is_answered && !random.happens(80);
        let again = self.again.map(|(ping, tries)| (ping, tries - 1));
        self.again = again.filter(|(_, tries)| !is_done && *tries > 0);
    }
}

/// What decides at a moment.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub(crate) now: Timestamp,
    /// Until when it is known whether the service listened.
    pub(crate) known_until: Timestamp,
    /// When it did not.
    pub(crate) deaf: Vec<Pause>,
    pub(crate) windows: Windows,
}

impl Moment {
    /// Whether a job may be in maintenance at an instant, or a little later if that is when it is recorded.
    fn maintenance(&self, job: HeartbeatId, at: Timestamp) -> Vec<bool> {
        let latest = self.now.max(at) + CLOCK_SKEW;
        let is_in = |from, to| maintenance_until(&self.windows, job, from, to).is_some();
        let mut possible = vec![is_in(at, at), is_in(at, latest), is_in(latest, latest)];
        possible.dedup();
        possible
    }
}

/// What may be true of a heartbeat.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Belief {
    /// The last end of a run.
    ended_at: Option<Timestamp>,
    /// After which instant the next ping is expected.
    from: Option<Timestamp>,
    /// Until when a missing ping did not count.
    excused_until: Option<Timestamp>,
    runs: Vec<Run>,
    /// The last ping with the id of a run.
    last: Option<Ping>,
    is_paused: bool,
    /// Its issues: `heartbeat:down` and `heartbeat:running_long`.
    pub(crate) issues: [bool; 2],
}

#[derive(Debug, Clone, PartialEq)]
struct Run {
    id: Option<Uuid>,
    began_at: Timestamp,
    is_overdue: bool,
}

impl Belief {
    /// After a ping was saved.
    pub(crate) fn pinged(&self, job: &Job, ping: Ping, moment: &Moment) -> Vec<Self> {
        let (mut next, now) = (self.clone(), moment.now);
        if ping.run.is_some() {
            if self.last == Some(ping) {
                return vec![next];
            }
            next.last = Some(ping);
        }
        next.runs.retain(|run| run.id != ping.run && (ping.is_start() || ping.run.is_some()));
        if ping.is_start() {
            next.runs.push(Run { id: ping.run, began_at: now, is_overdue: false });
            let forgotten = next.runs.len().saturating_sub(RUNS);
            next.runs.drain(..forgotten);
            return vec![next];
        }
        let ended_at = self.ended_at.filter(|at| *at <= now + CLOCK_SKEW).max(Some(now));
        (next.ended_at, next.from, next.excused_until) = (ended_at, ended_at, None);
        (next.is_paused, next.issues) = (false, [self.issues[0], false]);
        match ping.is_success() {
            true => vec![Self { issues: [false; 2], ..next }],
            false => next.with_issue(0, job, now, moment),
        }
    }

    /// After somebody has paused or resumed it.
    pub(crate) fn paused(&self, is_paused: bool, now: Timestamp) -> Self {
        let issues = self.issues.map(|issue| issue && !is_paused);
        if is_paused == self.is_paused {
            return Self { issues, ..self.clone() };
        }
        let (from, excused_until) = match is_paused {
            true => (self.from, None),
            false => (self.from.map(|_| now), self.excused_until),
        };
        Self { is_paused, issues, from, excused_until, runs: Vec::new(), ..self.clone() }
    }

    /// After the service has looked whether a deadline has passed.
    pub(crate) fn looked(&self, job: &Job, moment: &Moment) -> Vec<Self> {
        let (mut next, now) = (self.clone(), moment.now);
        // The clock was set back.
        let known = |at: Timestamp| if at > now + CLOCK_SKEW { now } else { at };
        if self.from != self.excused_until {
            next.from = self.from.map(known);
        }
        next.runs.iter_mut().for_each(|run| run.began_at = known(run.began_at));
        let expected = next.from.map(|from| job.plan.next_after(from));
        let ping = expected.map(|expected| (expected + job.grace, None));
        let awaited = next.runs.iter().enumerate().filter(|(_, run)| !run.is_overdue);
        let longest = job.longest.unwrap_or(job.grace);
        let ends = awaited.map(|(number, run)| (run.began_at + longest, Some(number)));
        let Some((deadline, run)) = ends.chain(ping).min_by_key(|(at, _)| *at) else {
            return vec![next];
        };
        if self.is_paused || deadline > moment.known_until.min(now) {
            return vec![next];
        }
        let (began_at, expected) =
            (run.map(|run| next.runs[run].began_at), expected.unwrap_or(now));
        let awaited_from = began_at.unwrap_or((expected - job.grace).max(next.from.unwrap_or(now)));
        let maintained_from = began_at.unwrap_or(expected);
        let maintained = maintenance_until(&moment.windows, job.id, maintained_from, deadline);
        let mut silent = moment.deaf.clone();
        silent.extend(maintained.map(|to| Pause { from: maintained_from, to }));
        let part = |pause: &Pause| {
            deadline.min(pause.to).duration_since(awaited_from.max(pause.from)).as_secs().max(0)
        };
        let most = 2 * silent.iter().map(part).sum::<i64>();
        let ends = silent.iter().filter(|pause| part(pause) > 0).map(|pause| pause.to);
        let is_excused =
            self.excused_until.is_none() || most >= deadline.duration_since(awaited_from).as_secs();
        if let Some(end) = ends.max().filter(|_| is_excused) {
            next.runs.retain(|run| run.began_at >= end);
            let until = if run.is_none() { end.max(expected) } else { end };
            next.from = next.from.max(next.from.map(|_| until));
            next.excused_until = Some(end);
            return vec![next];
        }
        match run {
            Some(run) => next.runs[run].is_overdue = true,
            None => next.from = Some(expected),
        }
        let issue = usize::from(run.is_some() && job.longest.is_some());
        next.with_issue(issue, job, deadline, moment)
    }

    /// An issue opens because of something at an instant, unless the job is in maintenance then.
    fn with_issue(self, issue: usize, job: &Job, at: Timestamp, moment: &Moment) -> Vec<Self> {
        let possible = moment.maintenance(job.id, at).into_iter().map(|is_in_maintenance| {
            let mut next = self.clone();
            next.issues[issue] |= !is_in_maintenance;
            next
        });
        possible.collect()
    }
}
