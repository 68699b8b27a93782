//! The data folder: one process at a time, and the token file.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;
use tokio::time::{Instant, sleep};
use vedette_domain::account::Secret;

use crate::Socket;

/// The folder that holds everything that lasts, as long as this process has it to itself.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The system unlocks it when the process ends, however it ends.
    _lock: File,
}

/// The file with the table.
const DATABASE: &str = "vedette.db";

/// Why the data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process works on it.
    #[error("the data folder {} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// Its owner can read and replace everything in it.
    #[error("the data folder {} belongs to another user (uid {owner})", .path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// What is stored in it would not be understood.
    #[error(
        "the data folder {} was made by another version of Vedette; keep that version for it, or \
         start on another folder", .0.display()
    )]
    Format(PathBuf),
    /// The system does not let us.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The folder or the file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// The format in which the table's items are written; it rises when the version before cannot read
/// them.
const FORMAT: u32 = 3;

/// The oldest format that is still read.
const OLDEST_FORMAT: u32 = 1;

/// For its owner and nobody else.
const PRIVATE: u32 = 0o700;

/// Who has a data folder.
#[derive(Debug)]
pub enum Reached {
    /// This process, from now on.
    Free(Folder),
    /// A running service, which is asked through its socket.
    Served(Socket),
}

/// How long to wait for a folder that somebody has who does not serve it: a service that starts or
/// stops, or a command that works on the file itself.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at it.
const AGAIN: Duration = Duration::from_millis(20);

/// Takes a data folder that is there, or finds the service that has it.
///
/// # Errors
///
/// When somebody has the folder for long and serves nothing, or the system does not let us.
pub async fn reach(path: &Path) -> Result<Reached, FolderError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match Folder::lock(path) {
            Err(FolderError::InUse(_)) if Socket::of(path).answers().await => {
                return Ok(Reached::Served(Socket::of(path)));
            }
            Err(FolderError::InUse(_)) if Instant::now() < until => sleep(AGAIN).await,
            locked => return locked.map(Reached::Free),
        }
    }
}

impl Folder {
    /// Makes the folder where it is missing, and shuts it to others where it is not: tokens and
    /// request headers of sites are private.
    ///
    /// # Errors
    ///
    /// When the folder is somebody else's, or the system does not let us.
    pub fn make(path: &Path) -> Result<(), FolderError> {
        let failed = |error| FolderError::Io { path: path.to_owned(), error };
        DirBuilder::new().recursive(true).mode(PRIVATE).create(path).map_err(failed)?;
        let found = fs::metadata(path).map_err(failed)?;
        if found.uid() != geteuid().as_raw() {
            return Err(FolderError::NotOurs { path: path.to_owned(), owner: found.uid() });
        }
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(path, Permissions::from_mode(PRIVATE)).map_err(failed)?;
        }
        Ok(())
    }

    fn lock(path: &Path) -> Result<Self, FolderError> {
        let name = path.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&name);
        let lock = lock.map_err(|error| FolderError::Io { path: name.clone(), error })?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(FolderError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(FolderError::Io { path: name, error }),
        }
    }

    /// Whether a database was made in a folder.
    ///
    /// # Errors
    ///
    /// When the system does not let us look.
    pub fn has_database(path: &Path) -> io::Result<bool> {
        path.join(DATABASE).try_exists()
    }

    /// Says in which format the table is kept.
    pub(crate) fn write_format(&self) -> Result<(), FolderError> {
        let path = self.path.join("format");
        let draft = self.draft(&path)?;
        fs::write(&draft, FORMAT.to_string())
            .and_then(|()| File::open(&draft)?.sync_all())
            .map_err(|error| FolderError::Io { path: draft.clone(), error })?;
        self.put(&draft, &path)
    }

    /// Refuses a folder whose table is kept in a format that this version does not read, before
    /// anything of it is read. One of an older format is from now on one of this: items are written
    /// anew in the course of things, and the version before would not understand them.
    pub(crate) fn take_over_format(&self) -> Result<(), FolderError> {
        let found = fs::read_to_string(self.path.join("format")).ok();
        match found.and_then(|found| found.trim().parse().ok()) {
            Some(FORMAT) => Ok(()),
            Some(OLDEST_FORMAT..FORMAT) => self.write_format(),
            _ => Err(FolderError::Format(self.path.clone())),
        }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that holds the demo user's token.
    pub fn token(&self) -> PathBuf {
        self.path.join("token")
    }

    /// What the token file holds; `None` if it is missing or holds no token.
    pub fn read_token(&self) -> Option<Secret> {
        fs::read_to_string(self.token()).ok().and_then(|text| Secret::parse(text.trim()))
    }

    /// Writes the token file, for its owner only: whole or not at all.
    ///
    /// # Errors
    ///
    /// When the system does not let us.
    pub fn write_token(&self, secret: &Secret) -> Result<(), FolderError> {
        let draft = self.draft(&self.token())?;
        let failed = |error| FolderError::Io { path: draft.clone(), error };
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft);
        let mut file = file.map_err(failed)?;
        writeln!(file, "{}", secret.reveal()).and_then(|()| file.sync_all()).map_err(failed)?;
        self.put(&draft, &self.token())
    }

    /// The name for a file while it is made; what a crash left there is gone.
    pub(crate) fn draft(&self, file: &Path) -> Result<PathBuf, FolderError> {
        let draft = with_suffix(file, ".new");
        // SQLite keeps two files beside its own.
        for path in [draft.clone(), with_suffix(&draft, "-wal"), with_suffix(&draft, "-shm")] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(FolderError::Io { path, error });
                }
                _ => {}
            }
        }
        Ok(draft)
    }

    /// Gives a complete draft its final name.
    pub(crate) fn put(&self, draft: &Path, file: &Path) -> Result<(), FolderError> {
        let named = fs::rename(draft, file).and_then(|()| File::open(&self.path)?.sync_all());
        named.map_err(|error| FolderError::Io { path: file.to_owned(), error })
    }
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn a_folder_of_another_user_is_refused_untouched() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("made");
        fs::set_permissions(&data, Permissions::from_mode(0o777)).expect("opened");
        // Only root can give a folder away.
        if !geteuid().is_root() {
            return;
        }
        chown(&data, Some(12_345), None).expect("given away");
        let refused = Folder::make(&data).expect_err("not ours").to_string();
        assert!(refused.ends_with("data belongs to another user (uid 12345)"), "{refused}");
        let left = fs::metadata(&data).expect("there");
        assert_eq!(
            (left.mode() & 0o777, fs::read_dir(&data).expect("a folder").count()),
            (0o777, 0)
        );
    }

    impl Folder {
        /// A folder that nobody else has.
        pub(crate) async fn alone(path: &Path) -> Self {
            match reach(path).await.expect("a folder") {
                Reached::Free(folder) => folder,
                Reached::Served(socket) => panic!("{socket:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_process_that_waits_for_the_folder_gets_it() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let path = temporary.path().to_owned();
        let waiting = tokio::spawn(async move { reach(&path).await });
        while Socket::of(temporary.path()).answers().await || waiting.is_finished() {
            tokio::task::yield_now().await;
        }
        drop(folder);
        assert!(matches!(waiting.await.expect("no panic"), Ok(Reached::Free(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        let temporary = tempfile::tempdir().expect("a folder");
        let _folder = Folder::alone(temporary.path()).await;
        let refused = reach(temporary.path()).await.expect_err("in use");
        assert!(refused.to_string().ends_with("is in use by another process"), "{refused}");
    }
}
