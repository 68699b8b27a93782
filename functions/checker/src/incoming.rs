//! Reading the body of a queue message, in which a scheduler may have left the slot empty.

use jiff::Timestamp;
use serde::Deserialize;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::message::{CheckMessage, RunOrder};
use vedette_runtime::SLOT_PLACEHOLDER;

/// A body that is not a check message.
#[derive(Debug, thiserror::Error)]
#[error("not a check message")]
pub struct UnreadableMessage(#[source] serde_json::Error);

/// A check message as it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming {
    /// It identifies its run.
    Complete(CheckMessage),
    /// A scheduled run without the time for which it was scheduled.
    Unfilled {
        /// The site's team.
        team: TeamId,
        /// The site.
        site: SiteId,
        /// The tool.
        tool: Tool,
    },
}

#[derive(Deserialize)]
struct Unfilled {
    team: TeamId,
    site: SiteId,
    tool: Tool,
    reason: RunReason,
    slot: String,
}

impl Incoming {
    /// Reads a body.
    ///
    /// # Errors
    ///
    /// When it is not a check message.
    pub fn parse(body: &str) -> Result<Self, UnreadableMessage> {
        let complete = serde_json::from_str(body).map(Self::Complete);
        complete.or_else(|error| match serde_json::from_str(body) {
            Ok(Unfilled { team, site, tool, reason: RunReason::Scheduled, slot })
                if slot == SLOT_PLACEHOLDER =>
            {
                Ok(Self::Unfilled { team, site, tool })
            }
            _ => Err(UnreadableMessage(error)),
        })
    }

    /// The team, site and tool, which every message names.
    pub(crate) const fn subject(self) -> (TeamId, SiteId, Tool) {
        match self {
            Self::Complete(CheckMessage { team, site, tool, .. })
            | Self::Unfilled { team, site, tool } => (team, site, tool),
        }
    }

    /// The message with its slot. If the scheduler did not fill it in, the slot is the tool's latest offset instant at
    /// the time the message was sent.
    pub(crate) fn fill(
        self,
        time_scale: TimeScale,
        cadence_minutes: u32,
        sent_at: Timestamp,
    ) -> CheckMessage {
        match self {
            Self::Complete(message) => message,
            Self::Unfilled { team, site, tool } => {
                let slot = time_scale.latest_at_or_before(site, tool, cadence_minutes, sent_at);
                let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
                CheckMessage { team, site, tool, order }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_complete_unfilled_or_refused() {
        let site = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01";
        let team = "7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13";
        let body =
            |rest: &str| format!(r#"{{"team":"{team}","site":"{site}","tool":"status",{rest}}}"#);
        let unfilled = Incoming::Unfilled {
            team: TeamId::parse(team).expect("a team id"),
            site: SiteId::parse(site).expect("a site id"),
            tool: Tool::Status,
        };
        let placeholder = body(r#""reason":"scheduled","slot":"<aws.scheduler.scheduled-time>""#);
        assert_eq!(Incoming::parse(&placeholder).expect("a message"), unfilled);
        let filled = body(r#""reason":"scheduled","slot":"2026-11-20T09:54:00Z""#);
        assert!(matches!(Incoming::parse(&filled), Ok(Incoming::Complete(_))));
        for rest in [
            r#""reason":"scheduled","slot":"soon""#,
            r#""reason":"confirmation_retry","slot":"<aws.scheduler.scheduled-time>""#,
            r#""reason":"scheduled""#,
            r#""check":7"#,
        ] {
            assert!(Incoming::parse(&body(rest)).is_err(), "{rest}");
        }
        assert!(Incoming::parse("").is_err());
    }
}
