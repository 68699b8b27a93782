use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::id::TeamId;
use vedette_domain::plan::Plan;
use vedette_domain::tool::Tool;
use vedette_store::TeamSheet;

use super::wire_time;

/// A team with its limits.
#[derive(Debug, Clone, Serialize)]
pub struct TeamResource {
    uuid: TeamId,
    name: String,
    sites_count: u32,
    members_count: u32,
    limits: Limits,
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
}

#[derive(Debug, Clone, Serialize)]
struct Limits {
    plan: Plan,
    sites: Quota,
    seats: Seats,
    manual_checks: Quota,
    enabled_checks: EnabledChecks,
    minimum_check_cadence_minutes: u32,
    history_retention_days: u32,
}

/// `limit` and `remaining` are null when unlimited.
#[derive(Debug, Clone, Serialize)]
struct Quota {
    used: u32,
    limit: Option<u32>,
    remaining: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
struct Seats {
    members: u32,
    pending_invitations: u32,
    #[serde(flatten)]
    quota: Quota,
}

#[derive(Debug, Clone, Serialize)]
struct EnabledChecks {
    allowed: &'static [Tool],
}

impl Quota {
    fn new(used: u32, limit: Option<u32>) -> Self {
        Self {
            used,
            limit,
            remaining: limit.map(|limit| limit.saturating_sub(used)),
        }
    }
}

impl From<&TeamSheet> for TeamResource {
    fn from(sheet: &TeamSheet) -> Self {
        let team = &sheet.team;
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
                    // Members are added by the operator; nobody is invited and waits.
                    pending_invitations: 0,
                    quota: Quota::new(team.members, limits.seats),
                },
                manual_checks: Quota::new(
                    sheet.manual_checks,
                    Some(limits.manual_checks_per_month),
                ),
                enabled_checks: EnabledChecks {
                    allowed: limits.allowed_tools,
                },
                minimum_check_cadence_minutes: limits.minimum_cadence_minutes,
                history_retention_days: limits.history_retention_days,
            },
            created_at: team.created_at,
            updated_at: team.updated_at,
        }
    }
}
