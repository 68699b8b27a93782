//! `POST /teams/{team}/sites`: puts a URL under watch.

use vedette_actions::{TeamWithCooldowns, duplicate_url};
use vedette_http::error::ApiError;
use vedette_http::response::{Response, created};
use vedette_http::validation::parse_body;
use vedette_store::TeamWithSettings;

use super::creation::create;
use super::input::Input;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let input = Input::parse(&parse_body(context.body)?, &team)?;
    let mut team = TeamWithCooldowns::new(team);
    let site = create(context, &mut team, input, context.caller.now).await?;
    let site = site.ok_or_else(duplicate_url)?;
    Ok(created(&site, &context.links.site(site.id())))
}
