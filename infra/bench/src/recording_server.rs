//! What is watched: a web server that notes when somebody comes.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use axum::Router;
use axum::extract::Path;
use jiff::Timestamp;
use rustix::process::{Resource, getrlimit, setrlimit};

/// A web server on a thread of its own, so that what it notes is when a request came in, and not
/// when the measurement had time for it.
pub(crate) struct RecordingServer {
    pub(crate) address: String,
    arrivals: Arc<Mutex<Vec<(usize, Timestamp)>>>,
    hangs: Arc<AtomicBool>,
}

impl RecordingServer {
    /// A server whose pages `/answer/<number>` answer, and `/hang/<number>` do until they are to hang.
    pub(crate) fn start() -> Result<Self, Box<dyn Error>> {
        // Each site that hangs keeps a connection open.
        let mut files = getrlimit(Resource::Nofile);
        files.current = files.maximum;
        setrlimit(Resource::Nofile, files)?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = format!("http://{}", listener.local_addr()?);
        let arrivals = Arc::default();
        let hangs = Arc::default();
        let target = Self { address, arrivals: Arc::clone(&arrivals), hangs: Arc::clone(&hangs) };
        let handler = move |Path((kind, number)): Path<(String, usize)>| {
            let arrivals: Arc<Mutex<Vec<_>>> = Arc::clone(&arrivals);
            let hangs: Arc<AtomicBool> = Arc::clone(&hangs);
            async move {
                if let Ok(now) = now() {
                    arrivals.lock().unwrap_or_else(PoisonError::into_inner).push((number, now));
                }
                if kind == "hang" && hangs.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
            }
        };
        let router = Router::new().route("/{kind}/{number}", axum::routing::get(handler));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("target".to_owned()).spawn(move || {
            runtime.block_on(async move {
                axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await
            })
        })?;
        Ok(target)
    }

    /// From now on, pages that are to hang take requests and never answer.
    pub(crate) fn hang(&self) {
        self.hangs.store(true, Ordering::Relaxed);
    }

    /// The requests since the last look, by site and time.
    pub(crate) fn take(&self) -> Vec<(usize, Timestamp)> {
        std::mem::take(&mut self.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The time.
pub(crate) fn now() -> Result<Timestamp, jiff::Error> {
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock itself")]
    Timestamp::try_from(SystemTime::now())
}
