//! What the table's file may contain. A backup, or a data folder, may come from somebody else: a view, a trigger or an
//! expression in it would run as soon as the table is used.

use std::collections::BTreeSet;

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, params};

use crate::layout::TABLE;

/// The statements that create everything in the file, in this version and in earlier ones: those of dynoxide, of
/// [`layout`](crate::layout) and of [`backup`](crate::backup).
const SCHEMA: &str = include_str!("schema.sql");

/// The names in dynoxide's statements: the keys of the table and of its index, as dynoxide stores them.
const KEYS: &str =
    r#"[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]"#;
const INDEX: &str = r#"[{"IndexName":"work","KeySchema":[{"AttributeName":"w","KeyType":"HASH"},{"AttributeName":"due","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]"#;

/// The longest statement or definition that is read, in bytes. Ours have at most 1 KB.
const STATEMENT_MAX: i32 = 8 * 1024;
/// The most steps of SQLite's virtual machine to read them. Ours take a few hundred.
const STEPS_MAX: i32 = 10_000;
/// The most characters of an unknown name that are shown.
const NAME_MAX: usize = 80;

/// Why a database is not ours alone.
#[derive(Debug)]
pub(crate) enum Strange {
    /// It has no table of Vedette.
    NoTable,
    /// It contains something that Vedette does not create: its kind and name.
    Object(String),
}

/// What an untrusted database contains that Vedette did not create; `None` if there is nothing. SQLite parses the
/// schema for this, and runs nothing that is in it. Time and memory are limited by the number of steps and the length
/// of statements.
pub(crate) fn judge(untrusted: &Connection) -> rusqlite::Result<Option<Strange>> {
    let length = untrusted.set_limit(Limit::SQLITE_LIMIT_LENGTH, STATEMENT_MAX)?;
    untrusted.progress_handler(STEPS_MAX, Some(|| true));
    let judged = find(untrusted);
    untrusted.progress_handler(0, None::<fn() -> bool>);
    untrusted.set_limit(Limit::SQLITE_LIMIT_LENGTH, length)?;
    let is_too_much = |error: &rusqlite::Error| {
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::OperationInterrupted | ErrorCode::TooBig)
        )
    };
    match judged {
        Err(error) if is_too_much(&error) => Ok(Some(Strange::Object("too much".to_owned()))),
        judged => judged,
    }
}

fn find(untrusted: &Connection) -> rusqlite::Result<Option<Strange>> {
    let tables =
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('_tables', ?1)";
    let tables: u32 = untrusted.query_row(tables, params![TABLE], |row| row.get(0))?;
    if tables < 2 {
        return Ok(Some(Strange::NoTable));
    }
    let known: BTreeSet<String> = SCHEMA.split(';').map(normalized).collect();
    let mut objects = untrusted.prepare("SELECT type || ' ' || name, sql FROM sqlite_schema")?;
    let mut objects = objects.query([])?;
    while let Some(object) = objects.next()? {
        let is_known = match object.get_ref(1)? {
            // SQLite's own index for the key of a table.
            ValueRef::Null => true,
            ValueRef::Text(sql) => {
                str::from_utf8(sql).is_ok_and(|sql| known.contains(&normalized(sql)))
            }
            _ => false,
        };
        if !is_known {
            let name = object.get_ref(0)?.as_bytes_or_null().ok().flatten().unwrap_or_default();
            let name: String = String::from_utf8_lossy(name).chars().take(NAME_MAX).collect();
            return Ok(Some(Strange::Object(format!("{name:?}"))));
        }
    }
    let definitions = "SELECT count(*) FROM _tables WHERE (table_name, key_schema, gsi_definitions, \
                       lsi_definitions, vector_index_definitions) IS NOT (?1, ?2, ?3, NULL, NULL)";
    let strange: u32 =
        untrusted.query_row(definitions, params![TABLE, KEYS, INDEX], |row| row.get(0))?;
    let object = "definitions of other tables".to_owned();
    Ok((strange > 0).then_some(Strange::Object(object)))
}

/// A statement without its formatting and comments.
fn normalized(statement: &str) -> String {
    let lines = statement.lines().filter(|line| !line.starts_with("--"));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}
