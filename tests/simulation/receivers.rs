//! The recipients of channels. They fail, ask the sender to wait, and outlive the process that sends to them. They
//! notice at once when they receive something that cannot be true.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::{Alert, AlertKind};
use vedette_domain::clock::CLOCK_SKEW;
use vedette_domain::id::{ChannelId, MonitorId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record::Issue;
use vedette_domain::maintenance::Windows;
use vedette_domain::sites::settings::QuietTime;
use vedette_domain::sites::tag::Tags;
use vedette_domain::time_zone::NamedZone;
use vedette_notifier::send::{OutgoingMessage as Outgoing, SendOutcome, SendReason};
use vedette_notifier::{Recipient, Transport};
use vedette_testkit::Faults;
use vedette_tests::reading::Reading;

use crate::lives::Counts;
use crate::random::Random;
use crate::rules::{is_about, length};
use crate::windows::maintenance_until;

/// How many links are kept.
const LINKS: usize = 20;

/// An issue, identified by its site's name in alerts.
pub(crate) type Name = String;

/// The name of a site's issue.
pub(crate) fn name_of(site: &str, fingerprint: Fingerprint) -> Name {
    match fingerprint {
        Fingerprint::StatusPartial => format!("{site} from home"),
        Fingerprint::StatusExpectation => format!("{site} as expected"),
        Fingerprint::HeartbeatRunningLong => format!("{site} in time"),
        _ => site.to_owned(),
    }
}

/// The site of an issue.
fn site_of(name: &str) -> &str {
    name.split_once(' ').map_or(name, |(site, _)| site)
}

/// The name of the issue in an alert.
fn spoken_of((site, said): &(&str, String)) -> Name {
    let said_of = |texts: [&str; 2]| texts.into_iter().any(|text| said.contains(text));
    let fingerprint = if said_of(["PARTLY DOWN", " from home, answer"]) {
        Fingerprint::StatusPartial
    } else if said_of(["EXPECTATION NOT MET", " not as expected: "]) {
        Fingerprint::StatusExpectation
    } else if said_of(["RUNNING LONG", " not ended by "]) {
        Fingerprint::HeartbeatRunningLong
    } else {
        Fingerprint::StatusDown
    };
    name_of(site, fingerprint)
}

#[derive(Debug, Clone)]
pub(crate) struct Receivers {
    inner: Arc<Mutex<Inner>>,
    faults: Faults,
}

#[derive(Debug)]
pub(crate) struct Inner {
    random: Random,
    /// Receivers that fail, and how they fail.
    failing: BTreeMap<ChannelId, SendOutcome>,
    /// The probability that the process dies around a send, in thousandths.
    pub(crate) crashes: u64,
    /// What people believe, by channel and issue: which opening is active.
    notified: BTreeMap<(ChannelId, Name), Known>,
    /// How many openings of an issue there were when people were last notified of one of them, or of its end.
    heard: BTreeMap<(ChannelId, Name), usize>,
    /// What was sent in the current pass, and so is not saved yet.
    in_pass: Vec<(ChannelId, Name)>,
    /// What was sent by a pass that died, and so may be sent again.
    unsaved: BTreeSet<(ChannelId, Name)>,
    /// Events by channel and site, without repetitions.
    events: BTreeMap<(ChannelId, Name), Vec<Event>>,
    ids: BTreeSet<(ChannelId, String)>,
    /// Programs that were told that they missed too much, and asked the API how things are.
    asked: BTreeSet<ChannelId>,
    /// The true state at the time of a message.
    pub(crate) quiet_time: QuietTime,
    pub(crate) windows: Windows,
    /// The sites and heartbeats by their names.
    pub(crate) sites: BTreeMap<String, MonitorId>,
    channels: BTreeMap<ChannelId, Channel>,
    /// All openings of each issue, in their order.
    openings: BTreeMap<Name, Vec<Opening>>,
    /// How often tags and rules may have changed.
    changes: u64,
    /// The last of these numbers with which a channel was about a site.
    about: BTreeMap<(ChannelId, String), u64>,
    /// The last of these numbers with which a channel was off.
    off: BTreeMap<ChannelId, u64>,
    /// The links in the last messages.
    pub(crate) links: Vec<String>,
    pub(crate) counts: Counts,
    /// The last messages, for debugging.
    log: Vec<String>,
}

/// An event for a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Event {
    kind: String,
    /// In seconds.
    opened_at: i64,
}

