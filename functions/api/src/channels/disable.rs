//! `POST /teams/{team}/channels/{channel}/disable`: sends nothing more to a channel.

use vedette_actions::disable_channel;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::ChannelAccess;

use super::show_again;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    ChannelAccess { channel, .. }: ChannelAccess,
) -> Result<Response, ApiError> {
    disable_channel(context.app, &channel, context.caller).await?;
    show_again(context, (&channel).into()).await
}
