//! The threads that the process needs, and the error if the system does not provide them.

use std::fmt;
use std::io;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use tokio::runtime::{Builder, Runtime};

/// Threads besides those that run tasks: for the table, its disk, standard error and standard output, and for a few
/// files and names that are waited for concurrently.
const BESIDE: usize = 16;

/// The system gives this process too few threads.
#[derive(Debug)]
pub(crate) struct TooFewThreads {
    /// How many threads the process needs to start.
    needed: usize,
    /// The system's error.
    source: io::Error,
}

impl fmt::Display for TooFewThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the system does not let this user start the {} threads that the service needs; raise the limit of \
             processes (`ulimit -u`, `LimitNPROC=` and `TasksMax=` of systemd, `--pids-limit` of a container)",
            self.needed
        )
    }
}

impl std::error::Error for TooFewThreads {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Builds the runtime for all tasks.
///
/// # Errors
///
/// When the system does not provide the threads that the service needs. Tokio would panic in that case, now or later,
/// so all threads are tried first.
pub(crate) fn runtime() -> Result<Runtime, TooFewThreads> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let needed = workers + BESIDE;
    let too_few = |source| TooFewThreads { needed, source };
    try_threads(needed).map_err(too_few)?;
    // Other processes of the same user may have started threads in the meantime.
    let built = catch_unwind(AssertUnwindSafe(|| {
        Builder::new_multi_thread().worker_threads(workers).enable_all().build()
    }));
    built
        .unwrap_or_else(|_| Err(io::Error::other("a thread of the runtime could not be started")))
        .map_err(too_few)
}

/// Starts this many threads at once, and ends them.
fn try_threads(count: usize) -> io::Result<()> {
    let (hold, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let mut started = Vec::with_capacity(count);
    let mut tried = Ok(());
    for _ in 0..count {
        let held = Arc::clone(&held);
        let wait = move || drop(held.lock().map(|held| held.recv()));
        match thread::Builder::new().name("trial".to_owned()).spawn(wait) {
            Ok(thread) => started.push(thread),
            Err(error) => {
                tried = Err(error);
                break;
            }
        }
    }
    drop(hold);
    for thread in started {
        // The threads do nothing that could fail.
        let _ = thread.join();
    }
    tried
}
