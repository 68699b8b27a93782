//! What there is to say of a kind of channel, and of the fields that somebody fills in to add one.

use std::collections::BTreeMap;

use super::secret::SecretUrl;

/// What there is to say of a kind, but for what depends on its secrets. Forms, the command line and what is sent
/// follow from it.
#[derive(Debug)]
pub struct KindDescription {
    /// Its name for people.
    pub label: &'static str,
    /// What it is, in a line of the command line's help.
    pub about: &'static str,
    /// The field that says where messages go.
    pub destination: ChannelField,
    /// The fields that may be left empty.
    pub options: &'static [ChannelField],
    /// Services that receive for everybody and have limits of their own, by their domains: what one team sends
    /// there takes nothing from another.
    pub services: &'static [&'static str],
    /// How much of an alert about many issues a message shows.
    pub room: Room,
}

/// A field that somebody fills in to add a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelField {
    /// What programs call it: `url`.
    pub name: &'static str,
    /// What stands beside it in a form.
    pub label: &'static str,
    /// What it is called within a sentence.
    pub noun: &'static str,
    /// What is to be given, to stand within a sentence.
    pub help: &'static str,
    /// What it holds.
    pub shape: FieldShape,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldShape {
    /// A mail address.
    MailAddress,
    /// A secret: it is never shown again, and is part of no command.
    Secret,
}

/// A URL that messages are posted to.
pub(super) const URL: ChannelField = ChannelField {
    name: "url",
    label: "URL to post to",
    noun: "the URL",
    help: "the URL, which is a password",
    shape: FieldShape::Secret,
};

/// How many of its issues an alert about many may name. Those that a reader would not see count as told all the
/// same, so it names none of them.
#[derive(Debug, Clone, Copy)]
pub enum Room {
    /// As many as all kinds show that have no room of their own; see [`collection`](crate::alerts::collection).
    Common,
    /// As many as fit into so many units.
    Own {
        /// The units.
        size: usize,
        /// How many of them a character takes.
        size_of: fn(char) -> usize,
    },
}

/// What was filled in.
#[derive(Default)]
pub struct FieldValues {
    /// Where messages are to go.
    pub destination: String,
    /// Further fields, by their names.
    pub options: BTreeMap<&'static str, String>,
}

impl FieldValues {
    /// The URL that messages are to be posted to.
    pub(super) fn url(&self) -> Result<SecretUrl, FieldError> {
        SecretUrl::parse(&self.destination).map_err(|error| URL.wrong(error.to_string()))
    }

    /// What a field holds that may be left empty.
    pub fn option(&self, field: &ChannelField) -> Option<&str> {
        let value = self.options.get(field.name)?.trim();
        (!value.is_empty()).then_some(value)
    }
}

impl ChannelField {
    /// An error about what the field holds.
    pub(super) fn wrong(&self, why: impl Into<String>) -> FieldError {
        FieldError { field: self.name, why: why.into() }
    }
}

/// Why what a field holds does not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct FieldError {
    /// The field's name.
    pub field: &'static str,
    /// Why, in a sentence for people.
    pub why: String,
}

/// Why no channel can be made of what was filled in.
#[derive(Debug, thiserror::Error)]
pub enum FieldsError<E> {
    /// A field does not do.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// There is no key to sign requests with.
    #[error("there is no signing key")]
    Key(#[source] E),
}
