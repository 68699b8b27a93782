//! The files of a data folder: their names, what exists under a name, and what can be wrong with it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The file with the table.
pub(crate) const DATABASE: &str = "vedette.db";
/// SQLite's write-ahead log of that file.
pub(crate) const LOG: &str = "vedette.db-wal";
/// SQLite's index of the log, which it maps into memory.
pub(crate) const LOG_INDEX: &str = "vedette.db-shm";
/// The format in which the table's items are written.
pub(crate) const FORMAT: &str = "format";
/// The token for scripts.
pub(crate) const TOKEN: &str = "token";
/// Locked by the process that holds the folder.
pub(crate) const LOCK: &str = "lock";
/// The socket for other processes.
pub(crate) const SOCKET: &str = "vedette.sock";

/// All regular files that this version keeps in a data folder.
pub(crate) const REGULAR: [&str; 6] = [DATABASE, LOG, LOG_INDEX, FORMAT, TOKEN, LOCK];

/// The version of the format of the table's items. It increases with every change that the previous version cannot
/// read.
pub(crate) const FORMAT_VERSION: u32 = 5;

/// The identity of a file, whatever its name: two names with the same identity are one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// The number of the file in its file system.
    pub(crate) const fn inode(self) -> u64 {
        self.inode
    }
}

/// What exists under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) identity: Identity,
    pub(crate) kind: Kind,
    pub(crate) owner: u32,
    /// Size in bytes.
    pub(crate) size: u64,
}

/// The kind of file under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Regular,
    Folder,
    Socket,
    Symlink,
    Other,
}

impl From<&Metadata> for Found {
    fn from(metadata: &Metadata) -> Self {
        let kind = metadata.file_type();
        let kind = match () {
            () if kind.is_file() => Kind::Regular,
            () if kind.is_dir() => Kind::Folder,
            () if kind.is_socket() => Kind::Socket,
            () if kind.is_symlink() => Kind::Symlink,
            () => Kind::Other,
        };
        let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
        Self { identity, kind, owner: metadata.uid(), size: metadata.len() }
    }
}

impl Found {
    /// What exists under a name, without following a symbolic link; `None` if nothing exists.
    pub(crate) fn at(path: &Path) -> io::Result<Option<Self>> {
        present(fs::symlink_metadata(path))
    }

    /// The folder that a path leads to; the operator may have made the path a symbolic link.
    pub(crate) fn folder(path: &Path) -> io::Result<Option<Self>> {
        present(fs::metadata(path))
    }

    /// Describes an open file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(&file.metadata()?))
    }
}

/// Whether this process could not write a file or a folder, for example because its disk is mounted read-only.
pub fn is_read_only(path: &Path) -> bool {
    matches!(access(path, Access::WRITE_OK), Err(Errno::ROFS | Errno::ACCESS))
}

/// The path of a file next to another one, with a suffix added to that file's name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Reads a small text file, of which anything beyond 4 KiB does not belong to Vedette.
pub(crate) fn read_beginning(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(4096).read_to_string(&mut text)?;
    Ok(text)
}

/// Whether SQLite would write the contents of a rollback journal into a database before it reads it. Vedette's tables
/// have logs instead. A journal whose first byte is zero has no contents.
pub(crate) fn has_journal(file: &Path) -> io::Result<bool> {
    let journal = with_suffix(file, "-journal");
    Ok(match Found::at(&journal)? {
        None => false,
        Some(Found { kind: Kind::Regular, .. }) => {
            let mut first = [0];
            File::open(&journal)?.read(&mut first)? == 1 && first != [0]
        }
        Some(_) => true,
    })
}

