//! What the table's file may contain. A backup, or a data folder, may come from somebody else: a view, a trigger or an
//! expression in it would run as soon as the table is used.

use std::collections::BTreeSet;

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, params, params_from_iter};

use crate::layout::TABLE;

/// The statements that create what each file contains, in this version or in earlier ones: those of dynoxide and of
/// [`layout`](crate::layout).
const SCHEMA: &str = include_str!("schema.sql");

/// What a file may contain besides: the record of [`backup`](crate::backup), and the statistics that SQLite stores if
/// an administrator runs `ANALYZE`. Statistics only influence how SQLite searches.
const OPTIONAL: [&str; 3] = [
    "CREATE TABLE vedette_backup (record TEXT NOT NULL)",
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
];

/// The only row of `_tables`, as dynoxide stores it, without the time and the id of its creation.
const DEFINITION: [(&str, Option<&str>); 19] = [
    ("table_name", Some(TABLE)),
    (
        "key_schema",
        Some(
            r#"[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]"#,
        ),
    ),
    (
        "attribute_definitions",
        Some(
            r#"[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},{"AttributeName":"w","AttributeType":"S"},{"AttributeName":"due","AttributeType":"N"}]"#,
        ),
    ),
    (
        "gsi_definitions",
        Some(
            r#"[{"IndexName":"work","KeySchema":[{"AttributeName":"w","KeyType":"HASH"},{"AttributeName":"due","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]"#,
        ),
    ),
    ("lsi_definitions", None),
    ("stream_enabled", Some("0")),
    ("stream_view_type", None),
    ("stream_label", None),
    ("ttl_attribute", Some("ttl")),
    ("ttl_enabled", Some("1")),
    ("table_status", Some("ACTIVE")),
    ("billing_mode", Some("PAY_PER_REQUEST")),
    ("provisioned_throughput", None),
    ("tags", None),
    ("sse_specification", None),
    ("table_class", None),
    ("deletion_protection_enabled", Some("0")),
    ("on_demand_throughput", None),
    ("vector_index_definitions", None),
];

/// The longest statement or definition that is read, in bytes. Ours have at most 1 KB.
const STATEMENT_MAX: i32 = 8 * 1024;
/// The most steps of SQLite's virtual machine to read them. Ours take a few hundred, and with SQLite's statistics, of
/// which it keeps 24 rows for each index, some thousand.
const STEPS_MAX: i32 = 20_000;
/// The most characters of an unknown name that are shown.
const NAME_MAX: usize = 80;

/// Why a database is not exactly ours.
#[derive(Debug)]
pub(crate) enum Strange {
    /// It has no table of Vedette.
    NoTable,
    /// Its schema is too long to be read.
    TooLong,
    /// It contains something that Vedette does not create: its kind and name.
    Object(String),
    /// It lacks something that Vedette creates: its kind and name.
    Missing(String),
}

/// How an untrusted database differs from what Vedette creates; `None` if it does not. SQLite parses the schema for
/// this, and runs nothing that is in it. Time and memory are limited by the number of steps and the length of
/// statements.
pub(crate) fn judge(untrusted: &Connection) -> rusqlite::Result<Option<Strange>> {
    let length = untrusted.set_limit(Limit::SQLITE_LIMIT_LENGTH, STATEMENT_MAX)?;
    untrusted.progress_handler(STEPS_MAX, Some(|| true));
    let judged = find(untrusted);
    untrusted.progress_handler(0, None::<fn() -> bool>);
    untrusted.set_limit(Limit::SQLITE_LIMIT_LENGTH, length)?;
    let is_too_long = |error: &rusqlite::Error| {
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::OperationInterrupted | ErrorCode::TooBig)
        )
    };
    match judged {
        Err(error) if is_too_long(&error) => Ok(Some(Strange::TooLong)),
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
    let required: BTreeSet<String> =
        SCHEMA.split(';').map(normalized).filter(|statement| !statement.is_empty()).collect();
    let mut missing: BTreeSet<String> = required.iter().map(|it| created_by(it)).collect();
    let mut objects = untrusted.prepare("SELECT type || ' ' || name, sql FROM sqlite_schema")?;
    let mut objects = objects.query([])?;
    while let Some(object) = objects.next()? {
        let is_known = match object.get_ref(1)? {
            // SQLite's own index for the key of a table.
            ValueRef::Null => true,
            ValueRef::Text(sql) => str::from_utf8(sql).map(normalized).is_ok_and(|sql| {
                missing.remove(&created_by(&sql));
                required.contains(&sql) || OPTIONAL.contains(&&*sql)
            }),
            _ => false,
        };
        if !is_known {
            let name = object.get_ref(0)?.as_bytes_or_null().ok().flatten().unwrap_or_default();
            let name: String = String::from_utf8_lossy(name).chars().take(NAME_MAX).collect();
            return Ok(Some(Strange::Object(format!("{name:?}"))));
        }
    }
    if let Some(name) = missing.first() {
        return Ok(Some(Strange::Missing(format!("{name:?}"))));
    }
    let [columns, values] =
        [DEFINITION.map(|(column, _)| column).join(", "), vec!["?"; DEFINITION.len()].join(", ")];
    let rows = format!("SELECT count(*), total(({columns}) IS NOT ({values})) > 0 FROM _tables");
    let values = params_from_iter(DEFINITION.map(|(_, value)| value));
    let (rows, is_other): (u32, bool) =
        untrusted.query_row(&rows, values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(match (rows, is_other) {
        (0, _) => Some(Strange::Missing("the definition of its table".to_owned())),
        (_, true) => Some(Strange::Object("another definition of a table".to_owned())),
        (_, false) => None,
    })
}

/// The kind and the name of what a normalized statement creates, as in `table _config`.
fn created_by(statement: &str) -> String {
    let mut words = statement.split([' ', '(']).skip(1);
    let [kind, name] = [words.next(), words.next()].map(Option::unwrap_or_default);
    format!("{} {}", kind.to_lowercase(), name.trim_matches('"'))
}

/// A statement without its formatting and comments.
fn normalized(statement: &str) -> String {
    let lines = statement.lines().filter(|line| !line.starts_with("--"));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}
