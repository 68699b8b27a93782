//! Check rows. Results are compressed where that saves space, and long ones are stored apart from their list form.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::Value;
use vedette_domain::checks::check::{Check, CheckError, list_form};
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::expectations::Unmet;
use vedette_domain::id::CheckId;

use crate::StoreError;
use crate::error::Cause;
use crate::item::{Item, Stored, item, stored};
use crate::keys;

stored!(attributes: Row, Body);

/// Results longer than this, in bytes of JSON, are compressed.
const DEFLATE_OVER: usize = 600;
/// Results longer than this, as stored, get an item of their own, and the row keeps their list form. Lists read many
/// rows, but a whole result is read one at a time.
const APART_OVER: usize = 3_000;
/// Only the list form of a result longer than this, as stored, is kept: DynamoDB limits items to 400 KB. The engines
/// keep their results well below.
const BODY_MAX: usize = 350_000;
/// The most that a compressed text may decompress to. A row is at most 400 KB, so Vedette never writes more than this.
const INFLATE_MAX: u64 = 16 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Row {
    id: CheckId,
    #[serde(rename = "s")]
    status: CheckStatus,
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    result: Option<Text>,
    /// The row has the list form of the result, and the whole result has an item of its own.
    #[serde(rename = "b", default, skip_serializing_if = "std::ops::Not::not")]
    has_body: bool,
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    error: Option<CheckError>,
    #[serde(rename = "u")]
    updated_at: Timestamp,
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    has_failed: Option<bool>,
    /// The check was in a maintenance window.
    #[serde(rename = "mw", default, skip_serializing_if = "std::ops::Not::not")]
    in_maintenance: bool,
    #[serde(rename = "un", default, skip_serializing_if = "Vec::is_empty")]
    unmet: Vec<Unmet>,
}

#[derive(Serialize, Deserialize)]
struct Body {
    #[serde(rename = "r")]
    result: Text,
}

/// JSON, as text or compressed.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Deflated(ByteBuf),
}

