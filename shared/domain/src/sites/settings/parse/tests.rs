//! Reading settings out of requests: what is accepted, and the message for what is not.

use crate::checks::tool::Tool;
use crate::sites::settings::INTEGER_MAX;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod limits;
mod seeds;
mod site;
mod team;

/// The object in which only the dotted path is set.
fn at(path: &str, value: &Value) -> Value {
    path.rsplit('.').fold(value.clone(), |inner, key| json!({key: inner}))
}

fn errors_of(error: &crate::validation::ValidationError) -> Value {
    serde_json::to_value(error).expect("serialize")["errors"].clone()
}

/// The overrides of `example.com` on this plan as they are stored, or the errors by field.
fn site_on(plan: Plan, sent: &Value) -> Result<Value, Value> {
    let mut errors = Errors::new();
    let (team, domain) = (Settings::default(), Some("example.com"));
    let read = parse_site_overrides(&Field::at(TEAM_PATH, sent), &team, plan, domain, &mut errors);
    match errors.finish(Some(read)) {
        Ok(overrides) => Ok(serde_json::to_value(overrides).expect("serialize")),
        Err(error) => Err(errors_of(&error)),
    }
}

fn site(sent: &Value) -> Result<Value, Value> {
    site_on(Plan::Agency, sent)
}

/// What a team's settings become by an update, or the errors by field.
fn team(plan: Plan, current: &Settings, sent: &Value) -> Result<Settings, Value> {
    let mut errors = Errors::new();
    let update = parse_team_update(&Field::at(TEAM_PATH, sent), true, plan, current, &mut errors);
    match errors.finish(Some(update)) {
        Ok(update) => Ok(current.merge(&update)),
        Err(error) => Err(errors_of(&error)),
    }
}

/// The single error at `monitoring_settings.<path>`.
fn refusal(path: &str, message: &str) -> Value {
    let path = format!("monitoring_settings.{path}");
    json!({&path: [format!("The {path} field {message}.")]})
}
