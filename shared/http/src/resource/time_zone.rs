//! The time zones of a team and of a user as the API shows them.

use serde::Serialize;
use vedette_domain::time_zone::NamedZone;

/// The time zone of a team.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TimeZone"))]
pub struct TimeZoneResource {
    /// Its IANA name, such as `Europe/Berlin`; `UTC` if none was chosen.
    time_zone: String,
}

impl TimeZoneResource {
    /// The resource of a zone.
    pub fn new(zone: &NamedZone) -> Self {
        Self { time_zone: zone.name().to_owned() }
    }
}

/// The time zone of a user.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "UserTimeZone"))]
pub struct UserTimeZoneResource {
    /// Its IANA name, such as `Europe/Berlin`; null if none was chosen, so that each team's time zone
    /// applies.
    time_zone: Option<String>,
}

impl UserTimeZoneResource {
    /// The resource of a zone.
    pub fn new(zone: Option<&NamedZone>) -> Self {
        Self { time_zone: zone.map(|zone| zone.name().to_owned()) }
    }
}
