//! Reading a time zone from a request.

use serde_json::{Map, Value};
use vedette_domain::input::FieldRule;
use vedette_domain::time_zone::NamedZone;

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
    let zone = field.nullable(|field| NamedZone::RULE.read(field, &mut errors));
    errors.finish(zone)
}
