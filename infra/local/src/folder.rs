//! The data folder: one process at a time, and the token file.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use vedette_domain::account::Secret;

/// The folder that holds everything that lasts, as long as this process has it to itself.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The system unlocks it when the process ends, however it ends.
    _lock: File,
}

/// Why the data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process works on it.
    #[error("the data folder {} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// Whoever owns it can read and replace everything in it.
    #[error("the data folder {} belongs to another user (uid {owner})", .path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// The system does not let us.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The folder or the file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// For its owner and nobody else.
const PRIVATE: u32 = 0o700;

impl Folder {
    /// Makes the folder where it is missing, and takes it.
    pub(crate) fn lock(path: &Path) -> Result<Self, FolderError> {
        make_private(path)?;
        let name = path.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&name);
        let lock = lock.map_err(|error| FolderError::Io { path: name.clone(), error })?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(FolderError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(FolderError::Io { path: name, error }),
        }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("vedette.db")
    }

    pub(crate) fn token(&self) -> PathBuf {
        self.path.join("token")
    }

    /// What the token file holds; nothing where it is missing or holds no token.
    pub(crate) fn read_token(&self) -> Option<Secret> {
        fs::read_to_string(self.token()).ok().and_then(|text| Secret::parse(text.trim()))
    }

    /// Writes the token file, for its owner only: whole or not at all.
    pub(crate) fn write_token(&self, secret: &Secret) -> Result<(), FolderError> {
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

    /// Gives a draft that is whole its name, for good.
    pub(crate) fn put(&self, draft: &Path, file: &Path) -> Result<(), FolderError> {
        let named = fs::rename(draft, file).and_then(|()| File::open(&self.path)?.sync_all());
        named.map_err(|error| FolderError::Io { path: file.to_owned(), error })
    }
}

/// Makes the folder where it is missing, and shuts it to others where it is not: tokens and request
/// headers of sites are nobody else's business.
fn make_private(path: &Path) -> Result<(), FolderError> {
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

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
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
        let refused = Folder::lock(&data).expect_err("not ours").to_string();
        assert!(refused.ends_with("data belongs to another user (uid 12345)"), "{refused}");
        let left = fs::metadata(&data).expect("there");
        assert_eq!(
            (left.mode() & 0o777, fs::read_dir(&data).expect("a folder").count()),
            (0o777, 0)
        );
    }
}
