//! Whether a deployment on AWS keeps up with very many sites. This simulates the schedules or the polling scheduler,
//! and the functions that run status checks, by the rules of `runtime::Consumer` and the quotas of AWS. It makes no
//! calls.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::error::Error;

use clap::Args;
use vedette_checker::BUSY;
use vedette_domain::checks::concurrency::limit_for_share;
use vedette_domain::checks::schedule::offset;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_runtime::{Destination, REFILL_AFTER, SLOW_AFTER};
use vedette_testkit::PACKED_CHECK;

use crate::report::{line, percentile, table};

/// What to simulate.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Numbers of sites, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 275_000, 1_000_000, 10_000_000])]
    sites: Vec<u64>,
    /// How many of a thousand targets do not answer
    #[arg(long, default_value_t = 10)]
    hanging: u64,
    /// Minutes between two checks of a site
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    cadence: u32,
    /// Processes that send the runs of a bucket at the same time, each for a part of the sites. Vedette has one
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    processes: u32,
}

/// Microseconds.
type Time = u64;

const SECOND: Time = 1_000_000;
const MINUTE: Time = 60 * SECOND;
/// Simulated minutes. The lag is that of the second half.
const MINUTES: u64 = 10;
/// Invocations a second of EventBridge Scheduler: the default quota of an account.
const INVOCATIONS: u64 = 1_000;
/// Messages a second that the function of the polling scheduler sends: 16 calls with 10 messages each at a time, each
/// of which takes 15 ms.
const BUCKET_MESSAGES: u64 = 10_000;
/// The mean duration of a check whose target answers.
const ANSWERED: Time = 150_000;
/// Concurrent executions in an account: the default quota.
const PLACES_OF_AN_ACCOUNT: usize = 1_000;
/// Checks that an invocation begins with.
const BATCH: usize = Destination::Tool(Tool::Status).batch();
/// Write units a second of a new on-demand table.
const UNITS_OF_A_NEW_TABLE: u64 = 4_000;
/// Minutes in which an on-demand table doubles. It can take twice its highest load so far at once.
const TABLE_DOUBLES_IN: u32 = 30;

/// What sends the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageSender {
    /// A schedule for each site.
    Schedules,
    /// This many functions, which send all runs of a minute at its start.
    Buckets(u32),
}

impl MessageSender {
    /// The time that it takes to send a message.
    const fn takes(self) -> Time {
        match self {
            Self::Schedules => SECOND / INVOCATIONS,
            Self::Buckets(processes) => SECOND / (BUCKET_MESSAGES * processes as u64),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Schedules => "schedules",
            Self::Buckets(_) => "buckets",
        }
    }
}

/// How late runs are.
struct Lag {
    /// The median, in seconds.
    median: f64,
    /// The 99th percentile.
    last: f64,
    /// How many checks end in the busiest second.
    peak: u64,
}

/// Prints how many places are needed so that checks are on time, and how late they then are.
pub(crate) fn simulate(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    for &sites in &options.sites {
        let due = due(sites, options.cadence)?;
        for sender in [MessageSender::Schedules, MessageSender::Buckets(options.processes)] {
            rows.push(row(sites, &due, sender, options.hanging));
        }
    }
    line(&format!(
        "checks every {} minutes, {} of 1,000 targets do not answer",
        options.cadence, options.hanging
    ))?;
    let headings = [
        "sites",
        "sent by",
        "places",
        "seconds late, median",
        "99 %",
        "write units in the busiest second",
        "minutes until a new table can take this",
    ];
    Ok(table(headings.map(str::to_owned).to_vec(), rows)?)
}

/// Counts the sites that are due in each minute of the cadence.
fn due(sites: u64, cadence: u32) -> Result<Vec<u64>, Box<dyn Error>> {
    let mut due = vec![0; cadence as usize];
    let mut random = Random(1);
    for _ in 0..sites {
        let (high, low) = (random.next(), random.next());
        let uuid = format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0xfff,
            low & 0xffff_ffff_ffff,
        );
        let site = SiteId::parse(&uuid).ok_or("no id")?;
        due[offset(site, Tool::Status, cadence) as usize] += 1;
    }
    Ok(due)
}

