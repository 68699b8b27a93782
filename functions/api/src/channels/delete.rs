//! `DELETE /teams/{team}/channels/{channel}`: deletes a channel, and what waits for it.

use vedette_actions::remove_channel;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_routing::ChannelAccess;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    ChannelAccess { channel, .. }: ChannelAccess,
) -> Result<Response, ApiError> {
    remove_channel(context.app, &channel, context.caller.by()).await?;
    Ok(no_content())
}
