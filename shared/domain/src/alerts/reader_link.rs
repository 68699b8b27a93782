//! The links in messages with which their readers respond to an issue without signing in.

use data_encoding::BASE64URL_NOPAD;
use jiff::{SignedDuration, Timestamp};
use ring::hmac;

use super::channel::{Channel, LinkKey, is_same};
use super::link::READER;
use crate::id::IssueId;
use crate::issues::record::Issue;

/// How long a link works.
const LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Bytes of a signature: half of an HMAC with SHA-256, as [RFC 2104](https://www.rfc-editor.org/rfc/rfc2104#section-5)
/// allows.
const SIGNATURE: usize = 16;

/// The query parameter with the milliseconds of the opening.
pub const OPENING: &str = "opening";
/// The query parameter with the seconds at which the link expires.
pub const EXPIRES: &str = "expires";
/// The query parameter with the signature.
pub const SIGNED: &str = "signature";
/// The query parameter of a POST with the response.
pub const RESPONSE: &str = "respond";

/// A link to one opening of an issue. Whoever has it may respond to the issue as a reader of the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderLink {
    /// The issue.
    pub issue: IssueId,
    opened_at: Timestamp,
    expires_at: Timestamp,
}

impl ReaderLink {
    /// A link to the last opening of an issue.
    pub fn new(issue: &Issue, now: Timestamp) -> Self {
        let expires_at = now.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
        Self { issue: issue.id, opened_at: issue.lifecycle.opened_at(), expires_at }
    }

    /// Its URL, in a message of a channel.
    pub fn url(&self, base: &str, channel: &Channel) -> String {
        let path = READER
            .replace("{team}", &channel.team.to_string())
            .replace("{channel}", &channel.id.to_string())
            .replace("{issue}", &self.issue.to_string());
        let (opened, expires) = (self.opened_at.as_millisecond(), self.expires_at.as_second());
        let signature = self.signature(&channel.key);
        format!("{base}{path}?{OPENING}={opened}&{EXPIRES}={expires}&{SIGNED}={signature}")
    }

    /// Reads the parameters of a link to an issue; `None` unless the channel has signed it.
    pub fn read(
        channel: &Channel,
        issue: IssueId,
        parameter: impl Fn(&'static str) -> String,
    ) -> Option<Self> {
        let number = |name: &'static str| parameter(name).parse::<i64>().ok();
        let opened_at = Timestamp::from_millisecond(number(OPENING)?).ok()?;
        let expires_at = Timestamp::from_second(number(EXPIRES)?).ok()?;
        let link = Self { issue, opened_at, expires_at };
        is_same(&link.signature(&channel.key), &parameter(SIGNED)).then_some(link)
    }

    fn signature(&self, key: &LinkKey) -> String {
        let (opened, expires) = (self.opened_at.as_millisecond(), self.expires_at.as_second());
        let text = format!("{}.{opened}.{expires}", self.issue);
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.reveal().as_bytes());
        let tag = hmac::sign(&key, text.as_bytes());
        BASE64URL_NOPAD.encode(tag.as_ref().get(..SIGNATURE).unwrap_or_default())
    }

    /// Whether it no longer works.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }

    /// Whether the issue is still active since the opening that the link is about.
    pub fn is_about(&self, issue: &Issue) -> bool {
        issue.lifecycle.is_active() && issue.lifecycle.opened_at() == self.opened_at
    }
}

/// How a reader responds to an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderResponse {
    /// Acknowledges it.
    Acknowledge,
    /// Pauses its reminders for so many hours.
    Snooze(u8),
}

impl ReaderResponse {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Acknowledge, Self::Snooze(1), Self::Snooze(8)];

    /// The value of [`RESPONSE`].
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Acknowledge => "acknowledge",
            Self::Snooze(1) => "snooze-1h",
            Self::Snooze(_) => "snooze-8h",
        }
    }

    /// The response with this value.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|response| response.as_str() == text)
    }

    /// Until when it pauses reminders.
    pub fn snoozes_until(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Acknowledge => None,
            Self::Snooze(hours) => now.checked_add(SignedDuration::from_hours(hours.into())).ok(),
        }
    }

    /// Whether it changes the issue. A link may be followed often, so a pause is extended only if it becomes notably
    /// longer.
    pub fn changes(self, issue: &Issue, now: Timestamp) -> bool {
        match self.snoozes_until(now) {
            None => issue.lifecycle.acknowledgement().is_none(),
            Some(until) => issue
                .snoozed_until
                .is_none_or(|before| until.duration_since(before) > NOTABLY_LONGER),
        }
    }
}

