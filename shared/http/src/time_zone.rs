//! Reading a time zone from a request.

use serde_json::{Map, Value};
use vedette_domain::time_zone::{NamedZone, TIME_ZONE_NAME_MAX};

use crate::validation::{Errors, Fields, ValidationError};

/// The zone that a request names in `time_zone`; `None` for null.
///
/// # Errors
///
/// There is no zone of that name, or it is missing.
pub fn parse_time_zone(body: &Map<String, Value>) -> Result<Option<NamedZone>, ValidationError> {
    let mut errors = Errors::new();
    let field = Fields::body(body).field("time_zone");
    if !field.is_sent() {
        field.refuse(&mut errors, "is required");
    }
    let zone = field.nullable(|field| {
        let name = field.string(TIME_ZONE_NAME_MAX, &mut errors)?;
        let zone = NamedZone::parse(&name);
        if zone.is_none() {
            field.refuse(&mut errors, "must be an IANA time zone name, such as Europe/Berlin");
        }
        zone
    });
    errors.finish(zone)
}
