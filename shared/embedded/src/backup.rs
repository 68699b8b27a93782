//! Backups: the table in a separate file, copied while a service works on it.
//!
//! SQLite's `VACUUM INTO` copies what was committed when it began, on a read-only connection, so neither the service
//! nor its writer waits for the copy. Until the copy is complete, its name ends in `.vedette.partial`.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use data_encoding::HEXLOWER;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use rusqlite::{Connection, ErrorCode, InterruptHandle, OpenFlags, params};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::files::{self, DATABASE, with_suffix};
use crate::folder::{self, FolderError};
use crate::integrity::{self, TableFault};
use crate::layout::TABLE;

/// The suffix of a file that is not a backup yet. No other program uses it, so the next backup of any name in the
/// folder can remove what a killed one left.
const PARTIAL: &str = ".vedette.partial";
/// The suffix in earlier versions.
const PARTIAL_BEFORE: &str = ".partial";
/// The suffix of the file with a backup's checksum, which `sha256sum -c` reads.
const CHECKSUM: &str = ".sha256";
/// The suffixes of files that SQLite may leave next to one that it writes.
const BESIDE: [&str; 3] = ["-journal", "-wal", "-shm"];
/// The name of a backup in a folder of backups, with the UTC time at which it began.
const NAMED: &str = "vedette-%Y%m%dT%H%M%SZ.db";
/// The table with a backup's record, which is one row of JSON.
pub(crate) const RECORD: &str = "vedette_backup";
/// How long to wait for a lock of SQLite, which is held while a log is recovered.
const PATIENCE: Duration = Duration::from_secs(5);

/// The contents of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupRecord {
    /// The format of the items.
    pub format: u32,
    /// The version of Vedette that made the backup.
    pub version: String,
    /// When the backup began: it contains everything that was saved before.
    pub created_at: Timestamp,
    /// Number of items in the table.
    pub items: u64,
    /// Number of users.
    pub users: u64,
    /// Number of teams.
    pub teams: u64,
    /// Number of sites.
    pub sites: u64,
}

/// Where a backup goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupDestination {
    /// A file, which must not exist yet.
    File(PathBuf),
    /// A folder of backups, whose names contain their time.
    Folder {
        /// The folder; it is created if it is missing.
        path: PathBuf,
        /// How many backups to keep, at least one; the oldest are removed after a new one is complete.
        keep: Option<usize>,
    },
}

/// A completed backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The backup.
    pub file: PathBuf,
    /// The file with its checksum.
    pub checksum: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Its contents.
    pub record: BackupRecord,
    /// Older backups that were removed.
    pub removed: Vec<PathBuf>,
}

