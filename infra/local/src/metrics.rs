//! Metrics of this process for its operator, in Prometheus's text format.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};
use vedette_checker::Finished;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_notifier::send::SendOutcome;
use vedette_ops::exposition::{self, Exposition};
use vedette_runtime::{Destination, Health, LocalQueue};

use crate::hosts::Hosts;

/// How long a connection may last. A scrape takes milliseconds.
const CONNECTION_MAX: Duration = Duration::from_secs(10);
/// How many connections may be open at a time; more have to wait.
const CONNECTIONS: usize = 16;
/// The pause before the next attempt to accept a connection, when this process has too many files open.
const BREATH: Duration = Duration::from_millis(100);

/// The states in which a check can end.
const ENDS: [CheckStatus; 3] = [CheckStatus::Completed, CheckStatus::Failed, CheckStatus::Skipped];
/// The status codes whose series exist before the first such response, so that the first one is an increase.
const CODES: [u16; 8] = [200, 401, 403, 404, 422, 429, 500, 503];
/// The outcomes of sending a message.
const OUTCOMES: [&str; 5] = ["delivered", "retry", "held", "refused", "gone"];

/// What this process has done since it started.
#[derive(Debug, Default)]
pub(crate) struct Counters(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    checks: BTreeMap<(Tool, CheckStatus), u64>,
    /// The time from slot to start of scheduled checks: its sum, and how many checks are in it.
    lags: BTreeMap<Tool, (Duration, u64)>,
    given_up: BTreeMap<&'static str, u64>,
    deliveries: BTreeMap<&'static str, u64>,
    responses: BTreeMap<u16, u64>,
}

impl Counters {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a check that has ended.
    pub(crate) fn check(&self, finished: &Finished) {
        let tool = finished.check.id.tool();
        let mut counts = self.lock();
        *counts.checks.entry((tool, finished.check.status)).or_default() += 1;
        if let Some(lag) = finished.lag {
            let (sum, count) = counts.lags.entry(tool).or_default();
            *sum += lag;
            *count += 1;
        }
    }

    /// Counts a message whose last try has failed.
    pub(crate) fn given_up(&self, queue: Destination) {
        *self.lock().given_up.entry(queue.name()).or_default() += 1;
    }

    /// Counts an attempt to send an alert or a mail.
    pub(crate) fn delivery(&self, outcome: &SendOutcome) {
        let outcome = match outcome {
            SendOutcome::Delivered { .. } => "delivered",
            SendOutcome::Retry { .. } => "retry",
            SendOutcome::Held { .. } => "held",
            SendOutcome::Refused { .. } => "refused",
            SendOutcome::Gone { .. } => "gone",
        };
        *self.lock().deliveries.entry(outcome).or_default() += 1;
    }

    /// Counts a response of the API or the pages.
    pub(crate) fn response(&self, status: StatusCode) {
        *self.lock().responses.entry(status.as_u16()).or_default() += 1;
    }
}

/// The process, as its metrics show it.
#[derive(Clone)]
pub(crate) struct Metrics {
    pub(crate) counters: Arc<Counters>,
    pub(crate) queue: LocalQueue,
    pub(crate) health: Health,
    /// When the process started.
    pub(crate) start: Timestamp,
}

