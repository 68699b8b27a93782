//! When monitoring of an issue ends although the problem may not be over.

use serde::{Deserialize, Serialize};

use crate::accounts::team::Team;
use crate::checks::tool::Tool;
use crate::sites::settings::Settings;

/// Why monitoring of an active issue ended. Channels are notified of that, and get no more reminders. In the API the
/// issue stays active until a check or a person resolves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Every tool of the site was disabled.
    SitePaused,
    /// The tool that found the problem was disabled, or the plan no longer includes it.
    ToolDisabled,
    /// The team's plan is inactive.
    PlanInactive,
    /// The site was deleted.
    SiteDeleted,
    /// The heartbeat was deleted.
    HeartbeatDeleted,
}

impl EndReason {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::SitePaused,
        Self::ToolDisabled,
        Self::PlanInactive,
        Self::SiteDeleted,
        Self::HeartbeatDeleted,
    ];

    /// Why a tool does not run on a site of a team with these settings; `None` if it does.
    pub fn of(tool: Tool, team: &Team, settings: &Settings) -> Option<Self> {
        let is_enabled = |tool: Tool| settings.tools.is_enabled(tool);
        if !team.plan_active {
            Some(Self::PlanInactive)
        } else if is_enabled(tool) && team.plan.allows(tool) {
            None
        } else if Tool::ALL.into_iter().any(is_enabled) {
            Some(Self::ToolDisabled)
        } else {
            Some(Self::SitePaused)
        }
    }

    /// Whether nothing is left of what was monitored.
    pub const fn is_deletion(self) -> bool {
        matches!(self, Self::SiteDeleted | Self::HeartbeatDeleted)
    }

    /// The value in events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SitePaused => "site_paused",
            Self::ToolDisabled => "tool_disabled",
            Self::PlanInactive => "plan_inactive",
            Self::SiteDeleted => "site_deleted",
            Self::HeartbeatDeleted => "heartbeat_deleted",
        }
    }

    /// What happened, for people, as the end of a sentence.
    pub(crate) const fn as_clause(self) -> &'static str {
        match self {
            Self::SitePaused => "the site was paused",
            Self::ToolDisabled => "this check was disabled",
            Self::PlanInactive => "the team's plan is inactive",
            Self::SiteDeleted => "the site was deleted",
            Self::HeartbeatDeleted => "the heartbeat was deleted",
        }
    }
}
