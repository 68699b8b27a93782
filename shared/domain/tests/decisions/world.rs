//! A world that does the service no favors: targets flap; runs and messages are lost, duplicated, late and out of
//! order; receivers fail; people change their minds; and the process dies around sends.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::rc::Rc;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::Alert;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::teams::Teams;
use vedette_domain::alerts::channel::webhook::Webhook;
use vedette_domain::alerts::channel::{
    Channel, EventKind, Filter, LinkKey, SecretUrl, SigningKey, SigningKeys, Target,
};
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::alerts::delivery::OutboxEntry;
use vedette_domain::alerts::delivery_run::DeliveryContext;
use vedette_domain::checks::check::{CheckError, Finish, SslResult, ToolResult};
use vedette_domain::checks::history::Day;
use vedette_domain::checks::run::Run;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::checks::tool_state::{DayWrite, ToolState};
use vedette_domain::id::{ChannelId, CheckId, IssueId, SiteId, TeamId, UserId};
use vedette_domain::issues::record::{self, Issue, IssueChange, follow};
use vedette_domain::issues::{Fingerprint, Severity};
use vedette_domain::locations::Votes;
use vedette_domain::message::{CheckMessage, RunOrder};
use vedette_domain::sites::selector::Selector;
use vedette_domain::sites::settings::{QuietTime, Settings, TimeOfDay};
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_domain::sites::tag::Tag;

use crate::lives::Counts;
use crate::random::Random;
use crate::readers::{Key, Reader, Scene, Truths};
use crate::reading::Reading;
use crate::service::{Answer, Around, ChannelRows, deliver};
use crate::status_finish;
use crate::truth::{Transition, Truth};

const DAYS: i64 = 3;
/// Sites of each team: one team has enough for storms.
const SITES: [usize; 2] = [4, 2];
/// The time between two passes of redelivery.
const REDELIVERY: SignedDuration = SignedDuration::from_mins(15);
/// The time between two actions of people, receivers or targets.
const LIFE: SignedDuration = SignedDuration::from_mins(15);
const CADENCE: u32 = 120;
const TOOLS: [(Tool, Fingerprint); 2] =
    [(Tool::Status, Fingerprint::StatusDown), (Tool::Ssl, Fingerprint::SslExpiring)];

#[derive(Debug, Clone)]
enum Action {
    /// The schedule of a tool for a site sends its next run.
    Schedule(usize, Tool),
    /// A run begins.
    Begin(CheckMessage),
    /// A run ends.
    End(usize, CheckId, Box<Finish>),
    /// The channels of a team receive news about an issue.
    FanOut(usize, Key),
    /// A delivery run sends to a channel.
    Deliver(usize),
    SyncChannels(usize),
    /// Somebody enables a channel.
    Enable(usize),
    Redeliver,
    Live,
}

struct TeamRows {
    team: Team,
    settings: Settings,
    /// Whether due times do not match the settings yet.
    is_stale: bool,
}

impl TeamRows {
    fn scene<'a>(
        &'a self,
        channel: &'a Channel,
        tagged: &'a BTreeSet<usize>,
        now: Timestamp,
    ) -> Scene<'a> {
        let Settings { quiet_time, escalation, .. } = &self.settings;
        Scene { channel, tagged, quiet_time, escalation, now }
    }
}

pub(crate) struct World {
    now: Timestamp,
    end: Timestamp,
    random: Random,
    agenda: BTreeMap<(Timestamp, u64), Action>,
    planned: u64,
    teams: Vec<TeamRows>,
    sites: Vec<(usize, Rc<Site>)>,
    /// The sites with the tag of the channels' selectors.
    tagged: BTreeSet<usize>,
    /// The last run on each site; settings that affect runs do not change.
    runs: Vec<Run>,
    tools: BTreeMap<(usize, Tool), ToolState>,
    days: BTreeMap<(usize, Tool, Date), Day>,
    issues: BTreeMap<Key, Issue>,
    outbox: BTreeMap<(Key, u64), OutboxEntry>,
    channels: Vec<(usize, ChannelRows)>,
    /// The channel that is being sent to.
    current: usize,
    /// The state of the world around the service.
    is_up: BTreeMap<Key, bool>,
    failing: BTreeMap<usize, Option<SignedDuration>>,
    crashes: u64,
    died_at: BTreeMap<usize, Vec<Timestamp>>,
    /// Whether nothing goes wrong between the parts of the service.
    is_kind: bool,
    /// Whether its sites have names so long that a message does not have room for all of them.
    is_wordy: bool,
    is_over: bool,
    /// The correct state.
    truths: Truths,
    counted: BTreeMap<(usize, Tool), Timestamp>,
    readers: Vec<Reader>,
    counts: Counts,
    log: Vec<String>,
}

fn uuid(random: &mut Random) -> Uuid {
    let [high, low] = [(); 2].map(|()| random.below(u64::MAX));
    Uuid::from_u64_pair(high, low)
}

