//! `/teams/{team}/channels`.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod resend;
pub(crate) mod test;
pub(crate) mod update;

use vedette_actions::{ChannelError, WaitingDelivery, waiting_for};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_http::error::ApiError;
use vedette_http::resource::ChannelResource;
use vedette_http::response::{Response, ok};
use vedette_store::{ChannelRef, StoreError};

use crate::Context;

/// How a channel has behaved lately, and what waits for it.
async fn standing(
    context: Context<'_>,
    channel: &Channel,
) -> Result<(ChannelState, Vec<WaitingDelivery>), StoreError> {
    let deliveries = context.app.store.deliveries(channel.into()).await?;
    let waiting = waiting_for(context.app, channel, &deliveries).await?;
    Ok((deliveries.state, waiting))
}

/// A channel as it is now.
async fn show(context: Context<'_>, channel: &Channel) -> Result<Response, ApiError> {
    let (state, waiting) = standing(context, channel).await?;
    Ok(ok(&ChannelResource::new(channel, &state, &waiting)))
}

/// A channel that was changed, read again.
async fn show_again(context: Context<'_>, place: ChannelRef) -> Result<Response, ApiError> {
    let channel = context.app.store.channel(place).await?.ok_or(ApiError::NotFound)?;
    show(context, &channel).await
}

/// Why an action on a channel was not carried out. Its request has no body, so the refusal names no field of one.
fn refused(error: ChannelError) -> ApiError {
    match ApiError::from(error) {
        ApiError::Validation(why) => {
            ApiError::Validation(why.renamed(|_| Some("channel".to_owned())))
        }
        error => error,
    }
}
