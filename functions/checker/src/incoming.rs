//! Reading a queue message's body, whose slot a scheduler may have left unfilled.

use jiff::Timestamp;
use serde::Deserialize;
use vedette_domain::id::SiteId;
use vedette_domain::message::{CheckMessage, RunOrder};
use vedette_domain::settings::Settings;
use vedette_domain::tool::{RunReason, Tool};
use vedette_runtime::{App, SLOT_PLACEHOLDER};
use vedette_store::StoreError;

/// A body that is not a check message.
#[derive(Debug, thiserror::Error)]
#[error("not a check message: {0}")]
pub struct UnreadableMessage(String);

/// A check message as it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming {
    /// It says which run.
    Complete(CheckMessage),
    /// A scheduled run whose scheduler did not say for when.
    Unfilled {
        /// The site.
        site: SiteId,
        /// The tool.
        tool: Tool,
    },
}

#[derive(Deserialize)]
struct Unfilled {
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
            Ok(Unfilled { site, tool, reason: RunReason::Scheduled, slot })
                if slot == SLOT_PLACEHOLDER =>
            {
                Ok(Self::Unfilled { site, tool })
            }
            _ => Err(UnreadableMessage(error.to_string())),
        })
    }

    /// The message with its slot: the tool's latest phase instant when it was sent, where the
    /// scheduler did not say. None where the site is gone.
    pub(crate) async fn fill(
        self,
        app: &App,
        sent_at: Timestamp,
    ) -> Result<Option<CheckMessage>, StoreError> {
        let (site, tool) = match self {
            Self::Complete(message) => return Ok(Some(message)),
            Self::Unfilled { site, tool } => (site, tool),
        };
        let Some(sheet) = app.store.site(site.partition()).await? else { return Ok(None) };
        let Some(team) = app.store.team(sheet.site.team, sent_at).await? else { return Ok(None) };
        let settings = Settings::resolve(&team.settings, &sheet.site.overrides, team.team.plan);
        let cadence = settings.tools.cadence_minutes(tool);
        let slot = app.service.pace.latest_at_or_before(site, tool, cadence, sent_at);
        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
        Ok(Some(CheckMessage { site, tool, order }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_complete_unfilled_or_refused() {
        let site = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01";
        let body = |rest: &str| format!(r#"{{"site":"{site}","tool":"status",{rest}}}"#);
        let unfilled = Incoming::Unfilled {
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
