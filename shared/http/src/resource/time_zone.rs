//! The time zone of a team as the API shows it.

use serde::Serialize;
use vedette_domain::time_zone::NamedZone;

/// The time zone of a team.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TimeZone"))]
pub struct TimeZoneResource {
    /// Its name in the IANA database, such as `Europe/Berlin`; `UTC` if none was chosen.
    time_zone: String,
}

impl TimeZoneResource {
    /// The resource of a zone.
    pub fn new(zone: &NamedZone) -> Self {
        Self { time_zone: zone.name().to_owned() }
    }
}