impl Metrics {
    /// All metrics as text.
    pub(crate) fn text(&self) -> String {
        let mut exposition = Exposition::default();
        exposition
            .gauge("vedette_build_info", "The version of the service; always 1.")
            .series(&[("version", env!("CARGO_PKG_VERSION"))], true);
        exposition
            .gauge("vedette_start_time_seconds", "When the service started.")
            .series(&[], self.start);
        exposition
            .gauge(
                "vedette_problems",
                "How many problems keep the service from working; see `vedette health`.",
            )
            .series(&[], self.health.ongoing().len());

        let backlogs = Destination::ALL.map(|queue| (queue.name(), self.queue.backlog(queue)));
        let mut waiting = exposition
            .gauge("vedette_queue_messages", "Messages that are due and have not been started.");
        for (queue, backlog) in &backlogs {
            waiting.series(&[("queue", queue)], backlog.waiting);
        }
        let mut lag = exposition.gauge(
            "vedette_queue_lag_seconds",
            "How long ago the first of these messages was due.",
        );
        for (queue, backlog) in &backlogs {
            lag.series(&[("queue", queue)], backlog.behind.as_secs_f64());
        }
        let mut slow = exposition.gauge(
            "vedette_queue_slow_messages",
            "Messages that wait for a slow site or receiver.",
        );
        for (queue, backlog) in &backlogs {
            slow.series(&[("queue", queue)], backlog.slow);
        }

        let counts = self.counters.lock();
        let mut lags = exposition.summary(
            "vedette_check_lag_seconds",
            "Time from the slot of a scheduled check to its start.",
        );
        for tool in Tool::ALL {
            let (sum, count) = counts.lags.get(&tool).copied().unwrap_or_default();
            lags.series(&[("tool", tool.as_str())], sum.as_secs_f64(), count);
        }
        let mut checks =
            exposition.counter("vedette_checks_total", "Checks that have ended, by result.");
        for (tool, status) in Tool::ALL.iter().flat_map(|tool| ENDS.map(|status| (*tool, status))) {
            let count = counts.checks.get(&(tool, status)).copied().unwrap_or_default();
            checks.series(&[("tool", tool.as_str()), ("status", status.as_str())], count);
        }
        let mut given_up = exposition.counter(
            "vedette_messages_given_up_total",
            "Messages that failed at every attempt; their work is sent again later.",
        );
        for (queue, _) in &backlogs {
            let count = counts.given_up.get(queue).copied().unwrap_or_default();
            given_up.series(&[("queue", queue)], count);
        }
        let mut deliveries =
            exposition.counter("vedette_deliveries_total", "Attempts to send an alert or a mail.");
        for outcome in OUTCOMES {
            let count = counts.deliveries.get(outcome).copied().unwrap_or_default();
            deliveries.series(&[("outcome", outcome)], count);
        }
        let mut responses = exposition.counter(
            "vedette_http_responses_total",
            "Responses of the API and the pages, by status code.",
        );
        let known = CODES.map(|code| (code, 0));
        let seen = counts.responses.iter().map(|(code, count)| (*code, *count));
        for (code, count) in known.into_iter().chain(seen).collect::<BTreeMap<_, _>>() {
            responses.series(&[("code", &code.to_string())], count);
        }
        drop(counts);
        exposition.into_text()
    }

    /// Serves the metrics at `/metrics` until it is dropped.
    pub(crate) async fn serve(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            if connections.len() >= CONNECTIONS {
                connections.join_next().await;
            }
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, _)) => {
                    let metrics = self.clone();
                    connections.spawn(timeout(CONNECTION_MAX, async move {
                        let respond = service_fn(|request| {
                            let response = metrics.respond(&request);
                            async { Ok::<_, Infallible>(response) }
                        });
                        let served = hyper::server::conn::http1::Builder::new()
                            .timer(TokioTimer::new())
                            .serve_connection(TokioIo::new(stream), respond);
                        if let Err(error) = served.await {
                            debug!(%error, "a connection for metrics ended early");
                        }
                    }));
                }
                Err(error) => {
                    warn!(%error, "could not accept a connection for metrics");
                    sleep(BREATH).await;
                }
            }
        }
    }

    fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        // The name of a web page that a browser on this machine shows may resolve to this address.
        let is_ours = host.is_some_and(|host| Hosts::new(Vec::new(), None).know(host));
        let (status, body) = match (request.method(), request.uri().path()) {
            _ if !is_ours => (StatusCode::MISDIRECTED_REQUEST, String::new()),
            (&Method::GET, exposition::PATH) => (StatusCode::OK, self.text()),
            (_, exposition::PATH) => (StatusCode::METHOD_NOT_ALLOWED, String::new()),
            _ => (StatusCode::NOT_FOUND, "The metrics are at /metrics.\n".to_owned()),
        };
        let mut response = Response::new(Full::from(body));
        *response.status_mut() = status;
        let content_type = HeaderValue::from_static(exposition::CONTENT_TYPE);
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    }
}

/// An address of this machine that no other machine reaches.
pub(crate) fn loopback(text: &str) -> Result<SocketAddr, &'static str> {
    let address: SocketAddr = text.parse().map_err(|_| "expected IP:PORT")?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err("expected an address of this machine alone, such as 127.0.0.1:9464"),
    }
}
