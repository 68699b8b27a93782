//! The data folder: one process at a time, its format, and the token file.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::fs::OFlags;
use rustix::process::geteuid;
use sha2::{Digest as _, Sha256};
use vedette_domain::accounts::account::Secret;

use crate::files::{self, FORMAT_VERSION, FileFault, Found, Held, Identity, with_suffix};

/// The folder with all persistent data, while only this process uses it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The files in it that this process has open.
    held: Held,
    /// The identity of the folder, whatever its path leads to later.
    identity: Identity,
    /// The system unlocks both when the process ends, however it ends.
    _locks: [File; 2],
}

/// Why the data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process uses it.
    #[error("the data folder {} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// A service uses it that commands cannot reach, because its socket cannot be created.
    #[error(
        "a service is running on the data folder {}, but the folder is read-only: the service can save nothing, and \
         commands cannot reach it", .0.display()
    )]
    ReadOnly(PathBuf),
    /// Another user owns it, and can read and replace everything in it.
    #[error(
        "the data folder {} belongs to another user (uid {owner}); run Vedette as that user, or choose \
         another folder", .path.display()
    )]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// The owner.
        owner: u32,
    },
    /// A newer version has used it.
    #[error(
        "the data folder {} has format {format}, written by a newer version of Vedette; this version reads formats \
         {OLDEST_FORMAT} to {FORMAT_VERSION}. Install the newer version again, or restore a backup from before the \
         update into another folder with `vedette restore`", .path.display()
    )]
    Newer {
        /// The folder.
        path: PathBuf,
        /// The format of the table in it.
        format: u32,
    },
    /// The format of its data is not known.
    #[error(
        "the data folder {} was created by another version of Vedette; use that version for it, or \
         start on another folder", .0.display()
    )]
    Format(PathBuf),
    /// The file with the table's format contains no format.
    #[error(
        "{} does not say which format the table has: put the file back from a backup, or, if this \
         version of Vedette was the last that ran on the folder, run `echo {FORMAT_VERSION} > '{}'`",
        .0.display(), .0.display()
    )]
    NoFormat(PathBuf),
    /// The table is missing, although there was one.
    #[error(
        "{} is missing, although there was a table: put it back from a backup; or, to start with an \
         empty table, remove what is left of the old one: {left}", .path.display()
    )]
    NoTable {
        /// The table's file.
        path: PathBuf,
        /// The files that show this.
        left: String,
    },
    /// A restore was interrupted, so there is no complete table.
    #[error(
        "a restore into the data folder {} was interrupted: run `vedette restore` with the same backup again; or, to \
         start with an empty table, remove {RESTORING} first", .0.display()
    )]
    Restoring(PathBuf),
    /// The table's log is missing, although its index shows that nothing has moved the log's changes into the table.
    #[error(
        "{} is missing, although its index {} is there, so the newest changes are missing: put it back; or, to \
         continue without them, remove {}", .0.display(), files::LOG_INDEX, files::LOG_INDEX
    )]
    NoLog(PathBuf),
    /// Something else has the name of one of Vedette's files.
    #[error("{}; {}", .0, .0.remedy())]
    File(FileFault),
    /// The system does not allow access.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The folder or the file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// The folder in the data folder into which `vedette browser install` puts Lighthouse, Node and a browser.
pub const INSTALLED_LIGHTHOUSE: &str = "lighthouse";

/// The oldest format that can still be read.
pub(crate) const OLDEST_FORMAT: u32 = 1;

/// The table while a backup is restored: [`files::DATABASE`] as [`Folder::draft`] names it. Earlier versions also
/// created an empty table under this name.
const RESTORING: &str = "vedette.db.new";
/// An empty table while the first start creates it.
const CREATING: &str = "vedette.db.first";

/// The format of a table that this version can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The format that this version writes.
    Present,
    /// A format of a previous version.
    Older,
}

/// Access for the owner only.
const PRIVATE: u32 = 0o700;

