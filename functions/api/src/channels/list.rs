//! `GET /teams/{team}/channels`: a team's channels with their deliveries, oldest first.

use futures::future::try_join_all;
use vedette_actions::waiting_for;
use vedette_http::error::ApiError;
use vedette_http::resource::ChannelResource;
use vedette_http::response::{Response, ok};
use vedette_store::{StoreError, TeamWithSettings};

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let store = &context.app.store;
    let mut channels = store.channels(team.id()).await?;
    channels.sort_by_key(|channel| (channel.created_at, channel.id));
    let known = try_join_all(channels.iter().map(async |channel| {
        let deliveries = store.deliveries(channel.into()).await?;
        let waiting = waiting_for(context.app, channel, &deliveries).await?;
        Ok::<_, StoreError>((deliveries.state, waiting))
    }));
    let known = known.await?;
    let shown: Vec<_> = channels
        .iter()
        .zip(&known)
        .map(|(channel, (state, waiting))| ChannelResource::new(channel, state, waiting.clone()))
        .collect();
    Ok(ok(&shown))
}
