//! The form for a channel: its fields, and how they are read.

use std::collections::BTreeSet;

use maud::{Markup, html};
use vedette_domain::alerts::channel::{
    Channel, ChannelField, ChannelKind, EventKind, FieldShape, FieldValues, FieldsError, Filter,
    Target,
};
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::Severity;
use vedette_http::error::ApiError;
use vedette_http::validation::{Errors, ValidationError};
use vedette_runtime::App;
use vedette_store::TeamWithSettings;

use crate::form::{Problems, capitalized, field, fields};
use crate::words;

/// The field for where messages go. All kinds of channels share it, under different labels.
const DESTINATION: &str = "to";

/// The name of another field of a kind.
fn option_name(kind: ChannelKind, field: &ChannelField) -> String {
    format!("{kind}-{}", field.name)
}

/// The input of the form.
#[derive(Default)]
pub(super) struct ChannelInput {
    /// `None` if there is no such kind.
    kind: Option<ChannelKind>,
    values: FieldValues,
    pub(super) name: String,
    pub(super) events: Vec<String>,
    pub(super) tools: Vec<String>,
    pub(super) severities: Vec<String>,
}

impl ChannelInput {
    /// An empty form.
    pub(super) fn empty() -> Self {
        Self { kind: Some(ChannelKind::Email), ..Self::default() }
    }

    /// A form with a channel's current values.
    pub(super) fn of(channel: &Channel) -> Self {
        let Filter { events, tools, severities } = &channel.filter;
        Self {
            kind: Some(channel.target.kind()),
            name: channel.name.clone(),
            events: events.iter().map(|event| event.as_str().to_owned()).collect(),
            tools: tools.iter().map(|tool| tool.as_str().to_owned()).collect(),
            severities: severities.iter().map(|one| one.as_str().to_owned()).collect(),
            ..Self::default()
        }
    }

    /// A form that was submitted.
    pub(super) fn read(body: &[u8]) -> Self {
        let text = |name: &str| field(body, name).trim().to_owned();
        let kind = ChannelKind::parse(&text("kind"));
        let options = kind.into_iter().flat_map(|kind| {
            let options = kind.description().options.iter();
            options.map(move |field| (field.name, text(&option_name(kind, field))))
        });
        Self {
            kind,
            values: FieldValues { destination: text(DESTINATION), options: options.collect() },
            name: text("name"),
            events: fields(body, "events"),
            tools: fields(body, "tools"),
            severities: fields(body, "severities"),
        }
    }

    /// The input for where the channel leads, unless it is a secret.
    fn destination(&self) -> &str {
        let shape = self.kind.map(|kind| kind.description().destination.shape);
        match shape {
            Some(FieldShape::MailAddress) => &self.values.destination,
            Some(FieldShape::Secret) | None => "",
        }
    }

    /// Where the channel leads.
    pub(super) fn target(
        &self,
        app: &App,
        errors: &mut Errors,
    ) -> Result<Option<Target>, ApiError> {
        let Some(kind) = self.kind else {
            errors.push("kind", "Choose a kind.");
            return Ok(None);
        };
        match kind.read(&self.values, || app.entropy.signing_key()) {
            Ok(target) => Ok(Some(target)),
            Err(FieldsError::Field(error)) => {
                let options = kind.description().options.iter();
                let option = options.into_iter().find(|option| option.name == error.field);
                let name = option.map(|option| option_name(kind, option));
                errors.push(name.unwrap_or_else(|| DESTINATION.to_owned()), error.why);
                Ok(None)
            }
            Err(FieldsError::Key(error)) => Err(ApiError::internal(error)),
        }
    }

    /// The alerts that it wants.
    pub(super) fn filter(&self) -> Result<Filter, ApiError> {
        Ok(Filter {
            events: all(&self.events, EventKind::parse)?,
            tools: all(&self.tools, Tool::parse)?,
            severities: all(&self.severities, Severity::parse)?,
        })
    }
}

/// The values of checkboxes. Only our own form has them, so any other value is an error.
fn all<T: Ord>(texts: &[String], parse: fn(&str) -> Option<T>) -> Result<BTreeSet<T>, ApiError> {
    let known: Option<BTreeSet<T>> = texts.iter().map(|text| parse(text)).collect();
    known.ok_or(ApiError::BadRequest("The form could not be understood."))
}

