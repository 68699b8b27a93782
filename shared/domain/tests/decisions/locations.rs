//! Simulates a site that is watched from several locations: home's network breaks in part, and other locations lie,
//! die, are slow or late, are killed between question and answer, or are revoked while they check.
//!
//! Whatever they do, an outage that home sees opens `status:down` or `status:partial` within two retries and the time
//! of a question.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::check::Finish;
use vedette_domain::checks::run::Run;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::timer::Timer;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::checks::tool_state::{ToolChange, ToolState};
use vedette_domain::id::{CheckId, SiteId, TeamId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::evaluate::Evaluation;
use vedette_domain::issues::record::{Issue, follow};
use vedette_domain::issues::tracker::Event;
use vedette_domain::locations::{
    Answer, Confirmation, HomeStatus, Location, LocationVote, NoVote, QUESTION_TIMEOUT, Vote, Votes,
};
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;

use crate::lives::{Counts, live_all};
use crate::nature::Nature;
use crate::random::Random;
use crate::status_finish;

/// Lives in each run of the tests.
const SEEDS: u64 = 4_000;
/// Runs in a life.
const RUNS: usize = 120;

/// A site with the stored state of its status checks.
struct Watched {
    run: Run,
    state: ToolState,
    issues: BTreeMap<Fingerprint, Issue>,
}

impl Watched {
    fn new(now: Timestamp, (opens, resolves, retry): (u32, u32, u32)) -> Self {
        let (id, team) = (SiteId(Uuid::from_u128(7)), TeamId(Uuid::from_u128(8)));
        let team = Team::new(team, "team", Plan::Agency, now);
        let url = SiteUrl::parse("https://example.com").expect("a URL");
        let mut settings = Settings::defaults(Plan::Agency);
        let status = &mut settings.tools.status.settings;
        let number = |value| NonZeroU32::new(value).expect("not zero");
        (status.failures_to_open, status.successes_to_resolve) = (number(opens), number(resolves));
        status.confirmation_retry_minutes = retry;
        let run = Run {
            check: CheckId::automatic(id, Tool::Status, RunReason::Scheduled, now),
            site: Site::new(id, team.id, url, now),
            team,
            settings,
            time_scale: TimeScale::default(),
        };
        Self { run, state: ToolState::new(), issues: BTreeMap::new() }
    }

    /// Begins a run in which home sees this, whether or not it counts.
    fn begin(
        &mut self,
        reason: RunReason,
        slot: Timestamp,
        code: u16,
    ) -> (Finish, Vec<Evaluation>) {
        self.run.check = CheckId::automatic(self.run.site.id, Tool::Status, reason, slot);
        let finish = status_finish(self.run.site.url.as_str(), code);
        let evaluations = self.run.evaluate(&finish, None, slot);
        (finish, evaluations)
    }

    fn end(
        &mut self,
        (finish, evaluations): (Finish, Vec<Evaluation>),
        votes: &Votes,
        now: Timestamp,
    ) -> Option<ToolChange> {
        let applied = self.state.apply_run(&self.run, &finish, evaluations, votes, None, now);
        let change = applied.ok()?;
        self.state = change.state.clone();
        for event in &change.events {
            let fingerprint = event.evaluation.fingerprint;
            let before = self.issues.get(&fingerprint).cloned();
            let change = follow(before, event).expect("tracker and record agree");
            self.issues.insert(fingerprint, change.expect("a change").after);
        }
        Some(change)
    }

    fn is_active(&self, fingerprint: Fingerprint) -> bool {
        let tracked = self.state.trackers.get(&fingerprint);
        let is_active = tracked.is_some_and(|tracked| tracked.tracker.issue().is_some());
        let issue = self.issues.get(&fingerprint);
        assert_eq!(is_active, issue.is_some_and(|issue| issue.lifecycle.is_active()));
        is_active
    }

    fn codes(&self) -> &std::collections::BTreeSet<u16> {
        &self.run.settings.tools.status.settings.incident_status_codes
    }
}

fn location(number: usize) -> Location {
    Location::parse(["eu-west-1", "us-east-1", "office"][number]).expect("a name")
}

/// The bytes that another location, or an attacker with its token, sends for a code.
fn sent(code: u16) -> Vec<u8> {
    format!(r#"{{"saw":{{"code":{code},"response_time":12.5}}}}"#).into_bytes()
}

/// Asks another location that sees this code. Returns its answer, or why it does not vote, and after how many seconds.
fn ask(nature: Nature, sees: u16, random: &mut Random) -> (Result<Answer, NoVote>, u64) {
    let (answer, after) = nature.answer(sees);
    let after = if nature == Nature::Honest { random.below(3) } else { after.as_secs() };
    let body = match (nature, answer) {
        (Nature::Refused, _) => sent(random.one_of(&[401, 403, 429, 451])),
        (Nature::Offline, _) => br#"{"silent":"offline"}"#.to_vec(),
        (Nature::Babbling, _) => {
            let babble: [&[u8]; 4] = [b"", b"{\"saw\":{}}", b"\xff", b"{\"saw\":{\"code\":9}}"];
            random.one_of(&babble).to_vec()
        }
        (_, Ok(code)) => sent(code),
        (_, Err(why)) => return (Err(why), after),
    };
    match after < QUESTION_TIMEOUT.as_secs() {
        true => (Answer::parse(&body).map_err(|_| NoVote::Unreadable), after),
        false => (Err(NoVote::NoAnswer), QUESTION_TIMEOUT.as_secs()),
    }
}

fn live(seed: u64) -> Counts {
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let mut now: Timestamp = "2026-11-20T00:00:00Z".parse().expect("a timestamp");
    let small = |random: &mut Random, of: u64| u32::try_from(1 + random.below(of)).expect("small");
    let retry = small(&mut random, 3);
    let policy = (small(&mut random, 3), small(&mut random, 2), retry);
    let mut site = Watched::new(now, policy);
    let mut alone = Watched::new(now, policy);
    let locations = usize::try_from(random.below(4)).expect("small");
    let mut natures: Vec<Nature> = (0..locations).map(|_| random.one_of(&Nature::ALL)).collect();
    let (mut is_up, mut is_home_broken) = (true, false);
    // Runs in a row that would have opened an issue, while none was active.
    let (mut waited, mut waits_since) = (0, None);
    let cadence = SignedDuration::from_mins(i64::from(small(&mut random, 5)));
    let mut scheduled = now;
    for _ in 0..RUNS {
        // Whichever comes first.
        let timer = site.state.timer.filter(|timer| timer.due <= scheduled);
        let (reason, slot) = match timer {
            Some(Timer { reason, due }) => (reason, due),
            None => (RunReason::Scheduled, scheduled),
        };
        if timer.is_none() || slot == scheduled {
            scheduled += cadence;
        }
        now = now.max(slot);
        if random.happens(150) {
            is_up ^= true;
        }
        if random.happens(100) {
            is_home_broken ^= true;
        }
        if locations > 0 && random.happens(80) {
            let which = usize::try_from(random.below(locations as u64)).expect("small");
            natures[which] = random.one_of(&Nature::ALL);
        }
        let elsewhere = if is_up { 200 } else { 503 };
        let code = if is_home_broken { random.one_of(&[0, 0, 200]) } else { elsewhere };
        let ended = site.begin(reason, slot, code);
        let would_open = site.state.suspects(&site.run, &ended.1[0]);
        // Another writer has saved in between, so the run was not known to open the issue.
        let is_in_conflict = would_open && random.happens(40);
        let mut took = 0;
        let votes = if locations == 0 {
            Votes::NoLocation
        } else if !would_open || is_in_conflict {
            Votes::NotAsked
        } else {
            let home = HomeStatus { code, incident_codes: site.codes() };
            let votes = natures.iter().zip(0..).map(|(nature, number)| {
                let (answer, after) = ask(*nature, elsewhere, &mut random);
                took = took.max(after);
                LocationVote::new(location(number), answer, home)
            });
            Votes::Given(votes.collect())
        };
        let seconds = i64::try_from(took).expect("seconds");
        let asked = now + SignedDuration::from_secs(seconds);
        let (was_down, was_partial) =
            (site.is_active(Fingerprint::StatusDown), site.is_active(Fingerprint::StatusPartial));
        let Some(change) = site.end(ended, &votes, now) else { continue };
        let (is_down, is_partial) =
            (site.is_active(Fingerprint::StatusDown), site.is_active(Fingerprint::StatusPartial));
        let said = format!("seed {seed} at {slot}: {natures:?} {votes:?}");
        assert!(!(is_down && is_partial), "{said}");

        // Other locations were asked about an issue that opens, and not all that answered contradict it.
        let opened = |fingerprint| {
            change.events.iter().any(|event| {
                event.evaluation.fingerprint == fingerprint
                    && matches!(event.event, Event::Opened { .. })
            })
        };
        let disagrees = votes.disagreeing().next().is_some();
        let agrees = votes.given().iter().any(|said| said.vote == Vote::Agrees);
        if opened(Fingerprint::StatusDown) {
            assert_ne!(votes, Votes::NotAsked, "{said}");
            assert!(agrees || !disagrees, "{said}");
            match votes.confirmation() {
                Some(Confirmation::Unconfirmed) => counts.add("unconfirmed", 1_u64),
                Some(_) => counts.add("confirmed", 1_u64),
                None => {}
            }
        }
        if opened(Fingerprint::StatusPartial) {
            assert!(disagrees && !agrees, "{said}");
            counts.add("partial", 1_u64);
        }
        assert!(!agrees || is_down, "one that agrees is believed: {said}");
        counts.add("resolved", was_down && !is_down);
        counts.add("resolved", was_partial && !is_partial);
        counts.add("not asked", is_in_conflict && locations > 0);

        // The limit of the delay.
        if would_open && !is_down && !is_partial {
            waited += u32::from(!is_in_conflict);
            waits_since.get_or_insert(now);
            counts.add("held", 1_u64);
            assert!(waited <= 2, "an outage was silenced: {said}");
            let next = change.state.timer.expect("the ordinary retry");
            assert_eq!(next.reason, RunReason::ConfirmationRetry, "{said}");
            let latest =
                now + SignedDuration::from_mins(i64::from(retry)) + SignedDuration::from_secs(1);
            assert!(next.due <= latest, "{said}");
        } else {
            if let Some(since) = waits_since.take().filter(|_| would_open && waited > 0) {
                let retries = SignedDuration::from_mins(2 * i64::from(retry));
                let rounding = SignedDuration::from_secs(2);
                let question = SignedDuration::try_from(QUESTION_TIMEOUT).expect("seconds");
                let conflicts = SignedDuration::from_mins(i64::from(retry) * 9);
                let bound = retries + question + rounding;
                let bound = if counts.of("not asked") > 0 { bound + conflicts } else { bound };
                assert!(asked.duration_since(since) <= bound, "{said}");
            }
            waited = 0;
        }

        // Without other locations, everything is as in a service without locations.
        if locations == 0 {
            let ended = alone.begin(reason, slot, code);
            alone.end(ended, &Votes::default(), now);
            assert_eq!(
                serde_json::to_vec(&alone.state).expect("json"),
                serde_json::to_vec(&site.state).expect("json")
            );
            assert!(!alone.state.trackers.contains_key(&Fingerprint::StatusPartial));
            assert_eq!(would_open, opened(Fingerprint::StatusDown), "{said}");
            counts.add("alone", would_open);
        }
    }
    counts
}

#[test]
fn an_outage_is_reported_within_two_retries_whatever_other_locations_do() {
    let kinds = ["confirmed", "unconfirmed", "partial", "resolved", "held", "not asked", "alone"];
    live_all(1..=SEEDS, live).assert_at_least(kinds.map(|kind| (kind, SEEDS / 4)));
}

/// The result of an outage, or of a fault in home's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It ended before anything opened.
    Nothing,
    /// `status:down` opened, this many seconds after the first run that would have opened it.
    Down(u64),
    /// `status:partial` opened, and `status:down` never did.
    Partial,
}

/// The parameters of a simulation for the figures.
#[derive(Debug, Clone, Copy)]
struct Vantage {
    locations: usize,
    /// How often a location cannot reach a target that is up, in thousandths of a percent of the time.
    fault_per_100_000: u64,
    /// How many seconds another location takes to answer.
    answers_in: u64,
}

const CADENCE: i64 = 300;
/// The mean length of a network fault, in seconds.
const FAULT_MEAN: f64 = 300.0;

/// A random time with this mean, exponentially distributed.
fn exponential(random: &mut Random, mean: f64) -> f64 {
    let uniform = (random.below(1 << 52) + 1) as f64 / (1_u64 << 52) as f64;
    -uniform.ln() * mean
}

/// Simulates a time of failures as home sees them, with default settings. `is_outage` says whether the site is down;
/// otherwise home's network has a fault. When another location is asked, it has a fault as often as home does. Half of
/// these faults are noticed, so the location is silent; the other half look like an outage.
fn episode(vantage: Vantage, is_outage: bool, lasts: f64, random: &mut Random) -> Outcome {
    let start: Timestamp = "2026-11-20T00:00:00Z".parse().expect("a timestamp");
    let mut site = Watched::new(start, (2, 2, 2));
    let at = |seconds: f64| start + SignedDuration::from_millis((seconds * 1_000.0) as i64);
    let end = at(lasts);
    let phase = random.below(CADENCE.unsigned_abs() * 1_000) as f64 / 1_000.0;
    let (mut scheduled, mut suspected, mut is_partial) = (at(phase), None, false);
    loop {
        let timer = site.state.timer.filter(|timer| timer.due <= scheduled);
        let (reason, slot) = match timer {
            Some(Timer { reason, due }) => (reason, due),
            None => (RunReason::Scheduled, scheduled),
        };
        if timer.is_none() || slot == scheduled {
            scheduled += SignedDuration::from_secs(CADENCE);
        }
        if slot >= end {
            return if is_partial { Outcome::Partial } else { Outcome::Nothing };
        }
        let ended = site.begin(reason, slot, 0);
        let would_open = site.state.suspects(&site.run, &ended.1[0]);
        let mut took = 0;
        let votes = match (vantage.locations, would_open) {
            (0, _) => Votes::NoLocation,
            (_, false) => Votes::NotAsked,
            (locations, true) => {
                let home = HomeStatus { code: 0, incident_codes: site.codes() };
                let votes = (0..locations).map(|number| {
                    let is_at_fault = random.below(100_000) < vantage.fault_per_100_000;
                    let is_noticed = is_at_fault && random.happens(500);
                    let nature = if is_noticed { Nature::Offline } else { Nature::Honest };
                    let code = if is_outage || is_at_fault { 503 } else { 200 };
                    let (answer, _) = ask(nature, code, random);
                    took = took.max(vantage.answers_in);
                    LocationVote::new(location(number), answer, home)
                });
                Votes::Given(votes.collect())
            }
        };
        suspected = suspected.or(would_open.then_some(slot));
        site.end(ended, &votes, slot).expect("it counts");
        is_partial |= site.is_active(Fingerprint::StatusPartial);
        if site.is_active(Fingerprint::StatusDown) {
            let waited = slot.duration_since(suspected.expect("it was suspected"));
            return Outcome::Down(waited.as_secs().unsigned_abs() + took);
        }
    }
}

/// False openings per million checks: outages, and warnings.
fn false_openings(vantage: Vantage, episodes: u32) -> (f64, f64) {
    let mut random = Random::new(11);
    let (mut down, mut partial) = (0_u32, 0_u32);
    for _ in 0..episodes {
        let lasts = exponential(&mut random, FAULT_MEAN);
        match episode(vantage, false, lasts, &mut random) {
            Outcome::Down(_) => down += 1,
            Outcome::Partial => partial += 1,
            Outcome::Nothing => {}
        }
    }
    // How often a site is checked from the beginning of one fault to that of the next.
    let share = vantage.fault_per_100_000 as f64 / 100_000.0;
    let checks = f64::from(episodes) * FAULT_MEAN / share / CADENCE as f64;
    let per_million = |count: u32| f64::from(count) * 1e6 / checks;
    (per_million(down), per_million(partial))
}

/// How much later a real outage is reported because of other locations, in seconds: median and 99th percentile.
fn added_delay(vantage: Vantage, outages: usize) -> (u64, u64) {
    let mut random = Random::new(12);
    let mut delays: Vec<u64> = (0..outages)
        .map(|_| match episode(vantage, true, 1e6, &mut random) {
            Outcome::Down(after) => after,
            other => panic!("an outage of days: {other:?}"),
        })
        .collect();
    delays.sort_unstable();
    (delays[outages / 2], delays[outages * 99 / 100])
}

#[test]
fn other_locations_prevent_false_alarms_and_add_little() {
    let at = |locations, fault_per_100_000| Vantage { locations, fault_per_100_000, answers_in: 1 };
    for (fault, at_least) in [(100, 100.0), (1_000, 20.0)] {
        let [alone, one, two] =
            [0, 1, 2].map(|locations| false_openings(at(locations, fault), 20_000).0);
        assert!(alone > at_least * one.max(two), "{fault}: {alone} {one} {two}");
        assert_eq!(added_delay(at(0, fault), 1_000), (0, 0));
        for locations in [1, 2] {
            let (median, most) = added_delay(at(locations, fault), 1_000);
            assert!(median <= 1 && most <= 130, "{fault}: {median} {most}");
        }
    }
}

/// `SIMULATE` is `locations`.
#[ignore = "on demand: make simulate ARGS='decisions locations'"]
#[test]
#[expect(clippy::print_stderr, reason = "what it was asked for")]
fn figures_of_locations() {
    #[expect(clippy::disallowed_methods, reason = "the domain has nobody who reads it")]
    if std::env::var("SIMULATE").unwrap_or_default() != "decisions locations" {
        return;
    }
    eprintln!(
        "faults  locations  false status:down  false status:partial  delay quick (median, p99)  hanging"
    );
    for fault in [100, 1_000] {
        for locations in [0, 1, 2] {
            let quick = Vantage { locations, fault_per_100_000: fault, answers_in: 1 };
            let (down, partial) = false_openings(quick, 1_000_000);
            let (fast, slow) = (
                added_delay(quick, 20_000),
                added_delay(Vantage { answers_in: 9, ..quick }, 20_000),
            );
            eprintln!(
                "{:>5} %  {locations:>9}  {down:>17.3}  {partial:>20.1}  {fast:>25?}  {slow:?}",
                fault as f64 / 1_000.0
            );
        }
    }
}
