//! `POST /teams/{team}/channels/{channel}/disable`: sends nothing more to a channel.

use vedette_actions::save_channel;
use vedette_domain::accounts::audit::{Actor, ChannelChange};
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::ChannelAccess;

use super::show_again;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    ChannelAccess { channel, .. }: ChannelAccess,
) -> Result<Response, ApiError> {
    let caller = context.caller;
    let who = if caller.actor == Actor::Operator { "an operator" } else { &caller.user.name };
    let reason = format!("disabled by {who}");
    if let Some(disabled) = channel.disabled_by_hand(&reason, caller.now) {
        save_channel(context.app, &disabled, ChannelChange::Disabled, caller.by()).await?;
    }
    show_again(context, (&channel).into()).await
}
