//! Channels: where a team wants its alerts, and which alerts.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::checks::tool::Tool;
use crate::clock::is_ahead;
use crate::configuration::ManagedBy;
use crate::id::{ChannelId, TeamId};
use crate::issues::Severity;
use crate::sites::selector::Selector;

pub mod alertmanager;
mod chat;
mod description;
pub mod discord;
mod email;
pub mod google_chat;
pub mod gotify;
pub mod matrix;
pub mod mattermost;
pub mod ntfy;
pub mod pagerduty;
mod program;
pub mod pushover;
mod request;
mod secret;
mod signature;
pub mod slack;
mod snapshot;
mod target;
pub mod teams;
pub mod telegram;
pub mod webhook;
mod week_hour;

pub use chat::{Chat, ChatMessage};
pub(super) use description::is_in;
pub use description::{
    ChannelEdit, ChannelInput, KindDescription, Room, TargetEdit, TargetField, UrlEdit, UrlInput,
};
pub use email::EmailInput;
pub use program::Program;
pub use request::{ChannelAnswer, ChannelRequest, Failure, InvalidUrl};
pub(crate) use secret::sha256;
pub use secret::{AccessToken, MaskedUrl, SecretUrl, SigningKey, SigningKeys};
pub use snapshot::{Snapshot, SnapshotAlert};
pub use target::{ChannelKind, PublicTarget, Receiver, Target};
pub(super) use week_hour::LATE_MAX;
pub use week_hour::WeekHour;

/// The most channels of a team.
pub const CHANNELS_MAX: usize = 20;

/// A destination for a team's alerts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// The channel's id.
    pub id: ChannelId,
    /// The team.
    pub team: TeamId,
    /// Display name; see [`name`](crate::name).
    pub name: String,
    /// Where it leads, without its secrets.
    pub target: PublicTarget,
    /// Its secrets, as long as they still need to be written: those of a new channel, those of a channel with a new
    /// key, and those that an earlier version stored with the channel. They are stored apart, so that code that shows
    /// channels cannot read them.
    #[serde(skip)]
    pub secret: Option<Target>,
    /// What is sent there.
    pub filter: Filter,
    /// Since when it receives alerts. Issues that opened before are left out. `None` if nobody has confirmed its
    /// address.
    pub since: Option<Timestamp>,
    /// The value of `since` before the channel's reader unsubscribed. A reader who confirms the address again hears
    /// what happened in the meantime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsubscribed_since: Option<Timestamp>,
    /// Why it receives nothing, if somebody disabled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// The document that manages it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<ManagedBy>,
    /// SHA-256 of its access token, in hexadecimal digits, which distinguishes it from others; `None` if there is no
    /// token, or if an earlier version has stored it.
    #[serde(rename = "token", default, skip_serializing_if = "Option::is_none")]
    pub token_digest: Option<String>,
    /// The key of the links in its messages. It proves that the visitor has read one.
    pub key: LinkKey,
    /// Increases with every write.
    pub rev: u64,
    /// Creation.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

