//! `PATCH /teams/{team}/channels/{channel}`: changes the name of a channel, which alerts it gets, and where it leads.

use vedette_actions::edit_channel;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::{Fields, parse_body};
use vedette_routing::ChannelAccess;

use super::show_again;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    ChannelAccess { channel, .. }: ChannelAccess,
) -> Result<Response, ApiError> {
    let body = parse_body(context.body)?;
    let (to, edit) = channel.target.kind().read_edit(&Fields::body(&body))?;
    let name = edit.name.as_deref().unwrap_or(&channel.name);
    let changed = (name, edit.filter(&channel.filter));
    edit_channel(context.app, &channel, changed, to, context.caller.by()).await?;
    show_again(context, (&channel).into()).await
}
