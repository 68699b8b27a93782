//! What the table's file refuses, as far as its users have met it.

use std::fs;
use std::io;
use std::path::Path;

use dynoxide::DynoxideError;
use rusqlite::ErrorCode;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::folder::with_suffix;
use crate::{Database, TABLE};

/// What the table's file refuses. Each says why, in the system's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Writes fail.
    pub write: Option<String>,
    /// What was written does not reach the disk.
    pub sync: Option<String>,
    /// The file could only be opened for reading: it must be opened anew before a write can succeed.
    pub is_read_only: bool,
}

/// Where they are noted.
pub(crate) type Noted = watch::Sender<Refusals>;

/// Notes what became of a write: the answer's status and body.
pub(crate) fn note_write(noted: &Noted, (status, body): &(u16, String)) {
    if *status < 500 {
        return;
    }
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let said = body["message"].as_str().or(body["Message"].as_str()).unwrap_or("no reason given");
    let why = Some(in_plain_words(said));
    noted.send_if_modified(|known| {
        // Why it was opened for reading alone says more than that it was.
        let is_news = known.write != why && !known.is_read_only;
        if !is_news {
            return false;
        }
        known.write = why;
        true
    });
}

/// What the database says, as an operator would.
fn in_plain_words(said: &str) -> String {
    let causes = [("disk is full", "the disk is full"), ("readonly database", "it is read-only")];
    let cause = causes.iter().find(|(part, _)| said.contains(part));
    let rest = said.trim_start_matches("Internal error: ").trim_start_matches("backend: ");
    cause.map_or(rest, |(_, words)| words).to_owned()
}

/// Notes what became of a sync.
pub(crate) fn note_sync(noted: &Noted, why: Option<String>) {
    noted.send_if_modified(|known| {
        let is_news = known.sync != why;
        known.sync = why;
        is_news
    });
}

/// Opens a file that SQLite could not open for writing, for one thing because there is no room for the files
/// that it keeps beside it. Only where the file has all that was committed: nothing is left in its log.
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
    let log_is_empty = match fs::metadata(with_suffix(Path::new(path), "-wal")) {
        Ok(log) => log.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if !is_of_the_disk || !log_is_empty {
        return Err(refused);
    }
    let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let database = dynoxide::Database::new(&format!("file:{path}?immutable=1"))?;
    noted.send_modify(|known| {
        known.write = Some(in_plain_words(&refused.to_string()));
        known.is_read_only = true;
    });
    Ok(database)
}

/// The size of the item that is written on trial, in bytes: a small one may still fit into pages that the file
/// has already, where nothing else does.
const TRIAL: usize = 64 * 1024;

impl Database {
    /// What the file refuses, now and from now on.
    pub fn refusals(&self) -> watch::Receiver<Refusals> {
        self.refusals.subscribe()
    }

    /// Writes an item and removes it again, to see whether that works by now. Only this reports over that
    /// writes fail.
    pub async fn try_write(&self) {
        let key = json!({ "pk": { "S": "write-trial" }, "sk": { "S": "A" } });
        let mut item = key.clone();
        item["filler"] = json!({ "S": "x".repeat(TRIAL) });
        let put = json!({ "TableName": TABLE, "Item": item });
        let delete = json!({ "TableName": TABLE, "Key": key });
        for (operation, request) in [("PutItem", put), ("DeleteItem", delete)] {
            let answered = self.answer(operation.to_owned(), request.to_string().into()).await;
            if !matches!(answered, Some((200, _))) {
                return;
            }
        }
        self.refusals.send_if_modified(|known| known.write.take().is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn writes_that_fail_are_noted_until_one_on_trial_succeeds() {
        let database = Database::memory().expect("a database");
        database.store().create_table().await.expect("a table");
        let mut refusals = database.refusals();
        let error =
            |status: u16, message: &str| (status, json!({ "message": message }).to_string());
        note_write(&database.refusals, &error(400, "The conditional request failed"));
        assert!(!refusals.has_changed().expect("open"), "a condition is no fault");
        note_write(&database.refusals, &error(500, "Internal error: database or disk is full"));
        let why = refusals.borrow_and_update().write.clone();
        assert_eq!(why.as_deref(), Some("the disk is full"));
        note_write(&database.refusals, &(200, "{}".to_owned()));
        assert!(!refusals.has_changed().expect("open"), "a small write may still fit");
        database.try_write().await;
        assert_eq!(*refusals.borrow_and_update(), Refusals::default());
        assert!(database.store().all_teams().await.expect("an answer").is_empty());
    }
}
