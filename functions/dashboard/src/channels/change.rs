//! What is done with a channel of a team.

use vedette_actions::{
    ActionError, ChannelError, enable_channel, queue_test, remove_channel, resend_to_channel,
    save_channel,
};
use vedette_domain::accounts::account::Permission;
use vedette_domain::accounts::audit::ChannelChange;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::id::ChannelId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::{ChannelRef, TeamWithSettings};

use super::list::{Refused, page};
use crate::form::sentence;
use crate::{RequestContext, layout};

/// Has a test sent. The page of the channels shows what becomes of it.
pub(crate) async fn test(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(context).await?;
    let queued = queue_test(context.app, &opened.channel).await.map(drop);
    opened.answer(context, queued, "tested").await
}

/// Has the channel receive alerts again.
pub(crate) async fn enable(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(context).await?;
    let by = context.member()?.caller.actor();
    let enabled = enable_channel(context.app, &opened.channel, by).await.map(drop);
    opened.answer(context, enabled, "enabled").await
}

/// Sends nothing more to the channel.
pub(crate) async fn disable(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(context).await?;
    let caller = &context.member()?.caller;
    let reason = format!("disabled by {}", caller.user.name);
    if let Some(disabled) = opened.channel.disabled_by_hand(&reason, context.app.clock.now()) {
        let (change, by) = (ChannelChange::Disabled, caller.actor());
        save_channel(context.app, &disabled, change, by).await?;
    }
    opened.answer(context, Ok(()), "disabled").await
}

/// Sends what waits for the channel, the question whether it is welcome included.
pub(crate) async fn resend(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(context).await?;
    let by = context.member()?.caller.actor();
    let resent = resend_to_channel(context.app, &opened.channel, by).await;
    opened.answer(context, resent, "resent").await
}

/// Removes the channel.
pub(crate) async fn remove(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(context).await?;
    remove_channel(context.app, &opened.channel, context.member()?.caller.actor()).await?;
    opened.answer(context, Ok(()), "removed").await
}

/// A channel of a team that the member may do something with.
struct Opened {
    team: TeamWithSettings,
    channel: Channel,
}

impl Opened {
    async fn read(context: RequestContext<'_>) -> Result<Self, ApiError> {
        let team = context.team(Permission::ManageChannels).await?;
        let id = ChannelId::parse(context.value("channel")).ok_or(ApiError::NotFound)?;
        let place = ChannelRef { team: team.id(), id };
        let channel = context.app.store.channel(place).await?.ok_or(ApiError::NotFound)?;
        Ok(Self { team, channel })
    }

    async fn answer(
        &self,
        context: RequestContext<'_>,
        done: Result<(), ChannelError>,
        notice: &str,
    ) -> Result<Response, ApiError> {
        match done {
            Ok(()) => {
                layout::redirect(&format!("/teams/{}/channels?said={notice}", self.team.id()))
            }
            Err(ActionError::Failed(fault)) => Err(fault.into()),
            Err(ActionError::Refused(why)) => {
                let refused = Refused::Of(self.channel.id, sentence(&why.to_string()));
                page(context, &self.team, Some(refused)).await
            }
        }
    }
}
