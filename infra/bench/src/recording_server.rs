//! What is watched: a web server that notes when somebody comes.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use axum::Router;
use axum::extract::Path;
use jiff::Timestamp;

/// A web server on a thread of its own, so that what it notes is when a request came in, and not
/// when the measurement had time for it.
pub(crate) struct RecordingServer {
    pub(crate) address: String,
    arrivals: Arc<Mutex<Vec<(usize, Timestamp)>>>,
}

impl RecordingServer {
    /// A server whose pages `/answer/<number>` answer, and `/hang/<number>` never do.
    pub(crate) fn start() -> Result<Self, Box<dyn Error>> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = format!("http://{}", listener.local_addr()?);
        let arrivals = Arc::default();
        let target = Self { address, arrivals: Arc::clone(&arrivals) };
        let handler = move |Path((kind, number)): Path<(String, usize)>| {
            let arrivals: Arc<Mutex<Vec<_>>> = Arc::clone(&arrivals);
            async move {
                if let Ok(now) = now() {
                    arrivals.lock().unwrap_or_else(PoisonError::into_inner).push((number, now));
                }
                if kind == "hang" {
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
