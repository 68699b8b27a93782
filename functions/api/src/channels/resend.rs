//! `POST /teams/{team}/channels/{channel}/resend`: sends what waits for a channel, including the email that asks to
//! confirm its address.

use vedette_actions::resend_to_channel;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::ChannelAccess;

use super::{refused, show_again};
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    ChannelAccess { channel, .. }: ChannelAccess,
) -> Result<Response, ApiError> {
    resend_to_channel(context.app, &channel, context.caller.by()).await.map_err(refused)?;
    show_again(context, (&channel).into()).await
}