/// Finds the fewest places with which runs are hardly later than with any number of places.
fn row(sites: u64, due: &[u64], sender: MessageSender, hanging: u64) -> Vec<String> {
    let sent = sent(due, sender);
    let lag = |places| consume(&sent, places, hanging);
    let best = lag(sent.len().clamp(1, 20_000));
    let is_enough = |lag: &Lag| lag.last < best.last + 10.0;
    let (mut few, mut places) = (0, 1);
    while !is_enough(&lag(places)) {
        (few, places) = (places, 2 * places);
    }
    while places - few > 1.max(places / 20) {
        let middle = few.midpoint(places);
        if is_enough(&lag(middle)) { places = middle } else { few = middle }
    }
    let Lag { median, last, peak } = lag(places);
    let units = peak * u64::from(PACKED_CHECK);
    let doublings = (units as f64 / UNITS_OF_A_NEW_TABLE as f64).log2().ceil().max(0.0);
    // If the sender cannot keep up, each minute is later than the one before.
    let behind = due.iter().sum::<u64>() * sender.takes() > due.len() as u64 * MINUTE;
    let lag = |seconds: f64| if behind { "grows".to_owned() } else { format!("{seconds:.1}") };
    let over = if places > PLACES_OF_AN_ACCOUNT { " (quota)" } else { "" };
    vec![
        sites.to_string(),
        sender.name().to_owned(),
        format!("{places}{over}"),
        lag(median),
        lag(last),
        units.to_string(),
        format!("{:.0}", doublings * f64::from(TABLE_DOUBLES_IN)),
    ]
}

/// When each run is due, and when its message can be received. Sorted by the latter.
fn sent(due: &[u64], sender: MessageSender) -> Vec<(Time, Time)> {
    let mut random = Random(3);
    let mut sent = Vec::new();
    let mut free = 0;
    for (minute, &due) in (0..MINUTES).zip(due.iter().cycle()) {
        for number in 0..due {
            // EventBridge Scheduler spreads the runs of a minute over the minute. The polling scheduler sends them all
            // at its start, each with a delay of its own.
            let begin = minute * MINUTE;
            let (asked, slot) = match sender {
                MessageSender::Schedules => {
                    let slot = begin + number * MINUTE / due;
                    (slot, slot)
                }
                MessageSender::Buckets(_) => (begin, begin + random.next() % 60 * SECOND),
            };
            free = asked.max(free) + sender.takes();
            sent.push((slot, slot.max(free)));
        }
    }
    sent.sort_unstable_by_key(|(_, at)| *at);
    sent
}

/// A place: an invocation with the runs that are in progress in it.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    invocation: u32,
    began: Time,
    /// All of its runs, of which these have not begun, …
    running: usize,
    waiting: usize,
    /// … and these are not slow.
    busy: usize,
}

impl Place {
    /// How many more messages the invocation receives itself.
    fn room(self, now: Time) -> usize {
        let limits = Tool::Status.limits();
        let longest = micros(limits.function_timeout) - micros(limits.run.unsigned_abs());
        let is_receiving = (micros(REFILL_AFTER)..longest).contains(&(now - self.began));
        if is_receiving && self.running > 0 { limit_for_share(BATCH) - self.running } else { 0 }
    }
}

fn micros(duration: std::time::Duration) -> Time {
    u64::try_from(duration.as_micros()).unwrap_or(Time::MAX)
}

/// What happens at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A run has ended, which may have been slow.
    Done(bool),
    /// A run has become slow.
    RunSlow,
    /// The invocation has become slow.
    Slow(u32),
}

/// All functions.
struct Functions {
    places: Vec<Place>,
    idle: Vec<usize>,
    /// Those that may have room for more.
    receiving: Vec<usize>,
    events: BinaryHeap<Reverse<(Time, usize, Event)>>,
    hanging: u64,
    random: Random,
}

