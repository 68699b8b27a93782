//! Email channels. [`mail`](crate::alerts::mail) writes the emails.

use lettre::Address;
use lettre::address::AddressError;

use super::description::{KindDescription, Room, TargetField};
use crate::accounts::email::parse_email;
use crate::input::{Input as _, TextKind, TextRule, input};

input! {
    /// Where email goes.
    EmailInput {
        /// The address.
        address: Required<String> = ADDRESS;
    }
}

const ADDRESS: TextRule<String> = TextRule {
    min: 0,
    max: usize::MAX,
    kind: TextKind::Format("email"),
    parse: |text| {
        let address = parse_email(text).ok().and_then(|text| parse(text).ok());
        address.ok_or_else(|| "must be an address such as ada@example.com".to_owned())
    },
};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Email",
    about: "An email address, which first gets a link to confirm it",
    fields: EmailInput::FIELDS,
    destination: TargetField {
        label: "Address",
        example: "ada@example.com",
        help: "The recipient gets a link to confirm it, and no notifications until then.",
    },
    services: &[],
    own_domains: &[],
    per_minute: None,
    room: Room::Common,
};

/// Reads an address that email can be sent to.
pub(super) fn parse(text: &str) -> Result<String, AddressError> {
    let address: Address = text.trim().parse()?;
    Ok(address.to_string())
}
