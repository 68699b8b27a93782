//! `GET /teams/{team}/channels`: a team's channels with their deliveries, oldest first. If the request names a site, they
//! say when they would be notified of an issue of it.

use futures::future::try_join_all;
use vedette_http::error::ApiError;
use vedette_http::forecast::Forecast;
use vedette_http::resource::ChannelResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use super::standing;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (store, now) = (&context.app.store, context.caller.now);
    let forecast = Forecast::load(store, &team, context.query(), now).await?;
    let mut channels = store.channels(team.id()).await?;
    channels.sort_by_key(|channel| (channel.created_at, channel.id));
    let standings = channels.iter().map(|channel| standing(context, channel));
    let standings = try_join_all(standings).await?;
    let shown: Vec<_> = channels
        .iter()
        .zip(&standings)
        .map(|(channel, (state, waiting))| {
            let shown = ChannelResource::new(channel, state, waiting);
            match &forecast {
                Some(forecast) => {
                    let time_scale = context.app.service.time_scale;
                    shown.with_forecast(forecast.notified_at(channel, state, &team, time_scale))
                }
                None => shown,
            }
        })
        .collect();
    Ok(ok(&shown))
}