/// The form for a new channel, with what is wrong with its input.
pub(super) fn form(
    team: &TeamWithSettings,
    input: &ChannelInput,
    why: Option<&ValidationError>,
) -> Markup {
    let [kind, to, name] =
        ["kind", DESTINATION, "name"].map(|field| Problems::of(why, field, field));
    html! {
        section.card #add {
            header { h2 { "Add channel" } }
            form.in.stack.gl method="post" action={ "/teams/" (team.id()) "/channels" } {
                div.cols.c15 {
                    div.fld {
                        label for="kind" { "Type" }
                        select #kind name="kind" aria-describedby=[kind.described()] {
                            @for kind in ChannelKind::ALL {
                                option value=(kind) selected[input.kind == Some(kind)] { (kind.description().label) }
                            }
                        }
                        (kind.shown())
                    }
                    div.fld {
                        label for=(DESTINATION) { (destination_label()) }
                        // The URL is a secret, so the page does not repeat it.
                        input id=(DESTINATION) name=(DESTINATION) required autocomplete="off" value=(input.destination())
                            aria-describedby=[to.described()] aria-invalid=[to.invalid()];
                        (to.shown())
                        p.help { "An email address must be confirmed by its recipient." }
                    }
                    div.fld {
                        label for="name" { "Name" }
                        input #name name="name" value=(input.name) autocomplete="off"
                            aria-describedby=[name.described()] aria-invalid=[name.invalid()];
                        (name.shown())
                        p.help { "Optional. Defaults to the address or the type." }
                    }
                }
                @for kind in ChannelKind::ALL { (options(kind, why)) }
                details.list {
                    summary { "Choose notifications (all if you select none)" }
                    (wanted(input))
                }
                div.row { button.main { "Add channel" } }
            }
        }
    }
}

/// The checkboxes for what a channel is told.
fn wanted(input: &ChannelInput) -> Markup {
    html! {
        (boxes("events", "Events", EventKind::ALL.map(|kind| (kind.as_str(), words::event(kind))), &input.events))
        (boxes("tools", "Tools", Tool::ALL.map(|tool| (tool.as_str(), words::tool(tool))), &input.tools))
        (boxes("severities", "Severities", Severity::ALL.map(|one| (one.as_str(), words::severity(one))), &input.severities))
    }
}

/// The form for an existing channel: its name, and what it is notified of.
pub(super) fn edit_form(
    channel: &Channel,
    input: &ChannelInput,
    why: Option<&ValidationError>,
) -> Markup {
    let name = Problems::of(why, "name", "name");
    let list = format!("/teams/{}/channels", channel.team);
    html! {
        section.card {
            form.in.stack.gl method="post" action={ (list) "/" (channel.id) "/edit" } {
                div.fld {
                    label for="name" { "Name" }
                    input #name name="name" required value=(input.name) autocomplete="off"
                        aria-describedby=[name.described()] aria-invalid=[name.invalid()];
                    (name.shown())
                }
                div {
                    p { b { "Notifications" } }
                    p.help { "Select none to send all." }
                    (wanted(input))
                }
                p.help { "To send them elsewhere, add another channel and delete this one." }
                div.row { button.main { "Save" } a.btn href=(list) { "Cancel" } }
            }
        }
    }
}

/// The label for where messages go, from all kinds: `Address, or URL to post to`.
fn destination_label() -> String {
    let mut labels: Vec<&str> = Vec::new();
    for kind in ChannelKind::ALL {
        let label = kind.description().destination.label;
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels.join(", or ")
}

/// The other fields of a kind, if it has any.
fn options(kind: ChannelKind, why: Option<&ValidationError>) -> Markup {
    let description = kind.description();
    let names = description.options.iter().map(|field| (field, option_name(kind, field)));
    let fields: Vec<_> = names
        .map(|(field, name)| {
            let problems = Problems::of(why, &name, &name);
            (field, name, problems)
        })
        .collect();
    let is_wrong = fields.iter().any(|(_, _, problems)| problems.invalid().is_some());
    html! {
        @if !fields.is_empty() {
            details.list open[is_wrong] {
                summary { "Options for " (description.label) }
                @for (field, name, problems) in &fields {
                    div.fld.m2 {
                        label for=(name) { (field.label) }
                        // The value may be a password, so the page does not repeat it.
                        input id=(name) name=(name) autocomplete="off"
                            aria-describedby=[problems.described()] aria-invalid=[problems.invalid()];
                        (problems.shown())
                        p.help { (capitalized(field.help)) "." }
                    }
                }
            }
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
        fieldset.m2 {
            legend { (legend) }
            div.row.gl {
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
