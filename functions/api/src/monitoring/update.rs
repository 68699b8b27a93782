//! `PATCH /teams/{team}/monitoring`: changes what all of a team's sites start from.

use std::time::Duration;

use serde_json::{Map, Value};
use tracing::warn;
use vedette_domain::account::Permission;
use vedette_domain::id::TeamId;
use vedette_domain::message::{Message, Upkeep};
use vedette_domain::settings::Settings;
use vedette_http::error::ApiError;
use vedette_http::resource::MonitoringResource;
use vedette_http::response::{Response, ok};
use vedette_http::settings::parse_team_update;
use vedette_http::validation::{Errors, Fields, ValidationError, parse_body};
use vedette_store::{Backoff, TeamSheet};

use crate::Context;

/// How long a change competes with others of the same team.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let id = context.id("team", TeamId::parse)?;
    let store = &context.app.store;
    let caller = context.caller;
    let mut team = caller.team(store, id, Permission::UpdateMonitoring).await?;
    let body = parse_body(context.body)?;

    let mut backoff = Backoff::new(PATIENCE);
    loop {
        let settings = parse(&body, &team)?;
        if settings == team.settings {
            break;
        }
        let schedules_change = !settings.runs_like(&team.settings);
        let next = team.team.reconfigured(schedules_change, caller.now);
        match store.save_settings(&team.team, &next, &settings).await {
            Ok(()) => {
                if next.work_due().is_some() {
                    resync(context, id).await;
                }
                team = TeamSheet { team: next, settings, ..team };
                break;
            }
            Err(error) => backoff.wait(error).await?,
        }
        team = caller.team(store, id, Permission::UpdateMonitoring).await?;
    }
    Ok(ok(&MonitoringResource::new(&team)))
}

/// The team's settings as the client wants them; what it leaves out stays.
fn parse(body: &Map<String, Value>, team: &TeamSheet) -> Result<Settings, ValidationError> {
    let mut errors = Errors::new();
    let field = Fields::body(body).field("monitoring_settings").required(&mut errors);
    let update = field
        .value()
        .map(|value| parse_team_update(value, team.team.plan, &team.settings, &mut errors));
    errors.finish(update.map(|update| team.settings.merge(&update)))
}

async fn resync(context: Context<'_>, id: TeamId) {
    let resync = Message::Upkeep(Upkeep::Resync(id));
    if let Err(error) = context.app.queue.send(&resync, Duration::ZERO).await {
        warn!(team = %id, %error, "the schedules are left to the keeper's sweep");
    }
}
