//! The form for another channel: its fields, and how they are read.

use std::collections::BTreeSet;

use maud::{Markup, html};
use vedette_domain::alerts::channel::discord::Discord;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::teams::Teams;
use vedette_domain::alerts::channel::webhook::Webhook;
use vedette_domain::alerts::channel::{EventKind, Filter, SecretUrl, SigningKeys, Target};
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::Severity;
use vedette_http::error::ApiError;
use vedette_http::validation::{Errors, ValidationError};
use vedette_runtime::App;
use vedette_store::TeamWithSettings;

use crate::form::{Problems, field, fields};

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

    /// A form as it was sent.
    pub(super) fn read(body: &[u8]) -> Self {
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

    /// Where it leads.
    pub(super) fn target(
        &self,
        app: &App,
        errors: &mut Errors,
    ) -> Result<Option<Target>, ApiError> {
        Ok(match self.kind.as_str() {
            "email" => Target::email(&self.to)
                .map_err(|_| errors.push("to", "Enter an address such as ada@example.com."))
                .ok(),
            "slack" => self.url(errors).map(|url| Target::Slack(Slack { url })),
            "discord" => self.url(errors).map(|url| Target::Discord(Discord { url })),
            "teams" => self.url(errors).map(|url| Target::Teams(Teams { url })),
            "webhook" => match self.url(errors) {
                Some(url) => {
                    let key = app.entropy.signing_key().map_err(ApiError::internal)?;
                    Some(Target::Webhook(Webhook { url, keys: SigningKeys::new(key) }))
                }
                None => None,
            },
            _ => {
                errors.push("kind", "Choose a kind.");
                None
            }
        })
    }

    /// What it wants.
    pub(super) fn filter(&self) -> Result<Filter, ApiError> {
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

/// The form for another channel, with what was wrong with it.
pub(super) fn form(
    team: &TeamWithSettings,
    input: &ChannelInput,
    why: Option<&ValidationError>,
) -> Markup {
    let [kind, to, name] = ["kind", "to", "name"].map(|field| Problems::of(why, field, field));
    html! {
        form method="post" action={ "/teams/" (team.id()) "/channels" } {
            label for="kind" { "Kind" }
            (kind.shown())
            select #kind name="kind" aria-describedby=[kind.described()] {
                @for (value, label) in KINDS {
                    option value=(value) selected[input.kind == value] { (label) }
                }
            }
            label for="to" { "Address, or URL to post to" }
            (to.shown())
            // A URL is a password: what was typed is not shown again.
            input #to name="to" required autocomplete="off" value=(input.address())
                aria-describedby=[to.described()] aria-invalid=[to.invalid()];
            label for="name" { "Name (the address or the kind when left out)" }
            (name.shown())
            input #name name="name" value=(input.name) autocomplete="off"
                aria-describedby=[name.described()] aria-invalid=[name.invalid()];
            details {
                summary { "What it is told: everything, unless something is ticked" }
                (boxes("events", "Events", EventKind::ALL.map(|kind| (kind.as_str(), kind.as_str())), &input.events))
                (boxes("tools", "Tools", Tool::ALL.map(|tool| (tool.as_str(), tool.label())), &input.tools))
                (boxes("severities", "Severities", Severity::ALL.map(|one| (one.as_str(), one.as_str())), &input.severities))
            }
            p { button { "Add" } }
        }
    }
}

fn boxes<const N: usize>(
    name: &str,
    legend: &str,
    choices: [(&'static str, &'static str); N],
    ticked: &[String],
) -> Markup {
    html! {
        fieldset {
            legend { (legend) }
            div.row {
                @for (value, label) in choices {
                    div.check {
                        input id={ (name) "-" (value) } type="checkbox" name=(name) value=(value)
                            checked[ticked.iter().any(|one| one == value)];
                        label for={ (name) "-" (value) } { (label) }
                    }
                }
            }
        }
    }
}