/// An opening that people know.
#[derive(Debug, Clone, Copy)]
struct Known {
    opened_at: Timestamp,
    /// When they were last notified of it, by a clock that was not set back since.
    alerted_at: Timestamp,
}

/// An opening of an issue.
#[derive(Debug)]
struct Opening {
    opened_at: Timestamp,
    ended_at: Option<Timestamp>,
    is_acknowledged: bool,
    /// How often tags and rules may have changed before.
    changes: u64,
    /// The channels that were about the site, with the same delay, from then until they must have been notified.
    owed: BTreeSet<ChannelId>,
}

impl Opening {
    /// Whether people were to be notified of it at some time, although their channel may have a delay.
    fn is_announced(&self, delay: Option<SignedDuration>) -> bool {
        delay.is_none_or(|delay| {
            let announced_at = self.opened_at + delay;
            !self.is_acknowledged && self.ended_at.is_none_or(|ended_at| announced_at <= ended_at)
        })
    }
}

impl Receivers {
    pub(crate) fn new(random: Random, faults: Faults) -> Self {
        let inner = Inner {
            random,
            failing: BTreeMap::new(),
            crashes: 0,
            notified: BTreeMap::new(),
            heard: BTreeMap::new(),
            in_pass: Vec::new(),
            unsaved: BTreeSet::new(),
            events: BTreeMap::new(),
            ids: BTreeSet::new(),
            asked: BTreeSet::new(),
            quiet_time: QuietTime::default(),
            windows: Windows::default(),
            sites: BTreeMap::new(),
            channels: BTreeMap::new(),
            openings: BTreeMap::new(),
            changes: 0,
            about: BTreeMap::new(),
            off: BTreeMap::new(),
            links: Vec::new(),
            counts: Counts::default(),
            log: Vec::new(),
        };
        Self { inner: Arc::new(Mutex::new(inner)), faults }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a receiver start or stop failing.
    pub(crate) fn set(&self, channel: ChannelId, failing: Option<SendOutcome>) {
        let mut inner = self.lock();
        match failing {
            Some(outcome) => inner.failing.insert(channel, outcome),
            None => inner.failing.remove(&channel),
        };
    }

    pub(crate) fn heal(&self) {
        let mut inner = self.lock();
        inner.failing.clear();
        inner.crashes = 0;
    }

    /// The sent messages are saved, or the process died before that.
    pub(crate) fn end_pass(&self, is_saved: bool) {
        let mut inner = self.lock();
        let sent = std::mem::take(&mut inner.in_pass);
        if !is_saved {
            inner.unsaved.extend(sent);
        }
    }
}

impl Inner {
    pub(crate) fn note(&mut self, line: String) {
        self.log.push(line);
        let past = self.log.len().saturating_sub(60);
        self.log.drain(..past);
    }

    pub(crate) fn log(&self) -> String {
        self.log.join("\n")
    }

    /// What everybody could know about an issue by now.
    pub(crate) fn see(&mut self, name: &str, issue: &Issue) {
        let (opened_at, ended_at) = (issue.lifecycle.opened_at(), issue.lifecycle.resolved_at());
        let is_owed = |channel: &&Channel| {
            let is_there = channel.since.is_some_and(|since| since <= opened_at);
            is_there && self.is_about(channel.id, name)
        };
        let owed = self.channels.values().filter(is_owed).map(|channel| channel.id).collect();
        let openings = self.openings.entry(name.to_owned()).or_default();
        let is_acknowledged = issue.lifecycle.acknowledgement().is_some();
        let changes = self.changes;
        let new = Opening { opened_at, ended_at, is_acknowledged, changes, owed };
        match openings.last_mut() {
            Some(last) if last.opened_at == opened_at => {
                *last = Opening { changes: last.changes, owed: take(&mut last.owed), ..new };
            }
            last => {
                assert!(last.is_none_or(|last| last.ended_at.is_some()), "{name} ended unseen");
                openings.push(new);
            }
        }
    }