fn targets() -> [(&'static str, Target); 4] {
    let url = || SecretUrl::new("https://receiver.test/x");
    let current = SigningKey::from_random([7; SigningKey::BYTES]);
    let keys = SigningKeys { current, previous: None };
    [
        ("chat", Target::Slack(Slack { url: url() })),
        ("mail", Target::Email { address: "ops@example.com".to_owned() }),
        ("choosy", Target::Teams(Teams { url: url() })),
        ("program", Target::Webhook(Webhook { url: url(), keys })),
    ]
}

impl World {
    pub(crate) fn begin(seed: u64) -> Self {
        let start: Timestamp = "2026-11-20T09:30:00Z".parse().expect("a timestamp");
        let mut world = Self {
            now: start,
            end: start + SignedDuration::from_hours(24 * DAYS),
            random: Random::new(seed),
            agenda: BTreeMap::new(),
            planned: 0,
            teams: Vec::new(),
            sites: Vec::new(),
            tagged: BTreeSet::new(),
            runs: Vec::new(),
            tools: BTreeMap::new(),
            days: BTreeMap::new(),
            issues: BTreeMap::new(),
            outbox: BTreeMap::new(),
            channels: Vec::new(),
            current: 0,
            is_up: BTreeMap::new(),
            failing: BTreeMap::new(),
            crashes: 0,
            died_at: BTreeMap::new(),
            is_kind: seed.is_multiple_of(4),
            is_wordy: seed.is_multiple_of(3),
            is_over: false,
            truths: Truths::new(),
            counted: BTreeMap::new(),
            readers: Vec::new(),
            counts: Counts::default(),
            log: Vec::new(),
        };
        for (team, sites) in SITES.into_iter().enumerate() {
            world.add_team(team, sites);
        }
        world.plan(start, Action::Live);
        world.plan(start, Action::Redeliver);
        world
    }

    fn add_team(&mut self, number: usize, sites: usize) {
        let (now, random) = (self.now, &mut self.random);
        let team = Team::new(TeamId(uuid(random)), "team", Plan::Agency, now);
        let mut settings = Settings::defaults(Plan::Agency);
        let count = |random: &mut Random| {
            NonZeroU32::MIN.saturating_add(u32::try_from(random.below(3)).expect("small"))
        };
        let (status, ssl) = (&mut settings.tools.status, &mut settings.tools.ssl);
        (status.cadence_minutes, ssl.cadence_minutes) = (CADENCE, 3 * CADENCE);
        status.settings.failures_to_open = count(random);
        status.settings.successes_to_resolve = count(random);
        status.settings.incident_follow_up_minutes = 60;
        ssl.settings.failures_to_open = count(random);
        let thresholds = [
            (status.settings.failures_to_open, status.settings.successes_to_resolve),
            (ssl.settings.failures_to_open, NonZeroU32::MIN),
        ];
        self.teams.push(TeamRows { team, settings, is_stale: false });
        for _ in 0..sites {
            let (id, place) = (SiteId(uuid(&mut self.random)), self.sites.len());
            let url = SiteUrl::parse(&format!("https://site-{place}.test")).expect("a URL");
            let mut site = Site::new(id, self.teams[number].team.id, url, now);
            if self.is_wordy {
                // A message has room for a few of these names, and a Slack message for fewer.
                site.name.push_str(&" &".repeat(120));
            }
            let check = CheckId::automatic(id, Tool::Status, RunReason::Scheduled, now);
            let TeamRows { team, settings, .. } = &self.teams[number];
            let (team, settings) = (team.clone(), settings.clone());
            let time_scale = TimeScale::default();
            self.runs.push(Run { check, site: site.clone(), team, settings, time_scale });
            self.sites.push((number, Rc::new(site)));
            for ((tool, fingerprint), (opens, resolves)) in TOOLS.into_iter().zip(thresholds) {
                let key = (place, fingerprint);
                self.tools.insert((place, tool), ToolState::new());
                self.truths.insert(key, Truth::new(opens.get(), resolves.get()));
                self.is_up.insert(key, true);
                self.schedule(place, tool, now);
            }
        }
        for (name, target) in targets() {
            self.add_channel(number, name, target);
        }
        self.change_settings(number);
    }

    fn add_channel(&mut self, number: usize, name: &str, target: Target) {
        let (id, team) = (ChannelId(uuid(&mut self.random)), self.teams[number].team.id);
        let filter = match (name, self.random.below(4)) {
            ("choosy", 0) => Filter { tools: BTreeSet::from([Tool::Status]), ..Filter::default() },
            ("choosy", 1) => Filter { events: [EventKind::Resolved].into(), ..Filter::default() },
            ("choosy", _) => {
                Filter { severities: BTreeSet::from([Severity::Warning]), ..Filter::default() }
            }
            ("program", 0) => {
                let events = [EventKind::Opened, EventKind::Reminder].into();
                Filter { events, ..Filter::default() }
            }
            ("mail" | "program", 1 | 2) => {
                let selector = Some(Selector::parse("env:prod").expect("a selector"));
                Filter { selector, ..Filter::default() }
            }
            _ => Filter::default(),
        };
        let mut filter = filter;
        if ["chat", "mail"].contains(&name) {
            filter.delay_minutes = NonZeroU32::new(self.random.one_of(&[0, 0, 10, 60, 180]));
            filter.repeat_minutes = NonZeroU32::new(self.random.one_of(&[0, 0, 30, 240]));
        }
        let key = LinkKey::from_random([7; LinkKey::BYTES]);
        let channel = Channel::new(id, team, name, target, filter, key, self.now);
        let (deliveries, queued) = (BTreeMap::new(), BTreeMap::new());
        let rows = ChannelRows { channel, state: ChannelState::default(), deliveries, queued };
        self.channels.push((number, rows));
        let mut reader = Reader::default();
        let of_team = |key: &&Key| self.sites[key.0].0 == number;
        self.truths.keys().filter(of_team).for_each(|key| reader.follow(*key));
        self.readers.push(reader);
    }

    fn note(&mut self, line: &str) {
        self.log.push(format!("{} {line}", self.now));
    }

    /// The end of the log.
    pub(crate) fn log(&self) -> String {
        self.log[self.log.len().saturating_sub(80)..].join("\n")
    }

    fn plan(&mut self, at: Timestamp, action: Action) {
        self.planned += 1;
        self.agenda.insert((at, self.planned), action);
    }

    /// Sends a message through a queue that may lose, duplicate or delay it.
    fn send(&mut self, at: Timestamp, action: Action) {
        if self.is_kind || self.is_over {
            return self.plan(at, action);
        }
        for _ in 0..self.random.one_of(&[0, 1, 1, 1, 1, 1, 1, 1, 1, 2]) {
            let late = self.random.one_of(&[0, 0, 0, 0, 2, 30, 400]);
            self.plan(at + SignedDuration::from_secs(late), action.clone());
        }
    }

    fn schedule(&mut self, place: usize, tool: Tool, after: Timestamp) {
        let (team, site) = &self.sites[place];
        let cadence = self.teams[*team].settings.tools.cadence_minutes(tool);
        // All at once, to cause storms.
        let first = self.sites[0].1.id;
        let slot = TimeScale::default().next_after(first, tool, cadence, after);
        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
        let message = CheckMessage { team: site.team, site: site.id, tool, order };
        if slot < self.end {
            self.plan(slot, Action::Schedule(place, tool));
            self.send(slot, Action::Begin(message));
            let late = !self.is_kind && self.random.happens(20);
            if late {
                let minutes = i64::try_from(self.random.below(100)).expect("small");
                self.plan(slot + SignedDuration::from_mins(minutes), Action::Begin(message));
            }
        }
    }

    /// Simulates three days, and then lets everything come to rest.
    pub(crate) fn live(&mut self) -> Counts {
        let mut steps = 0;
        while let Some(((at, _), action)) = self.agenda.pop_first() {
            steps = if at == self.now { steps + 1 } else { 0 };
            assert!(steps < 1_000, "always something to do: {action:?}");
            self.now = at;
            self.act(action);
        }
        self.judge();
        self.readers.iter().fold(self.counts.clone(), |all, reader| all + reader.counts.clone())
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Schedule(place, tool) => self.schedule(place, tool, self.now),
            // Active issues get follow-up runs forever.
            Action::Begin(_) if self.is_over => {}
            Action::Begin(message) => self.begin_run(message),
            Action::End(place, check, finish) => self.end_run(place, check, &finish),
            Action::FanOut(team, key) => self.fan_out(team, key),
            Action::Deliver(channel) => self.deliver(channel),
            Action::SyncChannels(team) => self.sync_channels(team),
            Action::Enable(channel) => self.enable(channel),
            Action::Redeliver => self.redeliver(),
            Action::Live => self.happen(),
        }
    }

    fn place_of(&self, site: SiteId) -> usize {
        self.sites.iter().position(|(_, other)| other.id == site).expect("a site")
    }

    fn begin_run(&mut self, message: CheckMessage) {
        let place = self.place_of(message.site);
        let tool = message.tool;
        let RunOrder::Automatic { reason, slot } = message.order else { return };
        let check = CheckId::automatic(message.site, tool, reason, slot);
        if self.tools[&(place, tool)].wants(check, self.now).is_err() {
            return;
        }
        let finish = Box::new(self.probe(place, tool));
        let takes = self.random.one_of(&[0, 0, 1, 20]);
        self.plan(self.now + SignedDuration::from_secs(takes), Action::End(place, check, finish));
    }

    fn probe(&mut self, place: usize, tool: Tool) -> Finish {
        if !self.is_kind && self.random.happens(10) {
            let (message, code) = ("no resolver".to_owned(), "no_connectivity".to_owned());
            return Finish::Failed(CheckError { message, code, data: serde_json::Value::Null });
        }
        let fingerprint = TOOLS.iter().find(|of| of.0 == tool).expect("a tool").1;
        let is_up = self.is_up[&(place, fingerprint)];
        match tool {
            Tool::Status => {
                status_finish(self.sites[place].1.url.as_str(), if is_up { 200 } else { 503 })
            }
            _ => Finish::Completed(ToolResult::Ssl(Box::new(SslResult {
                domain: format!("site-{place}.test"),
                ip: None,
                port: None,
                is_valid: true,
                failure_type: None,
                failure_message: None,
                issuer: None,
                issued_to: None,
                valid_from: None,
                valid_to: None,
                days_left: if is_up { 80 } else { 3 },
                first_to_expire: None,
                subject: None,
                serial_number: None,
                fingerprint: None,
                verified: true,
                info: None,
            }))),
        }
    }

    fn end_run(&mut self, place: usize, check: CheckId, finish: &Finish) {
        let (now, tool, slot) = (self.now, check.tool(), check.created_at());
        let run = &mut self.runs[place];
        run.check = check;
        let state = &self.tools[&(place, tool)];
        let closed = state.closed_day(slot).and_then(|date| self.days.get(&(place, tool, date)));
        let evaluations = run.evaluate(finish, None, now);
        let change =
            match state.apply_run(run, finish, evaluations, &Votes::NoLocation, closed, now) {
                Ok(change) => change,
                Err(_) => return,
            };
        let last = self.counted.insert((place, tool), slot);
        assert!(last.is_none_or(|last| last < slot), "the run of {slot} counts after {last:?}");
        if let Some(DayWrite::Close(day) | DayWrite::Amend(day)) = change.day {
            self.days.insert((place, tool, day.date), day);
        }
        self.tools.insert((place, tool), change.state);
        if let Some(timer) = change.timer {
            self.send_timer(place, timer.check(self.sites[place].1.id, tool));
        }
        let mut changed = BTreeSet::new();
        for event in &change.events {
            let key = (place, event.evaluation.fingerprint);
            let before = self.issues.get(&key).cloned();
            let change = follow(before, event).expect("tracker and record agree");
            if let Some(change) = change {
                changed.insert(key);
                self.commit(key, change);
            }
        }
        for (of, fingerprint) in TOOLS {
            let is_observed = of == tool && matches!(finish, Finish::Completed(_));
            if !is_observed {
                continue;
            }
            let is_up = match finish {
                Finish::Completed(ToolResult::Status(result)) => result.up,
                Finish::Completed(ToolResult::Ssl(result)) => result.days_left > 14,
                _ => true,
            };
            let key = (place, fingerprint);
            let truth = self.truths.get_mut(&key).expect("a truth");
            let transition = truth.observe(is_up, slot, now);
            assert_eq!(transition.is_some(), changed.contains(&key), "{transition:?} of {key:?}");
            self.hold(key, transition);
        }
    }

    /// Compares an issue with its correct state, and makes readers expect its transition.
    fn hold(&mut self, key: Key, transition: Option<Transition>) {
        let truth = &self.truths[&key];
        if let Some(issue) = self.issues.get(&key) {
            assert_eq!(issue.lifecycle.is_active(), truth.is_active, "{key:?}");
            assert_eq!(issue.lifecycle.opened_at(), truth.opened_at, "{key:?}");
            if truth.is_active {
                assert_eq!(issue.snoozed_until, truth.snoozed_until, "{key:?}");
            }
        } else {
            assert!(!truth.is_active, "{key:?} is not open");
        }
        let Some(transition) = transition else { return };
        self.counts.add("transitions", 1_u64);
        let ended_at = match transition {
            Transition::Opened => None,
            Transition::Resolved => self.issues[&key].lifecycle.resolved_at(),
        };
        let team = self.sites[key.0].0;
        for (number, (of, rows)) in self.channels.iter().enumerate() {
            if *of == team {
                let scene = self.teams[team].scene(&rows.channel, &self.tagged, self.now);
                self.readers[number].expect(scene, key, &self.truths[&key], ended_at);
            }
        }
    }

    /// Writes a change of an issue, together with the news for its channels.
    fn commit(&mut self, key: Key, change: IssueChange) {
        let team = self.sites[key.0].0;
        let rev = |issue: Option<&Issue>| issue.map_or(0, |issue| issue.rev);
        assert_eq!(rev(self.issues.get(&key)), rev(change.before.as_ref()));
        let entry = OutboxEntry::of(self.teams[team].team.id, &change);
        self.note(&format!("{key:?}: {:?}", change.after.lifecycle));
        self.outbox.insert((key, change.after.rev), entry);
        self.issues.insert(key, change.after);
        self.send(self.now, Action::FanOut(team, key));
    }

    fn send_timer(&mut self, place: usize, check: CheckId) {
        let message = CheckMessage::of(&self.sites[place].1, check);
        self.send(check.created_at().max(self.now), Action::Begin(message));
    }

    fn fan_out(&mut self, team: usize, key: Key) {
        let mine = (key, 0)..=(key, u64::MAX);
        let entries: Vec<_> =
            self.outbox.range(mine).map(|(at, entry)| (*at, entry.clone())).collect();
        for (at, entry) in entries {
            self.outbox.remove(&at);
            let now = self.now;
            let tags = &self.sites[key.0].1.tags;
            for (_, rows) in self.channels.iter_mut().filter(|(of, _)| *of == team) {
                rows.learn(&entry, tags, now);
            }
        }
        self.wake(team);
    }

    fn wake(&mut self, team: usize) {
        for channel in 0..self.channels.len() {
            if self.channels[channel].0 == team {
                self.send(self.now, Action::Deliver(channel));
            }
        }
    }

    fn sync_channels(&mut self, team: usize) {
        let now = self.now;
        for (_, rows) in self.channels.iter_mut().filter(|(of, _)| *of == team) {
            rows.look_again(now);
        }
        self.teams[team].is_stale = false;
        self.wake(team);
    }

    fn deliver(&mut self, channel: usize) {
        let (team, rows) = &self.channels[channel];
        if rows.due().is_none_or(|due| due > self.now) {
            return;
        }
        let Some(state) = rows.state.leased(self.now) else {
            return self.send(self.now + SignedDuration::from_secs(2), Action::Deliver(channel));
        };
        let (team, of) = (*team, rows.channel.clone());
        self.current = channel;
        self.channels[channel].1.state = state.clone();
        let TeamRows { team, settings, .. } = &self.teams[team];
        let (team, settings) = (team.clone(), settings.clone());
        self.readers[channel].begin_pass(&self.truths);
        let context = DeliveryContext {
            channel: &of,
            team: &team,
            zone: &team.zone,
            settings: &settings,
            time_scale: TimeScale::default(),
            pages_base: None,
        };
        let is_saved = deliver(self, context, state).is_ok();
        self.readers[channel].end_pass(is_saved);
        if !is_saved {
            self.counts.add("deaths", 1_u64);
            self.note("died");
        } else if let Some(due) = self.channels[channel].1.due() {
            let wait = due.duration_since(self.now);
            if wait <= SignedDuration::from_mins(15) {
                self.send(due.max(self.now), Action::Deliver(channel));
            }
        }
    }

    /// Sends again what is overdue, and compares what is outstanding with the correct state.
    fn redeliver(&mut self) {
        let now = self.now;
        for team in 0..self.teams.len() {
            if self.teams[team].is_stale {
                self.sync_channels(team);
            }
        }
        let waiting: BTreeSet<Key> = self.outbox.keys().map(|(key, _)| *key).collect();
        for key in waiting {
            self.fan_out(self.sites[key.0].0, key);
        }
        for channel in 0..self.channels.len() {
            self.deliver(channel);
        }
        let overdue = |state: &ToolState| state.timer.filter(|timer| timer.due <= now);
        let timers: Vec<_> = self
            .tools
            .iter()
            .filter_map(|((place, tool), state)| Some((*place, *tool, overdue(state)?)))
            .collect();
        for (place, tool, timer) in timers {
            self.send_timer(place, timer.check(self.sites[place].1.id, tool));
        }
        self.inspect();
        if self.now < self.end {
            self.plan(self.now + REDELIVERY, Action::Redeliver);
        } else if !self.is_over {
            self.come_to_rest();
        }
    }

    fn inspect(&mut self) {
        // A pass that dies twice, and a lease, each of which the next redelivery finds.
        let longest = if self.is_kind { REDELIVERY / 2 } else { 5 * REDELIVERY };
        for (number, (team, rows)) in self.channels.iter().enumerate() {
            if rows.channel.disabled.is_some() {
                continue;
            }
            let scene = self.teams[*team].scene(&rows.channel, &self.tagged, self.now);
            self.readers[number].is_told_in_time(scene, &self.truths, longest);
            assert!(rows.queued.values().all(|queued| queued.due.is_some()), "never sent");
            for delivery in rows.deliveries.values().filter(|delivery| delivery.due.is_none()) {
                let key = self.key_of(delivery.issue);
                let may_rest = self.readers[number].may_rest(scene, key, &self.truths[&key]);
                assert!(may_rest, "{key:?} is outstanding for {number} without a due time");
            }
        }
    }

    fn key_of(&self, issue: IssueId) -> Key {
        let of = |(_, site): &(usize, Rc<Site>)| site.id.partition() == issue.partition();
        let place = self.sites.iter().position(of).expect("a site");
        (place, issue.fingerprint())
    }

    /// The issues in a text, identified by the beginnings of their sites' names.
    fn keys_in(&self, reading: &Reading) -> Vec<Key> {
        let place = |name: &str| {
            let number = name.strip_prefix("site-")?.split_once(".test")?.0;
            number.parse().ok().filter(|place| *place < self.sites.len())
        };
        let fingerprint = |said: &str| match said.to_lowercase().contains("certificate") {
            true => Fingerprint::SslExpiring,
            false => Fingerprint::StatusDown,
        };
        let named = reading.named().into_iter();
        named.filter_map(|(name, said)| Some((place(name)?, fingerprint(&said)))).collect()
    }

    /// An action of people, receivers or targets.
    fn happen(&mut self) {
        let keys = u64::try_from(self.truths.len()).expect("small");
        let one = |random: &mut Random, of: u64| usize::try_from(random.below(of)).expect("small");
        if self.random.happens(120) {
            let key = *self.truths.keys().nth(one(&mut self.random, keys)).expect("an issue");
            *self.is_up.get_mut(&key).expect("a target") ^= true;
        }
        if self.random.happens(20) {
            // A data center fails, or is repaired.
            let is_up = self.random.happens(600);
            self.is_up.values_mut().for_each(|target| *target = is_up);
        }
        let channels = u64::try_from(self.channels.len()).expect("small");
        if self.random.happens(60) {
            let channel = one(&mut self.random, channels);
            let after = self.random.one_of(&[None, None, None, Some(600), Some(3_600)]);
            let after = after.map(SignedDuration::from_secs);
            self.note(&format!("{channel} fails: {after:?}"));
            self.failing.insert(channel, after);
        }
        if self.random.happens(100) {
            self.failing.clear();
        }
        if !self.is_kind && self.random.happens(100) {
            self.crashes = self.random.one_of(&[0, 0, 100, 300]);
        }
        if self.random.happens(80) {
            let key = *self.truths.keys().nth(one(&mut self.random, keys)).expect("an issue");
            self.decide(key);
        }
        if self.random.happens(60) {
            let place = one(&mut self.random, u64::try_from(self.sites.len()).expect("small"));
            self.change_tags(place);
        }
        if self.random.happens(15) {
            let team = one(&mut self.random, 2);
            self.change_settings(team);
        }
        if self.random.happens(20) {
            let channel = one(&mut self.random, channels);
            self.change_channel(channel);
        }
        if self.random.happens(15) {
            let channel = one(&mut self.random, channels);
            self.disable(channel);
        }
        if self.random.happens(25) {
            let channel = one(&mut self.random, channels);
            self.change_selector(channel);
        }
        if self.now + LIFE < self.end {
            self.plan(self.now + LIFE, Action::Live);
        }
    }

    /// A person acknowledges, resolves or snoozes an issue.
    fn decide(&mut self, key: Key) {
        let Some(issue) = self.issues.get(&key).filter(|issue| issue.lifecycle.is_active()) else {
            return;
        };
        let (issue, by, now) = (issue.clone(), UserId(Uuid::nil()), self.now);
        let truth = self.truths.get_mut(&key).expect("a truth");
        let (change, transition) = match self.random.below(4) {
            0 => {
                truth.is_acknowledged = true;
                (record::acknowledge(issue, by, now), None)
            }
            1 => {
                let tool = (key.0, key.1.tool());
                let next = self.tools[&tool].resolved_by_hand(key.1, now);
                self.tools.insert(tool, next);
                truth.resolve(now);
                (record::resolve(issue, by, now), Some(Transition::Resolved))
            }
            _ => {
                let hours = i64::try_from(self.random.below(9)).expect("small");
                let until = (hours > 0).then(|| now + SignedDuration::from_hours(hours));
                truth.snoozed_until = until;
                (record::snooze(issue, until, now), None)
            }
        };
        let Ok(change) = change else { return };
        self.commit(key, change);
        self.hold(key, transition);
    }

    /// A site gets the tag of the selectors, or loses it, unless something that depends on its tags is outstanding: then
    /// the tags before and after may both decide about it.
    fn change_tags(&mut self, place: usize) {
        let (team, now) = (self.sites[place].0, self.now);
        let of_team = |number: &usize| self.channels[*number].0 == team;
        let mut numbers = (0..self.channels.len()).filter(of_team);
        let is_outstanding = |number: usize| {
            let mut known = self.channels[number].1.deliveries.keys().map(|of| self.key_of(*of));
            let is_for_people = self.channels[number].1.channel.target.is_for_people();
            known.any(|key| key.0 == place && !self.truths[&key].is_active)
                || is_for_people && !self.readers[number].is_certain(place)
        };
        if self.outbox.keys().any(|(key, _)| key.0 == place) || numbers.any(is_outstanding) {
            return;
        }
        let site = Rc::make_mut(&mut self.sites[place].1);
        site.rev += 1;
        if self.tagged.remove(&place) {
            site.tags.clear();
        } else {
            self.tagged.insert(place);
            site.tags.insert(Tag::parse("env:prod").expect("a tag"));
        }
        self.note(&format!("{place}: {:?}", self.sites[place].1.tags));
        self.counts.add("changes of tags", 1_u64);
        let mine = self.issues.iter().filter(|(key, _)| key.0 == place);
        let mine: Vec<_> = mine.map(|(key, issue)| (*key, issue.clone())).collect();
        for (key, issue) in mine {
            if !issue.lifecycle.is_active() {
                let opened_at = issue.lifecycle.opened_at();
                self.readers.iter_mut().for_each(|reader| reader.hears_no_more(key, opened_at));
                continue;
            }
            let entry = OutboxEntry::of_settings(
                self.sites[place].1.team,
                self.sites[place].1.rev,
                issue,
                now,
            );
            self.outbox.insert((key, entry.issue.rev), entry);
            self.send(now, Action::FanOut(team, key));
        }
    }

    /// The channel of people or a program gets a selector, or loses it, unless something is outstanding: see
    /// [`World::change_tags`].
    fn change_selector(&mut self, number: usize) {
        let team = self.channels[number].0;
        let rows = &self.channels[number].1;
        let is_of_team = |key: &Key| self.sites[key.0].0 == team;
        let mut known = rows.deliveries.keys().map(|issue| self.key_of(*issue));
        let mut places = (0..self.sites.len()).filter(|place| self.sites[*place].0 == team);
        if !["mail", "program"].contains(&&*rows.channel.name)
            || self.outbox.keys().any(|(key, _)| is_of_team(key))
            || known.any(|key| !self.truths[&key].is_active)
            || places.any(|place| !self.readers[number].is_certain(place))
        {
            return;
        }
        let prod = Selector::parse("env:prod").expect("a selector");
        let filter = &mut self.channels[number].1.channel.filter;
        filter.selector = if filter.selector.is_none() { Some(prod) } else { None };
        self.note(&format!("{number}: a selector or none"));
        self.counts.add("changes of selectors", 1_u64);
        for (key, issue) in self.issues.iter().filter(|(key, _)| self.sites[key.0].0 == team) {
            if !issue.lifecycle.is_active() {
                self.readers[number].hears_no_more(*key, issue.lifecycle.opened_at());
            }
        }
        self.teams[team].is_stale = true;
        self.send(self.now, Action::SyncChannels(team));
    }

    /// Somebody disables a channel for some hours.
    fn disable(&mut self, number: usize) {
        let now = self.now;
        let channel = &mut self.channels[number].1.channel;
        let Some(disabled) = channel.disabled_by_hand("on leave", now) else { return };
        *channel = disabled;
        self.note(&format!("{number} is disabled"));
        self.counts.add("disabled channels", 1_u64);
        let hours = self.random.one_of(&[1, 2, 6]);
        self.plan(now + SignedDuration::from_hours(hours), Action::Enable(number));
    }

    fn enable(&mut self, number: usize) {
        let now = self.now;
        let rows = &mut self.channels[number].1;
        let Some(state) = rows.state.enabled(now) else {
            return self.plan(now + SignedDuration::from_mins(1), Action::Enable(number));
        };
        let Some(enabled) = rows.channel.enabled(now) else { return };
        (rows.channel, rows.state) = (enabled, state);
        rows.look_again(now);
        rows.queued
            .values_mut()
            .for_each(|queued| *queued = queued.again(now).expect("no weekly test"));
        self.readers[number].is_enabled();
        self.note(&format!("{number} is enabled"));
        self.send(now, Action::Deliver(number));
    }

    fn change_settings(&mut self, team: usize) {
        let hour = self.random.below(24);
        let length = self.random.one_of(&[1, 3, 9, 12]);
        let [starts_at, ends_at] =
            [format!("{hour:02}:00"), format!("{:02}:30", (hour + length) % 24)]
                .map(|text| TimeOfDay::parse(&text).expect("a time of day"));
        let enabled = self.random.happens(600);
        let presets = [&[15, 60, 1_440][..], &[0, 360], &[60], &[30, 60, 360, 1_440]];
        let settings = &mut self.teams[team].settings;
        settings.quiet_time = QuietTime { enabled, starts_at, ends_at };
        settings.escalation.enabled = self.random.happens(800);
        settings.escalation.intervals = self.random.one_of(&presets).iter().copied().collect();
        let said = format!("{team}: {:?} {:?}", settings.quiet_time, settings.escalation);
        self.note(&said);
        self.teams[team].is_stale = true;
        self.send(self.now, Action::SyncChannels(team));
    }

    /// A reader agrees to be notified, or subscribes to other news.
    fn change_channel(&mut self, channel: usize) {
        let now = self.now;
        let (team, rows) = &mut self.channels[channel];
        if let Some(confirmed) = rows.channel.confirmed(now) {
            rows.channel = confirmed;
        } else if rows.channel.name == "chat" {
            let fewer = BTreeSet::from([EventKind::Opened, EventKind::Resolved]);
            let events = &mut rows.channel.filter.events;
            *events = if events.is_empty() { fewer } else { BTreeSet::new() };
        }
        let team = *team;
        self.teams[team].is_stale = true;
        self.send(now, Action::SyncChannels(team));
    }

    /// Nothing goes wrong any more, and everything outstanding is done.
    fn come_to_rest(&mut self) {
        (self.is_over, self.crashes) = (true, 0);
        self.failing.clear();
        for team in &mut self.teams {
            team.settings.quiet_time.enabled = false;
            team.settings.escalation.enabled = false;
            team.is_stale = true;
        }
        for (_, rows) in &mut self.channels {
            rows.channel.filter.repeat_minutes = None;
        }
        // The longest wait is as long as the failures lasted, and longer with jitter.
        for hour in 0..40 {
            self.plan(self.now + SignedDuration::from_hours(hour), Action::Redeliver);
        }
    }

    fn judge(&mut self) {
        for (number, (team, rows)) in self.channels.iter().enumerate() {
            let scene = self.teams[*team].scene(&rows.channel, &self.tagged, self.now);
            self.readers[number].judge(scene, &self.truths);
            assert!(rows.queued.is_empty(), "{:?}", rows.queued);
            let untold = rows.deliveries.values().find(|delivery| {
                let key = self.key_of(delivery.issue);
                let is_left_alone = self.truths[&key].is_acknowledged
                    && rows.channel.filter.delay_minutes.is_some();
                delivery.notified.is_none() && scene.selects(key) && !is_left_alone
            });
            assert!(untold.is_none(), "{untold:?}");
        }
        assert!(self.outbox.is_empty(), "{:?}", self.outbox);
    }

    /// Whether the process dies at a send: at most twice in a while, since otherwise nothing could be sent in time.
    fn dies(&mut self) -> bool {
        let (now, channel) = (self.now, self.current);
        let died = self.died_at.entry(channel).or_default();
        died.retain(|at| now.duration_since(*at) < REDELIVERY * 6);
        let dies = died.len() < 2 && self.random.happens(self.crashes);
        if dies {
            died.push(now);
        }
        dies
    }

    /// Something else happens while a message is being sent.
    fn meanwhile(&mut self) {
        if !self.is_kind && self.random.happens(100) {
            let keys: Vec<Key> = self.truths.keys().copied().collect();
            let key = self.random.one_of(&keys);
            let current = self.current;
            self.decide(key);
            self.fan_out(self.sites[key.0].0, key);
            self.current = current;
        }
    }
}

