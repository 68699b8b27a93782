//! The actions on a team's channel.

use vedette_actions::{
    ActionError, ChannelError, disable_channel, enable_channel, queue_test, remove_channel,
    resend_to_channel,
};
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::ChannelAccess;

use super::list::page;
use crate::form::sentence;
use crate::{RequestContext, layout};

/// Queues a test. The page of the channels shows the outcome.
pub(crate) async fn test(
    context: RequestContext<'_>,
    access: ChannelAccess,
) -> Result<Response, ApiError> {
    let queued = queue_test(context.app, &access.channel).await.map(drop);
    answer(context, &access, queued, "tested").await
}

/// Enables the channel again.
pub(crate) async fn enable(
    context: RequestContext<'_>,
    access: ChannelAccess,
) -> Result<Response, ApiError> {
    let by = context.member()?.caller.by();
    let enabled = enable_channel(context.app, &access.channel, by).await.map(drop);
    answer(context, &access, enabled, "enabled").await
}

/// Disables the channel.
pub(crate) async fn disable(
    context: RequestContext<'_>,
    access: ChannelAccess,
) -> Result<Response, ApiError> {
    disable_channel(context.app, &access.channel, &context.member()?.caller).await?;
    answer(context, &access, Ok(()), "disabled").await
}

/// Sends what waits for the channel, including the email that asks to confirm its address.
pub(crate) async fn resend(
    context: RequestContext<'_>,
    access: ChannelAccess,
) -> Result<Response, ApiError> {
    let by = context.member()?.caller.by();
    let resent = resend_to_channel(context.app, &access.channel, by).await;
    answer(context, &access, resent, "resent").await
}

/// Removes the channel.
pub(crate) async fn remove(
    context: RequestContext<'_>,
    access: ChannelAccess,
) -> Result<Response, ApiError> {
    remove_channel(context.app, &access.channel, context.member()?.caller.by()).await?;
    answer(context, &access, Ok(()), "removed").await
}

/// The list of channels, with what was done, or why it was refused.
async fn answer(
    context: RequestContext<'_>,
    access: &ChannelAccess,
    done: Result<(), ChannelError>,
    notice: &str,
) -> Result<Response, ApiError> {
    match done {
        Ok(()) => {
            layout::redirect(&format!("/teams/{}/channels?notice={notice}", access.team.id()))
        }
        Err(ActionError::Failed(fault)) => Err(fault.into()),
        Err(ActionError::Refused(why)) => {
            let refused = (access.channel.id, sentence(&why.to_string()));
            page(context, &access.team, Some(refused)).await
        }
    }
}
