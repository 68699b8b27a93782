//! Email channels. [`mail`](crate::alerts::mail) writes the emails.

use super::description::{
    ChannelField, FieldError, FieldShape, FieldValues, KindDescription, Room,
};
use lettre::Address;
use lettre::address::AddressError;

const ADDRESS: ChannelField = ChannelField {
    name: "address",
    label: "Address",
    noun: "the address",
    help: "the address",
    shape: FieldShape::MailAddress,
};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "Email",
    about: "An email address, which first gets a link to confirm it",
    destination: ADDRESS,
    options: &[],
    services: &[],
    room: Room::Common,
};

/// Reads an address that email can be sent to.
pub(super) fn parse(text: &str) -> Result<String, AddressError> {
    let address: Address = text.trim().parse()?;
    Ok(address.to_string())
}

/// Reads the form's input.
pub(super) fn read(values: &FieldValues) -> Result<String, FieldError> {
    parse(&values.destination)
        .map_err(|_| ADDRESS.wrong("Enter an address such as ada@example.com."))
}
