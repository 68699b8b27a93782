//! What is done with a channel of a team.

use vedette_actions::{
    ChannelError, enable_channel, queue_test, remove_channel, resend_to_channel, save_channel,
};
use vedette_domain::account::Permission;
use vedette_domain::alert::channel::Channel;
use vedette_domain::audit::ChannelChange;
use vedette_domain::id::ChannelId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::{ChannelRef, TeamWithSettings};

use super::list::{Refused, page};
use crate::form::sentence;
use crate::{Visit, layout};

/// Has a test sent. The page of the channels shows what becomes of it.
pub(crate) async fn test(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit).await?;
    let queued = queue_test(visit.app, &opened.channel).await.map(drop);
    opened.answer(visit, queued, "tested").await
}

/// Has the channel receive alerts again.
pub(crate) async fn enable(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit).await?;
    let by = visit.member()?.caller.actor();
    let enabled = enable_channel(visit.app, &opened.channel, by).await.map(drop);
    opened.answer(visit, enabled, "enabled").await
}

/// Sends nothing more to the channel.
pub(crate) async fn disable(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit).await?;
    let caller = &visit.member()?.caller;
    let reason = format!("disabled by {}", caller.user.name);
    if let Some(disabled) = opened.channel.disabled_by_hand(&reason, visit.app.clock.now()) {
        let (change, by) = (ChannelChange::Disabled, caller.actor());
        save_channel(visit.app, &disabled, change, by).await?;
    }
    opened.answer(visit, Ok(()), "disabled").await
}

/// Sends what waits for the channel, the question whether it is welcome included.
pub(crate) async fn resend(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit).await?;
    let by = visit.member()?.caller.actor();
    let resent = resend_to_channel(visit.app, &opened.channel, by).await;
    opened.answer(visit, resent, "resent").await
}

/// Removes the channel.
pub(crate) async fn remove(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit).await?;
    remove_channel(visit.app, &opened.channel, visit.member()?.caller.actor()).await?;
    opened.answer(visit, Ok(()), "removed").await
}

/// A channel of a team that the member may do something with.
struct Opened {
    team: TeamWithSettings,
    channel: Channel,
}

impl Opened {
    async fn read(visit: Visit<'_>) -> Result<Self, ApiError> {
        let team = visit.team(Permission::ManageChannels).await?;
        let id = ChannelId::parse(visit.value("channel")).ok_or(ApiError::NotFound)?;
        let place = ChannelRef { team: team.id(), id };
        let channel = visit.app.store.channel(place).await?.ok_or(ApiError::NotFound)?;
        Ok(Self { team, channel })
    }

    async fn answer(
        &self,
        visit: Visit<'_>,
        done: Result<(), ChannelError>,
        said: &str,
    ) -> Result<Response, ApiError> {
        match done {
            Ok(()) => layout::see(&format!("/teams/{}/channels?said={said}", self.team.id())),
            Err(ChannelError::Store(error)) => Err(error.into()),
            Err(ChannelError::Entropy(error)) => Err(ApiError::internal(error)),
            Err(why) => {
                let refused = Refused::Of(self.channel.id, sentence(&why.to_string()));
                page(visit, &self.team, Some(refused)).await
            }
        }
    }
}