impl Text {
    fn write(json: &Value) -> Result<Self, StoreError> {
        let text = json.to_string();
        if text.len() <= DEFLATE_OVER {
            return Ok(Self::Plain(text));
        }
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).map_err(corrupt)?;
        Ok(Self::Deflated(ByteBuf::from(encoder.finish().map_err(corrupt)?)))
    }

    fn len(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Deflated(bytes) => bytes.len(),
        }
    }

    fn read(&self) -> Result<Value, StoreError> {
        match self {
            Self::Plain(text) => serde_json::from_str(text).map_err(corrupt),
            Self::Deflated(bytes) => {
                let inflated = DeflateDecoder::new(bytes.as_slice()).take(INFLATE_MAX);
                serde_json::from_reader(inflated).map_err(corrupt)
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("a check's result")]
struct CorruptResult(#[source] Cause);

fn corrupt(cause: impl Into<Cause>) -> StoreError {
    StoreError::corrupt(CorruptResult(cause.into()))
}

/// A check as the table stores it.
pub(crate) struct Written {
    pub(crate) row: Item,
    /// The whole result, if the row has only its list form.
    pub(crate) body: Option<Item>,
}

pub(crate) fn write(check: &Check) -> Result<Written, StoreError> {
    let (result, body) = match &check.result {
        None => (None, None),
        Some(result) => {
            let (result, whole) = shortened(check.id.tool(), result)?;
            (Some(result), whole)
        }
    };
    let row = Row {
        id: check.id,
        status: check.status,
        result,
        has_body: body.is_some(),
        error: check.error.clone(),
        updated_at: check.updated_at,
        completed_at: check.completed_at,
        has_failed: check.has_failed,
        in_maintenance: check.in_maintenance,
        unmet: check.unmet.clone(),
    };
    let body_key = keys::body(check.id, check.status);
    let body = body.map(|result| item(&body_key, &Body { result })).transpose()?;
    Ok(Written { row: item(&keys::check(check.id, check.status), &row)?, body })
}

/// The part of a result that its row holds, and the whole result if it is too long for a row.
fn shortened(tool: Tool, result: &Value) -> Result<(Text, Option<Text>), StoreError> {
    let whole = Text::write(result)?;
    if whole.len() <= APART_OVER {
        return Ok((whole, None));
    }
    let short = list_form(tool, result.clone());
    if short == *result {
        return Ok((whole, None));
    }
    Ok((Text::write(&short)?, (whole.len() <= BODY_MAX).then_some(whole)))
}

/// A check as lists show it.
pub(crate) fn read_listed(item: Item) -> Result<Check, StoreError> {
    Ok(listed(read(item)?.0))
}

/// The check in its list form.
pub(crate) fn listed(check: Check) -> Check {
    let tool = check.id.tool();
    Check { result: check.result.map(|result| list_form(tool, result)), ..check }
}

/// A check as its row has it, and whether an item of its own has the whole result.
pub(crate) fn read(item: Item) -> Result<(Check, bool), StoreError> {
    let row: Row = Stored::read(item)?;
    let check = Check {
        id: row.id,
        status: row.status,
        result: row.result.as_ref().map(Text::read).transpose()?,
        error: row.error,
        updated_at: row.updated_at,
        completed_at: row.completed_at,
        has_failed: row.has_failed,
        in_maintenance: row.in_maintenance,
        unmet: row.unmet,
    };
    Ok((check, row.has_body))
}

/// The whole result.
pub(crate) fn read_body(item: Item) -> Result<Value, StoreError> {
    Body::read(item)?.result.read()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vedette_domain::id::SiteId;

    use super::*;

    /// A completed check of a site's first minute.
    fn completed(tool: Tool, result: Value) -> Check {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let now: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        Check {
            status: CheckStatus::Completed,
            result: Some(result),
            completed_at: Some(now),
            ..Check::pending(CheckId::on_demand(site, tool, now, 0), now)
        }
    }

    /// Text that cannot be compressed to less than half.
    fn noise(length: usize) -> String {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'!' + (state >> 24) as u8 % 90)
        };
        std::iter::repeat_with(&mut next).take(length).collect()
    }

    #[test]
    fn long_results_are_deflated_and_read_back() {
        for length in [1, DEFLATE_OVER * 4] {
            let check = completed(Tool::Status, json!({ "url": "a".repeat(length) }));
            let Written { row, body } = write(&check).expect("written");
            assert!(body.is_none());
            let size: usize = row["r"].as_b().map_or(0, |bytes| bytes.as_ref().len());
            assert!(size < 100, "{size} bytes");
            assert_eq!(row["r"].is_b(), length > DEFLATE_OVER);
            assert_eq!(read(row).expect("read"), (check, false));
        }
    }

    #[test]
    fn a_result_too_long_for_a_row_is_kept_apart() {
        let result = |length| json!({ "is_valid": true, "info": noise(length) });
        for (length, apart) in [(100, false), (2_000, false), (10_000, true), (600_000, false)] {
            let check = completed(Tool::Ssl, result(length));
            let Written { row, body } = write(&check).expect("written");
            assert_eq!(body.is_some(), apart, "{length}");
            assert!(row["r"].as_b().map_or(0, |bytes| bytes.as_ref().len()) <= APART_OVER);
            let (kept, has_body) = read(row.clone()).expect("read");
            assert_eq!(has_body, apart, "{length}");
            match body {
                Some(body) => assert_eq!(read_body(body).expect("read"), result(length)),
                None => assert_eq!(kept.result == check.result, length < 10_000, "{length}"),
            }
            let listed = read_listed(row).expect("read").result;
            assert_eq!(listed, Some(json!({ "is_valid": true, "info": null })), "{length}");
        }
    }

    #[test]
    fn a_result_without_a_shorter_form_stays_in_its_row() {
        let result = json!({ "url": noise(2_000), "effective_url": noise(2_001) });
        let check = completed(Tool::Status, result);
        let Written { row, body } = write(&check).expect("written");
        assert!(body.is_none());
        assert_eq!(read_listed(row).expect("read"), check);
    }
}
