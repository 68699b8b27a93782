//! Pointers to checks: which check, and where it is stored.

use std::fmt;

use jiff::Timestamp;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::checks::tool::CheckStatus;
use crate::id::CheckId;

/// A check, and the block that it is stored in, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckPointer {
    /// The check.
    pub id: CheckId,
    /// The first slot of its block; `None` if it has a row of its own.
    pub block: Option<Timestamp>,
}

impl CheckPointer {
    /// A check with a row of its own.
    pub const fn row(id: CheckId) -> Self {
        Self { id, block: None }
    }
}

/// A check and its state: enough to find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latest {
    /// The check.
    #[serde(rename = "id")]
    pub check: CheckPointer,
    /// Its state.
    pub status: CheckStatus,
}

impl Latest {
    /// A check with a row of its own.
    pub const fn row(id: CheckId, status: CheckStatus) -> Self {
        Self { check: CheckPointer::row(id), status }
    }

    /// A completed check.
    pub const fn completed(check: CheckPointer) -> Self {
        Self { check, status: CheckStatus::Completed }
    }

    /// The check.
    pub const fn id(&self) -> CheckId {
        self.check.id
    }
}

/// As text, the id alone, or `id@` with the block's first slot in milliseconds. As bytes, the 16 bytes of the id, and
/// six more for a block.
impl Serialize for CheckPointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(block) = self.block.map(Timestamp::as_millisecond) else {
            return self.id.serialize(serializer);
        };
        if serializer.is_human_readable() {
            return serializer.collect_str(&format_args!("{}@{block}", self.id));
        }
        let [_, _, millis @ ..] = block.to_be_bytes();
        let mut bytes = self.id.as_uuid().as_bytes().to_vec();
        bytes.extend(millis);
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for CheckPointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PointerVisitor)
    }
}

struct PointerVisitor;

impl Visitor<'_> for PointerVisitor {
    type Value = CheckPointer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a check's id, perhaps with its block")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<CheckPointer, E> {
        let (id, block) = text.split_once('@').map_or((text, None), |(id, at)| (id, Some(at)));
        let id = Uuid::parse_str(id).map_err(E::custom)?;
        let block = block.map(|at| at.parse().map_err(E::custom)).transpose()?;
        pointer(id, block)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<CheckPointer, E> {
        let (id, block) = bytes.split_at_checked(16).ok_or_else(|| E::custom("too short"))?;
        let block = match *block {
            [] => None,
            [a, b, c, d, e, f] => Some(i64::from_be_bytes([0, 0, a, b, c, d, e, f])),
            _ => return Err(E::custom("neither 16 nor 22 bytes")),
        };
        pointer(Uuid::from_slice(id).map_err(E::custom)?, block)
    }
}

fn pointer<E: Error>(id: Uuid, block: Option<i64>) -> Result<CheckPointer, E> {
    let id = CheckId::try_from(id).map_err(E::custom)?;
    let block = block.map(Timestamp::from_millisecond).transpose().map_err(E::custom)?;
    Ok(CheckPointer { id, block })
}

#[cfg(test)]
mod tests {
    use serde::de::value::{BytesDeserializer, Error, StrDeserializer};

    use super::*;
    use crate::checks::tool::{RunReason, Tool};
    use crate::id::SiteId;

    fn slot(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn check() -> CheckId {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let at = slot("2026-11-20T09:54:00Z");
        CheckId::automatic(site, Tool::Status, RunReason::Scheduled, at)
    }

    #[test]
    fn a_row_is_its_id_as_before_and_a_packed_check_names_its_block() {
        let row = CheckPointer::row(check());
        let packed = CheckPointer { block: Some(slot("2026-11-20T09:30:00Z")), ..row };
        assert_eq!(serde_json::to_value(row).expect("text"), check().to_string());
        let text = serde_json::to_value(packed).expect("text");
        assert_eq!(text, format!("{}@1795167000000", check()));
        for pointer in [row, packed] {
            let text = serde_json::to_value(pointer).expect("text");
            assert_eq!(serde_json::from_value::<CheckPointer>(text).expect("a pointer"), pointer);
        }
        let mut bytes = check().as_uuid().as_bytes().to_vec();
        let read = |bytes: &[u8]| CheckPointer::deserialize(BytesDeserializer::<Error>::new(bytes));
        assert_eq!(read(&bytes), Ok(row));
        bytes.extend([0x01, 0xa1, 0xf8, 0x3a, 0x93, 0xc0]);
        assert_eq!(read(&bytes).map(|pointer| pointer.id), Ok(check()));
        assert!(read(&bytes[..17]).is_err() && read(&bytes[..3]).is_err());
        for wrong in ["", "@5", &format!("{}@", check()), &format!("{}@x", check())] {
            let read = CheckPointer::deserialize(StrDeserializer::<Error>::new(wrong));
            assert!(read.is_err(), "{wrong}");
        }
    }
}