    /// Tags and rules that may have changed. They decide about everything that is sent from now on, and about the
    /// openings that are `waiting`, because no channel knows them yet.
    pub(crate) fn see_rules(
        &mut self,
        tags: &BTreeMap<String, Tags>,
        channels: Vec<Channel>,
        waiting: &BTreeSet<(Name, Timestamp)>,
    ) {
        self.changes += 1;
        for channel in channels {
            let id = channel.id;
            let about = tags.iter().filter(|(_, tags)| is_about(&channel.filter, tags));
            self.about.extend(about.map(|(site, _)| ((id, site.clone()), self.changes)));
            if channel.disabled.is_some() {
                self.off.insert(id, self.changes);
            }
            let before = self.channels.get(&id).map(|channel| channel.filter.delay_minutes);
            let is_delay_kept = before == Some(channel.filter.delay_minutes);
            for (name, openings) in &mut self.openings {
                let about = self.about.get(&(id, site_of(name).to_owned()));
                if is_delay_kept && about == Some(&self.changes) {
                    continue;
                }
                let place = (id, name.clone());
                let heard = self.heard.get(&place).filter(|_| !self.unsaved.contains(&place));
                for (number, opening) in openings.iter_mut().enumerate() {
                    let is_settled = match channel.target.is_for_people() {
                        true => heard.is_some_and(|heard| number < *heard),
                        false => !waiting.contains(&(name.clone(), opening.opened_at)),
                    };
                    if !is_settled {
                        opening.owed.remove(&id);
                    }
                }
            }
            self.channels.insert(id, channel);
        }
    }

    /// The service's clock was set back.
    pub(crate) fn set_back(&mut self, now: Timestamp) {
        for known in self.notified.values_mut() {
            known.alerted_at = known.alerted_at.min(now);
        }
    }

    fn is_about(&self, channel: ChannelId, name: &str) -> bool {
        self.about.get(&(channel, site_of(name).to_owned())) == Some(&self.changes)
    }

    fn delay(&self, channel: ChannelId) -> Option<SignedDuration> {
        length(self.channels[&channel].filter.delay_minutes)
    }

    /// Whether nobody notifies a channel of an active issue: it is not about the site, or somebody has acknowledged the
    /// issue within the delay.
    pub(crate) fn is_left_out(&self, channel: ChannelId, name: &str) -> bool {
        self.openings.get(name).and_then(|openings| openings.last()).is_some_and(|last| {
            let is_announced = last.is_announced(self.delay(channel));
            last.ended_at.is_none() && !(self.is_about(channel, name) && is_announced)
        })
    }

    /// Compares what the reader of a channel knows of an issue in the end with what they must know.
    pub(crate) fn judge(&self, channel: ChannelId, name: &str) {
        let Some(openings) = self.openings.get(name) else { return };
        let last = openings.last().expect("an opening");
        let is_active = last.ended_at.is_none() && !self.is_left_out(channel, name);
        let place = (channel, name.to_owned());
        let said = format!("{} of {name} in the end", self.channels[&channel].name);
        if !self.channels[&channel].target.is_for_people() {
            let events = self.events.get(&place).map_or(&[][..], Vec::as_slice);
            for opening in openings {
                let opened_at = opening.opened_at.as_second();
                let knows = |kind: &str| {
                    events.iter().any(|event| event.kind == kind && event.opened_at == opened_at)
                };
                let is_new = is_active && opened_at == last.opened_at.as_second();
                let is_owed =
                    opening.owed.contains(&channel) || is_new && !self.asked.contains(&channel);
                assert!(knows("issue.opened") || !is_owed, "{said}: {opening:?}, {events:?}");
                // A program is not notified of what was acknowledged while it was off.
                let is_always_on = !self.off.contains_key(&channel);
                let hears_of_taking = knows("issue.acknowledged") || !opening.is_acknowledged;
                assert!(
                    hears_of_taking || !(is_owed && is_always_on),
                    "{said}: {opening:?}, {events:?}"
                );
                let is_over = opening.ended_at.is_some();
                let hears_of_end = !knows("issue.opened") || knows("issue.resolved");
                assert!(hears_of_end || !is_over, "{said}: {opening:?}, {events:?}");
            }
            return;
        }
        let is_owed = |opening: &Opening| {
            opening.owed.contains(&channel) && opening.is_announced(self.delay(channel))
        };
        let knows = self.notified.get(&place).map(|known| known.opened_at);
        if is_active {
            assert_eq!(knows, Some(last.opened_at), "{said}");
        } else if last.ended_at.is_some() && knows.is_some() {
            // The process died before it saved that they were notified, and then they were no longer to be.
            let known = openings.iter().find(|opening| Some(opening.opened_at) == knows);
            let is_lost = self.unsaved.contains(&place) && !known.is_some_and(is_owed);
            assert!(is_lost, "{said}: they believe in {known:?}");
        }
        let heard = self.heard.get(&place).copied().unwrap_or_default();
        let unheard = &openings[heard..];
        // After the clock was set back, the service takes the first of them that it has not sent for the last.
        if unheard.is_sorted_by_key(|opening| opening.opened_at) {
            let mut over = unheard.iter().filter(|opening| opening.ended_at.is_some());
            let lost = over.find(|opening| is_owed(opening));
            assert!(lost.is_none(), "{said}: they never heard of {lost:?}");
        }
    }

