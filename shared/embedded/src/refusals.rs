//! What the table's file refuses, as far as its users have noticed.

use std::path::Path;

use dynoxide::DynoxideError;
use rusqlite::ErrorCode;
use serde_json::Value;
use tokio::sync::watch;

use crate::files;

/// What the table's file refuses. Each text gives the reason, in the system's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Writes fail.
    pub write: Option<String>,
    /// Written data does not reach the disk.
    pub sync: Option<String>,
    /// The file could only be opened for reading: it must be opened again before a write can
    /// succeed.
    pub is_read_only: bool,
}

/// The reason why a write fails if the file can only be read.
const READ_ONLY: &str = "the data folder cannot be written to";

/// Where refusals are recorded.
pub(crate) type Noted = watch::Sender<Refusals>;

/// Records the result of a write: the status and body of the answer.
pub(crate) fn note_write(noted: &Noted, (status, body): &(u16, String)) {
    if *status < 500 {
        return;
    }
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let said = body["message"].as_str().or(body["Message"].as_str()).unwrap_or("no reason given");
    let why = Some(in_plain_words(said));
    noted.send_if_modified(|known| {
        // The reason why the file was opened read-only is more useful than the fact that it was.
        let is_news = known.write != why && !known.is_read_only;
        if !is_news {
            return false;
        }
        known.write = why;
        true
    });
}

/// SQLite's message in words for an operator.
pub(crate) fn in_plain_words(said: &str) -> String {
    let causes = [("disk is full", "the disk is full"), ("readonly database", READ_ONLY)];
    let cause = causes.iter().find(|(part, _)| said.contains(part));
    let rest = said.trim_start_matches("Internal error: ").trim_start_matches("backend: ");
    cause.map_or(rest, |(_, words)| words).to_owned()
}

/// Records the result of a sync.
pub(crate) fn note_sync(noted: &Noted, why: Option<String>) {
    noted.send_if_modified(|known| {
        let is_news = known.sync != why;
        known.sync = why;
        is_news
    });
}

/// Records that a file which SQLite has opened can only be read. SQLite does not report this: if the disk is read-only
/// and the last process was killed, it reads the log that this process left.
pub(crate) fn note_read_only(file: &Path, noted: &Noted) {
    if !files::is_read_only(file) {
        return;
    }
    noted.send_if_modified(|known| {
        let is_news = !known.is_read_only;
        if is_news {
            *known =
                Refusals { write: Some(READ_ONLY.to_owned()), is_read_only: true, ..known.clone() };
        }
        is_news
    });
}

/// Opens a file that SQLite could not open for writing, for example because there is no room for SQLite's additional
/// files. This is only possible if the file contains everything that was committed, so nothing is left in its log.
pub(crate) fn open_read_only(
    path: &str,
    refused: DynoxideError,
    noted: &Noted,
) -> dynoxide::Result<dynoxide::Database> {
    let is_of_the_disk = match &refused {
        DynoxideError::SqliteError(error) => matches!(
            error.sqlite_error_code(),
            Some(
                ErrorCode::DiskFull
                    | ErrorCode::SystemIoFailure
                    | ErrorCode::ReadOnly
                    | ErrorCode::CannotOpen
            )
        ),
        _ => false,
    };
    let uri = files::immutable(Path::new(path)).filter(|_| is_of_the_disk);
    let Some(uri) = uri else { return Err(refused) };
    // A table that is being created cannot be opened for reading either, and why not says nothing about the disk.
    let Ok(database) = dynoxide::Database::new(&uri) else { return Err(refused) };
    let why = match files::is_read_only(Path::new(path)) {
        true => READ_ONLY.to_owned(),
        false => in_plain_words(&refused.to_string()),
    };
    noted.send_modify(|known| {
        known.write = Some(why);
        known.is_read_only = true;
    });
    Ok(database)
}