/// The URI with which SQLite reads a database without the files next to it, and without locks. `None` if its log may
/// contain something, or if SQLite does not accept the path.
pub(crate) fn immutable(file: &Path) -> Option<String> {
    let log_is_empty = match fs::metadata(with_suffix(file, "-wal")) {
        Ok(log) => log.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    let path = file.to_str().filter(|_| log_is_empty)?;
    let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Some(format!("file:{path}?immutable=1"))
}

fn present(metadata: io::Result<Metadata>) -> io::Result<Option<Found>> {
    match metadata {
        Ok(metadata) => Ok(Some(Found::from(&metadata))),
        // The path may also lead through something that is no longer a folder.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Something wrong with the data folder, or with a file in it. Its text says what; [`remedy`](Self::remedy)
/// says what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFault {
    /// The file or the folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: FileProblem,
}

/// What can be wrong with a file in the data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileProblem {
    /// The name is a symbolic link, which could lead anywhere.
    Symlink,
    /// The name does not belong to a regular file (or, in case of the socket, to a socket).
    WrongKind,
    /// Another user owns it, and can read and replace it.
    NotOurs {
        /// The owner.
        owner: u32,
    },
    /// It was deleted while the service was running.
    Deleted,
    /// Another file took its name while the service was running.
    Replaced,
    /// It became shorter while the service was running.
    Truncated {
        /// Its current size in bytes.
        size: u64,
        /// Its size in bytes when it was last checked.
        was: u64,
    },
    /// It contains something other than what Vedette wrote.
    Overwritten,
    /// The system does not allow access to it.
    Unreadable {
        /// The system's error.
        why: String,
    },
}

impl FileFault {
    pub(crate) fn new(path: PathBuf, problem: FileProblem) -> Self {
        Self { path, problem }
    }

    /// The file's name, if it is one of Vedette's files.
    fn name(&self) -> Option<&'static str> {
        let name = self.path.file_name()?;
        REGULAR.into_iter().chain([SOCKET]).find(|known| name == *known)
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        let path = self.path.display();
        match (&self.problem, self.name()) {
            (FileProblem::NotOurs { .. }, _) => {
                let user = geteuid().as_raw();
                format!("run `chown {user} '{path}'`, or run Vedette as the user who owns it")
            }
            (FileProblem::Unreadable { .. }, _) => "look at the disk and its permissions".to_owned(),
            (_, Some(LOCK | SOCKET)) => {
                format!("remove '{path}' if it is there, and restart the service, which creates it again")
            }
            (_, Some(TOKEN)) => format!(
                "remove '{path}' if it is there, and restart the service, which creates a new token"
            ),
            (FileProblem::Symlink, _) => format!(
                "stop Vedette and put the file itself at '{path}'; only the data folder may be a link"
            ),
            (FileProblem::WrongKind, Some(_)) => {
                format!("stop Vedette, move '{path}' away and put the file back from a backup")
            }
            (_, Some(FORMAT)) => format!("run `echo {FORMAT_VERSION} > '{path}'`"),
            (FileProblem::Truncated { .. }, Some(LOG)) => {
                "restart the service: it continues with what is left. If it refuses to start because \
                 vedette.db is damaged, put vedette.db back from a backup"
                    .to_owned()
            }
            (_, Some(LOG | LOG_INDEX)) => "restart the service: a clean stop moves its contents into \
                vedette.db. A crash before that loses what was saved since"
                .to_owned(),
            (_, Some(DATABASE)) => {
                "stop the service, put vedette.db back from a backup, remove vedette.db-wal and \
                 vedette.db-shm, and start it again"
                    .to_owned()
            }
            _ => "stop the service, put the data folder back from a backup, and start the service again. \
                 Without the folder it starts with an empty table"
                .to_owned(),
        }
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match (&self.problem, self.name()) {
            (FileProblem::Symlink, _) => write!(f, "{path} is a symbolic link"),
            (FileProblem::WrongKind, Some(SOCKET)) => write!(f, "{path} is not a socket"),
            (FileProblem::WrongKind, Some(_)) => write!(f, "{path} is not a regular file"),
            (FileProblem::WrongKind, None) => write!(f, "{path} is not a folder"),
            (FileProblem::NotOurs { owner }, _) => {
                write!(f, "{path} belongs to another user (uid {owner})")
            }
            (FileProblem::Truncated { size, was }, _) => {
                write!(f, "{path} was truncated from {was} to {size} bytes: what it held is lost")
            }
            (FileProblem::Overwritten, _) => {
                write!(f, "{path} no longer holds what Vedette wrote into it")
            }
            (FileProblem::Unreadable { why }, _) => write!(f, "{path} cannot be examined: {why}"),
            (FileProblem::Deleted | FileProblem::Replaced, name) => {
                let became = match self.problem {
                    FileProblem::Deleted => "deleted",
                    _ => "replaced by another",
                };
                write!(f, "{path} was {became} while the service was running: ")?;
                f.write_str(match name {
                    Some(LOCK) => "it no longer keeps other versions of Vedette out of the folder",
                    Some(SOCKET) => "the `vedette` command cannot reach the service",
                    Some(TOKEN) => "programs that read the token from it fail",
                    Some(FORMAT) => "the service will not start again without it",
                    Some(LOG | LOG_INDEX) => "a crash would lose what was saved since",
                    _ => "what the service saves will be lost when it stops",
                })
            }
        }
    }
}

/// Checks what exists under the name of one of Vedette's files.
pub(crate) fn judge(found: &Found, kind: Kind) -> Result<(), FileProblem> {
    match found.kind {
        Kind::Symlink => Err(FileProblem::Symlink),
        other if other != kind => Err(FileProblem::WrongKind),
        _ if found.owner != geteuid().as_raw() => Err(FileProblem::NotOurs { owner: found.owner }),
        _ => Ok(()),
    }
}

/// Refuses a folder in which something else has the name of one of Vedette's files.
pub(crate) fn judge_all(folder: &Path) -> Result<(), FileFault> {
    for name in REGULAR {
        let path = folder.join(name);
        let judged = match Found::at(&path) {
            Ok(Some(found)) => judge(&found, Kind::Regular),
            Ok(None) => Ok(()),
            Err(error) => Err(FileProblem::Unreadable { why: error.to_string() }),
        };
        judged.map_err(|problem| FileFault::new(path, problem))?;
    }
    judge_socket(folder)
}

/// Refuses a socket, or anything in its place, that another user created: a process that listens there would receive
/// everything that is saved, and could answer every read.
pub(crate) fn judge_socket(folder: &Path) -> Result<(), FileFault> {
    let path = folder.join(SOCKET);
    let problem = match Found::at(&path) {
        Ok(Some(Found { owner, .. })) if owner != geteuid().as_raw() => {
            FileProblem::NotOurs { owner }
        }
        // Anything else that we own is replaced by a new socket.
        Ok(_) => return Ok(()),
        Err(error) => FileProblem::Unreadable { why: error.to_string() },
    };
    Err(FileFault::new(path, problem))
}

/// The files that this process has open, by name. Clones share one record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held(Arc<Mutex<BTreeMap<&'static str, Identity>>>);

impl Held {
    /// Records a file that was just opened or created under its name.
    pub(crate) fn note(&self, folder: &Path, name: &'static str) -> io::Result<()> {
        if let Some(found) = Found::at(&folder.join(name))? {
            self.set(name, found.identity);
        }
        Ok(())
    }

    pub(crate) fn set(&self, name: &'static str, identity: Identity) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name, identity);
    }

    pub(crate) fn get(&self, name: &str) -> Option<Identity> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }
}