impl Functions {
    /// Adds this many runs to a place, and begins as many as it can.
    fn begin(&mut self, place: usize, runs: usize, now: Time) {
        self.places[place].running += runs;
        self.places[place].waiting += runs;
        while self.places[place].waiting > 0 && self.places[place].busy < BUSY {
            self.places[place].waiting -= 1;
            self.places[place].busy += 1;
            let takes = if self.random.next() % 1_000 < self.hanging {
                micros(Tool::Status.limits().deadline)
            } else {
                self.random.exponential(ANSWERED)
            };
            let is_slow = takes > micros(SLOW_AFTER);
            self.events.push(Reverse((now + takes, place, Event::Done(is_slow))));
            if is_slow {
                self.events.push(Reverse((now + micros(SLOW_AFTER), place, Event::RunSlow)));
            }
        }
    }

    /// Takes messages from the queue while there is a place for them.
    fn receive(&mut self, queue: &mut VecDeque<Time>, now: Time, mut took: impl FnMut(Time)) {
        while !queue.is_empty() {
            let (place, room) = if let Some(place) = self.idle.pop() {
                let Place { invocation, .. } = self.places[place];
                let (invocation, began) = (invocation + 1, now);
                self.places[place] = Place { invocation, began, ..Place::default() };
                let slow = Event::Slow(invocation);
                self.events.push(Reverse((now + micros(REFILL_AFTER), place, slow)));
                (place, BATCH)
            } else if let Some(place) = self.receiving.pop() {
                (place, self.places[place].room(now))
            } else {
                return;
            };
            let runs = room.min(queue.len());
            queue.drain(..runs).for_each(&mut took);
            self.begin(place, runs, now);
            if runs > 0 && runs < room && self.places[place].room(now) > 0 {
                self.receiving.push(place);
            }
        }
    }
}

/// Simulates all runs with this many places. Returns how late they were.
fn consume(sent: &[(Time, Time)], places: usize, hanging: u64) -> Lag {
    let mut functions = Functions {
        places: vec![Place::default(); places],
        idle: (0..places).collect(),
        receiving: Vec::new(),
        events: BinaryHeap::new(),
        hanging,
        random: Random(2),
    };
    let mut queue = VecDeque::new();
    let mut messages = sent.iter().copied().peekable();
    let mut lags = Vec::new();
    let mut ended = vec![0; (MINUTES * 60) as usize];
    loop {
        let arrival = messages.peek().map(|(_, at)| *at);
        let event = functions.events.peek().map(|Reverse((at, ..))| *at);
        let Some(now) = arrival.into_iter().chain(event).min() else { break };
        if arrival == Some(now) {
            queue.extend(messages.next().map(|(slot, _)| slot));
        } else if let Some(Reverse((_, number, event))) = functions.events.pop() {
            let place = &mut functions.places[number];
            match event {
                Event::Done(was_slow) => {
                    place.running -= 1;
                    place.busy -= usize::from(!was_slow);
                    if let Some(ended) = ended.get_mut((now / SECOND) as usize) {
                        *ended += 1;
                    }
                    if place.running == 0 {
                        functions.idle.push(number);
                    } else if place.room(now) > 0 {
                        functions.receiving.push(number);
                    }
                }
                Event::Slow(invocation) if place.invocation == invocation => {
                    if place.room(now) > 0 {
                        functions.receiving.push(number);
                    }
                }
                Event::RunSlow => place.busy -= 1,
                Event::Slow(_) => {}
            }
            functions.begin(number, 0, now);
        }
        functions.receive(&mut queue, now, |slot| {
            if slot >= MINUTES * MINUTE / 2 {
                lags.push((now - slot) as f64 / SECOND as f64);
            }
        });
    }
    lags.sort_unstable_by(f64::total_cmp);
    let peak = ended.into_iter().max().unwrap_or_default();
    Lag { median: percentile(&lags, 0.5), last: percentile(&lags, 0.99), peak }
}

/// SplitMix64, so that each simulation gives the same figures.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Draws a time from an exponential distribution.
    fn exponential(&mut self, mean: Time) -> Time {
        let uniform = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (-(1.0 - uniform).ln() * mean as f64) as Time
    }
}