/// By how much a pause of reminders must become longer.
const NOTABLY_LONGER: SignedDuration = SignedDuration::from_mins(5);

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::alerts::ACKNOWLEDGES;
    use crate::alerts::channel::{Filter, Target};
    use crate::id::{ChannelId, SiteId, TeamId};
    use crate::issues::{Fingerprint, Lifecycle};

    const BASE: &str = "https://alerts.example.com";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).expect("a timestamp")
    }

    fn channel(key: u8) -> Channel {
        let (id, team) = (ChannelId(Uuid::from_u128(2)), TeamId(Uuid::from_u128(3)));
        let target = Target::email("ada@example.com").expect("an address");
        let key = LinkKey::from_random([key; LinkKey::BYTES]);
        Channel::new(id, team, "Ada", target, Filter::default(), key, at(0))
    }

    fn issue(fingerprint: Fingerprint) -> Issue {
        Issue::opened(SiteId(Uuid::from_u128(1)), fingerprint, at(0))
    }

    fn read(channel: &Channel, issue: IssueId, url: &str) -> Option<ReaderLink> {
        let url = url::Url::parse(url).expect("a URL");
        let parameter = |name: &str| {
            let found = url.query_pairs().find(|(key, _)| key == name);
            found.map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        ReaderLink::read(channel, issue, parameter)
    }

    #[test]
    fn only_what_the_channel_has_signed_is_a_link() {
        let (own, down) = (channel(7), issue(Fingerprint::StatusDown));
        let link = ReaderLink::new(&down, at(60));
        let url = link.url(BASE, &own);
        assert_eq!(read(&own, down.id, &url), Some(link));
        let other = issue(Fingerprint::SslExpiring).id;
        assert_eq!(read(&own, other, &url), None, "another issue");
        assert_eq!(read(&channel(8), down.id, &url), None, "another key");
        for (before, after) in
            [("opening=1", "opening=2"), ("expires=1", "expires=2"), ("signature=", "signature=A")]
        {
            assert!(url.contains(before), "{url}");
            assert_eq!(read(&own, down.id, &url.replace(before, after)), None, "{after}");
        }
        let signature = url.split("signature=").nth(1).expect("a signature");
        assert_eq!(read(&own, down.id, &url.replace(signature, &signature[..4])), None);
    }

    #[test]
    fn a_link_works_for_seven_days_and_for_one_opening() {
        let down = issue(Fingerprint::StatusDown);
        let link = ReaderLink::new(&down, at(0));
        let week = 7 * 86_400;
        assert_eq!([week - 1, week].map(|second| link.is_expired(at(second))), [false, true]);
        assert!(link.is_about(&down));
        let resolved = down.lifecycle.resolve(at(10), None).expect("active");
        assert!(!link.is_about(&Issue { lifecycle: resolved, ..down.clone() }));
        let reopened = Lifecycle::open(at(20));
        assert!(!link.is_about(&Issue { lifecycle: reopened, ..down }));
    }

    #[test]
    fn a_response_that_is_repeated_changes_nothing() {
        let [acknowledge, hour, hours] = ReaderResponse::ALL;
        let changes = |issue: &Issue, second| {
            [acknowledge, hour, hours].map(|response| response.changes(issue, at(second)))
        };
        let open = issue(Fingerprint::StatusDown);
        assert_eq!(changes(&open, 0), [true, true, true]);
        let snoozed = Issue { snoozed_until: hour.snoozes_until(at(0)), ..open.clone() };
        assert_eq!(changes(&snoozed, 300), [true, false, true]);
        assert_eq!(changes(&snoozed, 301), [true, true, true]);
        let long = Issue { snoozed_until: hours.snoozes_until(at(0)), ..open.clone() };
        assert_eq!(
            changes(&long, 300),
            [true, false, false],
            "a shorter pause does not shorten it"
        );
        let by = crate::issues::Responder::Reader { channel: ChannelId(Uuid::from_u128(2)) };
        let lifecycle = open.lifecycle.acknowledge(at(1), by).expect("open");
        assert_eq!(changes(&Issue { lifecycle, ..open }, 2), [false, true, true]);
        for response in ReaderResponse::ALL {
            assert_eq!(ReaderResponse::parse(response.as_str()), Some(response));
        }
        assert_eq!(ReaderResponse::parse("resolve"), None);
        assert_eq!(ACKNOWLEDGES, format!("&{RESPONSE}={}", acknowledge.as_str()));
    }
}
