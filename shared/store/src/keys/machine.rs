//! Keys of what there is once in a table.

use super::{Key, Prefix, SELF};

/// Says that teams are being copied into the table.
pub(crate) fn copy_mark() -> Key {
    Key::new(Prefix::Machine.key("copy"), SELF)
}

/// The link by which the first user comes in.
pub(crate) fn setup() -> Key {
    Key::new(Prefix::Machine.key("setup"), SELF)
}

/// What is remembered of the machine's clock.
pub(crate) fn clock() -> Key {
    Key::new(Prefix::Machine.key("clock"), SELF)
}