    /// Compares the text of an alert with what its readers know.
    fn hear(&mut self, channel: &Channel, alert: &Alert, now: Timestamp) {
        let reading = Reading::of(&channel.target, alert);
        let (kind, title) = (reading.kind(), &reading.title);
        if matches!(kind, AlertKind::Notice | AlertKind::Test) {
            if title.starts_with("ALERTS NOT SENT") {
                self.owes_nothing(channel.id);
            }
            return;
        }
        assert_eq!(self.quiet_time.until(now, &NamedZone::utc()), None, "{title} in quiet time");
        let named = reading.named();
        assert!(!named.is_empty(), "{title}: names nothing");
        let has_link = alert.thread.is_some() && !kind.is_over();
        assert_eq!(alert.respond.is_some(), has_link, "{title}: {:?}", alert.respond);
        if let Some(link) = &alert.respond {
            self.links.push(link.url.clone());
            let past = self.links.len().saturating_sub(LINKS);
            self.links.drain(..past);
        }
        // What was sent before in this pass is saved by now.
        self.in_pass.clear();
        for told in &named {
            let name = spoken_of(told);
            let place = (channel.id, name.clone());
            let knows = self.notified.get(&place).copied();
            let is_repeated = self.unsaved.remove(&place);
            self.counts.add("repeated", is_repeated);
            self.assert_rules(&place, kind, is_repeated, now);
            let openings = &self.openings[&name];
            let last = openings.last().expect("an opening");
            let known = Known { opened_at: last.opened_at, alerted_at: now };
            match kind {
                AlertKind::Opened => {
                    let heard = self.heard.get(&place);
                    let is_new = heard.is_none_or(|heard| *heard < openings.len());
                    assert!(is_new || is_repeated, "{title}: told twice");
                    self.counts.add("late", !last.owed.contains(&channel.id));
                    self.notified.insert(place.clone(), known);
                }
                AlertKind::Reminder => {
                    let is_known = knows.is_some() || is_repeated;
                    assert!(is_known, "{title}: reminded of what they did not know");
                    if let Some(known) = self.notified.get_mut(&place) {
                        known.alerted_at = now;
                    }
                }
                AlertKind::Resolved => {
                    let is_known = knows.is_some() || is_repeated;
                    assert!(is_known, "{title}: they did not know of {name:?}");
                    self.notified.remove(&place);
                }
                AlertKind::Missed => {
                    assert!(knows.is_none() || is_repeated, "{title}: they knew");
                    // People who were notified by a process that died still learn that the issue is over.
                    self.notified.remove(&place);
                }
                AlertKind::Notice | AlertKind::Test => {}
            }
            if kind != AlertKind::Reminder {
                self.heard.insert(place.clone(), openings.len());
            }
            self.in_pass.push(place);
        }
    }

