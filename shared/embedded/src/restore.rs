//! Restores a backup into an empty data folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rusqlite::OpenFlags;
use sha2::{Digest as _, Sha256};

use crate::backup::{BackupRecord, Counts, RECORD, checksum_file};
use crate::files::{self, FORMAT_VERSION};
use crate::folder::{Folder, FolderError, OLDEST_FORMAT};
use crate::integrity::{self, TableFault};

/// Why a backup was not restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The data folder is unusable or in use.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Existing files would be lost.
    #[error(
        "the data folder {} is not empty: it contains {held}; choose another folder with --data, or move these files \
         away first", .path.display()
    )]
    NotEmpty {
        /// The data folder.
        path: PathBuf,
        /// The names of the files in it.
        held: String,
    },
    /// There is no checksum to check the backup against.
    #[error(
        "the checksum file {} is missing: copy it, too, or restore with --no-checksum, which checks the \
         structure of the backup and counts its items", .0.display()
    )]
    NoChecksum(PathBuf),
    /// The backup differs from what was written.
    #[error("{} is not the backup that was made: its SHA-256 differs from the one in {}", .backup.display(), .checksum.display())]
    Altered {
        /// The backup.
        backup: PathBuf,
        /// The file with its checksum.
        checksum: PathBuf,
    },
    /// The file is damaged, or contains no table.
    #[error(transparent)]
    Damaged(#[from] TableFault),
    /// It is not a backup, or not a complete one.
    #[error("{} is not a backup made by `vedette backup`: {why}", .backup.display())]
    NotABackup {
        /// The file.
        backup: PathBuf,
        /// What is missing.
        why: String,
    },
    /// This version cannot read it.
    #[error(
        "{} was made by Vedette {version} in format {format}, and this version reads formats {OLDEST_FORMAT} to \
         {FORMAT_VERSION}: restore it with Vedette {version} or a newer version", .backup.display()
    )]
    Newer {
        /// The backup.
        backup: PathBuf,
        /// The version that made it.
        version: String,
        /// The format of its items.
        format: u32,
    },
    /// SQLite cannot read or write the copy.
    #[error("the backup cannot be read")]
    Sqlite(#[from] rusqlite::Error),
    /// The system does not allow access.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file or the folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl Folder {
    /// Restores a backup into this folder, which must be empty. Without `check_sum`, no checksum file is needed.
    ///
    /// The backup is copied, and the copy is checked before it becomes the folder's table.
    ///
    /// # Errors
    ///
    /// When the folder is not empty or the backup is not intact; the folder then contains no table.
    pub fn restore(&self, backup: &Path, check_sum: bool) -> Result<BackupRecord, RestoreError> {
        let others = self.others().map_err(|error| failed(self.path(), error))?;
        if !others.is_empty() {
            return Err(RestoreError::NotEmpty {
                path: self.path().to_owned(),
                held: others.join(", "),
            });
        }
        let expected = if check_sum { Some(read_checksum(backup)?) } else { None };
        let file = self.database();
        let draft = self.draft(&file)?;
        let restored = self.fill(backup, expected.as_deref(), &draft);
        let record = restored.inspect_err(|_| drop(self.draft(&file)))?;
        self.write_format_of(record.format)?;
        self.put(&draft, &file)?;
        Ok(record)
    }

    /// Copies a backup into the draft of a table, if it is intact.
    fn fill(
        &self,
        backup: &Path,
        expected: Option<&str>,
        draft: &Path,
    ) -> Result<BackupRecord, RestoreError> {
        let sum = copy(backup, draft)?;
        if expected.is_some_and(|expected| !expected.eq_ignore_ascii_case(&sum)) {
            let (backup, checksum) = (backup.to_owned(), checksum_file(backup));
            return Err(RestoreError::Altered { backup, checksum });
        }
        // A fault of the copy is reported as a fault of the backup.
        let of_backup = |fault: TableFault| TableFault { file: backup.to_owned(), ..fault };
        integrity::recognize(draft).map_err(of_backup)?;
        integrity::check_all(draft).map_err(of_backup)?;
        let not_one =
            |why: &str| RestoreError::NotABackup { backup: backup.to_owned(), why: why.to_owned() };
        let connection = integrity::open_with(draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let read = format!("SELECT record FROM {RECORD}");
        let text = connection.query_row(&read, [], |row| row.get::<_, String>(0));
        let text = text.map_err(|_| not_one("it has no record of its contents"))?;
        let record: BackupRecord = serde_json::from_str(&text)
            .map_err(|_| not_one("the record of its contents cannot be read"))?;
        if record.format > FORMAT_VERSION {
            return Err(RestoreError::Newer {
                backup: backup.to_owned(),
                version: record.version,
                format: record.format,
            });
        }
        let counts = Counts::of(&connection)?;
        if counts.items != record.items {
            let why = format!("it has {} of {} items", counts.items, record.items);
            return Err(not_one(&why));
        }
        connection.execute_batch(&format!("PRAGMA journal_mode = MEMORY; DROP TABLE {RECORD}"))?;
        connection.close().map_err(|(_, error)| error)?;
        File::open(draft).and_then(|file| file.sync_all()).map_err(|error| failed(draft, error))?;
        Ok(record)
    }

    /// The names in this folder, except for its lock and the remains of an interrupted restore or first start.
    fn others(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path())? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.retain(|name| !Self::is_of_no_table(name));
        names.sort_unstable();
        Ok(names)
    }
}

fn failed(path: &Path, error: io::Error) -> RestoreError {
    RestoreError::Io { path: path.to_owned(), error }
}

/// The SHA-256 that a backup should have.
fn read_checksum(backup: &Path) -> Result<String, RestoreError> {
    let file = checksum_file(backup);
    match files::read_beginning(&file) {
        Ok(text) => Ok(text.split_whitespace().next().unwrap_or_default().to_owned()),
        // If the backup is missing as well, report that instead.
        Err(error) if error.kind() == io::ErrorKind::NotFound && backup.exists() => {
            Err(RestoreError::NoChecksum(file))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(failed(backup, error)),
        Err(error) => Err(failed(&file, error)),
    }
}

/// Copies a file into a new one that only its owner can read, and returns the SHA-256 of the copied bytes.
fn copy(from: &Path, to: &Path) -> Result<String, RestoreError> {
    let mut source = BufReader::new(File::open(from).map_err(|error| failed(from, error))?);
    let target = OpenOptions::new().create_new(true).write(true).mode(0o600).open(to);
    let mut target = target.map_err(|error| failed(to, error))?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        let read = source.read(&mut buffer).map_err(|error| failed(from, error))?;
        if read == 0 {
            return Ok(HEXLOWER.encode(&digest.finalize()));
        }
        digest.update(&buffer[..read]);
        target.write_all(&buffer[..read]).map_err(|error| failed(to, error))?;
    }
}
