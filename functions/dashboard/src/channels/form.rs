//! The form for a channel: its fields, and how they are read.

use maud::{Markup, html};
use vedette_domain::alerts::channel::{
    Channel, ChannelInput, ChannelKind, EventKind, SigningKey, Target,
};
use vedette_domain::checks::tool::Tool;
use vedette_domain::input::{FieldPresence, Input as _, InputField};
use vedette_domain::issues::Severity;
use vedette_http::validation::{Fields, ValidationError};
use vedette_store::TeamWithSettings;

use crate::form::{Choice, FormInput};
use crate::words;

/// The control for where messages go. All kinds of channels share it.
const DESTINATION: &str = "to";

/// The name of the control for a field of a kind.
fn control_of(kind: ChannelKind, field: &InputField) -> String {
    match field.presence {
        FieldPresence::Required => DESTINATION.to_owned(),
        _ => format!("{kind}-{}", field.name),
    }
}

/// Reads a new channel. Requests to a program are signed with a key from `key`.
pub(super) fn read<E>(
    sent: &FormInput,
    key: impl FnOnce() -> Result<SigningKey, E>,
) -> Result<Result<(Target, ChannelInput), ValidationError>, E> {
    let Some(kind) = ChannelKind::parse(sent.text("kind")) else {
        return Ok(Err(ValidationError::new("kind", "Choose a kind.")));
    };
    let own = kind.description().fields;
    let mut texts = sent.texts(ChannelInput::FIELDS);
    if sent.text("name").trim().is_empty() {
        texts.remove("name");
    }
    for field in own {
        texts.insert(field.name.to_owned(), sent.text(&control_of(kind, field)).into());
    }
    let read = kind.read(&Fields::texts(&texts), key)?;
    Ok(read.map_err(|refusal| {
        refusal.renamed(|path| {
            let field = own.iter().find(|field| field.name == path)?;
            Some(control_of(kind, field))
        })
    }))
}

/// The form for a new channel.
pub(super) fn form(team: &TeamWithSettings, input: &FormInput) -> Markup {
    let kinds = ChannelKind::ALL.map(|kind| Choice::new(kind, kind.description().label));
    // URLs and tokens are secrets, so the page does not repeat them.
    let secret = input.without_texts();
    let is_address = input.text("kind") == ChannelKind::Email.as_str();
    let destination = if is_address { input } else { &secret };
    let to = ("Address, or URL to post to", "An email address must be confirmed by its recipient.");
    html! {
        section.card #add {
            header { h2 { "Add channel" } }
            form.in.stack.gl method="post" action={ "/teams/" (team.id()) "/channels" } {
                div.cols.c15 {
                    (input.select("kind", "Type", &kinds))
                    (destination.input(DESTINATION, "text", to))
                    (input.input("name", "text", ("Name", "Optional. Defaults to the address or the type.")))
                }
                @for kind in ChannelKind::ALL { (options(kind, &secret)) }
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
fn wanted(input: &FormInput) -> Markup {
    let boxes = |field: &InputField| match field.name {
        "events" => {
            input.chosen(field, &EventKind::ALL.map(|of| Choice::new(of, words::event(of))))
        }
        "tools" => input.chosen(field, &Tool::ALL.map(|of| Choice::new(of, words::tool(of)))),
        "severities" => {
            input.chosen(field, &Severity::ALL.map(|of| Choice::new(of, words::severity(of))))
        }
        _ => Markup::default(),
    };
    html! { @for field in ChannelInput::FIELDS { (boxes(field)) } }
}

/// The form for an existing channel: its name, and what it is notified of.
pub(super) fn edit_form(channel: &Channel, input: &FormInput) -> Markup {
    let list = format!("/teams/{}/channels", channel.team);
    html! {
        section.card {
            form.in.stack.gl method="post" action={ (list) "/" (channel.id) "/edit" } {
                (input.input("name", "text", "Name"))
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

/// The optional fields of a kind, if it has any.
fn options(kind: ChannelKind, input: &FormInput) -> Markup {
    let description = kind.description();
    let fields = description.fields.iter().map(|field| (field, control_of(kind, field)));
    let fields: Vec<_> = fields.filter(|(_, name)| name != DESTINATION).collect();
    let is_wrong = fields.iter().any(|(_, name)| input.problems(name).invalid().is_some());
    html! {
        @if !fields.is_empty() {
            details.list open[is_wrong] {
                summary { "Options for " (description.label) }
                @for (field, name) in &fields { (input.input(name, "text", (&*field.label(), field.help))) }
            }
        }
    }
}
