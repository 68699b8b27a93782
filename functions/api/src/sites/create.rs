//! `POST /teams/{team}/sites`: puts a URL under watch.

use vedette_domain::account::Permission;
use vedette_domain::id::TeamId;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, created};
use vedette_http::validation::parse_body;
use vedette_store::{TeamWithSettings, budget};

use super::creation::{self, Ground};
use super::input::{Input, duplicate_url};
use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let team_id = context.id("team", TeamId::parse)?;
    let (store, caller) = (&context.app.store, context.caller);
    let team = caller.team(store, team_id, Permission::ManageSites).await?;
    let body = parse_body(context.body)?;
    let input = Input::parse(&body, &team)?;

    let fits = |team: &TeamWithSettings| Input::parse(&body, team).map(drop);
    let mut ground = Ground::new(team);
    let site =
        creation::create(context, &mut ground, input, caller.now, budget::WRITE, fits).await?;
    let site = site.ok_or_else(duplicate_url)?;
    Ok(created(&site, &context.links.site(site.id())))
}
