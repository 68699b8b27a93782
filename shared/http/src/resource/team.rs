//! Teams as the API shows them, with their limits and their usage.

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::TeamId;
use vedette_store::TeamWithSettings;

use super::wire_time;

/// A team with its limits.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Team"))]
pub struct TeamResource {
    /// Its unique ID, used in `/teams/{team}`.
    uuid: TeamId,
    /// Display name.
    name: String,
    /// Sites of the team.
    sites_count: u32,
    /// Members, including the owner.
    members_count: u32,
    /// What the plan allows, and how much of it is used.
    limits: Limits,
    /// Creation.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    /// Last change.
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
}

/// What a team may use.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamLimits"))]
struct Limits {
    /// The plan, or the last one if none is active.
    plan: Plan,
    /// Sites.
    sites: Quota,
    /// Members and pending invitations.
    seats: Seats,
    /// On-demand checks in this calendar month (UTC).
    manual_checks: Quota,
    /// The tools available to the team.
    enabled_checks: EnabledChecks,
    /// The fastest automatic cadence, in minutes.
    minimum_check_cadence_minutes: u32,
    /// How long check history is kept, in days.
    history_retention_days: u32,
}

/// How much is used of something limited.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Quota {
    /// How many there are.
    used: u32,
    /// How many the plan allows; null if unlimited.
    limit: Option<u32>,
    /// How many are left; null if unlimited.
    remaining: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Seats {
    /// Members, including the owner.
    members: u32,
    /// People who were invited and have not answered yet.
    pending_invitations: u32,
    #[serde(flatten)]
    quota: Quota,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct EnabledChecks {
    /// In enumeration order.
    allowed: Vec<Tool>,
}

impl Quota {
    fn new(used: u32, limit: Option<u32>) -> Self {
        Self { used, limit, remaining: limit.map(|limit| limit.saturating_sub(used)) }
    }
}

impl From<&TeamWithSettings> for TeamResource {
    fn from(found: &TeamWithSettings) -> Self {
        let team = &found.team;
        let limits = team.plan.limits();
        Self {
            uuid: team.id,
            name: team.name.clone(),
            sites_count: team.sites,
            members_count: team.members,
            limits: Limits {
                plan: team.plan,
                sites: Quota::new(team.sites, limits.sites),
                seats: Seats {
                    members: team.members,
                    pending_invitations: team.pending_invitations(),
                    quota: Quota::new(team.seats_taken(), limits.seats),
                },
                manual_checks: Quota::new(
                    found.manual_checks,
                    Some(limits.manual_checks_per_month),
                ),
                enabled_checks: EnabledChecks { allowed: team.plan.allowed_tools() },
                minimum_check_cadence_minutes: limits.minimum_cadence_minutes,
                history_retention_days: limits.history_retention_days,
            },
            created_at: team.created_at,
            updated_at: team.updated_at,
        }
    }
}
