//! Keys of what a team's heartbeats share. A heartbeat itself is stored as a site is, in a partition of its own.

use vedette_domain::id::{HeartbeatId, TeamId};

use super::{Key, Prefix};

/// Prefix of the heartbeats in the list of a team.
pub(crate) const HEARTBEAT: &str = "h#";

/// The partition that lists the heartbeats of a team.
pub(crate) fn heartbeat_list(team: TeamId) -> String {
    Prefix::Heartbeats.key(team)
}

/// A heartbeat in the list of its team.
pub(crate) fn heartbeat(team: TeamId, heartbeat: HeartbeatId) -> Key {
    Key::new(heartbeat_list(team), format!("{HEARTBEAT}{heartbeat}"))
}

/// The heartbeat that a slug stands for. It makes the slug unique in the team.
pub(crate) fn slug(team: TeamId, slug: &str) -> Key {
    Key::new(heartbeat_list(team), format!("s#{slug}"))
}

/// The ping key of a team.
pub(crate) fn team_ping_key(team: TeamId) -> Key {
    Key::new(heartbeat_list(team), "key")
}

/// The team with a ping key, of which only the hash is part of the key.
pub(crate) fn ping_key(hash: &str) -> Key {
    Key::new(Prefix::PingKey.key(hash), super::SELF)
}
