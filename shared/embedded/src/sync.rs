//! When written data reaches the disk.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime};

use tracing::error;

use crate::files::with_suffix;
use crate::refusals::{Noted, note_sync};

/// When a write waits for the disk. A process that is killed loses nothing either way; the difference is what a power
/// cut or a system crash loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// At each write, before the answer: nothing is lost.
    Always,
    /// Once a second, after the answers: the last second may be lost, but the rest is consistent.
    #[default]
    EverySecond,
}

const SECOND: Duration = Duration::from_secs(1);

/// Syncs SQLite's write-ahead log to the disk once a second, until it is dropped.
pub(crate) struct Syncer {
    _stop: mpsc::Sender<()>,
}

impl Syncer {
    /// Syncs the log of a database file.
    pub(crate) fn start(database: &Path, refusals: Noted) -> io::Result<Self> {
        let log = with_suffix(database, "-wal");
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("table-sync".to_owned()).spawn(move || {
            let mut synced = None;
            while stopped.recv_timeout(SECOND) == Err(RecvTimeoutError::Timeout) {
                match sync(&log, synced) {
                    Ok(at) => {
                        synced = at;
                        note_sync(&refusals, None);
                    }
                    Err(failed) => {
                        error!(error = %failed, "could not sync the table to the disk");
                        note_sync(&refusals, Some(failed.to_string()));
                    }
                }
            }
        });
        thread.map(|_| Self { _stop: stop })
    }
}

/// Syncs the log if it was written in the meantime, and returns the time up to which it is synced.
///
/// SQLite keeps its locks on other files, so closing this one does not release them.
fn sync(log: &PathBuf, synced: Option<SystemTime>) -> io::Result<Option<SystemTime>> {
    let file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let written = file.metadata()?.modified()?;
    // Time stamps are only accurate to some milliseconds: another write may have the same one.
    let is_fresh = written.elapsed().is_ok_and(|age| age < 2 * SECOND);
    if synced != Some(written) || is_fresh {
        file.sync_data()?;
    }
    Ok(Some(written))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_log_is_synced_when_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("vedette.db-wal");
        assert_eq!(sync(&log, None).expect("no log"), None);
        fs::write(&log, "frames").expect("written");
        let first = sync(&log, None).expect("synced").expect("a log");
        assert_eq!(sync(&log, Some(first)).expect("nothing to do"), Some(first));
        let later = first + SECOND;
        File::options().write(true).open(&log).expect("a log").set_modified(later).expect("set");
        assert_eq!(sync(&log, Some(first)).expect("synced"), Some(later));
    }
}
