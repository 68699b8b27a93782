//! Reads the settings of the tools.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use vedette_domain::accounts::plan::{CADENCE_MINUTES, Plan};
use vedette_domain::checks::tool::Tool;
use vedette_domain::sites::settings::{
    DnsRecordType, HTTPS_PORT, IGNORE_PATH_MAX, IGNORE_PATHS_BYTES_MAX, IGNORE_PATHS_MAX,
    INTEGER_MAX, PAGE_URL_MAX, PageUrlError, Rule, STATUS_INCIDENT_CODES, Setting, ToolOverride,
    ToolsOverrides, check_page_url, own_settings,
};

use super::{CHOICES_MAX, Level};
use crate::validation::{Errors, Field, Fields};

/// Reads the map of tools.
pub(super) fn read(
    sent: &Fields<'_>,
    level: Level<'_>,
    plan: Plan,
    errors: &mut Errors,
) -> ToolsOverrides {
    let tools = ToolsOverrides {
        status: read_tool(sent, Tool::Status, level, plan, errors),
        ssl: read_tool(sent, Tool::Ssl, level, plan, errors),
        dns: read_tool(sent, Tool::Dns, level, plan, errors),
        broken_links: read_tool(sent, Tool::BrokenLinks, level, plan, errors),
        performance: read_tool(sent, Tool::Performance, level, plan, errors),
    };
    sent.only(&Tool::ALL.map(Tool::as_str), errors);
    tools
}

fn read_tool<O: DeserializeOwned + Default>(
    tools: &Fields<'_>,
    tool: Tool,
    level: Level<'_>,
    plan: Plan,
    errors: &mut Errors,
) -> ToolOverride<O> {
    let Some(fields) = tools.field(tool.as_str()).object(errors) else {
        return ToolOverride::default();
    };
    let mut enabled = fields.field("enabled");
    let mut cadence = fields.field("cadence_minutes");
    if let Level::Team = level {
        enabled = enabled.required(errors);
    }
    let enabled = read_enabled(&enabled, plan.allows(tool), plan, errors);
    if let Level::Team = level {
        cadence = cadence.required(errors);
    }
    let read = ToolOverride {
        enabled,
        cadence_minutes: read_cadence(&cadence, tool, plan, errors),
        settings: read_own(&fields.field("settings"), own_settings(tool), level, errors),
    };
    fields.only(&["enabled", "cadence_minutes", "settings"], errors);
    read
}

fn read_enabled(field: &Field<'_>, allowed: bool, plan: Plan, errors: &mut Errors) -> Option<bool> {
    let enabled = field.boolean(errors)?;
    if enabled && !allowed {
        field.refuse(errors, format_args!("cannot be true on the {plan} plan"));
        return None;
    }
    Some(enabled)
}

fn read_cadence(field: &Field<'_>, tool: Tool, plan: Plan, errors: &mut Errors) -> Option<u32> {
    let minutes = field.integer(1..=INTEGER_MAX, errors)?;
    if !CADENCE_MINUTES.contains(&minutes) {
        return field.integer_of(&CADENCE_MINUTES, errors);
    }
    let floor = tool.cadence_floor_minutes();
    if minutes < floor {
        field.refuse(errors, format_args!("must be at least {floor} for {tool} checks"));
        return None;
    }
    let minimum = plan.minimum_cadence_minutes(tool);
    if minutes < minimum {
        field.refuse(errors, format_args!("must be at least {minimum} on the {plan} plan"));
        return None;
    }
    Some(minutes)
}

/// Reads a tool's own settings, each with the rule for its values.
fn read_own<O: DeserializeOwned + Default>(
    field: &Field<'_>,
    settings: &[Setting],
    level: Level<'_>,
    errors: &mut Errors,
) -> O {
    let Some(fields) = field.object(errors) else { return O::default() };
    let mut read = Map::new();
    for Setting { name, kept_as, rule, .. } in settings {
        // If a setting is sent under two names, the current name comes last and decides, even with null.
        if let Some(value) = read_value(&fields.field(name), *rule, level, errors) {
            read.insert((*kept_as).to_owned(), value);
        }
    }
    let known: Vec<&str> = settings.iter().map(|setting| setting.name).collect();
    fields.only(&known, errors);
    serde_json::from_value(read.into()).unwrap_or_else(|error| {
        field.refuse(errors, format_args!("cannot be read: {error}"));
        O::default()
    })
}