/// Why no backup was made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The data folder is unusable.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There is no table to copy.
    #[error("there is no table in the data folder {}", .0.display())]
    NoTable(PathBuf),
    /// The table's file cannot be opened.
    #[error("the table in {} cannot be read", .file.display())]
    Unreadable {
        /// The table's file.
        file: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// The table's file is damaged.
    #[error(transparent)]
    Damaged(#[from] TableFault),
    /// Something already has the backup's name.
    #[error("{} already exists, and a backup never replaces a file; choose another name", .0.display())]
    Exists(PathBuf),
    /// The next backup would take it for an unfinished one.
    #[error("{} has the name of an unfinished backup; choose another name", .0.display())]
    Partial(PathBuf),
    /// A backup next to its table would be lost with it.
    #[error(
        "{} is the data folder itself: choose another folder, preferably on another disk", .0.display()
    )]
    InDataFolder(PathBuf),
    /// Another process is making a backup there.
    #[error("another backup to {} is in progress", .0.display())]
    UnderWay(PathBuf),
    /// There is not enough room for it.
    #[error(
        "the disk is full: {} has no room for a copy of the table, about {needed} bytes; nothing is left of the \
         backup", .folder.display()
    )]
    Full {
        /// The destination of the backup.
        folder: PathBuf,
        /// Size of the table in bytes.
        needed: u64,
    },
    /// Somebody cancelled it.
    #[error("the backup was canceled; nothing is left of it")]
    Cancelled,
    /// SQLite did not copy the table.
    #[error("the table cannot be copied to {}", .file.display())]
    Copy {
        /// The copy.
        file: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// The system does not allow access.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file or the folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// Cancels a backup from another thread. Clones cancel the same backup.
#[derive(Clone, Default)]
pub struct Cancellation(Arc<Mutex<Progress>>);

/// How far a cancellable backup is.
#[derive(Default)]
struct Progress {
    is_cancelled: bool,
    /// Interrupts the copy while SQLite makes it.
    copy: Option<InterruptHandle>,
}

impl Cancellation {
    /// Cancels the backup. It has no effect on one that is complete.
    pub fn cancel(&self) {
        let mut progress = self.progress();
        progress.is_cancelled = true;
        if let Some(copy) = &progress.copy {
            copy.interrupt();
        }
    }

    fn check(&self) -> Result<(), BackupError> {
        if self.progress().is_cancelled { Err(BackupError::Cancelled) } else { Ok(()) }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies the table of a data folder, whether a service uses it or not, and waits until the copy is on the disk.
/// `version` is this version of Vedette.
///
/// Call this on a thread that may block.
///
/// # Errors
///
/// When the table cannot be read or the backup cannot be written. Nothing that looks like a backup remains.
pub fn back_up(
    data: &Path,
    destination: &BackupDestination,
    version: &str,
    now: Timestamp,
    cancellation: &Cancellation,
) -> Result<Backup, BackupError> {
    let table = data.join(DATABASE);
    if !folder::has_table(data)? {
        return Err(BackupError::NoTable(data.to_owned()));
    }
    files::judge_all(data).map_err(FolderError::File)?;
    folder::read_format(data)?;
    let place = Place::take(data, destination, now)?;
    let partial = with_suffix(&place.file, PARTIAL);
    let made = copy(data, &table, &partial, version, now, cancellation)
        .and_then(|record| place.name(&partial, cancellation).map(|size| (record, size)));
    let (record, size) = made.inspect_err(|_| discard(&partial))?;
    let removed = place.remove_old()?;
    Ok(Backup { checksum: checksum_file(&place.file), file: place.file, size, record, removed })
}

/// The file with a backup's checksum.
pub(crate) fn checksum_file(backup: &Path) -> PathBuf {
    with_suffix(backup, CHECKSUM)
}

/// The destination of a backup, while no other process makes one in the same folder.
struct Place {
    folder: PathBuf,
    file: PathBuf,
    keep: Option<usize>,
    _lock: File,
}

impl Place {
    fn take(
        data: &Path,
        destination: &BackupDestination,
        now: Timestamp,
    ) -> Result<Self, BackupError> {
        let failed = |path: &Path, error| BackupError::Io { path: path.to_owned(), error };
        let (folder, file, keep) = match destination {
            BackupDestination::File(file) => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                if name.contains(PARTIAL) {
                    return Err(BackupError::Partial(file.clone()));
                }
                let folder = file.parent().filter(|folder| *folder != Path::new(""));
                (folder.unwrap_or(Path::new(".")).to_owned(), file.clone(), None)
            }
            BackupDestination::Folder { path, keep } => {
                folder::make_private(path).map_err(|error| failed(path, error))?;
                let name = TimeZone::UTC.to_datetime(now).strftime(NAMED).to_string();
                (path.clone(), path.join(name), *keep)
            }
        };
        let (here, there) = (fs::canonicalize(&folder), fs::canonicalize(data));
        if here.map_err(|error| failed(&folder, error))?
            == there.map_err(|error| failed(data, error))?
        {
            return Err(BackupError::InDataFolder(folder));
        }
        let lock = File::open(&folder).map_err(|error| failed(&folder, error))?;
        let locked = lock.try_lock();
        if matches!(locked, Err(TryLockError::WouldBlock)) {
            return Err(BackupError::UnderWay(folder));
        }
        let place = Self { folder, file, keep, _lock: lock };
        if fs::symlink_metadata(&place.file).is_ok() {
            return Err(BackupError::Exists(place.file));
        }
        discard(&with_suffix(&place.file, PARTIAL));
        // Some file systems cannot lock folders. There, another backup may be in progress under another name.
        if locked.is_ok() {
            place.sweep()?;
        }
        Ok(place)
    }

    /// Removes what interrupted backups left in the folder, whatever their names were.
    fn sweep(&self) -> Result<(), BackupError> {
        for name in names(&self.folder)? {
            let before_partial = |suffix| name.split_once(suffix).map(|(whole, _)| whole);
            let of_earlier_version =
                before_partial(PARTIAL_BEFORE).filter(|whole| is_backup(whole));
            let partial = before_partial(PARTIAL).or(of_earlier_version);
            if partial.is_some() {
                discard(&self.folder.join(&name));
            }
            // A checksum gets its name before its backup, and is removed after it.
            let checked = name.strip_suffix(CHECKSUM).filter(|whole| is_backup(whole));
            if let Some(whole) = partial.or(checked).map(|whole| self.folder.join(whole))
                && !whole.exists()
            {
                discard(&checksum_file(&whole));
            }
        }
        Ok(())
    }

    /// Gives a complete copy its name, after its checksum is written, and returns its length.
    fn name(&self, partial: &Path, cancellation: &Cancellation) -> Result<u64, BackupError> {
        let failed = |path: &Path| {
            let (path, folder, size) = (path.to_owned(), self.folder.clone(), length(partial));
            move |error: io::Error| match error.kind() {
                io::ErrorKind::StorageFull => BackupError::Full { folder, needed: size },
                _ => BackupError::Io { path, error },
            }
        };
        let copied = File::open(partial).map_err(failed(partial))?;
        copied.sync_all().map_err(failed(partial))?;
        let (digest, size) = digest(copied).map_err(failed(partial))?;
        cancellation.check()?;
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let checksum = checksum_file(&self.file);
        let draft = with_suffix(&checksum, PARTIAL);
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(true).write(true).mode(0o600);
        options
            .open(&draft)
            .and_then(|mut file| {
                writeln!(file, "{digest}  {name}")?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&draft, &checksum))
            .inspect_err(|_| discard(&draft))
            .map_err(failed(&checksum))?;
        if let Err(error) = rename_to_new(partial, &self.file) {
            discard(&checksum);
            return Err(match error.kind() {
                io::ErrorKind::AlreadyExists => BackupError::Exists(self.file.clone()),
                _ => failed(&self.file)(error),
            });
        }
        File::open(&self.folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed(&self.folder))?;
        Ok(size)
    }

    /// Removes the oldest backups beyond the number to keep, but never the one just made.
    fn remove_old(&self) -> Result<Vec<PathBuf>, BackupError> {
        let Some(keep) = self.keep else { return Ok(Vec::new()) };
        let mut others: Vec<_> =
            names(&self.folder)?.into_iter().filter(|name| is_backup(name)).collect();
        // Their names begin with the time.
        others.sort_unstable_by(|a, b| b.cmp(a));
        others.retain(|name| self.file.file_name().is_none_or(|own| own != name.as_str()));
        let mut removed = Vec::new();
        for name in others.into_iter().skip(keep.saturating_sub(1)) {
            let file = self.folder.join(name);
            fs::remove_file(&file)
                .map_err(|error| BackupError::Io { path: file.clone(), error })?;
            discard(&checksum_file(&file));
            removed.push(file);
        }
        Ok(removed)
    }
}

/// Copies the table into a file, and adds a record of the contents.
fn copy(
    data: &Path,
    table: &Path,
    partial: &Path,
    version: &str,
    now: Timestamp,
    cancellation: &Cancellation,
) -> Result<BackupRecord, BackupError> {
    let mut options = OpenOptions::new();
    let made = options.create_new(true).write(true).mode(0o600).open(partial);
    drop(made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::UnderWay(partial.to_owned()),
        _ => BackupError::Io { path: partial.to_owned(), error },
    })?);
    integrity::recognize_open(table)?;
    let unreadable = |source| match integrity::blame(table, &source) {
        Err(fault) => BackupError::Damaged(fault),
        Ok(()) => BackupError::Unreadable { file: table.to_owned(), source },
    };
    let failed = |source: rusqlite::Error| match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            let folder = partial.parent().unwrap_or(partial).to_owned();
            BackupError::Full { folder, needed: length(table) }
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => unreadable(source),
        Some(ErrorCode::OperationInterrupted) => BackupError::Cancelled,
        _ => BackupError::Copy { file: partial.to_owned(), source },
    };
    let source = integrity::open(table).map_err(unreadable)?;
    source.busy_timeout(PATIENCE).map_err(unreadable)?;
    let path = partial.to_str().ok_or_else(|| BackupError::Io {
        path: partial.to_owned(),
        error: io::Error::new(io::ErrorKind::InvalidFilename, "the path is not Unicode"),
    })?;
    cancellation.progress().copy = Some(source.get_interrupt_handle());
    cancellation.check()?;
    source.execute("VACUUM INTO ?1", params![path]).map_err(failed)?;
    drop(source);
    cancellation.check()?;
    // Read after the copy: a version with a newer format records it before it writes the first item.
    let format = folder::read_format(data)?;
    record(partial, format, version, now).map_err(failed)
}

