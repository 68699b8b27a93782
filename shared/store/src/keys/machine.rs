//! Keys of items that exist once in a table.

use vedette_domain::locations::Location;

use super::{Key, Prefix, SELF};

/// Records that teams are being copied into the table.
pub(crate) fn copy_mark() -> Key {
    Key::new(Prefix::Machine.key("copy"), SELF)
}

/// The setup link, with which the first user signs in.
pub(crate) fn setup() -> Key {
    Key::new(Prefix::Machine.key("setup"), SELF)
}

/// The record of the machine's clock.
pub(crate) fn clock() -> Key {
    Key::new(Prefix::Machine.key("clock"), SELF)
}

/// When the service did not run.
pub(crate) fn pauses() -> Key {
    Key::new(Prefix::Machine.key("pauses"), SELF)
}

/// The agents of a service on one machine.
pub(crate) fn agents() -> String {
    Prefix::Machine.key("agents")
}

pub(crate) fn agent(location: &Location) -> Key {
    Key::new(agents(), location.as_str())
}
