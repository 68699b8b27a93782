//! Reading what is stored as bytes; writing it is `Serializer::serialize_bytes`.

use std::fmt;

use serde::{Deserializer, de};

/// Reads a value from its bytes; `expecting` says what they should be.
///
/// # Errors
///
/// When there are no bytes, or `read` says what is wrong with them.
pub(crate) fn deserialize<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    expecting: &'static str,
    read: fn(&[u8]) -> Result<T, &'static str>,
) -> Result<T, D::Error> {
    struct Visitor<T> {
        expecting: &'static str,
        read: fn(&[u8]) -> Result<T, &'static str>,
    }
    impl<T> de::Visitor<'_> for Visitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.expecting)
        }

        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<T, E> {
            (self.read)(bytes).map_err(E::custom)
        }
    }
    deserializer.deserialize_bytes(Visitor { expecting, read })
}