impl Folder {
    /// Creates the folder if it is missing, and removes other users' access if it exists: tokens and request headers of
    /// sites are private.
    ///
    /// # Errors
    ///
    /// When the folder belongs to another user, or the system refuses.
    pub fn make(path: &Path) -> Result<(), FolderError> {
        let failed = |error| FolderError::Io { path: path.to_owned(), error };
        make_private(path).map_err(failed)?;
        let found = fs::metadata(path).map_err(failed)?;
        if found.uid() != geteuid().as_raw() {
            return Err(FolderError::NotOurs { path: path.to_owned(), owner: found.uid() });
        }
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(path, Permissions::from_mode(PRIVATE)).map_err(failed)?;
        }
        Ok(())
    }

    /// Locks the folder itself and the file `lock` in it, and refuses files that are not Vedette's.
    ///
    /// Two processes would damage the table. Earlier versions of Vedette only know the file's lock; the folder stays
    /// locked even if somebody removes the file.
    pub(crate) fn lock(path: &Path) -> Result<Self, FolderError> {
        let failed = |error| FolderError::Io { path: path.to_owned(), error };
        let folder = File::open(path).map_err(failed)?;
        match folder.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FolderError::InUse(path.to_owned())),
            // Some file systems, such as NFS, cannot lock folders; there, the lock on the file has to suffice.
            Err(TryLockError::Error(_)) => {}
        }
        files::judge_all(path).map_err(FolderError::File)?;
        let name = path.join(files::LOCK);
        let failed = |error| FolderError::Io { path: name.clone(), error };
        let mut lock = OpenOptions::new();
        lock.create(true)
            .truncate(false)
            .write(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        // A read-only folder can still be locked and served.
        let lock = lock.open(&name).or_else(|error| match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => File::open(&name),
            _ => Err(error),
        });
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FolderError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let locked = Found::of(&lock).map_err(failed)?.identity;
        // The file may have been removed or replaced before it was locked.
        if Found::at(&name).map_err(failed)?.map(|found| found.identity) != Some(locked) {
            return Err(FolderError::InUse(path.to_owned()));
        }
        let held = Held::default();
        held.set(files::LOCK, locked);
        let identity = Found::of(&folder).map_err(failed)?.identity;
        Ok(Self { path: path.to_owned(), held, identity, _locks: [folder, lock] })
    }

    /// Whether Vedette has stored a table in a folder, even if the table is lost or was not restored completely.
    ///
    /// # Errors
    ///
    /// When the system does not allow access.
    pub fn has_data(path: &Path) -> io::Result<bool> {
        let of_a_table = [files::DATABASE, files::FORMAT, files::TOKEN, RESTORING];
        Ok(!present(path, &of_a_table)?.is_empty())
    }

    /// Refuses a folder with an incomplete table, or one of another version. Call this before anything opens the table,
    /// because SQLite creates and removes files next to it.
    ///
    /// # Errors
    ///
    /// When there is no table although there was one, when the table is incomplete or of another version, or when the
    /// system refuses access.
    pub fn judge(&self) -> Result<(), FolderError> {
        if has_table(&self.path)? {
            self.check_format()?;
        }
        Ok(())
    }

    /// Records the format of the table.
    pub(crate) fn write_format(&self) -> Result<(), FolderError> {
        self.write_format_of(FORMAT_VERSION)
    }

    /// Records that the table has a format that this version can read.
    pub(crate) fn write_format_of(&self, format: u32) -> Result<(), FolderError> {
        let path = self.path.join(files::FORMAT);
        let draft = self.draft(&path)?;
        fs::write(&draft, format.to_string())
            .and_then(|()| File::open(&draft)?.sync_all())
            .map_err(|error| FolderError::Io { path: draft.clone(), error })?;
        self.put(&draft, &path)
    }

    /// Removes the format of a table that was never completed.
    pub(crate) fn remove_format(&self) -> Result<(), FolderError> {
        remove(&self.path.join(files::FORMAT))
    }

    /// Refuses a folder whose table has a format that this version cannot read, before anything in it is read.
    pub(crate) fn check_format(&self) -> Result<Format, FolderError> {
        Ok(match read_format(&self.path)? {
            FORMAT_VERSION => Format::Present,
            _ => Format::Older,
        })
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path.join(files::DATABASE)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files in it that this process has open.
    pub(crate) const fn held(&self) -> &Held {
        &self.held
    }

    /// The identity of the folder.
    pub(crate) const fn identity(&self) -> Identity {
        self.identity
    }

    /// Tells this folder from others of the same machine, in eight hexadecimal digits. Containers may see different
    /// folders at the same path, which differ in their inodes.
    pub fn id(&self) -> String {
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let mut hash = Sha256::new();
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update(self.identity.inode().to_be_bytes());
        let mut id = HEXLOWER.encode(&hash.finalize());
        id.truncate(8);
        id
    }

    /// The file with the token for scripts.
    pub fn token(&self) -> PathBuf {
        self.path.join(files::TOKEN)
    }

    /// The token in the token file; `None` if the file is missing or contains no token.
    pub fn read_token(&self) -> Option<Secret> {
        files::read_beginning(&self.token()).ok().and_then(|text| Secret::parse(text.trim()))
    }

    /// Writes the token file, readable by its owner only, atomically.
    ///
    /// # Errors
    ///
    /// When the system does not allow access.
    pub fn write_token(&self, secret: &Secret) -> Result<(), FolderError> {
        let draft = self.draft(&self.token())?;
        let failed = |error| FolderError::Io { path: draft.clone(), error };
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft);
        let mut file = file.map_err(failed)?;
        writeln!(file, "{}", secret.reveal()).and_then(|()| file.sync_all()).map_err(failed)?;
        self.put(&draft, &self.token())
    }

    /// Whether a name in the folder does not indicate a table, or at most one that was never completed.
    pub(crate) fn is_of_no_table(name: &str) -> bool {
        [files::LOCK, files::FORMAT, "format.new"].contains(&name)
            || [RESTORING, CREATING].iter().any(|draft| name.starts_with(draft))
    }

    /// A trial file, which shows whether files can be written to the folder.
    pub fn write_trial(&self) -> PathBuf {
        self.path.join("write-trial")
    }

    /// The name of a file while it is created; whatever a crash left there is removed.
    pub(crate) fn draft(&self, file: &Path) -> Result<PathBuf, FolderError> {
        Self::cleared(with_suffix(file, ".new"))
    }

    /// The name of an empty table while the first start creates it.
    pub(crate) fn first_draft(&self) -> Result<PathBuf, FolderError> {
        Self::cleared(self.path.join(CREATING))
    }

    fn cleared(draft: PathBuf) -> Result<PathBuf, FolderError> {
        // SQLite keeps more files next to its own.
        for suffix in ["", "-journal", "-wal", "-shm"] {
            remove(&with_suffix(&draft, suffix))?;
        }
        Ok(draft)
    }

    /// Gives a complete draft its final name.
    pub(crate) fn put(&self, draft: &Path, file: &Path) -> Result<(), FolderError> {
        let named = fs::rename(draft, file).and_then(|()| File::open(&self.path)?.sync_all());
        named.map_err(|error| FolderError::Io { path: file.to_owned(), error })
    }
}

