//! `PATCH /teams/{team}/monitoring`: changes what all of a team's sites start from.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};
use vedette_domain::id::TeamId;
use vedette_domain::limits::ALERT_GRACE;
use vedette_domain::message::{AlertMessage, Maintenance, Message};
use vedette_domain::settings::Settings;
use vedette_http::error::ApiError;
use vedette_http::resource::MonitoringResource;
use vedette_http::response::{Response, ok};
use vedette_http::settings::parse_team_update;
use vedette_http::validation::{Errors, Fields, ValidationError, parse_body};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    mut team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let settings = parse(&parse_body(context.body)?, &team)?;
    if settings != team.settings {
        let schedules_change = !settings.runs_like(&team.settings);
        let next = team.team.reconfigured(schedules_change, context.caller.now);
        let alerts_change = settings.quiet_time != team.settings.quiet_time
            || settings.escalation != team.settings.escalation;
        if alerts_change {
            let due = context.caller.now.saturating_add(ALERT_GRACE).unwrap_or(Timestamp::MAX);
            context.app.store.request_rederivation(next.id, due).await?;
        }
        context.app.store.save_settings(&team.team, &next, &settings).await?;
        if next.work_due().is_some() {
            resync(context, next.id).await;
        }
        if alerts_change {
            let rederive = Message::Alert(AlertMessage::Team(next.id));
            context.app.enqueue_or_leave(rederive, Duration::ZERO).await;
        }
        team = TeamWithSettings { team: next, settings, ..team };
    }
    Ok(ok(&MonitoringResource::new(&team)))
}

/// The team's settings as the client wants them; what it leaves out stays.
fn parse(body: &Map<String, Value>, team: &TeamWithSettings) -> Result<Settings, ValidationError> {
    let mut errors = Errors::new();
    let field = Fields::body(body).field("monitoring_settings").required(&mut errors);
    let update = field
        .value()
        .map(|value| parse_team_update(value, team.plan(), &team.settings, &mut errors));
    errors.finish(update.map(|update| team.settings.merge(&update)))
}

async fn resync(context: Context<'_>, id: TeamId) {
    let resync = Message::Maintenance(Maintenance::Resync(id));
    context.app.enqueue_or_leave(resync, Duration::ZERO).await;
}
