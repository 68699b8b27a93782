//! The description of a kind of channel and of its fields.

use std::collections::BTreeMap;

use super::secret::SecretUrl;

/// The description of a kind, without anything secret. Forms, the command line and messages are derived from it.
#[derive(Debug)]
pub struct KindDescription {
    /// Its name for people.
    pub label: &'static str,
    /// A one-line description for the command line's help.
    pub about: &'static str,
    /// The field for where messages go.
    pub destination: ChannelField,
    /// The optional fields.
    pub options: &'static [ChannelField],
    /// The domains of shared services that have limits of their own. Each team's messages to them are counted
    /// separately, so that no team uses up what another may send.
    pub services: &'static [&'static str],
    /// How much of an alert about many issues fits into a message.
    pub room: Room,
}

/// A field of the form for a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelField {
    /// Its name in programs: `url`.
    pub name: &'static str,
    /// Its label in a form.
    pub label: &'static str,
    /// Its name within a sentence.
    pub noun: &'static str,
    /// What to enter, in a form that fits into a sentence.
    pub help: &'static str,
    /// What it holds.
    pub shape: FieldShape,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldShape {
    /// An email address.
    MailAddress,
    /// A secret: it is never shown again, and no command contains it.
    Secret,
}

/// A URL that messages are posted to.
pub(super) const URL: ChannelField = ChannelField {
    name: "url",
    label: "URL to post to",
    noun: "the URL",
    help: "the URL, which is as secret as a password",
    shape: FieldShape::Secret,
};

/// How many issues an alert about many of them may name. An issue that the alert names counts as sent, so the alert
/// must not name more than the channel shows.
#[derive(Debug, Clone, Copy)]
pub enum Room {
    /// The limit that all kinds without a limit of their own have in common; see
    /// [`collection`](crate::alerts::collection).
    Common,
    /// As many as fit into this many units.
    Own {
        /// The units.
        size: usize,
        /// How many units a character takes.
        size_of: fn(char) -> usize,
    },
}

/// The input of a form for a channel.
#[derive(Default)]
pub struct FieldValues {
    /// Where messages should go.
    pub destination: String,
    /// Further fields, by their names.
    pub options: BTreeMap<&'static str, String>,
}

impl FieldValues {
    /// The URL that messages should be posted to.
    pub(super) fn url(&self) -> Result<SecretUrl, FieldError> {
        SecretUrl::parse(&self.destination).map_err(|error| URL.wrong(error.to_string()))
    }

    /// The value of an optional field.
    pub fn option(&self, field: &ChannelField) -> Option<&str> {
        let value = self.options.get(field.name)?.trim();
        (!value.is_empty()).then_some(value)
    }
}

impl ChannelField {
    /// An error about the field's value.
    pub(super) fn wrong(&self, why: impl Into<String>) -> FieldError {
        FieldError { field: self.name, why: why.into() }
    }
}

/// Why a field's value is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct FieldError {
    /// The field's name.
    pub field: &'static str,
    /// Why, in a sentence for people.
    pub why: String,
}

/// Why the input does not make a channel.
#[derive(Debug, thiserror::Error)]
pub enum FieldsError<E> {
    /// A field's value is refused.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// There is no key to sign requests with.
    #[error("there is no signing key")]
    Key(#[source] E),
}