impl Around for World {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn rows(&mut self) -> &mut ChannelRows {
        &mut self.channels[self.current].1
    }

    fn issue(&self, issue: IssueId) -> (Issue, Rc<Site>) {
        let key = self.key_of(issue);
        (self.issues[&key].clone(), self.sites[key.0].1.clone())
    }

    fn is_in_outbox(&self, issue: IssueId) -> bool {
        let key = self.key_of(issue);
        self.outbox.keys().any(|(of, _)| *of == key)
    }

    fn notify(&mut self, alert: &Alert) -> Answer {
        let channel = self.current;
        self.readers[channel].is_asked(None, self.now);
        if let Some(after) = self.failing.get(&channel) {
            self.readers[channel].fails(None, *after, self.now);
            return Answer::Failed(*after);
        }
        let dies = self.dies();
        if !dies || self.random.happens(500) {
            let of = &self.channels[channel].1.channel;
            let (name, reading) = (of.name.clone(), Reading::of(&of.target, alert));
            let keys: Vec<Key> = self.keys_in(&reading);
            self.note(&format!("{channel} {name}: {} {keys:?} dies={dies}", reading.title));
            let (team, rows) = &self.channels[channel];
            assert!(keys.iter().all(|key| self.sites[key.0].0 == *team), "of another team");
            let scene = self.teams[*team].scene(&rows.channel, &self.tagged, self.now);
            self.readers[channel].hear(scene, reading.kind(), &keys);
        }
        if dies {
            return Answer::Died;
        }
        self.meanwhile();
        Answer::Taken
    }

