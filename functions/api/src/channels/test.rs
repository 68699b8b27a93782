//! `POST /teams/{team}/channels/{channel}/test`: queues a test message. The outcome is in `last_test`.

use vedette_actions::queue_test;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::ChannelAccess;

use super::{refused, show_again};
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    ChannelAccess { channel, .. }: ChannelAccess,
) -> Result<Response, ApiError> {
    queue_test(context.app, &channel).await.map_err(refused)?;
    show_again(context, (&channel).into()).await
}
