//! The form for a channel: its fields, and how they are read.

use maud::{Markup, html};
use vedette_domain::alerts::channel::{
    Channel, ChannelInput, ChannelKind, EventKind, KindDescription, SigningKey, Target, TargetField,
};
use vedette_domain::checks::tool::Tool;
use vedette_domain::input::{FieldPresence, Input as _, InputField};
use vedette_domain::issues::Severity;
use vedette_http::validation::{Fields, ValidationError, YES};
use vedette_store::TeamWithSettings;

use crate::form::{Choice, FormInput};
use crate::look::Icon;
use crate::words;

/// The control for where messages go. All kinds of channels share it.
pub(super) const DESTINATION: &str = "to";

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

/// The form for a new channel of a kind.
pub(super) fn form(team: &TeamWithSettings, kind: ChannelKind, input: &FormInput) -> Markup {
    // URLs and tokens are secrets, so the page does not repeat them.
    let secret = input.without_texts();
    let destination = if kind == ChannelKind::Email { input } else { &secret };
    let list = format!("/teams/{}/channels", team.id());
    let default_name = match kind {
        ChannelKind::Email => "Optional. Defaults to the address.".to_owned(),
        _ => format!("Optional. Defaults to {}.", kind.description().label),
    };
    let KindDescription { label, destination: TargetField { label: to, example, help }, .. } =
        kind.description();
    html! {
        section.card {
            header { h2 { (label) } }
            form.in.stack.gl method="post" action=(list) {
                input type="hidden" name="kind" value=(kind);
                div.cols {
                    (destination.input_like(DESTINATION, (*to, *help), example))
                    (input.input("name", "text", ("Name", &*default_name)))
                    @for (field, name) in options(kind) {
                        (secret.input(&name, "text", (&*field.label(), field.help)))
                    }
                }
                (wanted(input))
                div.row {
                    @if offers_test(kind) {
                        button.main name=(TEST) value=(YES) { "Send test and add" }
                        button { "Add without a test" }
                    } @else {
                        button.main { "Add channel" }
                    }
                    a.btn href=(list) { "Cancel" }
                }
                @if kind == ChannelKind::Webhook {
                    p.help { "The next page shows its signing key, and can send a test." }
                }
            }
        }
    }
}

/// The control for whether to test a new channel.
pub(super) const TEST: &str = "test";

/// Whether a channel of a kind can be tested when it is added. An address must be confirmed first, and a program must
/// first know the key with which it verifies the test.
const fn offers_test(kind: ChannelKind) -> bool {
    !matches!(kind, ChannelKind::Email | ChannelKind::Webhook)
}

/// Whether a new channel is to be tested.
pub(super) fn wants_test(sent: &FormInput, kind: ChannelKind) -> bool {
    sent.has(TEST, YES) && offers_test(kind)
}

/// The names of the controls of a kind.
pub(super) fn controls(kind: ChannelKind) -> impl Iterator<Item = String> {
    kind.description().fields.iter().map(move |field| control_of(kind, field))
}

/// The optional fields of a kind, with the names of their controls.
fn options(kind: ChannelKind) -> impl Iterator<Item = (&'static InputField, String)> {
    let fields =
        kind.description().fields.iter().map(move |field| (field, control_of(kind, field)));
    fields.filter(|(_, name)| name != DESTINATION)
}

/// Links to the forms of all kinds, in which `chosen` is shown now.
pub(super) fn kinds(team: &TeamWithSettings, chosen: ChannelKind, sends_mail: bool) -> Markup {
    html! {
        nav.kinds aria-label="Type of channel" {
            @for kind in ChannelKind::ALL {
                @let is_missing = kind == ChannelKind::Email && !sends_mail;
                a href={ "/teams/" (team.id()) "/channels/new?type=" (kind) } aria-current=[(kind == chosen).then_some("true")] {
                    span.face.l.sq { (Icon::from(kind).shape()) }
                    span {
                        (kind.description().label)
                        @if is_missing { " " small.quiet { "Not set up here" } }
                    }
                }
            }
        }
    }
}

/// What to do if this service sends no email.
pub(super) fn no_mail() -> Markup {
    html! {
        b { "This service can’t send email." }
        " Its operator can set up a mail server (" code { "VEDETTE_SMTP" } ", or " code { "MailFrom" }
        " on AWS). Until then, use another type."
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
    html! {
        div.stack.gm {
            div {
                p { b { "Notifications" } }
                p.help { "Select none to send all." }
            }
            @for field in ChannelInput::FIELDS { (boxes(field)) }
        }
    }
}

/// The form for an existing channel: its name, and what it is notified of.
pub(super) fn edit_form(channel: &Channel, input: &FormInput) -> Markup {
    let list = format!("/teams/{}/channels", channel.team);
    html! {
        section.card {
            form.in.stack.gl method="post" action={ (list) "/" (channel.id) "/edit" } {
                (input.input("name", "text", "Name"))
                (wanted(input))
                p.help { "To send them elsewhere, add another channel and delete this one." }
                div.row { button.main { "Save" } a.btn href=(list) { "Cancel" } }
            }
        }
    }
}
