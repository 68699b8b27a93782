//! `POST /teams/{team}/channels`: adds a channel.

use vedette_actions::add_channel;
use vedette_domain::alerts::channel::{ChannelKind, Target};
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::input::FieldRule as _;
use vedette_http::error::ApiError;
use vedette_http::resource::{ChannelResource, NewChannelResource};
use vedette_http::response::{Response, created};
use vedette_http::validation::{Errors, Fields, parse_body};
use vedette_store::TeamWithSettings;

use crate::Context;

/// The answer has the signing key of a webhook. The recipient of an address must confirm it first.
pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let body = parse_body(context.body)?;
    let fields = Fields::body(&body);
    let mut errors = Errors::new();
    let kind = ChannelKind::ALL.read_required(&fields.field("kind"), &mut errors);
    let kind = errors.finish(kind)?;
    let read = kind.read(&fields, || context.app.entropy.signing_key());
    let (target, input) = read.map_err(ApiError::internal)??;
    let (app, by) = (context.app, context.caller.by());
    let name = input.name.as_deref();
    let channel = add_channel(app, team.id(), name, target, input.filter(), by).await?;
    let key = channel.secret.as_ref().and_then(Target::keys).map(|keys| &keys.current);
    let state = ChannelState::default();
    let shown = ChannelResource::new(&channel, &state, &[]);
    let path = format!("/teams/{}/channels/{}", team.id(), channel.id);
    Ok(created(&NewChannelResource::new(shown, key), &context.links.to(&path)))
}