    fn event(&mut self, issue: IssueId, event: EventKind, id: &str, body: &[u8]) -> Answer {
        let body = std::str::from_utf8(body).expect("text");
        let (key, channel) = (self.key_of(issue), self.current);
        self.readers[channel].is_asked(Some(id), self.now);
        if let Some(after) = self.failing.get(&channel) {
            self.readers[channel].fails(Some(id), *after, self.now);
            return Answer::Failed(*after);
        }
        let dies = self.dies();
        if !dies || self.random.happens(500) {
            self.note(&format!("{channel}: {event:?} {key:?} of {body} dies={dies}"));
            let (team, rows) = &self.channels[channel];
            let scene = self.teams[*team].scene(&rows.channel, &self.tagged, self.now);
            let opened_at = body.parse().expect("a timestamp");
            self.readers[channel].take(scene, key, (event, id), opened_at);
        }
        if dies {
            return Answer::Died;
        }
        self.meanwhile();
        Answer::Taken
    }

    fn is_included(&mut self, issue: IssueId) {
        let key = self.key_of(issue);
        self.readers[self.current].is_included(key);
    }

    fn is_caught_up(&mut self, issue: IssueId) {
        let key = self.key_of(issue);
        self.readers[self.current].is_caught_up(key, self.now);
    }

    fn event_is_made(&mut self, issue: IssueId, event: EventKind) {
        let (key, channel) = (self.key_of(issue), self.current);
        let (team, rows) = &self.channels[channel];
        let scene = self.teams[*team].scene(&rows.channel, &self.tagged, self.now);
        match event {
            EventKind::Opened => self.readers[channel].opening_is_made(scene, key),
            _ => self.readers[channel].reminder_is_made(scene, key),
        }
    }
}