fn read_value(
    field: &Field<'_>,
    rule: Rule,
    level: Level<'_>,
    errors: &mut Errors,
) -> Option<Value> {
    Some(match rule {
        Rule::Boolean => field.boolean(errors)?.into(),
        Rule::Integer(min, max) => field.integer(min..=max, errors)?.into(),
        Rule::Limit => field.nullable(|field| field.integer(1..=INTEGER_MAX, errors))?.into(),
        Rule::Port => read_port(field, level, errors)?.into(),
        Rule::StatusCodes => {
            let codes = STATUS_INCIDENT_CODES.map(|option| u32::from(option.code));
            field.list(CHOICES_MAX, errors, |item, errors| {
                item.integer_of(&codes, errors).map(Value::from)
            })?
        }
        Rule::RecordTypes => field.list(CHOICES_MAX, errors, |item, errors| {
            item.one_of(&DnsRecordType::ALL, errors).map(|kind| Value::from(kind.as_str()))
        })?,
        Rule::Paths => read_paths(field, errors)?,
        Rule::Page => read_page(field, level, errors)?.into(),
    })
}

fn read_paths(field: &Field<'_>, errors: &mut Errors) -> Option<Value> {
    let paths: BTreeSet<String> = field
        .list(IGNORE_PATHS_MAX, errors, |item, errors| item.string(IGNORE_PATH_MAX, errors))?;
    if paths.iter().map(String::len).sum::<usize>() > IGNORE_PATHS_BYTES_MAX {
        let message = format_args!("must not hold more than {IGNORE_PATHS_BYTES_MAX} bytes");
        field.refuse(errors, message);
        return None;
    }
    Some(paths.into_iter().collect())
}

/// Reads a port. A site that sends null has the default port, even if its team sets another.
fn read_port(field: &Field<'_>, level: Level<'_>, errors: &mut Errors) -> Option<Option<u32>> {
    let port = field.nullable(|field| field.integer(1..=u32::from(u16::MAX), errors))?;
    Some(match level {
        Level::Team => port,
        Level::Site { .. } => port.or(Some(HTTPS_PORT.into())),
    })
}

fn read_page(field: &Field<'_>, level: Level<'_>, errors: &mut Errors) -> Option<Option<String>> {
    field.nullable(|field| {
        let Level::Site { domain } = level else {
            if field.is_sent() {
                field.refuse(errors, "can be set at site level only");
            }
            return None;
        };
        let page = field.string(PAGE_URL_MAX, errors)?;
        let complaint = match check_page_url(&page, domain.unwrap_or_default()) {
            Ok(()) => return Some(page),
            Err(PageUrlError::Invalid) => "must be a valid http or https URL".to_owned(),
            Err(PageUrlError::Credentials) => "must not contain a user name or password".to_owned(),
            Err(PageUrlError::OtherDomain) => {
                format!("must be on the site's domain {}", domain?)
            }
        };
        field.refuse(errors, complaint);
        None
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_that_the_plan_lacks_cannot_be_enabled() {
        // Every plan includes every tool today, so this tests the rule directly.
        for (value, allowed, expected) in [
            (true, true, Ok(true)),
            (false, true, Ok(false)),
            (false, false, Ok(false)),
            (true, false, Err("The t.enabled field cannot be true on the starter plan.")),
        ] {
            let mut errors = Errors::new();
            let value = json!(value);
            let field = Field::at("t.enabled", &value);
            let read = read_enabled(&field, allowed, Plan::Starter, &mut errors);
            let found = errors.finish(read).map_err(|error| error.message());
            assert_eq!(found, expected.map_err(str::to_owned));
        }
    }
}
