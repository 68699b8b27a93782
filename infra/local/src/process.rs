//! What the process sets up for itself, before anything else.

use rustix::fs::Mode;
use rustix::process::{Resource, getrlimit, setrlimit, umask};
use tracing::warn;

/// Raises the limit of open files as far as the system allows, since every connection is a file, and makes new files
/// unreadable for other users.
pub fn prepare() {
    umask(Mode::RWXG | Mode::RWXO);
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, files) {
        warn!(%error, "could not raise the limit of open files");
    }
}