fn record(
    copy: &Path,
    format: u32,
    version: &str,
    now: Timestamp,
) -> rusqlite::Result<BackupRecord> {
    // Nothing else uses the file yet, and it is synced as a whole.
    let connection = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    let Counts { items, users, teams, sites } = Counts::of(&connection)?;
    let version = version.to_owned();
    let record = BackupRecord { format, version, created_at: now, items, users, teams, sites };
    let text = serde_json::to_string(&record)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    connection.execute_batch(&format!("CREATE TABLE {RECORD} (record TEXT NOT NULL)"))?;
    connection.execute(&format!("INSERT INTO {RECORD} VALUES (?1)"), params![text])?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(record)
}

/// What a table contains.
pub(crate) struct Counts {
    pub(crate) items: u64,
    users: u64,
    teams: u64,
    sites: u64,
}

impl Counts {
    pub(crate) fn of(table: &Connection) -> rusqlite::Result<Self> {
        let count = |condition: &str| -> rusqlite::Result<u64> {
            let count = format!("SELECT count(*) FROM \"{TABLE}\" WHERE {condition}");
            table.query_row(&count, [], |row| row.get(0))
        };
        // Keys are stored with their type. A directory has a row for each site, in addition to those with the newest
        // checks.
        Ok(Self {
            items: count("true")?,
            users: count("pk >= 'S:U#' AND pk < 'S:U$' AND sk = 'S:A'")?,
            teams: count("pk >= 'S:T#' AND pk < 'S:T$' AND sk = 'S:A'")?,
            sites: count("pk >= 'S:L#' AND pk < 'S:L$' AND sk NOT LIKE 'S:n#%'")?,
        })
    }
}

