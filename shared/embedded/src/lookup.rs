//! Reads items by their keys, directly from the file.
//!
//! Most requests of checks are such reads. dynoxide prepares an SQL statement for each key, parses the stored JSON of
//! the item, and writes the same JSON again. Here the statement is prepared only once, and the stored JSON is copied
//! into the answer. dynoxide answers all other requests.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::Deserialize;

use crate::integrity;
use crate::layout::TABLE;

/// DynamoDB's limits for a batch: the number of keys, and the bytes of its items.
const KEYS_MAX: usize = 100;
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// The longest sort key in bytes; a partition key may be twice as long.
const KEY_BYTES_MAX: usize = 1_024;

/// A separate connection for these reads.
pub(crate) struct Lookup {
    file: Connection,
}

/// The connections that a thread uses.
pub(crate) struct Opened {
    /// Everything that DynamoDB does.
    pub(crate) dynoxide: dynoxide::Database,
    /// A faster way to read items, if this thread reads a file.
    pub(crate) lookup: Option<Lookup>,
}

impl From<dynoxide::Database> for Opened {
    fn from(dynoxide: dynoxide::Database) -> Self {
        Self { dynoxide, lookup: None }
    }
}

/// A batch read of whole items.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct BatchGet<'a> {
    #[serde(borrow)]
    request_items: BTreeMap<Cow<'a, str>, WantedKeys<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct WantedKeys<'a> {
    #[serde(borrow)]
    keys: Vec<ItemKey<'a>>,
    /// Every read sees everything that was committed before it.
    #[serde(default, rename = "ConsistentRead")]
    _consistent: bool,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
struct ItemKey<'a> {
    #[serde(borrow)]
    pk: Text<'a>,
    #[serde(borrow)]
    sk: Text<'a>,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
struct Text<'a> {
    #[serde(borrow, rename = "S")]
    text: Cow<'a, str>,
}

impl<'a> BatchGet<'a> {
    /// The keys in a request, if it asks for whole items of the table and is valid.
    fn keys(body: &'a [u8]) -> Option<Vec<ItemKey<'a>>> {
        let Self { mut request_items } = serde_json::from_slice(body).ok()?;
        let WantedKeys { keys, .. } = request_items.remove(TABLE)?;
        let is_text = |Text { text }: &Text<'_>| (1..=KEY_BYTES_MAX).contains(&text.len());
        let is_valid = request_items.is_empty()
            && (1..=KEYS_MAX).contains(&keys.len())
            && keys.iter().all(|ItemKey { pk, sk }| is_text(pk) && is_text(sk))
            && keys.iter().collect::<BTreeSet<_>>().len() == keys.len();
        is_valid.then_some(keys)
    }
}

impl Lookup {
    /// Opens the table's file once more.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        Ok(Self { file: integrity::open(path)? })
    }

    /// Answers a batch read; `None` if dynoxide must answer it, which also reports invalid requests.
    pub(crate) fn batch_get(&self, body: &[u8]) -> Option<String> {
        let keys = BatchGet::keys(body)?;
        // SQLite locks the file once for all reads. dynoxide stores keys with their types.
        let _snapshot = self.file.unchecked_transaction().ok()?;
        let sql = format!("SELECT item_json FROM \"{TABLE}\" WHERE pk = ?1 AND sk = ?2");
        let mut statement = self.file.prepare_cached(&sql).ok()?;
        let mut answer = format!("{{\"Responses\":{{\"{TABLE}\":[");
        let begin = answer.len();
        for ItemKey { pk, sk } in &keys {
            let key = [pk, sk].map(|Text { text }| format!("S:{text}"));
            let add = |row: &Row<'_>| {
                let item = row.get_ref(0)?.as_str()?;
                if answer.len() > begin {
                    answer.push(',');
                }
                answer.push_str(item);
                Ok(())
            };
            statement.query_row(key, add).optional().ok()?;
            if answer.len() > BYTES_MAX {
                return None;
            }
        }
        answer.push_str("]},\"UnprocessedKeys\":{}}");
        Some(answer)
    }
}
