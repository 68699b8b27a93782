//! Adding a channel with a form. The signing key of a webhook appears only in the answer.

use std::iter;

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::{ActionError, add_channel, queue_test};
use vedette_domain::alerts::channel::{Channel, ChannelInput, ChannelKind, SigningKey, Target};
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::TeamWithSettings;

use super::form::{DESTINATION, controls, form, kinds, no_mail, read, wants_test};
use crate::RequestContext;
use crate::form::{FormInput, sentence};
use crate::layout::{self, Heading, NavTab};
use crate::look::Look;

/// Shows the form for a new channel of the kind that the URL names, or else of the first kind that works here.
pub(crate) async fn ask_to_add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let query = Query::parse(context.head.uri.query());
    let kind = query.search("type").and_then(ChannelKind::parse);
    Ok(page(context, &team, kind, StatusCode::OK, &FormInput::default()))
}

/// Adds a channel. Queues a test for it if the form asks for one: the list shows the outcome.
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
                Ok(channel) => return added(context, &team, &channel, &sent).await,
                Err(ActionError::Refused(refusal @ ChannelRefusal::UrlTaken(_))) => {
                    let why = ValidationError::new(DESTINATION, sentence(&refusal.to_string()));
                    (why, StatusCode::CONFLICT)
                }
                Err(error) => match ApiError::from(error) {
                    ApiError::Validation(why) => {
                        let to = |path: &str| match path {
                            "address" => Some(DESTINATION.to_owned()),
                            "channel" => Some("kind".to_owned()),
                            _ => None,
                        };
                        (why.renamed(to), StatusCode::UNPROCESSABLE_ENTITY)
                    }
                    error => return Err(error),
                },
            }
        }
    };
    let kind = ChannelKind::parse(sent.text("kind"));
    Ok(page(context, &team, kind, status, &sent.refused(why)))
}

async fn added(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    channel: &Channel,
    sent: &FormInput,
) -> Result<Response, ApiError> {
    if let Some(keys) = channel.secret.as_ref().and_then(Target::keys) {
        return Ok(key_page(context, team, channel, &keys.current));
    }
    let notice = if channel.since.is_none() {
        "asked"
    } else if wants_test(sent, channel.target.kind()) {
        queue_test(context.app, channel).await?;
        "trying"
    } else {
        "added"
    };
    layout::redirect(&format!("/teams/{}/channels?notice={notice}", team.id()))
}

/// The kinds of channels, and the form of one of them.
fn page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    kind: Option<ChannelKind>,
    status: StatusCode,
    input: &FormInput,
) -> Response {
    let sends_mail = context.app.service.sends_mail;
    let usual = if sends_mail { ChannelKind::Email } else { ChannelKind::Slack };
    let kind = kind.unwrap_or(usual);
    let to_do = match kind {
        ChannelKind::Email => "Correct what is marked below.",
        _ => {
            "Correct what is marked below, and enter the secrets again: this page doesn’t repeat them."
        }
    };
    let own: Vec<String> = controls(kind).collect();
    let shared = ChannelInput::FIELDS.iter().map(|field| field.name).chain(iter::once("kind"));
    let content = html! {
        (input.not_done("Channel not added.", to_do, shared.chain(own.iter().map(String::as_str))))
        div.stack.gs {
            (kinds(team, kind, sends_mail))
            (input.problems("kind").shown())
        }
        @if kind == ChannelKind::Email && !sends_mail { (layout::note(Look::Issues, &no_mail())) }
        (form(team, kind, input))
    };
    let lead = html! { p.quiet { "Where should Vedette send notifications?" } };
    let list = format!("/teams/{}/channels", team.id());
    let heading = Heading::new("Add channel").below(list, "Channels").lead(lead);
    layout::team_page(context, (&team.team, NavTab::Channels), status, heading, &content)
}

/// Shows a signing key once: it is in no URL, and pages are not cached.
fn key_page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    channel: &Channel,
    key: &SigningKey,
) -> Response {
    let list = format!("/teams/{}/channels", team.id());
    let content = html! {
        (layout::note(Look::Up, &html! {
            b { "Channel added." } " Notifications go to " bdi { (channel.target.leads_to()) } ", signed with this key."
        }))
        section.card {
            div.in.stack.gm {
                pre data-copy { code { (key.reveal()) } }
                p.quiet { "This key can’t be shown again. Copy it to the receiver now, and then send a test." }
                form.row method="post" action={ (list) "/" (channel.id) "/test" } {
                    button.main { "Send test" }
                    a.btn href=(list) { "Done" }
                }
            }
        }
    };
    let title = format!("Signing key of {}", channel.name);
    layout::team_page(context, (&team.team, NavTab::Channels), StatusCode::OK, title, &content)
}
