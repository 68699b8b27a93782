//! Channels of teams, whose receivers a test simulates.

use jiff::Timestamp;
use vedette_domain::alerts::channel::alertmanager::Alertmanager;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::webhook::Webhook;
use vedette_domain::alerts::channel::{
    Channel, ChannelKind, Filter, LinkKey, SecretUrl, SigningKey, SigningKeys, Target,
};
use vedette_domain::id::{ChannelId, TeamId};
use vedette_runtime::App;
use vedette_store::Audit;

/// A channel of Slack.
pub fn chat() -> Target {
    Target::Slack(Slack { url: SecretUrl::new("https://hooks.slack.test/services/T/B/x") })
}

/// An address.
pub fn mail() -> Target {
    Target::Email { address: "ops@example.com".to_owned() }
}

/// A webhook.
pub fn webhook() -> Target {
    let current = SigningKey::from_random([7; SigningKey::BYTES]);
    let url = SecretUrl::new("https://receiver.test/hook");
    Target::Webhook(Webhook { url, keys: SigningKeys { current, previous: None } })
}

/// An Alertmanager.
pub fn alertmanager() -> Target {
    let url = SecretUrl::new("https://alertmanager.test");
    Target::Alertmanager(Alertmanager { url, token: None })
}

/// A destination that somebody enters, with what is secret about it.
#[derive(Debug)]
pub struct SecretDestination {
    /// What follows the address of the server.
    pub path: String,
    /// The secret part of it.
    pub secret: String,
    /// The access token, if the kind has one.
    pub token: Option<&'static str>,
}

impl SecretDestination {
    /// A destination of a kind that has a URL. There is another one for each digit.
    pub fn new(kind: ChannelKind, digit: u8) -> Self {
        let (before, secret) = match kind {
            ChannelKind::Matrix => ("", format!("!s3cret-room-{digit}:example.org")),
            ChannelKind::Telegram => ("", format!("-100987654321{digit}")),
            ChannelKind::Pushover => ("", format!("s3cret0of0the0channel00000000{digit}")),
            ChannelKind::PagerDuty => ("", format!("s3cretintegration00000000000000{digit}")),
            ChannelKind::Gotify => {
                ("message?token=", format!("s3cret-token-of-the-channel-{digit}"))
            }
            kind => ("", format!("s3cret-{kind}-of-the-channel-{digit}")),
        };
        let has_token =
            kind.needs_token() || matches!(kind, ChannelKind::Ntfy | ChannelKind::Alertmanager);
        let token = has_token.then_some("tk_s3cret_token");
        Self { path: format!("{before}{secret}"), secret, token }
    }
}

/// A channel that receives alerts from now on.
pub fn channel(
    id: ChannelId,
    team: TeamId,
    (name, target): (&str, Target),
    filter: Filter,
    now: Timestamp,
) -> Channel {
    let key = LinkKey::from_random([7; LinkKey::BYTES]);
    let channel = Channel::new(id, team, name, target, filter, key, now);
    Channel { since: Some(now), ..channel }
}

/// Adds a channel to a team. The channel receives alerts from now on.
pub async fn add_channel(
    app: &App,
    team: TeamId,
    (name, target): (&str, Target),
    filter: Filter,
) -> Channel {
    let id = ChannelId(app.entropy.site_id().expect("an id").0);
    let channel = channel(id, team, (name, target), filter, app.clock.now());
    app.store.put_channel(&channel, Audit::None).await.expect("saved");
    Channel { secret: None, ..channel }
}
