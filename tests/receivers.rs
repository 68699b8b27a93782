//! The receivers of channels in tests. They record what they receive, and answer as the test has specified.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;
use vedette_domain::alerts::Alert;
use vedette_domain::alerts::channel::SnapshotAlert;
use vedette_domain::alerts::mail::TransactionalMail;
use vedette_domain::id::ChannelId;
use vedette_notifier::send::{OutgoingMessage as Outgoing, SendOutcome, SendReason};
use vedette_notifier::{Recipient, Transport};

/// The receivers of all channels.
#[derive(Default)]
pub struct Receivers(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    received: Vec<Received>,
    mails: Vec<Posted>,
    of_mails: Option<SendOutcome>,
    of_mails_to: BTreeMap<String, SendOutcome>,
    answers: BTreeMap<ChannelId, SendOutcome>,
    refused: BTreeSet<String>,
}

/// A message that was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// To which channel.
    pub channel: ChannelId,
    /// When.
    pub at: Timestamp,
    /// What.
    pub message: Message,
}

/// a transactional mail that was sent.
#[derive(Clone)]
pub struct Posted {
    /// To which address.
    pub to: String,
    /// The id of the message.
    pub id: String,
    /// What.
    pub mail: TransactionalMail,
}

/// A message as its receiver sees it.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a test has few of them")]
pub enum Message {
    /// To people.
    Alert(Alert),
    /// To a program.
    Event {
        /// The same for every attempt.
        id: String,
        /// What was sent.
        body: Value,
    },
    /// The current state.
    Snapshot(Vec<SnapshotAlert>),
    /// To an address that nobody has confirmed.
    Confirmation,
}

impl Received {
    /// In a line: `DOWN: Example Shop` or `issue.opened`.
    pub fn line(&self) -> String {
        match &self.message {
            Message::Alert(alert) => alert.title(),
            Message::Event { body, .. } => body["type"].as_str().unwrap_or_default().to_owned(),
            Message::Snapshot(alerts) => {
                let described = alerts.iter().map(|alert| {
                    let state = if alert.ends_at > Some(self.at) { "open" } else { "ended" };
                    format!("{} {state}", site_of(alert))
                });
                let described: BTreeSet<_> = described.collect();
                described.into_iter().collect::<Vec<_>>().join(", ")
            }
            Message::Confirmation => "confirmation".to_owned(),
        }
    }
}

impl Receivers {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a channel's receiver answers from now on.
    pub fn answer(&self, channel: ChannelId, outcome: SendOutcome) {
        self.lock().answers.insert(channel, outcome);
    }

    /// Refuses the alerts of these sites in snapshots from now on. The others in the same request are accepted.
    pub fn refuse_alerts(&self, sites: &[&str]) {
        self.lock().refused = sites.iter().map(ToString::to_string).collect();
    }

    /// Takes what was received, in order.
    pub fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.lock().received)
    }

    /// The outcome of transactional emails from now on.
    pub fn answer_mails(&self, outcome: SendOutcome) {
        self.lock().of_mails = Some(outcome);
    }

    /// What becomes of transactional emails to an address from now on.
    pub fn answer_mails_to(&self, address: &str, outcome: SendOutcome) {
        self.lock().of_mails_to.insert(address.to_owned(), outcome);
    }

    /// Takes the transactional emails that were sent, in order.
    pub fn take_mails(&self) -> Vec<Posted> {
        std::mem::take(&mut self.lock().mails)
    }

    /// Takes what was received, one line for each message.
    pub fn take_lines(&self) -> Vec<String> {
        self.take().iter().map(Received::line).collect()
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
        let mut inner = self.lock();
        let outcome = match to {
            Recipient::Channel { channel, .. } => inner.answers.get(&channel.id),
            Recipient::Address(to) => inner.of_mails_to.get(to).or(inner.of_mails.as_ref()),
        };
        let outcome = outcome.cloned().unwrap_or(SendOutcome::DELIVERED);
        if outcome != SendOutcome::DELIVERED {
            return outcome;
        }
        let message = match (to, outgoing) {
            (Recipient::Address(to), Outgoing::TransactionalMail { mail, id }) => {
                let (to, id, mail) = (to.to_owned(), id.clone(), mail.clone());
                inner.mails.push(Posted { to, id, mail });
                return outcome;
            }
            (_, Outgoing::Alert { alert, .. }) => Message::Alert(alert.clone()),
            (_, Outgoing::Event { id, body }) => {
                Message::Event { id: id.clone(), body: serde_json::from_slice(body).expect("JSON") }
            }
            (Recipient::Channel { channel, .. }, Outgoing::Snapshot { alerts }) => {
                let alerts = alerts.iter().cloned();
                let (refused, valid): (Vec<_>, Vec<_>) =
                    alerts.partition(|alert| inner.refused.contains(site_of(alert)));
                let message = Message::Snapshot(valid);
                inner.received.push(Received { channel: channel.id, at: now, message });
                return match refused.is_empty() {
                    true => outcome,
                    false => SendOutcome::Refused { why: "HTTP 400".to_owned() },
                };
            }
            (Recipient::Address(_), Outgoing::Snapshot { .. }) => panic!("not for an address"),
            (_, Outgoing::TransactionalMail { .. }) => Message::Confirmation,
        };
        let Recipient::Channel { channel, .. } = to else { panic!("not a transactional email") };
        inner.received.push(Received { channel: channel.id, at: now, message });
        outcome
    }
}

/// The name of the site that an alert is about.
fn site_of(alert: &SnapshotAlert) -> &str {
    alert.labels.get("site").map_or("-", String::as_str)
}
