//! The monitored sites: a web server that records when requests arrive.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use jiff::Timestamp;
use rustix::process::{Resource, getrlimit, setrlimit};

/// A web server on a thread of its own, so that it records when a request arrived, and not when the measurement had
/// time for it.
pub(crate) struct RecordingServer {
    pub(crate) address: String,
    arrivals: Arc<Mutex<Vec<(usize, Timestamp)>>>,
    hangs: Arc<AtomicBool>,
    fails: Arc<AtomicBool>,
}

impl RecordingServer {
    /// Starts a server on the loopback interface. Its pages `/answer/<number>` always answer, `/hang/<number>` until
    /// [`Self::hang`], and `/fail/<number>` until [`Self::fail`].
    pub(crate) fn start() -> Result<Self, Box<dyn Error>> {
        Self::start_at(Ipv4Addr::LOCALHOST.into())
    }

    /// Starts the same server on another address of this machine.
    pub(crate) fn start_at(ip: IpAddr) -> Result<Self, Box<dyn Error>> {
        // Each site that hangs keeps a connection open.
        let mut files = getrlimit(Resource::Nofile);
        files.current = files.maximum;
        setrlimit(Resource::Nofile, files)?;
        let listener = std::net::TcpListener::bind((ip, 0))?;
        listener.set_nonblocking(true)?;
        let address = format!("http://{}", listener.local_addr()?);
        let arrivals = Arc::default();
        let hangs = Arc::default();
        let fails = Arc::default();
        let target = Self {
            address,
            arrivals: Arc::clone(&arrivals),
            hangs: Arc::clone(&hangs),
            fails: Arc::clone(&fails),
        };
        let handler = move |Path((kind, number)): Path<(String, usize)>| {
            let arrivals: Arc<Mutex<Vec<_>>> = Arc::clone(&arrivals);
            let hangs: Arc<AtomicBool> = Arc::clone(&hangs);
            let fails: Arc<AtomicBool> = Arc::clone(&fails);
            async move {
                if let Ok(now) = now() {
                    arrivals.lock().unwrap_or_else(PoisonError::into_inner).push((number, now));
                }
                if kind == "hang" && hangs.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
                match kind == "fail" && fails.load(Ordering::Relaxed) {
                    true => StatusCode::SERVICE_UNAVAILABLE,
                    false => StatusCode::OK,
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

    /// From now on, the pages `/hang/<number>` accept requests and never answer.
    pub(crate) fn hang(&self) {
        self.hangs.store(true, Ordering::Relaxed);
    }

    /// From now on, the pages `/fail/<number>` answer 503.
    pub(crate) fn fail(&self) {
        self.fails.store(true, Ordering::Relaxed);
    }

    /// Returns the requests since the last call, with their site and time.
    pub(crate) fn take(&self) -> Vec<(usize, Timestamp)> {
        std::mem::take(&mut self.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The time.
pub(crate) fn now() -> Result<Timestamp, jiff::Error> {
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock itself")]
    Timestamp::try_from(SystemTime::now())
}
