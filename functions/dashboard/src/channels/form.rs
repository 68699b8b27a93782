//! The form for a channel: its fields, and how they are read.

use maud::{Markup, html};
use vedette_domain::alerts::channel::{
    Channel, ChannelEdit, ChannelInput, ChannelKind, KindDescription, SigningKey, Target,
    TargetEdit, TargetField,
};
use vedette_domain::checks::tool::Tool;
use vedette_domain::input::{Input as _, InputField, InputShape};
use vedette_domain::issues::Severity;
use vedette_http::validation::{Fields, ValidationError, YES};
use vedette_store::TeamWithSettings;

use crate::form::{Choice, FormInput};
use crate::look::Icon;
use crate::words;

/// The control for where messages go. All kinds of channels share it.
pub(super) const DESTINATION: &str = "to";

/// The name of the control for a field of a kind. The first one says where messages go.
fn control_of(kind: ChannelKind, field: &InputField) -> String {
    match kind.description().fields.first() {
        Some(first) if first.name == field.name => DESTINATION.to_owned(),
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
    let mut texts = sent.texts(ChannelInput::FIELDS);
    if sent.text("name").trim().is_empty() {
        texts.remove("name");
    }
    for field in kind.description().fields {
        texts.insert(field.name.to_owned(), sent.text(&control_of(kind, field)).into());
    }
    let read = kind.read(&Fields::texts(&texts), key)?;
    Ok(read.map_err(|refusal| named_after_controls(refusal, kind)))
}

/// Reads a change of a channel. A field for a secret that is left empty changes nothing.
pub(super) fn read_edit(
    sent: &FormInput,
    kind: ChannelKind,
) -> Result<(TargetEdit, ChannelEdit), ValidationError> {
    let mut texts = sent.texts(ChannelEdit::FIELDS);
    for field in kind.target_fields() {
        let text = sent.text(&control_of(kind, field));
        if !text.trim().is_empty() {
            texts.insert(field.name.to_owned(), text.into());
        }
    }
    let read = kind.read_edit(&Fields::texts(&texts));
    read.map_err(|refusal| named_after_controls(refusal, kind))
}

/// A refusal of fields, in which they have the names of their controls.
fn named_after_controls(refusal: ValidationError, kind: ChannelKind) -> ValidationError {
    refusal.renamed(|path| {
        let field = kind.description().fields.iter().find(|field| field.name == path)?;
        Some(control_of(kind, field))
    })
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
                    @for (field, name) in others(kind) {
                        (secret.input(&name, "text", (&*field.label(), field.help)))
                    }
                }
                (wanted(kind, input))
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

/// What the form says about the access token of an existing channel.
fn token_kept(kind: ChannelKind) -> &'static str {
    match kind.needs_token() {
        true => "Leave it empty to keep it, unless you change where the channel leads.",
        false => "Leave it empty to keep it. It isn’t kept if the topic moves to another server.",
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

/// The fields of a kind besides the one that says where messages go, with the names of their controls.
fn others(kind: ChannelKind) -> impl Iterator<Item = (&'static InputField, String)> {
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

/// The controls for what a channel of a kind is told, and when.
fn wanted(kind: ChannelKind, input: &FormInput) -> Markup {
    let control = |field: &InputField| match field.name {
        "events" if kind.period_minutes().is_none() => {
            let choices = kind.events().iter().map(|of| Choice::new(*of, words::event(*of)));
            input.chosen(field, &choices.collect::<Vec<_>>())
        }
        "tools" => {
            input.chosen(field, &Tool::WITH_HEARTBEAT.map(|of| Choice::new(of, words::tool(of))))
        }
        "severities" => {
            input.chosen(field, &Severity::ALL.map(|of| Choice::new(of, words::severity(of))))
        }
        "selector" => input.selector(field, "Leave it empty for all sites. "),
        "without_links" if kind.is_for_people() => input.control(field),
        _ => Markup::default(),
    };
    let is_time = |field: &&InputField| matches!((field.shape)(), InputShape::Minutes(_));
    let all = match kind {
        ChannelKind::Webhook => "Select none to send all but acknowledgements.",
        _ => "Select none to send all.",
    };
    html! {
        div.stack.gm {
            div {
                p { b { "Notifications" } }
                p.help { (all) }
            }
            @for field in ChannelInput::FIELDS { (control(field)) }
            @if kind.is_for_people() {
                div.cols {
                    @for field in ChannelInput::FIELDS.iter().filter(is_time) {
                        (input.control(field))
                    }
                }
            }
            @for field in ChannelInput::FIELDS.iter().filter(|field| field.name == "weekly_test") {
                (input.control(field))
                @if kind == ChannelKind::PagerDuty { p.help { "A test opens an incident, which pages people." } }
            }
        }
    }
}

/// The form for an existing channel: its name, where it leads unless that is an address, and what it is notified of. The
/// page does not know the secrets.
pub(super) fn edit_form(channel: &Channel, input: &FormInput) -> Markup {
    let list = format!("/teams/{}/channels", channel.team);
    let (kind, secret) = (channel.target.kind(), input.without_texts());
    let kept = format!("Leave it empty to keep {}", channel.target.leads_to());
    html! {
        section.card {
            form.in.stack.gl method="post" action={ (list) "/" (channel.id) "/edit" } {
                div.cols {
                    (input.input("name", "text", "Name"))
                    @if !kind.target_fields().is_empty() {
                        @let label = kind.description().destination.label;
                        (secret.input(DESTINATION, "text", (label, &*kept)))
                        @for (field, name) in others(kind) {
                            (secret.input(&name, "text", (&*field.label(), token_kept(kind))))
                        }
                    }
                }
                (wanted(kind, input))
                @if kind.target_fields().is_empty() {
                    p.help { "To send them to another address, add another channel and delete this one." }
                }
                div.row { button.main { "Save" } a.btn href=(list) { "Cancel" } }
            }
        }
    }
}