/// A file's SHA-256 in the notation of `sha256sum`, and its length.
fn digest(file: File) -> io::Result<(String, u64)> {
    let (mut file, mut digest, mut length) =
        (BufReader::with_capacity(1 << 20, file), Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((HEXLOWER.encode(&digest.finalize()), length));
        }
        digest.update(&buffer[..read]);
        length += read as u64;
    }
}

/// Renames a file, unless something has the new name.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system does not support this.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match fs::symlink_metadata(to) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(from, to),
        },
        renamed => Ok(renamed?),
    }
}

/// Removes a file and SQLite's additional files, if they exist.
fn discard(file: &Path) {
    for suffix in [""].into_iter().chain(BESIDE) {
        let _ = fs::remove_file(with_suffix(file, suffix));
    }
}

fn length(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |metadata| metadata.size())
}

/// Whether a file's name is one for a backup in a folder of backups.
fn is_backup(name: &str) -> bool {
    civil::DateTime::strptime(NAMED, name).is_ok()
}

fn names(folder: &Path) -> Result<Vec<String>, BackupError> {
    let failed = |error| BackupError::Io { path: folder.to_owned(), error };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        if let Ok(name) = entry.map_err(failed)?.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use aws_sdk_dynamodb::types::AttributeValue;
    use vedette_ops::ErrorChain;
    use vedette_store::keys::{PK, SK};

    use super::*;
    use crate::files::FORMAT_VERSION;
    use crate::{Database, Folder, Fsync, RestoreError, sdk_client};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_764_000_000 + second).expect("an instant")
    }

    fn path(folder: &tempfile::TempDir, name: &str) -> PathBuf {
        folder.path().join(name)
    }

    async fn put(database: &Database, pk: &str, sk: &str) {
        let put = sdk_client(database.http_client()).put_item().table_name(TABLE);
        let put = put.item(PK, AttributeValue::S(pk.to_owned()));
        put.item(SK, AttributeValue::S(sk.to_owned())).send().await.expect("written");
    }

    /// A data folder with a team that has two sites in its directory, and an item for each number.
    async fn data(numbers: std::ops::Range<u32>) -> (tempfile::TempDir, Folder, Database) {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let database = Database::open(&folder, Fsync::EverySecond).await.expect("opened");
        for (pk, sk) in [("T#t", "A"), ("U#u", "A"), ("L#t", "0a"), ("L#t", "0b"), ("L#t", "n#0a")]
        {
            put(&database, pk, sk).await;
        }
        for number in numbers {
            put(&database, &format!("R#{number}"), "A").await;
        }
        (temporary, folder, database)
    }

    fn to_file(data: &tempfile::TempDir, file: &Path) -> Result<Backup, BackupError> {
        let destination = BackupDestination::File(file.to_owned());
        back_up(data.path(), &destination, "0.1.0", at(0), &Cancellation::default())
    }

    fn listing(folder: &Path) -> Vec<String> {
        let mut names = names(folder).expect("a folder");
        names.sort_unstable();
        names
    }

    /// Updates a backup's checksum to its current contents.
    fn sign(backup: &Path) {
        let (digest, _) = digest(File::open(backup).expect("a backup")).expect("read");
        fs::write(checksum_file(backup), format!("{digest}  backup\n")).expect("written");
    }

    async fn restored(backup: &Path, check_sum: bool) -> Result<BackupRecord, RestoreError> {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let restored = folder.restore(backup, check_sum);
        let expected =
            if restored.is_ok() { vec!["format", "lock", DATABASE] } else { vec!["lock"] };
        assert_eq!(listing(temporary.path()), expected);
        restored
    }

    #[tokio::test]
    async fn a_table_is_backed_up_while_it_is_open_and_put_back() {
        let (data, _folder, database) = data(0..3).await;
        let elsewhere = tempfile::tempdir().expect("a folder");
        let file = path(&elsewhere, "backup.db");
        let made = to_file(&data, &file).expect("made");
        let record = BackupRecord {
            format: FORMAT_VERSION,
            version: "0.1.0".to_owned(),
            created_at: at(0),
            items: 8,
            users: 1,
            teams: 1,
            sites: 2,
        };
        assert_eq!(made.record, record);
        assert_eq!(listing(elsewhere.path()), ["backup.db", "backup.db.sha256"]);
        for file in [&made.file, &made.checksum] {
            let mode = fs::metadata(file).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let sum = fs::read_to_string(&made.checksum).expect("read");
        let (digest, size) = digest(File::open(&file).expect("a file")).expect("read");
        assert_eq!((sum, size), (format!("{digest}  backup.db\n"), made.size));

        put(&database, "R#later", "A").await;
        database.close().await;
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        assert_eq!(folder.restore(&file, true).expect("restored"), record);
        let database = Database::open(&folder, Fsync::Always).await.expect("opened");
        let client = sdk_client(database.http_client());
        let items = client.scan().table_name(TABLE).send().await.expect("read").count;
        assert_eq!(items, 8, "the record is gone, and what was written later is not there");
        let refused = folder.restore(&file, true).expect_err("there is a table");
        assert!(refused.to_string().contains("is not empty: it contains vedette.db"), "{refused}");
        database.close().await;
    }

    #[tokio::test]
    async fn the_newest_backups_are_kept_and_nothing_else_is_touched() {
        let (data, _folder, database) = data(0..1).await;
        let backups = tempfile::tempdir().expect("a folder");
        let folder = backups.path().join("new/backups");
        let make = |second, keep| {
            let destination = BackupDestination::Folder { path: folder.clone(), keep };
            back_up(data.path(), &destination, "0.1.0", at(second), &Cancellation::default())
        };
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("vedette-20250101T000000Z.db.partial"), "half").expect("written");
        for second in 0..3 {
            assert!(make(second, None).expect("made").removed.is_empty());
        }
        assert!(!listing(&folder).iter().any(|name| name.contains(PARTIAL_BEFORE)));
        // The last one is of a backup that was killed while it removed an old one.
        for name in [
            "vedette-later.db",
            "vedette-20991231T000000Z.db.partial-journal",
            "notes",
            "vedette-20250101T000000Z.db.sha256",
        ] {
            fs::write(folder.join(name), "").expect("written");
        }
        // Its clock is slow, but it is kept all the same.
        let removed = make(-1, Some(2)).expect("made").removed;
        let names: Vec<_> = removed.iter().map(|file| file.file_name().expect("a name")).collect();
        assert_eq!(names, ["vedette-20251124T160001Z.db", "vedette-20251124T160000Z.db"]);
        let kept = ["vedette-20251124T155959Z.db", "vedette-20251124T160002Z.db"];
        let mut expected = vec!["notes".to_owned(), "vedette-later.db".to_owned()];
        expected
            .extend(kept.iter().flat_map(|name| [(*name).to_owned(), format!("{name}.sha256")]));
        expected.sort_unstable();
        assert_eq!(listing(&folder), expected);
        database.close().await;
    }

    #[tokio::test]
    async fn a_backup_that_cannot_be_made_leaves_nothing() {
        let (data, _folder, database) = data(0..1).await;
        let elsewhere = tempfile::tempdir().expect("a folder");
        let refused =
            |file: &Path| ErrorChain(&to_file(&data, file).expect_err("refused")).to_string();

        fs::write(path(&elsewhere, "there"), "kept").expect("written");
        assert!(refused(&path(&elsewhere, "there")).contains("there already exists"));
        assert!(refused(&path(&data, "beside.db")).contains("is the data folder itself"));
        assert!(refused(&path(&elsewhere, "missing/backup.db")).contains("No such file"));
        let held = File::open(elsewhere.path()).expect("a folder");
        held.lock().expect("locked");
        assert!(refused(&path(&elsewhere, "backup.db")).ends_with("is in progress"));
        drop(held);
        let empty = tempfile::tempdir().expect("a folder");
        let nothing = to_file(&empty, &path(&elsewhere, "backup.db")).expect_err("no table");
        assert!(matches!(nothing, BackupError::NoTable(_)), "{nothing}");
        fs::write(path(&data, "format"), "1000").expect("written");
        assert!(refused(&path(&elsewhere, "backup.db")).contains("a newer version of Vedette"));
        assert_eq!(listing(elsewhere.path()), ["there"]);
        database.close().await;
    }

    #[tokio::test]
    async fn a_cancelled_backup_leaves_nothing() {
        let (data, _folder, database) = data(0..1).await;
        let elsewhere = tempfile::tempdir().expect("a folder");
        let destination = BackupDestination::File(path(&elsewhere, "backup.db"));
        let cancellation = Cancellation::default();
        cancellation.cancel();
        let refused = back_up(data.path(), &destination, "0.1.0", at(0), &cancellation);
        let refused = refused.expect_err("cancelled");
        assert!(matches!(refused, BackupError::Cancelled), "{refused}");
        assert!(listing(elsewhere.path()).is_empty());
        database.close().await;
    }

    #[tokio::test]
    async fn a_damaged_table_gives_no_backup() {
        let (data, folder, database) = data(0..500).await;
        database.close().await;
        drop(folder);
        let table = path(&data, DATABASE);
        let length = fs::metadata(&table).expect("a file").len();
        let file = OpenOptions::new().write(true).open(&table).expect("a file");
        std::os::unix::fs::FileExt::write_all_at(&file, &[0x5a; 8_192], length - 16_384)
            .expect("written");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let refused = to_file(&data, &path(&elsewhere, "backup.db")).expect_err("damaged");
        assert!(matches!(refused, BackupError::Damaged(_)), "{refused}");
        assert!(listing(elsewhere.path()).is_empty());
    }

    #[tokio::test]
    async fn an_unfinished_backup_is_deleted_and_never_restored() {
        let (data, _folder, database) = data(0..1).await;
        let elsewhere = tempfile::tempdir().expect("a folder");
        let file = path(&elsewhere, "backup.db");
        // Whatever its name was; the last one was killed just before its backup got its name.
        for name in ["backup.db", "before.db", "again"] {
            for suffix in [PARTIAL, ".vedette.partial-journal", ".sha256.vedette.partial", CHECKSUM]
            {
                let left = with_suffix(&path(&elsewhere, name), suffix);
                fs::write(left, "half").expect("written");
            }
        }
        // These belong to somebody else, or to a backup that is complete.
        for name in ["film.mkv.partial", "kept.db", "kept.db.sha256", "kept.db.vedette.partial"] {
            fs::write(path(&elsewhere, name), "kept").expect("written");
        }
        to_file(&data, &file).expect("made");
        let expected =
            ["backup.db", "backup.db.sha256", "film.mkv.partial", "kept.db", "kept.db.sha256"];
        assert_eq!(listing(elsewhere.path()), expected);
        restored(&file, true).await.expect("sound");
        database.close().await;
    }

    #[tokio::test]
    async fn only_a_whole_backup_that_this_version_reads_is_put_back() {
        let (data, _folder, database) = data(0..500).await;
        database.close().await;
        let elsewhere = tempfile::tempdir().expect("a folder");
        let file = path(&elsewhere, "backup.db");
        to_file(&data, &file).expect("made");
        let whole = fs::read(&file).expect("read");
        let why = async |check_sum| {
            let refused = restored(&file, check_sum).await.expect_err("refused");
            ErrorChain(&refused).to_string()
        };

        fs::remove_file(checksum_file(&file)).expect("removed");
        assert!(why(true).await.contains("backup.db.sha256 is missing: copy it, too"));
        restored(&file, false).await.expect("its structure is sound");
        let half = &whole[..whole.len() / 2];
        fs::write(&file, half).expect("written");
        sign(&file);
        assert!(why(true).await.contains("backup.db is damaged"));
        fs::write(&file, &whole).expect("written");
        assert!(why(true).await.contains("its SHA-256 differs"));

        let changed = |change: &str| {
            fs::write(&file, &whole).expect("written");
            Connection::open(&file).expect("opened").execute_batch(change).expect("changed");
            sign(&file);
        };
        changed(
            "UPDATE vedette_backup SET record = json_set(record, '$.format', 1000, '$.version', '9.0.0')",
        );
        let newer = why(true).await;
        assert!(
            newer.contains("was made by Vedette 9.0.0 in format 1000, and this version"),
            "{newer}"
        );
        changed("DELETE FROM vedette WHERE pk = 'S:R#7'");
        assert!(why(true).await.ends_with("it has 504 of 505 items"));
        changed("DROP TABLE vedette_backup");
        assert!(why(true).await.ends_with("it has no record of its contents"));
        fs::write(&file, "notes").expect("written");
        assert!(why(false).await.contains("backup.db is not a database"));
    }

    #[tokio::test]
    async fn nothing_runs_that_is_stored_in_a_file() {
        const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
        let (data, folder, database) = data(0..50).await;
        database.close().await;
        let elsewhere = tempfile::tempdir().expect("a folder");
        let file = path(&elsewhere, "backup.db");
        to_file(&data, &file).expect("made");
        let whole = fs::read(&file).expect("read");
        let many: String = (0..5_000).map(|n| format!("CREATE TABLE t{n} (a);")).collect();
        let many = format!("BEGIN; {many} COMMIT");
        let long = format!("CREATE VIEW long AS SELECT '{}'", "x".repeat(9_000));
        for (change, found) in [
            (
                format!("CREATE VIEW v AS {ENDLESS} SELECT max(i) FROM n"),
                "contains \"view v\", which",
            ),
            (
                format!(
                    "DROP TABLE vedette; CREATE VIEW vedette AS {ENDLESS} SELECT max(i) AS pk FROM n"
                ),
                "is a database of another program",
            ),
            (
                format!(
                    "DROP TABLE vedette_backup; \
                     CREATE VIEW vedette_backup AS {ENDLESS} SELECT max(i) AS record FROM n"
                ),
                "contains \"view vedette_backup\"",
            ),
            (
                "CREATE TRIGGER t AFTER INSERT ON vedette BEGIN DELETE FROM vedette; END"
                    .to_owned(),
                "contains \"trigger t\"",
            ),
            ("CREATE INDEX i ON vedette (abs(item_size))".to_owned(), "contains \"index i\""),
            ("CREATE VIRTUAL TABLE f USING fts5(a)".to_owned(), "contains \"table f\""),
            (
                "ALTER TABLE vedette ADD COLUMN g AS (abs(item_size))".to_owned(),
                "contains \"table vedette\"",
            ),
            (
                "CREATE TABLE \"a\u{202e}b\" (c CHECK (abs(c) > 0))".to_owned(),
                "contains \"table a\\u{202e}b\"",
            ),
            (
                "UPDATE _tables SET gsi_definitions = replace(gsi_definitions, 'work', '\"')"
                    .to_owned(),
                "contains another definition of a table",
            ),
            (
                "INSERT INTO _tables (table_name, key_schema, attribute_definitions, created_at) \
                 VALUES ('other', '', '', 0)"
                    .to_owned(),
                "contains another definition of a table",
            ),
            ("UPDATE _tables SET ttl_enabled = 0".to_owned(), "contains another definition"),
            ("DELETE FROM _tables".to_owned(), "lacks the definition of its table"),
            ("DROP TABLE _config".to_owned(), "lacks \"table _config\""),
            ("DROP TABLE _stream_records".to_owned(), "lacks \"table _stream_records\""),
            (
                "DROP INDEX \"vedette::gsi::work::base_key\"".to_owned(),
                "lacks \"index vedette::gsi::work::base_key\"",
            ),
            (
                "DROP TABLE \"vedette::gsi::work\"".to_owned(),
                "lacks \"index vedette::gsi::work::base_key\"",
            ),
            (many, "has a schema that is too long"),
            (long, "has a schema that is too long"),
        ] {
            fs::write(&file, &whole).expect("written");
            Connection::open(&file).expect("opened").execute_batch(&change).expect("changed");
            sign(&file);
            let refused = restored(&file, true).await.expect_err("refused").to_string();
            assert!(refused.contains(found), "{refused}");
            // The same as the table of a data folder.
            fs::copy(&file, path(&data, DATABASE)).expect("copied");
            let opened = Database::open(&folder, Fsync::EverySecond).await.expect_err("refused");
            assert!(opened.to_string().contains(found), "{opened}");
            let examined = integrity::examine(data.path(), None).await.expect_err("refused");
            assert!(examined.to_string().contains(found), "{examined}");
            let copied = to_file(&data, &path(&elsewhere, "copy.db")).expect_err("refused");
            assert!(copied.to_string().contains(found), "{copied}");
        }
    }

    #[tokio::test]
    async fn statistics_of_sqlite_are_no_fault() {
        let (data, folder, database) = data(0..500).await;
        database.close().await;
        let file = path(&data, DATABASE);
        Connection::open(&file).expect("opened").execute_batch("ANALYZE").expect("analyzed");
        Database::open(&folder, Fsync::EverySecond).await.expect("opened").close().await;
        let elsewhere = tempfile::tempdir().expect("a folder");
        let copy = path(&elsewhere, "backup.db");
        to_file(&data, &copy).expect("made");
        restored(&copy, true).await.expect("restored");
        // They are there.
        let statistics = "SELECT count(*) FROM sqlite_stat1, sqlite_stat4";
        let copy = Connection::open(&copy).expect("opened");
        let rows: u32 = copy.query_row(statistics, [], |row| row.get(0)).expect("statistics");
        assert!(rows > 0);
    }

    #[tokio::test]
    async fn nothing_comes_from_a_rollback_journal() {
        let (data, folder, database) = data(0..5).await;
        database.close().await;
        let elsewhere = tempfile::tempdir().expect("a folder");
        let (journal, file) = (path(&data, "vedette.db-journal"), path(&elsewhere, "copy.db"));
        fs::write(&journal, [0; 512]).expect("written");
        to_file(&data, &file).expect("a journal without contents is harmless");
        for is_link in [false, true] {
            fs::remove_file(&journal).expect("removed");
            match is_link {
                false => fs::write(&journal, [0xd9; 512]).expect("written"),
                true => std::os::unix::fs::symlink("elsewhere", &journal).expect("made"),
            }
            let opened = Database::open(&folder, Fsync::EverySecond).await.expect_err("refused");
            let examined = integrity::examine(data.path(), None).await.expect_err("refused");
            let copied = to_file(&data, &path(&elsewhere, "b.db")).expect_err("refused");
            for refused in [opened.to_string(), examined.to_string(), copied.to_string()] {
                assert!(refused.contains("has a rollback journal"), "{refused}");
            }
        }
        // One next to the draft of a restore is removed.
        let target = tempfile::tempdir().expect("a folder");
        fs::write(path(&target, "vedette.db.new-journal"), [0xd9; 512]).expect("written");
        let folder = Folder::alone(target.path()).await;
        folder.restore(&file, true).expect("restored");
    }

    #[test]
    fn a_backup_does_not_have_the_name_of_an_unfinished_one() {
        let elsewhere = tempfile::tempdir().expect("a folder");
        let destination = BackupDestination::File(path(&elsewhere, "mine.vedette.partial"));
        let refused = Place::take(elsewhere.path(), &destination, Timestamp::UNIX_EPOCH);
        assert!(matches!(refused, Err(BackupError::Partial(_))));
    }

    #[tokio::test]
    async fn a_backup_may_have_any_form_that_sqlite_can_read() {
        let (data, _folder, database) = data(0..500).await;
        database.close().await;
        let elsewhere = tempfile::tempdir().expect("a folder");
        let file = path(&elsewhere, "backup.db");
        to_file(&data, &file).expect("made");
        for form in ["page_size = 65536", "page_size = 512", "journal_mode = WAL"] {
            let sql = format!("PRAGMA {form}; VACUUM");
            Connection::open(&file).expect("opened").execute_batch(&sql).expect("changed");
            restored(&file, false).await.expect(form);
        }
        let whole = fs::read(&file).expect("read");
        for page in (512..whole.len()).step_by(8_192) {
            let mut noise = whole.clone();
            noise[page..page + 64].fill(0x5a);
            fs::write(&file, &noise).expect("written");
            let _ = restored(&file, false).await;
        }
    }

    #[tokio::test]
    async fn nothing_in_a_folder_is_lost_to_a_backup() {
        let (data, _folder, database) = data(0..1).await;
        let elsewhere = tempfile::tempdir().expect("a folder");
        let file = path(&elsewhere, "backup.db");
        to_file(&data, &file).expect("made");
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        fs::write(path(&temporary, "notes"), "kept").expect("written");
        let refused = folder.restore(&file, true).expect_err("not empty").to_string();
        assert!(
            refused.contains("it contains notes; choose another folder with --data"),
            "{refused}"
        );
        fs::remove_file(path(&temporary, "notes")).expect("removed");
        // Like the files of a restore that was interrupted before its last step.
        fs::write(path(&temporary, "vedette.db.new"), "half").expect("written");
        fs::write(path(&temporary, "format"), FORMAT_VERSION.to_string()).expect("written");
        folder.restore(&file, true).expect("restored");
        assert_eq!(listing(temporary.path()), ["format", "lock", DATABASE]);
        database.close().await;
    }
}
