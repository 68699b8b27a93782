//! The calendar feed of a team's maintenance windows as the API shows it.

use serde::Serialize;
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::link;

/// The calendar feed of a team's maintenance windows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "MaintenanceCalendar")
)]
pub struct CalendarResource {
    /// The secret address of the feed (iCalendar); null if the team has none.
    url: Option<String>,
}

impl CalendarResource {
    /// The feed of a team; `base` is the base address of the pages.
    pub fn new(team: &Team, base: &str) -> Self {
        Self { url: team.calendar.as_ref().map(|key| link::calendar(base, team.id, key)) }
    }
}
