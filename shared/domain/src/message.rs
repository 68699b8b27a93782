//! What travels in the queues: always less than the table already says.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::{CheckId, SiteId, TeamId};
use crate::tool::{RunReason, Tool};

/// A message to one of the service's queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// To the queue of the tool.
    Check(CheckMessage),
    /// To the upkeep queue.
    Upkeep(Upkeep),
}

/// Asks for one run of a tool on a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckMessage {
    /// The site.
    pub site: SiteId,
    /// The tool.
    pub tool: Tool,
    /// Which run.
    #[serde(flatten)]
    pub order: RunOrder,
}

/// Which run of a tool is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunOrder {
    /// The pending on-demand check with this id.
    OnDemand {
        /// The check.
        check: CheckId,
    },
    /// The automatic run at a slot.
    Automatic {
        /// Why it runs.
        reason: RunReason,
        /// The instant that names the run.
        slot: Timestamp,
    },
}

impl CheckMessage {
    /// The id of the check that the run makes.
    pub fn check_id(&self) -> CheckId {
        match self.order {
            RunOrder::OnDemand { check } => check,
            RunOrder::Automatic { reason, slot } => {
                CheckId::automatic(self.site, self.tool, reason, slot)
            }
        }
    }
}

/// Asks the keeper to bring something in line with the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upkeep {
    /// Make one site's schedules follow its settings, and start a new site's first runs.
    Sync(SiteId),
    /// Remove what is left of a deleted site.
    Purge(SiteId),
    /// Sync every site of a team.
    Resync(TeamId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_stable_form() {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let slot: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        let automatic = CheckMessage {
            site,
            tool: Tool::Status,
            order: RunOrder::Automatic { reason: RunReason::Scheduled, slot },
        };
        let check = CheckId::on_demand(site, Tool::BrokenLinks, slot, 3);
        let on_demand =
            CheckMessage { site, tool: Tool::BrokenLinks, order: RunOrder::OnDemand { check } };
        for (message, form) in [
            (
                automatic,
                r#"{"site":"0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01","tool":"status","reason":"scheduled","slot":"2026-11-20T09:54:00Z"}"#,
            ),
            (
                on_demand,
                r#"{"site":"0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01","tool":"broken-links","check":"01a1f860-8ec0-8603-8a55-6c1f3b7d9e01"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&message).expect("json"), form);
            assert_eq!(serde_json::from_str::<CheckMessage>(form).expect("a message"), message);
        }
        let sync = serde_json::to_string(&Upkeep::Sync(site)).expect("json");
        assert_eq!(sync, r#"{"sync":"0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01"}"#);
    }
}
