//! Web servers for tests to monitor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::Router;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// A web server on loopback to monitor. It answers every request with one status, which tests set, or serves a few
/// pages.
#[derive(Debug)]
pub struct WebServer {
    /// Its URL, without a slash at the end.
    pub url: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    status: watch::Sender<u16>,
    /// The body that it answers with.
    body: watch::Sender<String>,
    /// Whether its body repeats the headers of the request.
    echoes: AtomicBool,
    /// Wakes those who wait for requests.
    asked: Notify,
    requests: AtomicUsize,
    /// The method of the last request.
    method: watch::Sender<Method>,
    /// The body of the last request.
    sent: watch::Sender<String>,
}

/// The status that stands for no answer at all.
const SILENT: u16 = 0;

impl WebServer {
    /// A server that answers 200.
    pub async fn start() -> Self {
        Self::serving(|_| None).await
    }

    /// A server that answers 200, and calls `observe` with the path of each request.
    pub async fn observed(observe: impl Fn(&str) + Clone + Send + Sync + 'static) -> Self {
        Self::serving(move |path| {
            observe(path);
            None
        })
        .await
    }

    /// A server of HTML pages, by path; it knows no others.
    pub async fn with_pages(pages: &'static [(&'static str, &'static str)]) -> Self {
        let respond = |path: &str| match pages.iter().find(|(known, _)| *known == path) {
            Some((_, page)) => ([("content-type", "text/html")], *page).into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        };
        Self::serving(move |path| Some(respond(path))).await
    }

    /// A server that answers a request with what `respond` returns for its path, or with the current status if that is
    /// `None`.
    async fn serving(
        respond: impl Fn(&str) -> Option<Response> + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(State {
            status: watch::Sender::new(200),
            body: watch::Sender::new("hello".to_owned()),
            echoes: AtomicBool::new(false),
            asked: Notify::new(),
            requests: AtomicUsize::new(0),
            method: watch::Sender::new(Method::GET),
            sent: watch::Sender::new(String::new()),
        });
        let router = Router::new().fallback({
            let state = Arc::clone(&state);
            move |method: Method, uri: Uri, headers: HeaderMap, sent: String| {
                let (state, respond) = (Arc::clone(&state), respond.clone());
                async move {
                    state.requests.fetch_add(1, Ordering::SeqCst);
                    state.method.send_replace(method);
                    state.sent.send_replace(sent);
                    state.asked.notify_waiters();
                    let mut told = state.status.subscribe();
                    let status = *told.wait_for(|status| *status != SILENT).await.expect("told");
                    respond(uri.path()).unwrap_or_else(|| {
                        let mut body = state.body.borrow().clone();
                        if state.echoes.load(Ordering::SeqCst) {
                            body.push_str(&format!("{headers:?}"));
                        }
                        let status = StatusCode::from_u16(status).expect("a status");
                        (status, [("set-cookie", "session=of-a-stranger")], body).into_response()
                    })
                }
            }
        });
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a server");
        });
        Self { url, state, task }
    }

    /// Answers with this status from now on.
    pub fn answer(&self, status: u16) {
        self.state.status.send_replace(status);
    }

    /// Answers with this body from now on.
    pub fn say(&self, body: &str) {
        self.state.body.send_replace(body.to_owned());
    }

    /// Repeats the headers of each request in the body, from now on.
    pub fn echo(&self) {
        self.state.echoes.store(true, Ordering::SeqCst);
    }

    /// Accepts requests, and does not answer them until a status is set.
    pub fn hang(&self) {
        self.answer(SILENT);
    }

    /// Waits until there were this many requests.
    pub async fn asked(&self, requests: usize) {
        loop {
            let asked = self.state.asked.notified();
            if self.requests() >= requests {
                return;
            }
            asked.await;
        }
    }

    /// The method of the last request.
    pub fn method(&self) -> Method {
        self.state.method.borrow().clone()
    }

    /// The body of the last request.
    pub fn sent(&self) -> String {
        self.state.sent.borrow().clone()
    }

    /// Requests so far.
    pub fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }
}

impl WebServer {
    /// Stops the server: nothing listens at its address any more.
    pub async fn stop(mut self) {
        let task = std::mem::replace(&mut self.task, tokio::spawn(async {}));
        task.abort();
        // It ends with the error that it was aborted.
        let _ = task.await;
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
