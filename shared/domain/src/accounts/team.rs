//! Teams, which own sites and have members.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::invitation::Invitation;
use super::plan::Plan;
use super::session::SessionHash;
use crate::alerts::channel::LinkKey;
use crate::checks::history::{Retention, day_of};
use crate::id::{StatusPageId, TeamId};
use crate::input::{input, line};
use crate::maintenance::Windows;
use crate::name::NAME_MAX;
use crate::time_zone::NamedZone;

/// A team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Team {
    /// The team's id.
    pub id: TeamId,
    /// Display name.
    pub name: String,
    /// The current plan, or the last one if the plan is inactive. It is not stored with teams that users create.
    #[serde(default = "created_plan")]
    pub plan: Plan,
    /// Whether the plan is active; without it, team-scoped routes respond with 402. See [`Team::plan`].
    #[serde(default = "created_active")]
    pub plan_active: bool,
    /// The time zone of its quiet time and its alerts.
    #[serde(default, skip_serializing_if = "NamedZone::is_utc")]
    pub zone: NamedZone,
    /// Its maintenance windows.
    #[serde(default, skip_serializing_if = "Windows::is_unused")]
    pub windows: Windows,
    /// The key of the calendar feed of its maintenance windows; `None` if there is no feed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<LinkKey>,
    /// Increases with every write of the maintenance windows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub windows_rev: u64,
    /// Its status pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status_pages: Vec<StatusPageId>,
    /// Sites in the team, counted in the transactions that create and delete them.
    pub sites: u32,
    /// Heartbeats in the team, counted in the same way.
    #[serde(default, skip_serializing_if = "is_none")]
    pub heartbeats: u32,
    /// Members, including the owner.
    pub members: u32,
    /// Invitations that nobody has accepted yet; some may have expired. They are stored here so that they are counted
    /// with the members. What an invitation grants is in an item of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invitations: Vec<Invitation>,
    /// Increases with every write of the invitations.
    #[serde(default)]
    pub invited: u64,
    /// Version of everything that determines the schedules: the plan and the monitoring settings.
    pub cfg: u64,
    /// The `cfg` that the schedules of all sites are known to follow.
    pub synced: u64,
    /// Creation.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

const fn created_plan() -> Plan {
    Team::PLAN
}

const fn created_active() -> bool {
    true
}

input! {
    /// The name of a team.
    TeamName {
        /// Display name: one line of visible text.
        #[form("Name")]
        name: Required<String> = line(NAME_MAX);
    }
}

impl Team {
    /// The plan of a team whose creator chooses none.
    pub const PLAN: Plan = Plan::Starter;
    /// How many teams a user can create. Operators can create more for them.
    pub const CREATED_MAX: u32 = 10;

    /// A new team with an active plan, whose owner is its only member. It has no sites, so no schedule is missing.
    pub fn new(id: TeamId, name: &str, plan: Plan, now: Timestamp) -> Self {
        Self {
            id,
            name: name.to_owned(),
            plan,
            plan_active: true,
            zone: NamedZone::utc(),
            windows: Windows::default(),
            calendar: None,
            windows_rev: 0,
            status_pages: Vec::new(),
            sites: 0,
            heartbeats: 0,
            members: 1,
            invitations: Vec::new(),
            invited: 0,
            cfg: 1,
            synced: 1,
            created_at: now,
            updated_at: now,
        }
    }

    /// Seats that invitations take.
    pub fn pending_invitations(&self) -> u32 {
        u32::try_from(self.invitations.len()).unwrap_or(u32::MAX)
    }

    /// Seats taken by members and by pending invitations.
    pub fn seats_taken(&self) -> u32 {
        self.members.saturating_add(self.pending_invitations())
    }

    /// A pending invitation, by the hash of its first link.
    pub fn invitation(&self, hash: &SessionHash) -> Option<&Invitation> {
        self.invitations.iter().find(|pending| pending.hash == *hash)
    }

    /// The same team without invitations that have expired.
    #[must_use]
    pub fn as_of(mut self, now: Timestamp) -> Self {
        self.invitations.retain(|invitation| invitation.works(now));
        self
    }

    /// How far back the team's history goes.
    pub fn retention(&self, now: Timestamp) -> Retention {
        Retention { today: day_of(now), days: self.plan.limits().history_retention_days }
    }

    /// The team after its monitoring settings changed. If the change does not affect the schedules of its sites, they
    /// count as synced.
    #[must_use]
    pub fn reconfigured(&self, schedules_change: bool, now: Timestamp) -> Self {
        let cfg = self.cfg + 1;
        let is_synced = self.synced == self.cfg;
        let synced = if is_synced && !schedules_change { cfg } else { self.synced };
        Self { cfg, synced, updated_at: now, ..self.clone() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(rev: &u64) -> bool {
    *rev == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_none(count: &u32) -> bool {
    *count == 0
}
