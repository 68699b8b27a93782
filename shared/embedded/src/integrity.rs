//! Checks the table's file: it must be an intact SQLite database that contains the table.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use tracing::warn;

use crate::TABLE;
use crate::files::DATABASE;

/// The first bytes of every SQLite database (<https://www.sqlite.org/fileformat.html>).
const HEADER: &[u8; 16] = b"SQLite format 3\0";

/// Bytes before the first frame of a log, and before the page in each frame, as described there.
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// How many steps SQLite's check takes before it looks at the clock again. A step is about a page, so some
/// microseconds.
const STEPS: i32 = 256;

/// The table's file, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {damage}; {}", .file.display(), self.remedy())]
pub struct TableFault {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub damage: Damage,
}

/// What can be wrong with the table's file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It is empty.
    #[error("is empty")]
    Empty,
    /// It contains something else, or only a part of a database's header.
    #[error("is not a database")]
    NotADatabase,
    /// It is a database without our table.
    #[error("is a database of another program: it has no table of Vedette")]
    Foreign,
    /// Its structure is broken: pages are missing, or contain something else.
    #[error("is damaged: {finding}")]
    Broken {
        /// The first thing that SQLite found.
        finding: String,
    },
}

impl TableFault {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        let folder = self.file.parent().unwrap_or(&self.file).display();
        let backup = format!(
            "put vedette.db back from a backup and remove vedette.db-wal and vedette.db-shm, or move \
             everything out of {folder} to start with an empty table"
        );
        match self.damage {
            Damage::Broken { .. } => format!(
                "{backup}. `sqlite3 '{}' .recover` prints what can still be read",
                self.file.display()
            ),
            _ => backup,
        }
    }
}

/// The result of an examination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Examination {
    /// The structure of the whole file is intact.
    Sound,
    /// The time ran out; the part that was examined is intact.
    Unfinished,
    /// There is no file, or SQLite could not look at it. The log says why.
    Impossible,
}

/// Examines the structure of the table's file in a data folder, for at most `limit` if there is one: reads each page
/// that belongs to it. It does not check what the pages contain; opening the table checks whether it is ours. A service
/// may use the file meanwhile, in this process or another.
///
/// # Errors
///
/// When the file is damaged.
pub async fn examine(folder: &Path, limit: Option<Duration>) -> Result<Examination, TableFault> {
    let file = folder.join(DATABASE);
    let examined = tokio::task::spawn_blocking(move || {
        if !file.exists() {
            return Ok(Examination::Impossible);
        }
        let found = check(&file, limit);
        found.or_else(|error| blame(&file, &error).map(|()| Examination::Impossible))
    });
    // This fails if the runtime ends first.
    examined.await.unwrap_or(Ok(Examination::Impossible))
}

/// Examines the whole structure of a file that no service uses.
pub(crate) fn check_all(file: &Path) -> Result<(), TableFault> {
    check(file, None).map(drop).or_else(|error| blame(file, &error))
}

/// Runs SQLite's own check of the structure.
fn check(file: &Path, limit: Option<Duration>) -> rusqlite::Result<Examination> {
    let connection = open(file)?;
    if let Some(limit) = limit {
        let began = Instant::now();
        connection.progress_handler(STEPS, Some(move || began.elapsed() >= limit));
    }
    let found = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match found {
        Ok(found) if found == "ok" => Ok(Examination::Sound),
        Ok(finding) => Err(corrupt(finding)),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            Ok(Examination::Unfinished)
        }
        Err(error) => Err(error),
    }
}

fn corrupt(finding: String) -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some(finding))
}

/// Refuses a file that is not the table's, before anything is written to it. A file that cannot be examined
/// is left to the caller that opens it, which will report why.
///
/// Must be called before the process opens the database: when the process closes a file, it loses all locks that SQLite
/// holds on that file for any of its connections (<https://www.sqlite.org/howtocorrupt.html>, section 2.2).
pub(crate) fn recognize(file: &Path) -> Result<(), TableFault> {
    let refuse = |damage| Err(TableFault { file: file.to_owned(), damage });
    let mut start = Vec::new();
    let length = u64::try_from(HEADER.len()).unwrap_or(u64::MAX);
    match File::open(file).and_then(|file| file.take(length).read_to_end(&mut start)) {
        Ok(0) => return refuse(Damage::Empty),
        Ok(_) if start != HEADER => return refuse(Damage::NotADatabase),
        Ok(_) => {}
        Err(_) => return Ok(()),
    }
    recognize_open(file)
}

