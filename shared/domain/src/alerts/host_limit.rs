//! How much is sent to a host in a minute. Without a limit, somebody could create channels that lead to another person's
//! host, in any number of teams.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use url::{Host, Url};

use super::channel::{ChannelKind, SecretUrl, Target, is_in};
use crate::id::ChannelId;
use crate::shared_limit::SharedLimit;

/// Messages to a host.
pub const MESSAGES_TO_HOST: SharedLimit =
    SharedLimit { of_team: 60, divided: 60, window: SignedDuration::from_mins(1) };

/// Channels that wait for the next window are spread over this time.
const SPREAD_MILLIS: i64 = 5_000;

/// A host that messages are posted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivingHost {
    /// Its name or address.
    pub name: String,
    /// Whether each team's messages are counted separately. This applies to shared services, and to programs on this
    /// machine, which can only be reached if the operator allows it.
    pub is_apart: bool,
    /// What a team may send it.
    pub limit: SharedLimit,
}

impl ReceivingHost {
    /// The host that a target's messages are posted to, if they are posted. If the service limits the messages to a
    /// chat, it is the chat.
    pub fn of(target: &Target) -> Option<Self> {
        let url = target.url()?;
        let host = Self::of_url(url)?;
        let Some(of_team) = target.kind().description().per_minute else { return Some(host) };
        let name = format!("{} {}", host.name, url.masked().digest);
        Some(Self { name, is_apart: true, limit: SharedLimit { of_team, ..MESSAGES_TO_HOST } })
    }

    fn of_url(url: &SecretUrl) -> Option<Self> {
        let url = Url::parse(url.reveal()).ok()?;
        let host = url.host()?;
        let is_apart = match &host {
            Host::Domain(name) => is_loopback_name(name) || is_shared_service(name),
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        // A name with a trailing dot is the same host.
        let name = host.to_string().trim_end_matches('.').to_owned();
        Some(Self { name, is_apart, limit: MESSAGES_TO_HOST })
    }
}

fn is_loopback_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether it is a shared service of any kind of channel.
fn is_shared_service(name: &str) -> bool {
    ChannelKind::ALL.into_iter().any(|kind| is_in(name, kind.description().services))
}

/// When a channel whose message was held back tries again: in the next window, spread over a few seconds.
pub fn next_try(channel: ChannelId, now: Timestamp) -> Timestamp {
    let digest = Sha256::digest(channel.as_uuid());
    let spread = i64::from(u16::from_be_bytes([digest[0], digest[1]])) % SPREAD_MILLIS;
    let begins = (MESSAGES_TO_HOST.window_at(now) + 1) * MESSAGES_TO_HOST.window.as_secs();
    let begins = Timestamp::from_second(begins).unwrap_or(now);
    begins.saturating_add(SignedDuration::from_millis(spread)).unwrap_or(begins)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::alerts::channel::google_chat::GoogleChat;
    use crate::alerts::channel::slack::Slack;

    #[test]
    fn a_host_is_known_by_its_name_and_services_for_everybody_are_counted_apart() {
        for (url, name, is_apart) in [
            ("https://Victim.example/a?b", "victim.example", false),
            ("https://victim.example:8443/c", "victim.example", false),
            ("https://victim.example./c", "victim.example", false),
            ("https://192.0.2.7/", "192.0.2.7", false),
            ("https://10.0.0.7/", "10.0.0.7", false),
            ("https://hooks.slack.com/services/T/B/x", "hooks.slack.com", true),
            ("https://ptb.discord.com/api/webhooks/1/x", "ptb.discord.com", true),
            ("https://acme.webhook.office.com/x", "acme.webhook.office.com", true),
            ("https://evil-discord.com/x", "evil-discord.com", false),
            ("https://discord.com.evil.example/x", "discord.com.evil.example", false),
            ("http://localhost:8080/x", "localhost", true),
            ("http://127.0.0.1:8080/x", "127.0.0.1", true),
            ("http://[::1]/x", "[::1]", true),
        ] {
            let target = Target::Slack(Slack { url: SecretUrl::new(url) });
            let (name, limit) = (name.to_owned(), MESSAGES_TO_HOST);
            let expected = ReceivingHost { name, is_apart, limit };
            assert_eq!(ReceivingHost::of(&target), Some(expected), "{url}");
        }
        let mail = Target::email("ops@example.com").expect("an address");
        assert_eq!(ReceivingHost::of(&mail), None);
    }

    #[test]
    fn some_services_limit_the_messages_to_each_chat() {
        let of = |space: &str| {
            let url = SecretUrl::new(format!("https://chat.googleapis.com/v1/spaces/{space}"));
            ReceivingHost::of(&Target::GoogleChat(GoogleChat { url })).expect("a host")
        };
        let space = of("first-secret");
        assert!(space.name.starts_with("chat.googleapis.com "), "{space:?}");
        assert!(!space.name.contains("secret"), "{space:?}");
        assert_eq!((space.is_apart, space.limit.of_team), (true, 60));
        assert_eq!(space, of("first-secret"));
        assert_ne!(space.name, of("second-secret").name);
    }

    #[test]
    fn what_is_held_back_is_tried_early_in_the_next_minute_and_not_at_once() {
        let now: Timestamp = "2026-11-20T09:54:59Z".parse().expect("a timestamp");
        let minute: Timestamp = "2026-11-20T09:55:00Z".parse().expect("a timestamp");
        let tries = (0..20).map(|id| next_try(ChannelId(Uuid::from_u128(id)), now));
        let mut tries: Vec<_> = tries.collect();
        for at in &tries {
            let wait = at.duration_since(minute);
            assert!((0..SPREAD_MILLIS as i128).contains(&wait.as_millis()), "{at}");
            assert_eq!(MESSAGES_TO_HOST.window_at(*at), MESSAGES_TO_HOST.window_at(now) + 1);
        }
        tries.sort_unstable();
        tries.dedup();
        assert!(tries.len() > 15, "{tries:?}");
    }
}