/// Whether a folder has a table; otherwise one may be created.
///
/// # Errors
///
/// When there is no table although there was one, when the table is incomplete, or when the system refuses access.
pub(crate) fn has_table(folder: &Path) -> Result<bool, FolderError> {
    let failed = |error| FolderError::Io { path: folder.to_owned(), error };
    let present = |names: &[&'static str]| present(folder, names).map_err(failed);
    if !present(&[files::DATABASE])?.is_empty() {
        // SQLite creates the log before its index, and removes it after the index.
        return match present(&[files::LOG, files::LOG_INDEX])?[..] {
            [files::LOG_INDEX] => Err(FolderError::NoLog(folder.join(files::LOG))),
            _ => Ok(true),
        };
    }
    if !present(&[RESTORING])?.is_empty() {
        return Err(FolderError::Restoring(folder.to_owned()));
    }
    let left = present(&[files::FORMAT, files::TOKEN, files::LOG, files::LOG_INDEX])?;
    // An interrupted first start leaves a draft of the table, and at most the format file.
    let is_first = !present(&[CREATING])?.is_empty();
    if left.is_empty() || (is_first && left == [files::FORMAT]) {
        return Ok(false);
    }
    Err(FolderError::NoTable { path: folder.join(files::DATABASE), left: left.join(", ") })
}

/// Creates a folder if it is missing, with access for its owner only.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE).create(path)
}

