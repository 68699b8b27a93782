//! Checks the table's file: it must be an intact SQLite database that contains the table.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tracing::warn;

use crate::files::{self, DATABASE};
use crate::schema::{self, Strange};

/// The first bytes of every SQLite database (<https://www.sqlite.org/fileformat.html>).
const HEADER: &[u8; 16] = b"SQLite format 3\0";

/// Bytes before the first frame of a log, and before the page in each frame, as described there.
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// How many steps SQLite's check takes before it looks at the clock again. A step is about a page, so some
/// microseconds.
const STEPS: i32 = 256;

/// The longest value that is read from a file, in bytes: an item has at most 400 KB, of which each may be escaped with
/// six.
const VALUE_MAX: i32 = 4 << 20;

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
    /// It contains something that Vedette does not create, whose SQL could run when the table is used.
    #[error("contains {object}, which Vedette did not create")]
    Unknown {
        /// Kind and name of what was found first.
        object: String,
    },
    /// It lacks a part that Vedette creates.
    #[error("is incomplete: it lacks {object}")]
    Incomplete {
        /// Kind and name of what is missing.
        object: String,
    },
    /// Its schema is longer than any of Vedette's.
    #[error("has a schema that is too long")]
    LongSchema,
    /// There is a rollback journal, whose contents SQLite would write into it.
    #[error("has a rollback journal, vedette.db-journal, which Vedette did not create")]
    Journal,
    /// The system does not allow SQLite to read it.
    #[error("cannot be examined: {why}")]
    Unreadable {
        /// SQLite's error.
        why: String,
    },
    /// Its structure is broken: pages are missing, or contain something else.
    #[error("is damaged: {finding}")]
    Broken {
        /// The first thing that SQLite found.
        finding: String,
    },
}

impl From<Strange> for Damage {
    fn from(strange: Strange) -> Self {
        match strange {
            Strange::NoTable => Self::Foreign,
            Strange::TooLong => Self::LongSchema,
            Strange::Object(object) => Self::Unknown { object },
            Strange::Missing(object) => Self::Incomplete { object },
        }
    }
}