impl Channel {
    /// A new channel. Somebody who knows a secret URL may post there, so the channel receives alerts from now on.
    /// Anybody can enter an email address, so its reader has to agree first.
    pub fn new(
        id: ChannelId,
        team: TeamId,
        name: &str,
        target: Target,
        filter: Filter,
        key: LinkKey,
        now: Timestamp,
    ) -> Self {
        let since = (!matches!(target, Target::Email { .. })).then_some(now);
        Self {
            id,
            team,
            name: name.to_owned(),
            target: target.public(),
            managed_by: None,
            token_digest: target.token().map(AccessToken::digest),
            secret: target.is_secret().then_some(target),
            filter,
            since,
            unsubscribed_since: None,
            disabled: None,
            key,
            rev: 1,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether it receives alerts.
    pub const fn is_on(&self) -> bool {
        self.since.is_some() && self.disabled.is_none()
    }

    /// The channel after its reader has agreed; `None` if they had agreed before.
    pub fn confirmed(&self, now: Timestamp) -> Option<Self> {
        let since = Some(self.unsubscribed_since.unwrap_or(now));
        let confirmed = || Self { since, unsubscribed_since: None, ..self.changed(now) };
        self.since.is_none().then(confirmed)
    }

    /// Since when it receives alerts, or did before its reader unsubscribed; `None` if nobody has ever confirmed its
    /// address.
    pub fn began(&self) -> Option<Timestamp> {
        self.since.or(self.unsubscribed_since)
    }

    /// The channel after somebody disabled it; `None` if it was already disabled.
    pub fn disabled_by_hand(&self, reason: &str, now: Timestamp) -> Option<Self> {
        let disabled = Some(Disabled { at: now, reason: reason.to_owned() });
        self.disabled.is_none().then(|| Self { disabled, ..self.changed(now) })
    }

    /// The channel after its reader unsubscribed; `None` if it was already disabled. If somebody enables it again, its
    /// reader has to agree again.
    pub fn unsubscribed(&self, now: Timestamp) -> Option<Self> {
        let disabled = self.disabled_by_hand("unsubscribed by its recipient", now)?;
        Some(Self { since: None, unsubscribed_since: self.began(), ..disabled })
    }

    /// The channel after somebody enabled it; `None` if it was not disabled.
    pub fn enabled(&self, now: Timestamp) -> Option<Self> {
        self.disabled.is_some().then(|| Self { disabled: None, ..self.changed(now) })
    }

    /// The channel after the clock was set back to `now`: it receives alerts from now on. `None` if it already does.
    pub fn without_future(&self, now: Timestamp) -> Option<Self> {
        let lies_ahead = self.since.is_some_and(|since| is_ahead(since, now));
        lies_ahead.then(|| Self { since: Some(now), ..self.changed(now) })
    }

    /// The channel, which leads to `target`, with a new signing key. The old key also signs for a while. `None` if
    /// nothing is signed.
    pub fn with_new_key(&self, target: &Target, key: SigningKey, now: Timestamp) -> Option<Self> {
        let secret = Some(target.with_new_key(key, now)?);
        Some(Self { secret, ..self.changed(now) })
    }

    /// The channel with another name or another filter, or one that leads elsewhere or that another document manages;
    /// `None` if nothing changes.
    pub fn edited(
        &self,
        name: &str,
        filter: Filter,
        to: Option<&TargetEdit>,
        managed_by: Option<ManagedBy>,
        now: Timestamp,
    ) -> Option<Self> {
        let is_managed_alike = self.managed_by == managed_by;
        let is_same =
            self.name == name && self.filter == filter && to.is_none() && is_managed_alike;
        let url = to.and_then(|to| to.url.as_ref()).map(SecretUrl::masked);
        let target = url.map_or_else(|| self.target.clone(), |url| self.target.at(url));
        let token = to.and_then(|to| to.token.as_ref());
        let token_digest = match token {
            Some(token) => token.as_ref().map(AccessToken::digest),
            None => self.token_digest.clone(),
        };
        (!is_same).then(|| Self {
            name: name.to_owned(),
            filter,
            target,
            token_digest,
            managed_by,
            ..self.changed(now)
        })
    }

    /// The channel with another key: the links in earlier messages no longer work.
    #[must_use]
    pub fn with_link_key(self, key: LinkKey) -> Self {
        Self { key, ..self }
    }

    fn changed(&self, now: Timestamp) -> Self {
        Self { rev: self.rev + 1, updated_at: now, ..self.clone() }
    }
}

/// Which alerts and tests a channel receives, when, and with which links. An empty set lets everything through, but no
/// acknowledgements. The tags of a site decide when one of its issues opens, or later if the site gets other tags while
/// the issue is active. A channel that was notified of an opening is notified of everything until the issue is over,
/// even if the tags no longer match.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// Kinds of news.
    pub events: BTreeSet<EventKind>,
    /// Tools whose issues are sent.
    pub tools: BTreeSet<Tool>,
    /// Severities that are sent.
    pub severities: BTreeSet<Severity>,
    /// Sites whose issues are sent, by their tags; all if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// How many minutes after its opening people are notified of an issue that nobody has acknowledged by then; at once
    /// if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_minutes: Option<NonZeroU32>,
    /// How many minutes after each alert people are reminded of an issue until somebody acknowledges it; if `None`, at
    /// the times in the team's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_minutes: Option<NonZeroU32>,
    /// Whether messages leave out the [links](super::reader_link) with which their readers respond to issues.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_links: bool,
    /// When it gets a test every week; never if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weekly_test: Option<WeekHour>,
}

/// A kind of news about an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "NotificationEvent")
)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// It opened, or opened again.
    Opened,
    /// It is over.
    Resolved,
    /// It is still active.
    Reminder,
    /// Somebody acknowledged it. Only programs get this, and only those that ask for it.
    Acknowledged,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Opened, Self::Resolved, Self::Reminder, Self::Acknowledged];

    /// What people are notified of.
    pub const FOR_PEOPLE: [Self; 3] = [Self::Opened, Self::Resolved, Self::Reminder];

    /// The value in storage and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Resolved => "resolved",
            Self::Reminder => "reminder",
            Self::Acknowledged => "acknowledged",
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a channel receives nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disabled {
    /// Since when.
    pub at: Timestamp,
    /// Why, for people.
    pub reason: String,
}