/// The same for a file that this process may have open: only SQLite reads it, which keeps its locks.
pub(crate) fn recognize_open(file: &Path) -> Result<(), TableFault> {
    match has_table(file) {
        Ok(true) => Ok(()),
        Ok(false) => Err(TableFault { file: file.to_owned(), damage: Damage::Foreign }),
        Err(error) => blame(file, &error),
    }
}

/// Whether a database contains dynoxide's form of our table.
fn has_table(file: &Path) -> rusqlite::Result<bool> {
    let connection = open(file)?;
    let find =
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('_tables', ?1)";
    let found: u32 = connection.query_row(find, params![TABLE], |row| row.get(0))?;
    Ok(found == 2)
}

/// Opens a file read-only, so that nothing in it changes, whatever it is.
pub(crate) fn open(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(file, flags)
}

/// Whether SQLite itself made an open database smaller than it was, as `VACUUM` does.
pub(crate) fn was_compacted(file: &Path, was: u64) -> rusqlite::Result<bool> {
    let length = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let length: u64 = open(file)?.query_row(length, [], |row| row.get(0))?;
    Ok(length < was)
}

/// The bytes that the log of an open database must have for its frames. A checkpoint may have emptied it.
pub(crate) fn length_of_log(file: &Path) -> rusqlite::Result<u64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    let page: u64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    // This checkpoint does not wait, and returns the number of frames.
    let frames: i64 =
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1))?;
    Ok(match u64::try_from(frames) {
        Ok(frames @ 1..) => LOG_HEADER + frames * (FRAME_HEADER + page),
        _ => 0,
    })
}

/// Returns a fault if SQLite failed because of the file's contents.
pub(crate) fn blame(file: &Path, error: &rusqlite::Error) -> Result<(), TableFault> {
    let damage = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Damage::NotADatabase,
        Some(ErrorCode::DatabaseCorrupt) => Damage::Broken { finding: finding(error) },
        _ => {
            warn!(%error, file = %file.display(), "could not examine the structure of the table");
            return Ok(());
        }
    };
    Err(TableFault { file: file.to_owned(), damage })
}

/// What SQLite found, on one line.
fn finding(error: &rusqlite::Error) -> String {
    let text = match error {
        rusqlite::Error::SqliteFailure(_, Some(finding)) => finding.clone(),
        other => other.to_string(),
    };
    // SQLite's report begins with a line that names the database within the connection.
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.starts_with("***")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    use super::*;
    use crate::{Database, Folder, Fsync};

    #[tokio::test]
    async fn a_whole_table_is_sound_also_while_it_is_open() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let nothing = examine(temporary.path(), None).await.expect("no file");
        assert_eq!(nothing, Examination::Impossible);
        let database = Database::open(&folder, Fsync::EverySecond).await.expect("opened");
        let inode = fs::metadata(temporary.path().join(DATABASE)).expect("a file").ino();
        let locks = || {
            let all = fs::read_to_string("/proc/locks").unwrap_or_default();
            let of_file = format!(":{inode} ");
            all.lines().filter(|lock| lock.contains("POSIX") && lock.contains(&of_file)).count()
        };
        let before = locks();
        let examined = examine(temporary.path(), None).await.expect("sound");
        assert_eq!(examined, Examination::Sound);
        assert_eq!(locks(), before, "SQLite keeps its locks");
        assert!(database.store().all_teams().await.expect("an answer").is_empty());
        database.close().await;
    }

    #[tokio::test]
    async fn an_examination_ends_with_its_time() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        Database::open(&folder, Fsync::EverySecond).await.expect("opened").close().await;
        let large = Connection::open(temporary.path().join(DATABASE)).expect("opened");
        large
            .execute_batch(
                "CREATE TABLE filler (bytes); WITH RECURSIVE n (i) AS \
                 (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) \
                 INSERT INTO filler SELECT zeroblob(5000) FROM n",
            )
            .expect("filled");
        drop(large);
        let examined = examine(temporary.path(), Some(Duration::ZERO)).await.expect("no damage");
        assert_eq!(examined, Examination::Unfinished);
        let examined = examine(temporary.path(), None).await.expect("no damage");
        assert_eq!(examined, Examination::Sound);
    }

    #[tokio::test]
    async fn a_page_of_noise_is_found() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        Database::open(&folder, Fsync::EverySecond).await.expect("opened").close().await;
        let path = temporary.path().join(DATABASE);
        let length = fs::metadata(&path).expect("a file").len();
        let file = OpenOptions::new().write(true).open(&path).expect("a file");
        file.write_all_at(&[0x5a; 4_096], length - 8_192).expect("written");
        let fault = examine(temporary.path(), None).await.expect_err("damaged");
        assert!(matches!(fault.damage, Damage::Broken { .. }), "{fault}");
        assert_eq!(fault.to_string().lines().count(), 1, "{fault}");
    }
}