impl TableFault {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        let folder = self.file.parent().unwrap_or(&self.file).display();
        let backup = match self.file.ends_with(DATABASE) {
            true => format!(
                "put vedette.db back from a backup and remove vedette.db-wal and vedette.db-shm, or move \
                 everything out of {folder} to start with an empty table"
            ),
            false => "use another backup".to_owned(),
        };
        match self.damage {
            Damage::Broken { .. } => format!(
                "{backup}. `sqlite3 '{}' .recover` prints what can still be read",
                self.file.display()
            ),
            Damage::Unknown { .. } | Damage::LongSchema => {
                "use a file that only Vedette has written to, or remove what somebody else has added, with \
                 `sqlite3`"
                    .to_owned()
            }
            Damage::Journal => {
                "move the journal away, or let `sqlite3` apply it if you know where it comes from"
                    .to_owned()
            }
            Damage::Unreadable { .. } => "look at the disk and its permissions".to_owned(),
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
/// that belongs to it. Before that, it checks that the file is ours. A service may use the file meanwhile, in this
/// process or another.
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
        let examined = recognize_open(&file).and_then(|()| {
            let found = check(&file, limit);
            found.or_else(|error| blame(&file, &error).map(|()| Examination::Impossible))
        });
        match examined {
            Err(TableFault { damage: Damage::Unreadable { why }, file }) => {
                warn!(why, file = %file.display(), "could not examine the structure of the table");
                Ok(Examination::Impossible)
            }
            examined => examined,
        }
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

/// Refuses a file that is not the table's, or that cannot be examined, before anything else reads it or writes to it.
///
/// Must be called before the process opens the database: when the process closes a file, it loses all locks that SQLite
/// holds on that file for any of its connections (<https://www.sqlite.org/howtocorrupt.html>, section 2.2).
pub(crate) fn recognize(file: &Path) -> Result<(), TableFault> {
    let refuse = |damage| Err(TableFault { file: file.to_owned(), damage });
    let mut start = Vec::new();
    let length = u64::try_from(HEADER.len()).unwrap_or(u64::MAX);
    match File::open(file).and_then(|file| file.take(length).read_to_end(&mut start)) {
        Ok(1..) if start != HEADER => return refuse(Damage::NotADatabase),
        Ok(_) => {}
        Err(error) => return refuse(Damage::Unreadable { why: error.to_string() }),
    }
    recognize_open(file)
}

/// The same for a file that this process may have open: only SQLite reads it, which keeps its locks.
pub(crate) fn recognize_open(file: &Path) -> Result<(), TableFault> {
    judge(file).map_or(Ok(()), |damage| Err(TableFault { file: file.to_owned(), damage }))
}

/// What is wrong with a file, apart from its structure.
fn judge(file: &Path) -> Option<Damage> {
    // SQLite takes an empty file as an empty database.
    if fs::metadata(file).is_ok_and(|found| found.len() == 0) {
        return Some(Damage::Empty);
    }
    match files::has_journal(file) {
        Ok(false) => {}
        Ok(true) => return Some(Damage::Journal),
        Err(error) => return Some(Damage::Unreadable { why: error.to_string() }),
    }
    let judge = |connection| Ok(schema::judge(&connection)?.map(Damage::from));
    let judged = open(file).and_then(judge).or_else(|error| match damage_of(&error) {
        Some(damage) => Ok(Some(damage)),
        // For example, there is no room for the files that SQLite needs next to it.
        None => match files::immutable(file) {
            Some(uri) => {
                let access = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                open_with(uri, access).and_then(judge)
            }
            None => Err(error),
        },
    });
    judged.unwrap_or_else(|error| {
        Some(damage_of(&error).unwrap_or_else(|| Damage::Unreadable { why: error.to_string() }))
    })
}

/// Opens a file read-only, so that nothing in it changes, whatever it is.
pub(crate) fn open(file: &Path) -> rusqlite::Result<Connection> {
    open_with(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Opens a file of which nothing may run that is stored in it
/// (<https://www.sqlite.org/security.html#untrusted_sqlite_database_files>).
pub(crate) fn open_with(file: impl AsRef<Path>, access: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    for (config, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(config, is_on)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_MAX)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Whether SQLite itself made an open database smaller than it was, as `VACUUM` does.
pub(crate) fn was_compacted(file: &Path, was: u64) -> rusqlite::Result<bool> {
    let length = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let length: u64 = open(file)?.query_row(length, [], |row| row.get(0))?;
    Ok(length < was)
}

/// The bytes that the log of an open database must have for its frames. A checkpoint may have emptied it.
pub(crate) fn length_of_log(file: &Path) -> rusqlite::Result<u64> {
    let connection = open_with(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
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
    let Some(damage) = damage_of(error) else {
        warn!(%error, file = %file.display(), "could not examine the structure of the table");
        return Ok(());
    };
    Err(TableFault { file: file.to_owned(), damage })
}

/// The damage because of which SQLite failed; `None` if the reason is not in the file.
fn damage_of(error: &rusqlite::Error) -> Option<Damage> {
    match error.sqlite_error_code()? {
        ErrorCode::NotADatabase => Some(Damage::NotADatabase),
        ErrorCode::DatabaseCorrupt => Some(Damage::Broken { finding: finding(error) }),
        _ => None,
    }
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
    use std::fs::OpenOptions;
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
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) \
                 INSERT INTO vedette (pk, item_json, item_size) SELECT i, zeroblob(5000), 1 FROM n",
            )
            .expect("filled");
        drop(large);
        let examined = examine(temporary.path(), Some(Duration::ZERO)).await.expect("no damage");
        assert_eq!(examined, Examination::Unfinished);
        let examined = examine(temporary.path(), None).await.expect("no damage");
        assert_eq!(examined, Examination::Sound);
    }

    #[tokio::test]
    async fn a_database_page_of_random_bytes_is_found() {
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
