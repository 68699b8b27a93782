//! `PATCH /teams/{team}/monitoring`: changes the settings that a team's sites start from.

use serde_json::{Map, Value};
use vedette_actions::change_monitoring;
use vedette_domain::sites::settings::{Settings, parse_team_update};
use vedette_http::error::ApiError;
use vedette_http::resource::MonitoringResource;
use vedette_http::response::{Response, ok};
use vedette_http::validation::{Errors, Fields, ValidationError, parse_body};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let settings = parse(&parse_body(context.body)?, &team)?;
    let team = change_monitoring(context.app, team, settings, context.caller.by()).await?;
    Ok(ok(&MonitoringResource::new(&team)))
}

/// The settings that the client wants: at least one tool. All others that are omitted stay as they are.
fn parse(body: &Map<String, Value>, team: &TeamWithSettings) -> Result<Settings, ValidationError> {
    let mut errors = Errors::new();
    let field = Fields::body(body).field("monitoring_settings").required(&mut errors);
    let update = field
        .is_sent()
        .then(|| parse_team_update(&field, true, team.plan(), &team.settings, &mut errors));
    errors.finish(update.map(|update| team.settings.merge(&update)))
}