/// The format of a data folder's table, if this version can read it.
pub(crate) fn read_format(folder: &Path) -> Result<u32, FolderError> {
    let path = folder.join(files::FORMAT);
    match files::read_beginning(&path) {
        Ok(found) if found.trim().is_empty() => Err(FolderError::NoFormat(path)),
        Ok(found) => match found.trim().parse() {
            Ok(format @ OLDEST_FORMAT..=FORMAT_VERSION) => Ok(format),
            Ok(format) if format > FORMAT_VERSION => {
                Err(FolderError::Newer { path: folder.to_owned(), format })
            }
            _ => Err(FolderError::Format(folder.to_owned())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(FolderError::NoFormat(path)),
        Err(error) => Err(FolderError::Io { path, error }),
    }
}

fn remove(path: &Path) -> Result<(), FolderError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FolderError::Io { path: path.to_owned(), error })
        }
        _ => Ok(()),
    }
}

/// The drafts of a table that a start or a restore has left in a folder that has a table.
pub fn left_beside_table(folder: &Path) -> Vec<&'static str> {
    let found = present(folder, &[files::DATABASE, RESTORING, CREATING]).unwrap_or_default();
    match found.split_first() {
        Some((&files::DATABASE, left)) => left.to_vec(),
        _ => Vec::new(),
    }
}

