//! Reads the settings of the tools.

use std::num::NonZeroU16;

use crate::accounts::plan::{CADENCE_MINUTES, Plan};
use crate::checks::tool::Tool;
use crate::input::{FieldRule as _, Input, ObjectRule};
use crate::sites::settings::{
    HTTPS_PORT, INTEGER_MAX, PageUrlError, ToolOverride, ToolsOverrides, check_page_url,
};

use super::Level;
use crate::validation::{Errors, Field, Fields};

/// Reads the map of tools.
pub(super) fn read(
    sent: &Fields<'_>,
    level: Level<'_>,
    plan: Plan,
    errors: &mut Errors,
) -> ToolsOverrides {
    let mut tools = ToolsOverrides {
        status: read_tool(sent, Tool::Status, level, plan, errors),
        ssl: read_tool(sent, Tool::Ssl, level, plan, errors),
        dns: read_tool(sent, Tool::Dns, level, plan, errors),
        broken_links: read_tool(sent, Tool::BrokenLinks, level, plan, errors),
        performance: read_tool(sent, Tool::Performance, level, plan, errors),
    };
    sent.only(&Tool::ALL.map(Tool::as_str), errors);
    if let Some(Some(page)) = &tools.performance.settings.url {
        let performance = sent.field(Tool::Performance.as_str());
        check_page(&format!("{}.settings.url", performance.path()), page, level, errors);
    }
    // A site that sends null has the default port, even if its team sets another.
    let port = &mut tools.ssl.settings.port;
    if matches!(level, Level::Site { .. }) && *port == Some(None) {
        *port = Some(NonZeroU16::new(HTTPS_PORT));
    }
    tools
}

fn read_tool<O: Input + Default>(
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
    if matches!(level, Level::Team) && !enabled.is_unticked() {
        enabled = enabled.required(errors);
    }
    let enabled = read_enabled(&enabled, plan.allows(tool), plan, errors);
    if let Level::Team = level {
        cadence = cadence.required(errors);
    }
    let read = ToolOverride {
        enabled,
        cadence_minutes: read_cadence(&cadence, tool, plan, errors),
        settings: ObjectRule.read(&fields.field("settings"), errors).unwrap_or_default(),
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

/// Refuses a page to audit that is not the site's.
fn check_page(path: &str, page: &str, level: Level<'_>, errors: &mut Errors) {
    let complaint = match level {
        Level::Team => "can be set at site level only".to_owned(),
        Level::Site { domain } => {
            match (check_page_url(page, domain.unwrap_or_default()), domain) {
                (Ok(()), _) | (Err(PageUrlError::OtherDomain), None) => return,
                (Err(PageUrlError::Invalid), _) => "must be a valid http or https URL".to_owned(),
                (Err(PageUrlError::Credentials), _) => {
                    "must not contain a user name or password".to_owned()
                }
                (Err(PageUrlError::OtherDomain), Some(domain)) => {
                    format!("must be on the site's domain {domain}")
                }
            }
        }
    };
    errors.push(path, format!("The {path} field {complaint}."));
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