/// The key of the links in messages, with which only their readers can confirm or unsubscribe an address, or respond to
/// an issue.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkKey(String);

impl LinkKey {
    /// Length in bytes before encoding.
    pub const BYTES: usize = 16;

    /// A key of random bytes.
    pub fn from_random(random: [u8; Self::BYTES]) -> Self {
        Self(data_encoding::HEXLOWER.encode(&random))
    }

    /// The form in links.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a link contains this key. The comparison takes the same time however much of it is right.
    pub fn matches(&self, given: &str) -> bool {
        is_same(&self.0, given)
    }
}

/// Whether two secrets are the same. The comparison takes the same time however much of them is.
pub(super) fn is_same(secret: &str, given: &str) -> bool {
    let differences = secret.bytes().zip(given.bytes()).fold(0, |odd, (a, b)| odd | (a ^ b));
    secret.len() == given.len() && differences == 0
}

impl fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::slack::Slack;
    use super::webhook::Webhook;
    use super::*;

    #[test]
    fn secrets_are_not_written_by_accident() {
        let url = SecretUrl::new("https://hooks.slack.com/services/T0/B0/secret?sig=secret");
        assert_eq!(format!("{url} {url:?}"), "https://hooks.slack.com/… https://hooks.slack.com/…");
        assert_eq!(SecretUrl::new("secret").to_string(), "…");
        let url = SecretUrl::new("https://hooks.slack.com/services/T0/B0/wJalrXUtnFEMI7Kb");
        assert_eq!(url.to_string(), "https://hooks.slack.com/…I7Kb", "enough of it stays unknown");
        let key = SigningKey::from_random([7; SigningKey::BYTES]);
        assert_eq!(format!("{key:?}"), "SigningKey(…)");
        assert!(key.reveal().starts_with("whsec_BwcH"));
        let key = LinkKey::from_random([7; LinkKey::BYTES]);
        assert_eq!(format!("{key:?}"), "LinkKey(…)");
        assert!(key.matches("07070707070707070707070707070707"));
        for wrong in ["", "07", "07070707070707070707070707070708"] {
            assert!(!key.matches(wrong), "{wrong}");
        }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn channel(target: Target) -> Channel {
        let (id, team) = (uuid::Uuid::from_u128(1), uuid::Uuid::from_u128(2));
        let key = LinkKey::from_random([7; LinkKey::BYTES]);
        let now = at("2026-11-20T12:00:00Z");
        Channel::new(ChannelId(id), TeamId(team), "Ops", target, Filter::default(), key, now)
    }

    #[test]
    fn an_address_receives_nothing_until_its_reader_agrees() {
        let chat =
            channel(Target::Slack(Slack { url: SecretUrl::new("https://hooks.slack.com/x") }));
        assert!(chat.is_on());
        assert_eq!(chat.confirmed(at("2026-11-20T13:00:00Z")), None);
        let mail = channel(Target::email(" ada@example.com ").expect("an address"));
        assert_eq!(mail.target, PublicTarget::Email { address: "ada@example.com".to_owned() });
        assert!(!mail.is_on());
        let now = at("2026-11-20T13:00:00Z");
        let confirmed = mail.confirmed(now).expect("a change");
        assert_eq!((confirmed.since, confirmed.rev, confirmed.updated_at), (Some(now), 2, now));
        assert!(confirmed.is_on());
        for wrong in ["", "ada", "ada@", "ada lace@example.com", "a@b\r\nBcc: c@d"] {
            assert!(Target::email(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_disabled_channel_receives_nothing_until_it_is_enabled() {
        let chat =
            channel(Target::Slack(Slack { url: SecretUrl::new("https://hooks.slack.com/x") }));
        let now = at("2026-11-20T13:00:00Z");
        assert_eq!(chat.enabled(now), None);
        let disabled = chat.disabled_by_hand("on leave", now).expect("a change");
        assert!(!disabled.is_on());
        let why = Disabled { at: now, reason: "on leave".to_owned() };
        assert_eq!((disabled.disabled.as_ref(), disabled.rev), (Some(&why), 2));
        assert_eq!(disabled.disabled_by_hand("again", now), None, "the first reason stands");
        let enabled = disabled.enabled(now).expect("a change");
        assert!(enabled.is_on());
        assert_eq!((enabled.since, enabled.rev), (chat.since, 3));
    }

    #[test]
    fn a_url_to_post_to_is_encrypted_unless_it_stays_within_the_machine() {
        let read = |text: &str| SecretUrl::parse(text).map(|url| url.reveal().to_owned());
        for (text, url) in [
            (" https://hooks.slack.com/services/T/B/x\n", "https://hooks.slack.com/services/T/B/x"),
            ("HTTPS://Example.com:443/a?sig=%2Fx", "https://example.com/a?sig=%2Fx"),
            ("http://127.0.0.1:8080/hook", "http://127.0.0.1:8080/hook"),
            ("http://[::1]/hook", "http://[::1]/hook"),
            ("http://localhost:1/hook", "http://localhost:1/hook"),
        ] {
            assert_eq!(read(text), Ok(url.to_owned()));
        }
        let long = format!("https://example.com/{}", "x".repeat(2048));
        let scheme = "must start with http:// or https://";
        for (text, error) in [
            ("http://example.com/hook", "must start with https://"),
            ("http://localhost.example.com/hook", "must start with https://"),
            ("ftp://example.com", scheme),
            ("", scheme),
            ("https://ada:secret@example.com/hook", "must not contain a user name or password"),
            (&long, "must not be longer than 2048 characters"),
        ] {
            assert_eq!(read(text), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_new_key_takes_over_and_the_one_before_signs_for_a_day() {
        let [first, second] = [1, 2].map(|byte| SigningKey::from_random([byte; SigningKey::BYTES]));
        let url = SecretUrl::new("https://example.com/hook");
        let now = at("2026-11-20T13:00:00Z");
        let chat = channel(Target::Slack(Slack { url: url.clone() }));
        let secret = chat.secret.as_ref().expect("a URL");
        assert_eq!(chat.with_new_key(secret, second.clone(), now), None);
        let program =
            channel(Target::Webhook(Webhook { url, keys: SigningKeys::new(first.clone()) }));
        let secret = program.secret.as_ref().expect("a URL");
        let rotated = program.with_new_key(secret, second.clone(), now).expect("a change");
        let keys = rotated.secret.as_ref().and_then(Target::keys).expect("keys");
        let signing = |at: Timestamp| keys.at(at).cloned().collect::<Vec<_>>();
        assert_eq!(signing(at("2026-11-21T12:59:59Z")), [second.clone(), first]);
        assert_eq!(signing(at("2026-11-21T13:00:00Z")), [second]);
        assert_eq!(rotated.rev, 2);
    }

    #[test]
    fn a_key_signs_for_a_while_after_it_was_replaced() {
        let [old, new] = [1, 2].map(|byte| SigningKey::from_random([byte; SigningKey::BYTES]));
        let until = at("2026-11-21T12:00:00Z");
        let keys = SigningKeys { current: new.clone(), previous: Some((old.clone(), until)) };
        let before = until - jiff::SignedDuration::from_secs(1);
        assert_eq!(keys.at(before).collect::<Vec<_>>(), [&new, &old]);
        assert_eq!(keys.at(until).collect::<Vec<_>>(), [&new]);
    }
}
