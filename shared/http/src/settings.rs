//! Reads `monitoring_settings` and `dns_expected_records` from requests.
//!
//! A team's settings and a site's overrides are the same object, with small differences that `Level` names. A team must
//! send `enabled` and `cadence_minutes` for each tool, only a team sets quiet time and escalation, and only a site has
//! a page to audit. `tools` reads the tools; this file reads the rest.
//!
//! Fields are read in the order of the API's request tables. Unknown fields are refused, so that a misspelled setting
//! is not silently ignored.

mod expected_records;
mod tools;

use lambda_http::http::{HeaderName, HeaderValue};
use serde_json::Value;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::input::{FieldRule as _, ObjectRule};
use vedette_domain::sites::settings::{
    HEADER_NAME_MAX, HEADER_VALUE_MAX, HeaderOverride, QuietTimeUpdate, RequestHeader, Settings,
    SiteOverrides, TeamUpdate, ToolsOverrides, is_sendable_header,
};

pub use expected_records::{BYTES_MAX, VALUE_MAX, VALUES_MAX, parse_expected_records};

use crate::validation::{Errors, Field};

/// Where a team's settings are in a request.
pub const TEAM_PATH: &str = "monitoring_settings";

/// The owner of the settings that are read.
#[derive(Clone, Copy)]
enum Level<'a> {
    /// A team's defaults.
    Team,
    /// The overrides of a site whose URL has this host; `None` if the URL could not be read.
    Site { domain: Option<&'a str> },
}

/// Reads the overrides of a site whose host is `site_domain`. If the site's own URL could not be read, there
/// is no host to compare with.
///
/// The result replaces all overrides of the site, so omitted settings are inherited. Settings that only its `team` sets
/// may be sent unchanged, so that clients can write back a site's settings as they read them. Use the result only if no
/// error was recorded.
pub fn parse_site_overrides(
    field: &Field<'_>,
    team: &Settings,
    plan: Plan,
    site_domain: Option<&str>,
    errors: &mut Errors,
) -> SiteOverrides {
    let Some(fields) = field.object(errors) else {
        return SiteOverrides::default();
    };
    let level = Level::Site { domain: site_domain };
    let tools = fields
        .field("tools")
        .object(errors)
        .map(|sent| tools::read(&sent, level, plan, errors))
        .unwrap_or_default();
    // Null inherits, like an omitted header: a site cannot switch the team's header off.
    let request_header = read_header(&fields.field("request_header"), errors)
        .and_then(RequestHeader::into_pair)
        .map(|(name, value)| HeaderOverride { name, value });
    let quiet_time = fields.field("quiet_time");
    hold_to_team(&quiet_time, team, errors, |errors| TeamUpdate {
        quiet_time: read_quiet_time(&quiet_time, team, errors),
        ..TeamUpdate::default()
    });
    let escalation = fields.field("escalation");
    hold_to_team(&escalation, team, errors, |errors| TeamUpdate {
        escalation: ObjectRule.read(&escalation, errors),
        ..TeamUpdate::default()
    });
    fields.only(&["tools", "request_header", "quiet_time", "escalation"], errors);
    SiteOverrides { tools, request_header }
}

/// Records an error for a section that only a team sets, unless it equals the team's section.
fn hold_to_team(
    field: &Field<'_>,
    team: &Settings,
    errors: &mut Errors,
    read: impl FnOnce(&mut Errors) -> TeamUpdate,
) {
    // The other errors in it do not matter, because it cannot be set here.
    let mut wrong = Errors::new();
    let update = read(&mut wrong);
    if field.is_sent() && (!wrong.is_empty() || team.merge(&update) != *team) {
        field.refuse(errors, "can be set at team level only");
    }
}

/// Reads the changes that a team's PATCH makes to its `current` settings. Use the result only
/// if no error was recorded.
pub fn parse_team_update(
    field: &Field<'_>,
    plan: Plan,
    current: &Settings,
    errors: &mut Errors,
) -> TeamUpdate {
    let tools = |field: &Field<'_>, errors: &mut Errors| read_team_tools(field, plan, errors);
    read_team(field, tools, current, errors)
}

