//! `PATCH /teams/{team}/channels/{channel}`: changes the name of a channel, and which alerts it gets.

use vedette_actions::edit_channel;
use vedette_domain::alerts::channel::ChannelEdit;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::ChannelAccess;

use super::show_again;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    ChannelAccess { channel, .. }: ChannelAccess,
) -> Result<Response, ApiError> {
    let edit = ChannelEdit::from_json(context.body)?;
    let filter = edit.filter(&channel.filter);
    let name = edit.name.as_deref().unwrap_or(&channel.name);
    edit_channel(context.app, &channel, name, filter, context.caller.by()).await?;
    show_again(context, (&channel).into()).await
}
