//! Reads maintenance windows from requests.

use serde_json::{Map, Value};
use vedette_domain::id::SiteId;
use vedette_domain::maintenance::{
    DURATION_MAX_MINUTES, RECURRENCE_MAX, Recurrence, SITES_MAX, WindowInput, parse_start,
    parse_window_name,
};
use vedette_domain::time_zone::{NamedZone, TIME_ZONE_NAME_MAX};

use crate::validation::{Errors, Field, Fields, ValidationError};

/// The fields of a request.
const FIELDS: [&str; 6] =
    ["name", "sites", "starts_at", "time_zone", "duration_minutes", "recurrence"];

/// Reads a new window and its length, in minutes.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn parse_window(body: &Map<String, Value>) -> Result<(WindowInput, u32), ValidationError> {
    let mut errors = Errors::new();
    let fields = Fields::body(body);
    let duration = fields.field("duration_minutes").required(&mut errors);
    let input = read(&fields, &duration, &mut errors);
    let minutes = input.minutes;
    errors.finish(minutes.map(|minutes| (input, minutes)))
}

/// Reads a change of a window.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn parse_window_update(body: &Map<String, Value>) -> Result<WindowInput, ValidationError> {
    let mut errors = Errors::new();
    let fields = Fields::body(body);
    let input = read(&fields, &fields.field("duration_minutes"), &mut errors);
    errors.finish(Some(input))
}

fn read(fields: &Fields<'_>, duration: &Field<'_>, errors: &mut Errors) -> WindowInput {
    fields.only(&FIELDS, errors);
    let name = fields.field("name").nullable(|field| {
        // The rule for names refuses texts that are too long.
        let text = field.string(usize::MAX, errors)?;
        parse_window_name(&text)
            .map(str::to_owned)
            .map_err(|error| field.refuse(errors, error))
            .ok()
    });
    let sites = fields.field("sites").nullable(|field| {
        if field.value().and_then(Value::as_array).is_some_and(Vec::is_empty) {
            field.refuse(errors, "must list at least one site, or be null for all sites");
            return None;
        }
        field.list(SITES_MAX, errors, |item, errors| {
            let site = SiteId::parse(&item.string(36, errors)?);
            if site.is_none() {
                item.refuse(errors, "must be a uuid");
            }
            site
        })
    });
    let start = fields.field("starts_at").nullable(|field| {
        let start = parse_start(&field.string(usize::MAX, errors)?);
        if start.is_none() {
            field
                .refuse(errors, "must be a local time from 2000 to 2199, such as 2026-11-29T02:00");
        }
        start
    });
    let zone = fields.field("time_zone").nullable(|field| {
        let zone = NamedZone::parse(&field.string(TIME_ZONE_NAME_MAX, errors)?);
        if zone.is_none() {
            field.refuse(errors, "must be an IANA time zone name, such as Europe/Berlin");
        }
        zone
    });
    let minutes = duration.integer(1..=DURATION_MAX_MINUTES, errors);
    let rule = fields.field("recurrence").nullable(|field| {
        let text = field.string(RECURRENCE_MAX, errors)?;
        Recurrence::parse(&text).map_err(|error| field.refuse(errors, error)).ok()
    });
    WindowInput {
        name: name.flatten(),
        sites,
        start: start.flatten(),
        zone: zone.flatten(),
        minutes,
        rule,
    }
}
