//! Adding a channel with a form. The signing key of a webhook appears only in the answer.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::{ActionError, add_channel};
use vedette_domain::alerts::channel::{Channel, SigningKey, Target};
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::TeamWithSettings;

use super::form::read;
use super::list::{Refused, page};
use crate::RequestContext;
use crate::form::{FormInput, sentence};
use crate::layout::{self, NavTab};
use crate::look::Look;

/// Adds a channel.
pub(crate) async fn add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let sent = FormInput::sent(context.body);
    let read = read(&sent, || context.app.entropy.signing_key()).map_err(ApiError::internal)?;
    let (why, status) = match read {
        Err(why) => (why, StatusCode::UNPROCESSABLE_ENTITY),
        Ok((target, input)) => {
            let (by, name) = (context.member()?.caller.by(), input.name.as_deref());
            match add_channel(context.app, team.id(), name, target, input.filter(), by).await {
                Ok(channel) => return added(context, &team, &channel),
                Err(ActionError::Refused(refusal @ ChannelRefusal::UrlTaken(_))) => {
                    let why = ValidationError::new("to", sentence(&refusal.to_string()));
                    (why, StatusCode::CONFLICT)
                }
                Err(error) => match ApiError::from(error) {
                    ApiError::Validation(why) => (why, StatusCode::UNPROCESSABLE_ENTITY),
                    error => return Err(error),
                },
            }
        }
    };
    page(context, &team, Some(Refused::Addition(sent.refused(why), status))).await
}

fn added(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    channel: &Channel,
) -> Result<Response, ApiError> {
    match channel.secret.as_ref().and_then(Target::keys) {
        Some(keys) => Ok(key_page(context, team, channel, &keys.current)),
        None => {
            let notice = if channel.since.is_some() { "added" } else { "asked" };
            layout::redirect(&format!("/teams/{}/channels?notice={notice}", team.id()))
        }
    }
}

/// Shows a signing key once: it is in no URL, and pages are not cached.
fn key_page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    channel: &Channel,
    key: &SigningKey,
) -> Response {
    let content = html! {
        (layout::note(Look::Up, &html! {
            b { "Channel added." } " Notifications go to " bdi { (channel.target.leads_to()) } ", signed with this key."
        }))
        section.card {
            div.in.stack.gm {
                pre data-copy { code { (key.reveal()) } }
                p.quiet { "This key can’t be shown again. Copy it to the receiver now." }
                div { a.btn href={ "/teams/" (team.id()) "/channels" } { "Done" } }
            }
        }
    };
    let title = format!("Signing key of {}", channel.name);
    layout::team_page(context, (&team.team, NavTab::Channels), StatusCode::OK, title, &content)
}
