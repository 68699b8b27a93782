//! Keys of channels, of what they know, and of what is sent to them.

use jiff::Timestamp;
use vedette_domain::id::{ChannelId, IssueId, Partition, TeamId};
use vedette_domain::issues::Fingerprint;

use super::{ISSUE, Key, Prefix, SELF, millis};

pub(crate) fn channel_partition(team: TeamId) -> String {
    Prefix::Channel.key(team)
}

pub(crate) fn channel(team: TeamId, channel: ChannelId) -> Key {
    Key::new(channel_partition(team), channel.to_string())
}

/// The secrets of a channel. They are not stored with the channel, so that a function that shows channels cannot read
/// them.
pub(crate) fn channel_secret(team: TeamId, channel: ChannelId) -> Key {
    Key::new(Prefix::ChannelSecret.key(team), channel.to_string())
}

const CLAIM: &str = "U#";

/// The channel of a team that leads to a URL, by the URL's digest. No other channel of the team may lead there.
pub(crate) fn channel_claim(team: TeamId, digest: &str) -> Key {
    Key::new(channel_partition(team), format!("{CLAIM}{digest}"))
}

/// Whether an item among the channels is such a claim rather than a channel.
pub(crate) fn is_channel_claim(key: &Key) -> bool {
    key.sk.starts_with(CLAIM)
}

/// How much was sent to a host in a window of time: by all teams, or by one.
pub(crate) fn host(name: &str, team: Option<TeamId>, window: i64) -> Key {
    let pk = match team {
        Some(team) => Prefix::Host.key(format_args!("{name}#{team}")),
        None => Prefix::Host.key(name),
    };
    Key::new(pk, window.to_string())
}

/// Says that the due times of a team's alerts must be derived again.
pub(crate) fn team_alerts(team: TeamId) -> Key {
    Key::new(Prefix::Delivery.key(team), SELF)
}

/// What is outstanding for a channel. It is not stored with the channel, so that a process that sends may write this,
/// but not where a channel leads.
pub(crate) fn delivery_partition(team: TeamId, channel: ChannelId) -> String {
    Prefix::Delivery.key(format_args!("{team}#{channel}"))
}

pub(crate) fn channel_state(team: TeamId, channel: ChannelId) -> Key {
    Key::new(delivery_partition(team, channel), SELF)
}

pub(crate) const QUEUED: &str = "Q#";

/// What a channel knows about an issue.
pub(crate) fn delivery(team: TeamId, channel: ChannelId, issue: IssueId) -> Key {
    Key::new(delivery_partition(team, channel), format!("{ISSUE}{issue}"))
}

/// Notifications about the issues of a site. They are not stored with the site, so that a process that sends may write
/// these, but nothing else about the site.
pub(crate) fn notification_partition(site: Partition) -> String {
    Prefix::Delivery.key(format_args!("{:016x}", site.0))
}

/// Prefix of the notifications about an issue.
pub(crate) fn notification_prefix(fingerprint: Fingerprint) -> String {
    format!("{fingerprint}#")
}

/// The notification of a channel about an issue at an instant.
pub(crate) fn notification(issue: IssueId, at: Timestamp, channel: ChannelId) -> Key {
    let prefix = notification_prefix(issue.fingerprint());
    Key::new(notification_partition(issue.partition()), format!("{prefix}{}#{channel}", millis(at)))
}

/// Something to be sent, in order within its group.
pub(crate) fn queued(team: TeamId, channel: ChannelId, group: &str, place: &str) -> Key {
    Key::new(delivery_partition(team, channel), format!("{QUEUED}{group}#{place}"))
}
