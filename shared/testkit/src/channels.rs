//! Channels of teams, whose receivers a test simulates.

use jiff::Timestamp;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::webhook::Webhook;
use vedette_domain::alerts::channel::{
    Channel, Filter, LinkKey, SecretUrl, SigningKey, SigningKeys, Target,
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
