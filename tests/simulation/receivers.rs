//! The recipients of channels. They fail, ask the sender to wait, and outlive the process that sends to them. They
//! notice at once when they receive something that cannot be true.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::{Alert, AlertKind};
use vedette_domain::id::{ChannelId, SiteId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::maintenance::Windows;
use vedette_domain::sites::settings::QuietTime;
use vedette_domain::time_zone::NamedZone;
use vedette_notifier::send::{OutgoingMessage as Outgoing, SendOutcome, SendReason};
use vedette_notifier::{Recipient, Transport};
use vedette_testkit::Faults;
use vedette_tests::reading::Reading;

use crate::lives::Counts;
use crate::random::Random;
use crate::windows::maintenance_until;

/// An issue, identified by its site's name in alerts.
pub(crate) type Name = String;

/// The name of a site's issue.
pub(crate) fn name_of(site: &str, fingerprint: Fingerprint) -> Name {
    match fingerprint {
        Fingerprint::StatusPartial => format!("{site} from home"),
        Fingerprint::StatusExpectation => format!("{site} as expected"),
        _ => site.to_owned(),
    }
}

/// The name of the issue in an alert.
fn spoken_of((site, said): &(&str, String)) -> Name {
    let said_of = |texts: [&str; 2]| texts.into_iter().any(|text| said.contains(text));
    let fingerprint = if said_of(["PARTLY DOWN", " from home, answer"]) {
        Fingerprint::StatusPartial
    } else if said_of(["EXPECTATION NOT MET", " not as expected: "]) {
        Fingerprint::StatusExpectation
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
    /// What people believe, by channel and site: since when the site is down.
    notified: BTreeMap<(ChannelId, Name), Timestamp>,
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
    /// The sites by their names.
    pub(crate) sites: BTreeMap<String, SiteId>,
    pub(crate) down_since: BTreeMap<Name, Timestamp>,
    pub(crate) counts: Counts,
    /// The last messages, for debugging.
    log: Vec<String>,
}

/// An event for a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) opened_at: String,
}

impl Receivers {
    pub(crate) fn new(random: Random, faults: Faults) -> Self {
        let inner = Inner {
            random,
            failing: BTreeMap::new(),
            crashes: 0,
            notified: BTreeMap::new(),
            in_pass: Vec::new(),
            unsaved: BTreeSet::new(),
            events: BTreeMap::new(),
            ids: BTreeSet::new(),
            asked: BTreeSet::new(),
            quiet_time: QuietTime::default(),
            windows: Windows::default(),
            sites: BTreeMap::new(),
            down_since: BTreeMap::new(),
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

    pub(crate) fn believes_down(&self, channel: ChannelId, site: &str) -> bool {
        self.notified.contains_key(&(channel, site.to_owned()))
    }

    /// The kinds of events that a program got, since it last asked the API, and whether it did.
    pub(crate) fn events(&self, channel: ChannelId, site: &str) -> (Vec<&str>, bool) {
        let events = self.events.get(&(channel, site.to_owned())).into_iter().flatten();
        (events.map(|event| event.kind.as_str()).collect(), self.asked.contains(&channel))
    }

    /// Compares the text of an alert with what its readers know.
    fn hear(&mut self, channel: &Channel, alert: &Alert, now: Timestamp) {
        let reading = Reading::of(&channel.target, alert);
        let (kind, title) = (reading.kind(), &reading.title);
        if matches!(kind, AlertKind::Notice | AlertKind::Test) {
            return;
        }
        assert_eq!(self.quiet_time.until(now, &NamedZone::utc()), None, "{title} in quiet time");
        let named = reading.named();
        if kind == AlertKind::Reminder {
            named.iter().for_each(|(name, _)| self.assert_no_maintenance(name, now));
        }
        let sites: Vec<Name> = named.iter().map(spoken_of).collect();
        assert!(!sites.is_empty(), "{title}: names nothing");
        for site in sites {
            let place = (channel.id, site.clone());
            let knows = self.notified.get(&place).copied();
            let is_repeated = self.unsaved.remove(&place);
            self.counts.add("repeated", is_repeated);
            let down_since = self.down_since.get(&site).copied();
            match kind {
                AlertKind::Opened => {
                    let opened_at =
                        alert.thread.map(|thread| thread.opened_at).or(down_since).unwrap_or(now);
                    assert!(knows != Some(opened_at) || is_repeated, "{title}: told twice");
                    self.notified.insert(place.clone(), opened_at);
                }
                AlertKind::Reminder => assert!(
                    knows.is_some() || is_repeated,
                    "{title}: reminded of what they did not know"
                ),
                AlertKind::Resolved => {
                    assert!(
                        knows.is_some() || is_repeated,
                        "{title}: they did not know of {site:?}"
                    );
                    self.notified.remove(&place);
                }
                AlertKind::Missed => {
                    assert!(knows.is_none() || is_repeated, "{title}: they knew");
                    // People who were notified by a process that died still learn that the issue is over.
                    self.notified.remove(&place);
                }
                AlertKind::Notice | AlertKind::Test => {}
            }
            self.in_pass.push(place);
        }
    }

    /// Nobody is reminded of a site's issues in a maintenance window.
    fn assert_no_maintenance(&self, site: &str, now: Timestamp) {
        let end =
            self.sites.get(site).map(|site| maintenance_until(&self.windows, *site, now, now));
        assert_eq!(end, Some(None), "reminded of {site} in a maintenance window");
    }

    /// Compares an event with the previous ones.
    fn take(&mut self, channel: ChannelId, id: &str, body: &Value, now: Timestamp) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = text(&body["type"]);
        assert_eq!(self.quiet_time.until(now, &NamedZone::utc()), None, "{kind} in quiet time");
        if !self.ids.insert((channel, id.to_owned())) {
            let place = (channel, id.to_owned());
            assert!(self.unsaved.remove(&place), "{kind} {id}: sent twice");
            self.counts.add("repeated", 1_u64);
        }
        self.in_pass.push((channel, id.to_owned()));
        if kind == "channel.missed" {
            self.asked.insert(channel);
            self.events.retain(|(of, _), _| *of != channel);
            return;
        }
        let fingerprint = Fingerprint::parse(&text(&body["data"]["fingerprint"]));
        let name = text(&body["data"]["site"]["name"]);
        // Windows may have changed since a reminder was queued.
        if kind == "issue.reminder" && text(&body["timestamp"]).parse().ok() == Some(now) {
            self.assert_no_maintenance(&name, now);
        }
        let site = name_of(&name, fingerprint.expect("a fingerprint"));
        let event = Event { kind: kind.clone(), opened_at: text(&body["data"]["opened_at"]) };
        let events = self.events.entry((channel, site)).or_default();
        if events.contains(&event) {
            return;
        }
        let last = events.iter().rev().find(|event| event.kind != "issue.reminder");
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
                    let (site, what) =
                        (&body["data"]["site"]["name"], &body["data"]["fingerprint"]);
                    inner.note(format!("{now} {name}: {kind} {what} {site} {id} dies={dies}"));
                    inner.take(channel.id, id, &body, now);
                }
                Outgoing::TransactionalMail { .. } => panic!("nobody asked for it"),
            }
        }
        if dies {
            self.faults.crash();
            std::future::pending::<()>().await;
        }
        SendOutcome::Delivered
    }
}

/// A temporary failure.
pub(crate) fn retry(after: Option<Duration>) -> SendOutcome {
    SendOutcome::Retry { after, why: "HTTP 503".to_owned() }
}
