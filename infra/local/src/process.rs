//! What the process asks of the system for itself, before anything else.

use rustix::fs::Mode;
use rustix::process::{Resource, getrlimit, setrlimit, umask};
use tracing::warn;

/// Opens as many files as the system allows, as every connection is one, and makes none that
/// another user may read.
pub fn prepare() {
    umask(Mode::RWXG | Mode::RWXO);
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, files) {
        warn!(%error, "the limit of open files could not be raised");
    }
}
