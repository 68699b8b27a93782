//! Reads `monitoring_settings` from requests and documents.
//!
//! A team's settings and a site's overrides are the same object, with small differences that `Level` names. A team must
//! send `enabled` and `cadence_minutes` for each tool, only a team sets quiet time and escalation, and only a site has
//! a page to audit. `tools` reads the tools; this file reads the rest.
//!
//! Fields are read in the order of the API's request tables. Unknown fields are refused, so that a misspelled setting
//! is not silently ignored.

mod tools;

use super::{
    HeaderOverride, QuietTimeUpdate, RequestHeader, Settings, SiteOverrides, TeamUpdate,
    read_header,
};
use crate::accounts::plan::Plan;
use crate::input::{FieldRule as _, Input, ObjectRule};
use crate::sites::site_url::SiteUrl;
use serde_json::Value;

use crate::validation::{Errors, Field, Fields, ValidationError};

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

/// Reads a site, new or changed, with its overrides if they are sent. Fields that are not known are ignored.
///
/// # Errors
///
/// Everything that is wrong with them.
pub fn parse_site<T: Input>(
    fields: &Fields<'_>,
    team: &Settings,
    plan: Plan,
) -> Result<(T, Option<SiteOverrides>), ValidationError> {
    let mut errors = Errors::new();
    let site = T::read(fields, &mut errors);
    let url = fields.field("url").value().and_then(Value::as_str);
    let url = url.and_then(|url| SiteUrl::parse(url).ok());
    let domain = url.as_ref().map(SiteUrl::domain);
    let sent = fields.field(TEAM_PATH);
    let overrides =
        sent.is_sent().then(|| parse_site_overrides(&sent, team, plan, domain, &mut errors));
    errors.finish(site.map(|site| (site, overrides)))
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

/// Reads a change of a team's `current` settings. It must name a tool, unless it is one section of them, as a form
/// sends it. Use the result only if no error was recorded.
pub fn parse_team_update(
    field: &Field<'_>,
    needs_tools: bool,
    plan: Plan,
    current: &Settings,
    errors: &mut Errors,
) -> TeamUpdate {
    let Some(fields) = field.object(errors) else {
        return TeamUpdate::default();
    };
    let mut tools = fields.field("tools");
    if needs_tools {
        tools = tools.required(errors);
    }
    let sent = tools.object(errors);
    if needs_tools && sent.as_ref().is_some_and(Fields::is_empty) {
        tools.refuse(errors, "is required");
    }
    let update = TeamUpdate {
        tools: sent.map(|sent| tools::read(&sent, Level::Team, plan, errors)).unwrap_or_default(),
        request_header: read_header(&fields.field("request_header"), errors),
        quiet_time: read_quiet_time(&fields.field("quiet_time"), current, errors),
        escalation: ObjectRule.read(&fields.field("escalation"), errors),
    };
    fields.only(&["tools", "request_header", "quiet_time", "escalation"], errors);
    update
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
