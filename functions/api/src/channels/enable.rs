//! `POST /teams/{team}/channels/{channel}/enable`: enables a channel again, which then gets what it has missed.

use vedette_actions::enable_channel;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::ChannelAccess;

use super::{refused, show_again};
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    ChannelAccess { channel, .. }: ChannelAccess,
) -> Result<Response, ApiError> {
    enable_channel(context.app, &channel, context.caller.by()).await.map_err(refused)?;
    show_again(context, (&channel).into()).await
}
