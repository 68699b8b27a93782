//! Check rows: the list form of a result, deflated where that pays.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vedette_domain::check::{Check, CheckError};
use vedette_domain::id::CheckId;
use vedette_domain::tool::CheckStatus;

use crate::StoreError;
use crate::keys::Key;
use crate::table::{Item, item, value};

/// Results longer than this, in bytes of JSON, are deflated.
const DEFLATE_OVER: usize = 600;
/// A row is at most 400 KB in DynamoDB; a deflated text that grows beyond this is not one of ours.
const INFLATE_MAX: u64 = 16 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Row {
    id: CheckId,
    #[serde(rename = "s")]
    status: CheckStatus,
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    result: Option<Text>,
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    error: Option<CheckError>,
    #[serde(rename = "u")]
    updated_at: Timestamp,
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
}

/// JSON, as text or deflated.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Deflated(Bytes),
}

struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

impl Text {
    fn write(json: &Value) -> Result<Self, StoreError> {
        let text = json.to_string();
        if text.len() <= DEFLATE_OVER {
            return Ok(Self::Plain(text));
        }
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).map_err(corrupt)?;
        Ok(Self::Deflated(Bytes(encoder.finish().map_err(corrupt)?)))
    }

    fn read(&self) -> Result<Value, StoreError> {
        match self {
            Self::Plain(text) => serde_json::from_str(text).map_err(corrupt),
            Self::Deflated(Bytes(bytes)) => {
                let inflated = DeflateDecoder::new(bytes.as_slice()).take(INFLATE_MAX);
                serde_json::from_reader(inflated).map_err(corrupt)
            }
        }
    }
}

fn corrupt(error: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("a check's result: {error}"))
}

pub(crate) fn write(key: &Key, check: &Check) -> Result<Item, StoreError> {
    let row = Row {
        id: check.id,
        status: check.status,
        result: check.result.as_ref().map(Text::write).transpose()?,
        error: check.error.clone(),
        updated_at: check.updated_at,
        completed_at: check.completed_at,
    };
    item(key, &row)
}

pub(crate) fn read(item: Item) -> Result<Check, StoreError> {
    let row: Row = value(item)?;
    Ok(Check {
        id: row.id,
        status: row.status,
        result: row.result.as_ref().map(Text::read).transpose()?,
        error: row.error,
        updated_at: row.updated_at,
        completed_at: row.completed_at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_deflated_and_read_back() {
        let id = CheckId::parse("019aa092-63c0-8603-8a55-6c1f3b7d9e01").expect("an id");
        let now: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        for length in [1, DEFLATE_OVER * 4] {
            let check = Check {
                status: CheckStatus::Completed,
                result: Some(serde_json::json!({ "url": "a".repeat(length) })),
                completed_at: Some(now),
                ..Check::pending(id, now)
            };
            let key = Key::new("pk", "sk");
            let stored = write(&key, &check).expect("written");
            let size: usize = stored["r"].as_b().map_or(0, |bytes| bytes.as_ref().len());
            assert!(size < 100, "{size} bytes");
            assert_eq!(stored["r"].is_b(), length > DEFLATE_OVER);
            assert_eq!(read(stored).expect("read"), check);
        }
    }
}