    /// Checks the rules of a channel for people at an alert: they hear only of sites that it is about, unless they know
    /// of the opening, and not before the delay and the time between reminders are over, nor after an acknowledgement.
    fn assert_rules(
        &mut self,
        place: &(ChannelId, Name),
        kind: AlertKind,
        is_repeated: bool,
        now: Timestamp,
    ) {
        let (channel, name) = place;
        let delay = self.delay(*channel);
        let openings = &self.openings[name];
        let last = openings.last().expect("an opening");
        let said = format!("{kind:?} of {name} to {}: {last:?}", self.channels[channel].name);
        let is_over = matches!(kind, AlertKind::Resolved | AlertKind::Missed);
        assert_eq!(last.ended_at.is_some(), is_over, "{said}");
        if matches!(kind, AlertKind::Opened | AlertKind::Missed) {
            assert!(self.is_about(*channel, name), "{said}, of another site");
        }
        match kind {
            // If the clock was set back since the opening, nothing can be counted from it.
            AlertKind::Opened if last.opened_at <= now + CLOCK_SKEW => {
                if let Some(delay) = delay {
                    assert!(last.opened_at + delay <= now, "{said}, within {delay}");
                    assert!(!last.is_acknowledged, "{said}");
                    self.assert_no_maintenance(site_of(name), now);
                    self.counts.add("delayed", 1_u64);
                }
            }
            AlertKind::Missed => {
                let heard = self.heard.get(place).copied().unwrap_or_default();
                let is_due = openings.iter().skip(heard).any(|opening| opening.is_announced(delay));
                assert!(is_due || is_repeated, "{said}, within {delay:?}");
            }
            AlertKind::Reminder => {
                self.assert_no_maintenance(site_of(name), now);
                if let Some(repeat) = length(self.channels[channel].filter.repeat_minutes) {
                    assert!(!last.is_acknowledged, "{said}");
                    let known = self.notified.get(place);
                    let is_due = known.is_some_and(|known| known.alerted_at + repeat <= now);
                    assert!(is_due || is_repeated, "{said}, {known:?}, within {repeat}");
                    self.counts.add("repeats", 1_u64);
                }
            }
            _ => {}
        }
    }

    /// A reader learns that they missed too much, and looks at the service.
    fn owes_nothing(&mut self, channel: ChannelId) {
        for opening in self.openings.values_mut().flatten() {
            opening.owed.remove(&channel);
        }
    }

    /// Nobody is reminded of a site's issues in a maintenance window, nor notified of them after a delay.
    fn assert_no_maintenance(&self, site: &str, now: Timestamp) {
        let end =
            self.sites.get(site).map(|site| maintenance_until(&self.windows, *site, now, now));
        assert_eq!(end, Some(None), "an alert about {site} in a maintenance window");
    }

