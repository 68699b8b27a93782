//! Adding a channel by a form. The signing key of a webhook is shown in the answer, and nowhere else.

use std::collections::BTreeSet;

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::{ActionError, add_channel};
use vedette_domain::alerts::channel::{
    Channel, EventKind, Filter, SecretUrl, SigningKey, SigningKeys, Target,
};
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::Severity;
use vedette_domain::name::parse_name;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};
use vedette_runtime::App;
use vedette_store::TeamWithSettings;

use super::list::{Refused, page};
use crate::RequestContext;
use crate::form::{field, fields, sentence};
use crate::layout::{self, NavTab};

/// The kinds of channels, as forms name them and in words.
pub(super) const KINDS: [(&str, &str); 5] = [
    ("email", "Mail"),
    ("slack", "Slack"),
    ("discord", "Discord"),
    ("teams", "Microsoft Teams"),
    ("webhook", "Webhook"),
];

/// A form as it was filled in.
#[derive(Default)]
pub(super) struct ChannelInput {
    pub(super) kind: String,
    to: String,
    pub(super) name: String,
    pub(super) events: Vec<String>,
    pub(super) tools: Vec<String>,
    pub(super) severities: Vec<String>,
}

impl ChannelInput {
    /// A form that nobody has filled in.
    pub(super) fn empty() -> Self {
        Self { kind: "email".to_owned(), ..Self::default() }
    }

    fn read(body: &[u8]) -> Self {
        let text = |name| field(body, name).trim().to_owned();
        Self {
            kind: text("kind"),
            to: text("to"),
            name: text("name"),
            events: fields(body, "events"),
            tools: fields(body, "tools"),
            severities: fields(body, "severities"),
        }
    }

    /// What was typed of where it leads, as far as it is no secret.
    pub(super) fn address(&self) -> &str {
        if self.kind == "email" { &self.to } else { "" }
    }

    fn url(&self, errors: &mut Errors) -> Option<SecretUrl> {
        SecretUrl::parse(&self.to).map_err(|error| errors.push("to", error.to_string())).ok()
    }

    fn target(&self, app: &App, errors: &mut Errors) -> Result<Option<Target>, ApiError> {
        Ok(match self.kind.as_str() {
            "email" => Target::email(&self.to)
                .map_err(|_| errors.push("to", "Enter an address such as ada@example.com."))
                .ok(),
            "slack" => self.url(errors).map(|url| Target::Slack { url }),
            "discord" => self.url(errors).map(|url| Target::Discord { url }),
            "teams" => self.url(errors).map(|url| Target::Teams { url }),
            "webhook" => match self.url(errors) {
                Some(url) => {
                    let key = app.entropy.signing_key().map_err(ApiError::internal)?;
                    Some(Target::Webhook { url, keys: SigningKeys::new(key) })
                }
                None => None,
            },
            _ => {
                errors.push("kind", "Choose a kind.");
                None
            }
        })
    }

    fn filter(&self) -> Result<Filter, ApiError> {
        Ok(Filter {
            events: all(&self.events, EventKind::parse)?,
            tools: all(&self.tools, Tool::parse)?,
            severities: all(&self.severities, Severity::parse)?,
        })
    }
}

/// The values of boxes, which only a form of ours has.
fn all<T: Ord>(texts: &[String], parse: fn(&str) -> Option<T>) -> Result<BTreeSet<T>, ApiError> {
    let known: Option<BTreeSet<T>> = texts.iter().map(|text| parse(text)).collect();
    known.ok_or(ApiError::BadRequest("The form could not be understood."))
}

/// Adds a channel.
pub(crate) async fn add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let input = ChannelInput::read(context.body);
    let filter = input.filter()?;
    let mut errors = Errors::new();
    let target = input.target(context.app, &mut errors)?;
    let name = match input.name.as_str() {
        "" => None,
        text => parse_name(text)
            .map_err(|error| errors.push("name", format!("The name field {error}.")))
            .ok(),
    };
    let target = match errors.finish(target) {
        Ok(target) => target,
        Err(why) => return page(context, &team, Some(Refused::Addition(input, why))).await,
    };
    let by = context.member()?.caller.actor();
    let why = match add_channel(context.app, team.id(), name, target, filter, by).await {
        Ok(channel) => return added(context, &team, &channel),
        Err(ActionError::Refused(refusal @ ChannelRefusal::UrlTaken(_))) => {
            let why = ValidationError::new("to", sentence(&refusal.to_string()));
            return page(context, &team, Some(Refused::Taken(input, why))).await;
        }
        Err(error) => match ApiError::from(error) {
            ApiError::Validation(why) => why,
            error => return Err(error),
        },
    };
    page(context, &team, Some(Refused::Addition(input, why))).await
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
            layout::redirect(&format!("/teams/{}/channels?said={notice}", team.id()))
        }
    }
}

/// Shows a signing key, this once: it stands in no address, and pages are not kept.
fn key_page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    channel: &Channel,
    key: &SigningKey,
) -> Response {
    let content = html! {
        p { "Alerts are sent to " bdi { (channel.target.leads_to()) } " from now on. Their signatures are made with this key:" }
        p { code { (key.reveal()) } }
        p.note { "It cannot be shown again: keep it where the receiver finds it." }
        p { a href={ "/teams/" (team.id()) "/channels" } { "Back to the channels" } }
    };
    let title = format!("Signing key of {}", channel.name);
    layout::team_page(context, (team.id(), NavTab::Channels), StatusCode::OK, &title, &content)
}
