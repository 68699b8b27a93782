//! `GET /teams/{team}/channels`: a team's channels with their deliveries, oldest first.

use futures::future::try_join_all;
use vedette_http::error::ApiError;
use vedette_http::resource::ChannelResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use super::standing;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let mut channels = context.app.store.channels(team.id()).await?;
    channels.sort_by_key(|channel| (channel.created_at, channel.id));
    let standings = channels.iter().map(|channel| standing(context, channel));
    let standings = try_join_all(standings).await?;
    let shown: Vec<_> = channels
        .iter()
        .zip(&standings)
        .map(|(channel, (state, waiting))| ChannelResource::new(channel, state, waiting))
        .collect();
    Ok(ok(&shown))
}