/// Reads a change of one section of a team's settings, as a form sends it. Everything else may be left out, even the
/// tools. Use the result only if no error was recorded.
pub fn parse_team_section(
    field: &Field<'_>,
    plan: Plan,
    current: &Settings,
    errors: &mut Errors,
) -> TeamUpdate {
    let tools = |field: &Field<'_>, errors: &mut Errors| {
        let sent = field.object(errors);
        sent.map(|sent| tools::read(&sent, Level::Team, plan, errors)).unwrap_or_default()
    };
    read_team(field, tools, current, errors)
}

fn read_team(
    field: &Field<'_>,
    read_tools: impl FnOnce(&Field<'_>, &mut Errors) -> ToolsOverrides,
    current: &Settings,
    errors: &mut Errors,
) -> TeamUpdate {
    let Some(fields) = field.object(errors) else {
        return TeamUpdate::default();
    };
    let update = TeamUpdate {
        tools: read_tools(&fields.field("tools"), errors),
        request_header: read_header(&fields.field("request_header"), errors),
        quiet_time: read_quiet_time(&fields.field("quiet_time"), current, errors),
        escalation: ObjectRule.read(&fields.field("escalation"), errors),
    };
    fields.only(&["tools", "request_header", "quiet_time", "escalation"], errors);
    update
}

/// The tools of a team: at least one.
fn read_team_tools(field: &Field<'_>, plan: Plan, errors: &mut Errors) -> ToolsOverrides {
    let field = field.clone().required(errors);
    match field.object(errors) {
        Some(sent) if sent.is_empty() => {
            field.refuse(errors, "is required");
            ToolsOverrides::default()
        }
        Some(sent) => tools::read(&sent, Level::Team, plan, errors),
        None => ToolsOverrides::default(),
    }
}

/// A header: both parts, or neither if they are null. `None` if nothing was sent (`{}`).
fn read_header(field: &Field<'_>, errors: &mut Errors) -> Option<RequestHeader> {
    let fields = field.object(errors)?;
    let name_field = fields.field("name");
    let value_field = fields.field("value");
    require_with(&name_field, &value_field, errors);
    let name = read_header_name(&name_field, errors);
    require_with(&value_field, &name_field, errors);
    let value = read_header_value(&value_field, errors);
    let said = name_field.is_sent() || value_field.is_sent();
    fields.only(&["name", "value"], errors);
    said.then_some(RequestHeader { name, value })
}

/// Records an error if `field` is absent although `other` is not.
fn require_with(field: &Field<'_>, other: &Field<'_>, errors: &mut Errors) {
    if field.is_absent() && !other.is_absent() {
        field.refuse(errors, format_args!("is required with {}", other.path()));
    }
}

fn read_header_name(field: &Field<'_>, errors: &mut Errors) -> Option<String> {
    if refuses_line_breaks(field, errors) {
        return None;
    }
    let name = field.nullable(|f| f.string(HEADER_NAME_MAX, errors)).flatten()?;
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        field.refuse(errors, "must be a valid HTTP header name");
        return None;
    }
    if !is_sendable_header(&name) {
        field.refuse(errors, "must not be a header that belongs to the connection or the body, such as Content-Length");
        return None;
    }
    Some(name)
}

fn read_header_value(field: &Field<'_>, errors: &mut Errors) -> Option<String> {
    if refuses_line_breaks(field, errors) {
        return None;
    }
    let value = field.nullable(|f| f.string(HEADER_VALUE_MAX, errors)).flatten()?;
    if HeaderValue::from_str(&value).is_err() {
        field.refuse(errors, "must be a valid HTTP header value");
        return None;
    }
    Some(value)
}

/// Line breaks are refused before trimming, because they are never there by accident.
fn refuses_line_breaks(field: &Field<'_>, errors: &mut Errors) -> bool {
    let breaks = !field.is_absent()
        && field.value().and_then(Value::as_str).is_some_and(|text| text.contains(['\r', '\n']));
    if breaks {
        field.refuse(errors, "must not contain line breaks");
    }
    breaks
}

fn read_quiet_time(
    field: &Field<'_>,
    current: &Settings,
    errors: &mut Errors,
) -> Option<QuietTimeUpdate> {
    let before = errors.len();
    let update: QuietTimeUpdate = ObjectRule.read(field, errors)?;
    let merged = update.merged_into(current.quiet_time);
    if errors.len() == before && merged.starts_at == merged.ends_at {
        let path = format!("{}.ends_at", field.path());
        errors.push(&*path, format!("The {path} field must differ from starts_at."));
    }
    Some(update)
}

#[cfg(test)]
mod tests;
