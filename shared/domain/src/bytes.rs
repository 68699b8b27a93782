//! Reads values that are stored as bytes. `Serializer::serialize_bytes` writes them.

use serde::{Deserialize as _, Deserializer, de::Error as _};
use serde_bytes::ByteBuf;

/// Reads a value from its bytes.
///
/// # Errors
///
/// When there are no bytes, or when `read` rejects them.
pub(crate) fn deserialize<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    read: fn(&[u8]) -> Result<T, &'static str>,
) -> Result<T, D::Error> {
    read(&ByteBuf::deserialize(deserializer)?).map_err(D::Error::custom)
}
