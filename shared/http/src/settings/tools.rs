//! Reads the settings of the five tools.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use vedette_domain::plan::{CADENCE_MINUTES, Plan};
use vedette_domain::settings::{
    CONFIRMATION_RETRY_MINUTES, DnsOverrides, DnsRecordType, IGNORE_PATH_MAX,
    INCIDENT_FOLLOW_UP_MINUTES, INTEGER_MAX, LinksOverrides, PAGE_URL_MAX, PERFORMANCE_SCORE,
    PageUrlError, PerformanceOverrides, STATUS_INCIDENT_CODES, SslOverrides, StatusOverrides,
    ToolOverride, ToolsOverrides, check_page_url,
};
use vedette_domain::tool::Tool;

use super::{CHOICES_MAX, Level};
use crate::validation::{Errors, Field, Fields};

/// The most items of `ignore_paths`; our own limit, it keeps a site within one stored item.
pub const IGNORE_PATHS_MAX: usize = 100;
/// The most bytes of all `ignore_paths` together; our own limit, for the same reason.
pub const IGNORE_PATHS_BYTES_MAX: usize = 8_192;

/// Reads the map of tools.
pub(super) fn read(
    sent: &Fields<'_>,
    level: Level<'_>,
    plan: Plan,
    errors: &mut Errors,
) -> ToolsOverrides {
    let tools = ToolsOverrides {
        status: read_tool(sent, Tool::Status, level, plan, errors, read_status),
        ssl: read_tool(sent, Tool::Ssl, level, plan, errors, read_ssl),
        dns: read_tool(sent, Tool::Dns, level, plan, errors, read_dns),
        broken_links: read_tool(sent, Tool::BrokenLinks, level, plan, errors, read_links),
        performance: read_tool(sent, Tool::Performance, level, plan, errors, |fields, errors| {
            read_performance(fields, level, errors)
        }),
    };
    sent.only(&Tool::ALL.map(Tool::as_str), errors);
    tools
}

fn read_tool<O: Default>(
    tools: &Fields<'_>,
    tool: Tool,
    level: Level<'_>,
    plan: Plan,
    errors: &mut Errors,
    read_own: impl FnOnce(&Fields<'_>, &mut Errors) -> O,
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
        settings: fields
            .field("settings")
            .object(errors)
            .map(|own| read_own(&own, errors))
            .unwrap_or_default(),
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

fn read_status(fields: &Fields<'_>, errors: &mut Errors) -> StatusOverrides {
    let codes = STATUS_INCIDENT_CODES.map(|option| u32::from(option.code));
    let incident_status_codes: Option<BTreeSet<u16>> =
        fields.field("incident_status_codes").list(CHOICES_MAX, errors, |item, errors| {
            item.integer_of(&codes, errors).and_then(|code| u16::try_from(code).ok())
        });
    let read = StatusOverrides {
        incident_status_codes,
        failures_to_open: fields.field("failures_to_open").positive(errors),
        successes_to_resolve: fields.field("successes_to_resolve").positive(errors),
        confirmation_retry_minutes: read_retry(fields, errors),
        incident_follow_up_minutes: fields
            .field("incident_follow_up_minutes")
            .integer(INCIDENT_FOLLOW_UP_MINUTES, errors),
    };
    let known = [
        "incident_status_codes",
        "failures_to_open",
        "successes_to_resolve",
        "confirmation_retry_minutes",
        "incident_follow_up_minutes",
    ];
    fields.only(&known, errors);
    read
}

fn read_ssl(fields: &Fields<'_>, errors: &mut Errors) -> SslOverrides {
    let read = SslOverrides {
        expiry_days: fields.field("expiry_days").positive(errors),
        failures_to_open: fields.field("failures_to_open").positive(errors),
        confirmation_retry_minutes: read_retry(fields, errors),
    };
    fields.only(&["expiry_days", "failures_to_open", "confirmation_retry_minutes"], errors);
    read
}

fn read_dns(fields: &Fields<'_>, errors: &mut Errors) -> DnsOverrides {
    let read = DnsOverrides {
        hard_failures_only: fields.field("hard_failures_only").boolean(errors),
        failures_to_open: fields.field("failures_to_open").positive(errors),
        confirmation_retry_minutes: read_retry(fields, errors),
        monitored_record_types: fields.field("monitored_record_types").list(
            CHOICES_MAX,
            errors,
            |item, errors| item.one_of(&DnsRecordType::ALL, errors),
        ),
    };
    let known = [
        "hard_failures_only",
        "failures_to_open",
        "confirmation_retry_minutes",
        "monitored_record_types",
    ];
    fields.only(&known, errors);
    read
}

fn read_links(fields: &Fields<'_>, errors: &mut Errors) -> LinksOverrides {
    let read = LinksOverrides {
        min_broken_count: fields.field("min_broken_count").positive(errors),
        consecutive_breaches_to_open: fields.field("consecutive_breaches_to_open").positive(errors),
        ignore_paths: read_ignore_paths(&fields.field("ignore_paths"), errors),
        ignore_external_links: fields.field("ignore_external_links").boolean(errors),
        ignore_redirects: fields.field("ignore_redirects").boolean(errors),
    };
    let known = [
        "min_broken_count",
        "consecutive_breaches_to_open",
        "ignore_paths",
        "ignore_external_links",
        "ignore_redirects",
    ];
    fields.only(&known, errors);
    read
}

fn read_ignore_paths(field: &Field<'_>, errors: &mut Errors) -> Option<BTreeSet<String>> {
    let paths: BTreeSet<String> = field
        .list(IGNORE_PATHS_MAX, errors, |item, errors| item.string(IGNORE_PATH_MAX, errors))?;
    if paths.iter().map(String::len).sum::<usize>() > IGNORE_PATHS_BYTES_MAX {
        let message = format_args!("must not hold more than {IGNORE_PATHS_BYTES_MAX} bytes");
        field.refuse(errors, message);
        return None;
    }
    Some(paths)
}

fn read_performance(
    fields: &Fields<'_>,
    level: Level<'_>,
    errors: &mut Errors,
) -> PerformanceOverrides {
    let read = PerformanceOverrides {
        url: read_page(&fields.field("url"), level, errors),
        min_score: fields.field("min_score").integer(PERFORMANCE_SCORE, errors),
        max_ttfb_ms: {
            // One limit under two names: the present name decides, null included.
            let legacy = read_limit(&fields.field("max_response_time_ms"), errors);
            read_limit(&fields.field("max_ttfb_ms"), errors).or(legacy)
        },
        max_load_time_seconds: read_limit(&fields.field("max_load_time_seconds"), errors),
        consecutive_breaches_to_open: fields.field("consecutive_breaches_to_open").positive(errors),
    };
    let known = [
        "url",
        "min_score",
        "max_response_time_ms",
        "max_ttfb_ms",
        "max_load_time_seconds",
        "consecutive_breaches_to_open",
    ];
    fields.only(&known, errors);
    read
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

fn read_retry(fields: &Fields<'_>, errors: &mut Errors) -> Option<u32> {
    fields.field("confirmation_retry_minutes").integer(CONFIRMATION_RETRY_MINUTES, errors)
}

/// A limit that null takes away.
fn read_limit(field: &Field<'_>, errors: &mut Errors) -> Option<Option<NonZeroU32>> {
    field.nullable(|field| field.positive(errors))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_that_the_plan_lacks_cannot_be_enabled() {
        // Every plan has every tool today, so the rule is tried where it stands.
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