/// Which of these names exist in a folder.
fn present(folder: &Path, names: &[&'static str]) -> io::Result<Vec<&'static str>> {
    let mut present = Vec::new();
    for name in names {
        if Found::at(&folder.join(name))?.is_some() {
            present.push(*name);
        }
    }
    Ok(present)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::chown;

    use aws_sdk_dynamodb::types::AttributeValue;
    use vedette_store::keys::{PK, SK};

    use super::*;
    use crate::{Database, DatabaseError, Fsync, TABLE, sdk_client};

    #[test]
    fn a_folder_of_another_user_is_refused_untouched() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("made");
        fs::set_permissions(&data, Permissions::from_mode(0o777)).expect("opened");
        // Only root can change the owner of a folder.
        if !geteuid().is_root() {
            return;
        }
        chown(&data, Some(12_345), None).expect("given away");
        let refused = Folder::make(&data).expect_err("not ours").to_string();
        assert!(refused.contains("data belongs to another user (uid 12345); run"), "{refused}");
        let left = fs::metadata(&data).expect("there");
        assert_eq!(
            (left.mode() & 0o777, fs::read_dir(&data).expect("a folder").count()),
            (0o777, 0)
        );
    }

    #[test]
    fn files_of_interrupted_changes_are_found_beside_the_table() {
        let folder = tempfile::tempdir().expect("a folder");
        let left = || left_beside_table(folder.path());
        let make = |name: &str| fs::write(folder.path().join(name), "").expect("written");
        make(RESTORING);
        assert!(left().is_empty(), "it may be all that there is of the table");
        make(files::DATABASE);
        assert_eq!(left(), [RESTORING]);
        make(CREATING);
        assert_eq!(left(), [RESTORING, CREATING]);
    }

    /// The page that says what a start does with each combination of files.
    const PAGE: &str = include_str!("../../../docs/reference/data-folder.md");

    /// What the page says about a folder with these files.
    fn documented(files: &[&str]) -> &'static str {
        let rows = || PAGE.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
        let cells = |row: &'static str| row.split('|').map(str::trim).collect::<Vec<_>>();
        let is_header = |cells: &Vec<_>| cells.last() == Some(&"the start");
        let names = rows().map(cells).find(is_header).expect("the table");
        let matches = |cells: &Vec<&str>| {
            names.iter().zip(cells).all(|(name, cell)| match *cell {
                "yes" => files.contains(&name.trim_matches('`')),
                "no" => !files.contains(&name.trim_matches('`')),
                _ => true,
            })
        };
        let of_table = rows().map(cells).filter(|cells| cells.len() == names.len());
        let row = of_table.filter(|cells| !is_header(cells)).find(matches).expect("a row");
        row[names.len() - 1]
    }

    #[tokio::test]
    async fn a_start_does_with_each_combination_of_files_what_the_page_says() {
        const FILES: [&str; 7] = [
            files::DATABASE,
            files::LOG,
            files::LOG_INDEX,
            files::FORMAT,
            files::TOKEN,
            RESTORING,
            CREATING,
        ];
        let whole = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(whole.path()).await;
        let database = Database::open(&folder, Fsync::Always).await.expect("created");
        store_team(&database).await;
        database.close().await;
        for chosen in 0..1_u32 << FILES.len() {
            let present = |number: &usize| chosen & (1 << number) != 0;
            let there: Vec<_> = (0..FILES.len()).filter(present).map(|it| FILES[it]).collect();
            let temporary = tempfile::tempdir().expect("a folder");
            for name in &there {
                let made = match *name {
                    files::DATABASE | files::FORMAT => {
                        fs::copy(whole.path().join(name), temporary.path().join(name)).map(drop)
                    }
                    _ => fs::write(temporary.path().join(name), ""),
                };
                made.expect("written");
            }
            let folder = Folder::alone(temporary.path()).await;
            let opened = Database::open(&folder, Fsync::Always).await;
            let found = match opened {
                Ok(database) => {
                    let is_empty = !has_team(&database).await;
                    database.close().await;
                    if is_empty { "creates an empty table" } else { "opens the table" }
                }
                Err(DatabaseError::Folder(FolderError::NoLog(_))) => {
                    "refuses: `vedette.db-wal` is missing"
                }
                Err(DatabaseError::Folder(FolderError::NoFormat(_))) => {
                    "refuses: `format` is missing"
                }
                Err(DatabaseError::Folder(FolderError::Restoring(_))) => {
                    "refuses: a restore was interrupted"
                }
                Err(DatabaseError::Folder(FolderError::NoTable { .. })) => {
                    "refuses: the table is missing"
                }
                Err(error) => panic!("{there:?}: {error}"),
            };
            let expected = documented(&there);
            assert!(expected.starts_with(found), "{there:?}: {found}, and not: {expected}");
            if found.starts_with("refuses") {
                let left = |name: &&str| temporary.path().join(name).exists();
                assert!(there.iter().all(left), "{there:?}: nothing is removed");
                assert_eq!(there.contains(&files::DATABASE), left(&files::DATABASE), "or made");
            }
        }
    }

    async fn store_team(database: &Database) {
        let put = sdk_client(database.http_client()).put_item().table_name(TABLE);
        let put = put.item(PK, AttributeValue::S("T#t".to_owned()));
        put.item(SK, AttributeValue::S("A".to_owned())).send().await.expect("written");
    }

    async fn has_team(database: &Database) -> bool {
        let get = sdk_client(database.http_client()).get_item().table_name(TABLE);
        let get = get.key(PK, AttributeValue::S("T#t".to_owned()));
        let got = get.key(SK, AttributeValue::S("A".to_owned())).send().await.expect("read");
        got.item.is_some()
    }
}