    /// Compares an event with the previous ones.
    fn take(&mut self, channel: ChannelId, id: &str, body: &Value, now: Timestamp) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = text(&body["type"]);
        assert_eq!(self.quiet_time.until(now, &NamedZone::utc()), None, "{kind} in quiet time");
        self.in_pass.clear();
        let is_new = self.ids.insert((channel, id.to_owned()));
        if !is_new {
            let place = (channel, id.to_owned());
            assert!(self.unsaved.remove(&place), "{kind} {id}: sent twice");
            self.counts.add("repeated", 1_u64);
        }
        self.in_pass.push((channel, id.to_owned()));
        if kind == "channel.missed" {
            self.asked.insert(channel);
            self.events.retain(|(of, _), _| *of != channel);
            self.owes_nothing(channel);
            return;
        }
        let fingerprint = Fingerprint::parse(&text(&body["data"]["fingerprint"]));
        let name = text(&monitor_of(body)["name"]);
        // Windows may have changed since a reminder was queued.
        if kind == "issue.reminder" && text(&body["timestamp"]).parse().ok() == Some(now) {
            self.assert_no_maintenance(&name, now);
        }
        let site = name_of(&name, fingerprint.expect("a fingerprint"));
        let opened_at: Timestamp = text(&body["data"]["opened_at"]).parse().expect("a timestamp");
        let event = Event { kind: kind.clone(), opened_at: opened_at.as_second() };
        let place = (channel, site);
        let known = self.events.get(&place);
        if kind == "issue.opened" {
            let openings = self.openings[&place.1].iter();
            let found = openings.rev().find(|of| of.opened_at.as_second() == event.opened_at);
            let opening = found.expect("an opening");
            let about = self.about.get(&(channel, name)).is_some_and(|at| *at >= opening.changes);
            // After the first event that it misses while it is off, a program is sent all of them.
            let off = self.off.get(&channel).is_some_and(|at| *at >= opening.changes);
            assert!(about || off && known.is_some(), "{place:?}: {opening:?} of another site");
            self.counts.add("late", !opening.owed.contains(&channel));
        }
        // If the clock was set back, an issue can open twice in one second: a job is late by its schedule, not by the
        // time at which that is noticed.
        let is_same = |of: &&Opening| of.opened_at.as_second() == event.opened_at;
        let openings = self.openings[&place.1].iter().filter(is_same).count();
        let events = self.events.entry(place).or_default();
        let told = events.iter().filter(|known| **known == event).count();
        if told > 0 && !is_new {
            return;
        }
        assert!(told < openings.max(1), "{kind} {id}: told twice");
        let is_state = |event: &&Event| ["issue.opened", "issue.resolved"].contains(&&*event.kind);
        let last = events.iter().rev().find(is_state);
        // What the API said is not recorded, and events from before may come after it.
        let is_known = !self.asked.contains(&channel)
            || events.iter().any(|known| known.opened_at == event.opened_at);
        let is_down = last.is_some_and(|event| event.kind == "issue.opened");
        match kind.as_str() {
            "issue.opened" => assert!(!is_down, "opened twice: {events:?}"),
            _ => assert!(is_down || !is_known, "{kind} of what is not open: {events:?}"),
        }
        if kind != "issue.reminder" {
            events.push(event);
        }
    }
}

impl Transport for Receivers {
    async fn send(
        &self,
        to: Recipient<'_>,
        outgoing: &Outgoing,
        _: SendReason,
        now: Timestamp,
    ) -> SendOutcome {
        let Recipient::Channel { channel, .. } = to else { panic!("nobody asked for it") };
        let (arrives, dies) = {
            let mut inner = self.lock();
            if let Some(outcome) = inner.failing.get(&channel.id).cloned() {
                let name = &channel.name;
                inner.note(format!("{now} {name}: {outcome:?}"));
                return outcome;
            }
            let crashes = inner.crashes;
            (inner.random.happens(500), inner.random.happens(crashes))
        };
        if arrives || !dies {
            let mut inner = self.lock();
            inner.counts.add("received", 1_u64);
            match outgoing {
                Outgoing::Alert { alert, .. } => {
                    let (name, title, lines) = (&channel.name, alert.title(), &alert.lines);
                    inner.note(format!("{now} {name}: {title} {lines:?} dies={dies}"));
                    inner.hear(channel, alert, now);
                }
                Outgoing::Event { id, body } => {
                    let body: Value = serde_json::from_slice(body).expect("JSON");
                    let (name, kind) = (&channel.name, &body["type"]);
                    let (site, what) = (&monitor_of(&body)["name"], &body["data"]["fingerprint"]);
                    inner.note(format!("{now} {name}: {kind} {what} {site} {id} dies={dies}"));
                    inner.take(channel.id, id, &body, now);
                }
                Outgoing::Snapshot { .. } | Outgoing::TransactionalMail { .. } => {
                    panic!("nobody asked for it")
                }
            }
        }
        if dies {
            self.faults.crash();
            std::future::pending::<()>().await;
        }
        SendOutcome::DELIVERED
    }
}

/// The site or heartbeat of an event.
fn monitor_of(event: &Value) -> &Value {
    let data = &event["data"];
    if data["site"].is_null() { &data["heartbeat"] } else { &data["site"] }
}

/// A temporary failure.
pub(crate) fn retry(after: Option<Duration>) -> SendOutcome {
    SendOutcome::Retry { after, why: "HTTP 503".to_owned() }
}
