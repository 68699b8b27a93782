//! Who would be notified of an issue of a site.

use jiff::Timestamp;
use jiff::civil::DateTime;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::alerts::forecast::PossibleIssue;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::issues::Severity;
use vedette_domain::monitor::Monitor;
use vedette_store::{Store, TeamWithSettings};

use crate::error::ApiError;
use crate::query::Query;
use crate::validation::Errors;

/// An issue of which channels would be notified.
#[derive(Debug)]
pub struct Forecast {
    /// Its site.
    pub monitor: Monitor,
    /// The tool that would find it.
    pub tool: Tool,
    /// Its severity.
    pub severity: Severity,
    /// When it would open.
    pub at: Timestamp,
}

impl Forecast {
    /// Reads `site`, `tool`, `severity` and `at`, and loads the site; `None` if the query names no site. A time without
    /// an offset is one of the team's zone.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the query, or a fault of the table.
    pub async fn load(
        store: &Store,
        team: &TeamWithSettings,
        query: Query,
        now: Timestamp,
    ) -> Result<Option<Self>, ApiError> {
        let mut errors = Errors::new();
        let site = query.uuid("site", SiteId::parse, &mut errors);
        let tool = query.one_of("tool", Tool::parse, &mut errors).unwrap_or(Tool::Status);
        let severity = query.one_of("severity", Severity::parse, &mut errors);
        let severity = severity.unwrap_or(Severity::Critical);
        let instant = |text: &str| {
            let local =
                || text.parse::<DateTime>().ok().and_then(|at| team.team.zone.instant_of(at));
            let at: Option<Timestamp> = text.parse().ok().or_else(local);
            at.ok_or("must be a date and time, such as 2026-11-24T02:46:00+01:00")
        };
        let at = query.parsed("at", instant, &mut errors).unwrap_or(now);
        errors.finish(Some(()))?;
        let Some(id) = site else { return Ok(None) };
        let found = store.site(id.partition()).await?.map(|stored| stored.site);
        match found.filter(|site| site.id == id && site.team == team.id()) {
            Some(site) => Ok(Some(Self { monitor: site.into(), tool, severity, at })),
            None => Err(ApiError::invalid("site", "The selected site is invalid.")),
        }
    }

    /// When a channel would be notified, unless somebody acknowledges the issue before; `None` if never.
    pub fn notified_at(
        &self,
        channel: &Channel,
        state: &ChannelState,
        team: &TeamWithSettings,
        time_scale: TimeScale,
    ) -> Option<Timestamp> {
        let Self { ref monitor, tool, severity, at } = *self;
        if !channel.is_on() || state.disabled.is_some() {
            return None;
        }
        let issue = PossibleIssue { monitor, tool, severity, at };
        channel.would_be_notified_at(issue, (&team.team, &team.settings), time_scale)
    }
}
