//! Lambda from the point of view of a function's process: its environment, the Runtime API that delivers events, and an
//! endpoint for AWS. So a function's binary runs as it is deployed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use vedette_embedded::Database;
use vedette_runtime::Clock;
use vedette_runtime::config::Schedules;

use crate::aws::{Aws, REGION, deployment};

/// The largest body, in bytes: more than any service here receives.
const BODY_MAX: usize = 16 * 1024 * 1024;

/// The Runtime API of one process.
#[derive(Debug)]
pub struct RuntimeApi {
    /// Its address, without a scheme.
    pub address: String,
    waiting: mpsc::UnboundedSender<Invocation>,
    begun: watch::Receiver<Option<Result<Instant, String>>>,
}

/// The result of an event.
#[derive(Debug)]
pub struct Invoked {
    /// The function's response, or its error.
    pub response: Result<Value, String>,
    /// The time from the delivery of the event to the response.
    pub took: Duration,
}

#[derive(Debug)]
struct Invocation {
    event: Vec<u8>,
    time_limit: Duration,
    invoked: oneshot::Sender<Invoked>,
}

/// What all requests of the process share.
struct Shared {
    waiting: tokio::sync::Mutex<mpsc::UnboundedReceiver<Invocation>>,
    begun: watch::Sender<Option<Result<Instant, String>>>,
    under_way: Mutex<HashMap<String, (Instant, oneshot::Sender<Invoked>)>>,
    handed_out: AtomicU64,
}

impl RuntimeApi {
    /// Serves on a port of this machine until the runtime ends.
    pub async fn start() -> Self {
        let (waiting, invocations) = mpsc::unbounded_channel();
        let (begin, begun) = watch::channel(None);
        let shared = Arc::new(Shared {
            waiting: tokio::sync::Mutex::new(invocations),
            begun: begin,
            under_way: Mutex::default(),
            handed_out: AtomicU64::new(0),
        });
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/{outcome}", post(end))
            .route("/2018-06-01/runtime/init/error", post(cannot_begin))
            .with_state(shared);
        Self { address: serve(router).await, waiting, begun }
    }

    /// Waits until the process first asks for an event, and returns when that was.
    ///
    /// # Errors
    ///
    /// What the process reported instead.
    pub async fn first_poll(&self) -> Result<Instant, String> {
        let mut begun = self.begun.clone();
        let begun = begun.wait_for(Option::is_some).await.map_err(|error| error.to_string())?;
        begun.clone().unwrap_or_else(|| Err("it has not begun".to_owned()))
    }

    /// Delivers an event to the process, which must finish within the time limit.
    pub async fn invoke(&self, event: &Value, time_limit: Duration) -> Invoked {
        let (reply, invoked) = oneshot::channel();
        let event = event.to_string().into_bytes();
        let sent = self.waiting.send(Invocation { event, time_limit, invoked: reply });
        sent.expect("the Runtime API serves");
        invoked.await.expect("an end")
    }
}

async fn next(State(shared): State<Arc<Shared>>) -> Response {
    shared.begun.send_if_modified(|begun| {
        let is_first = begun.is_none();
        begun.get_or_insert_with(|| Ok(Instant::now()));
        is_first
    });
    let Some(Invocation { event, time_limit, invoked }) = shared.waiting.lock().await.recv().await
    else {
        // No further request will come.
        return std::future::pending().await;
    };
    let number = shared.handed_out.fetch_add(1, Ordering::Relaxed);
    let id = format!("00000000-0000-4000-8000-{number:012}");
    let limit = i64::try_from(time_limit.as_millis()).expect("a short time");
    let deadline = Clock::system().now().as_millisecond() + limit;
    let headers = [
        ("lambda-runtime-aws-request-id", id.clone()),
        ("lambda-runtime-deadline-ms", deadline.to_string()),
        (
            "lambda-runtime-invoked-function-arn",
            format!("arn:aws:lambda:{REGION}:123456789012:function:f"),
        ),
        ("content-type", "application/json".to_owned()),
    ];
    let mut under_way = shared.under_way.lock().unwrap_or_else(PoisonError::into_inner);
    under_way.insert(id, (Instant::now(), invoked));
    (headers, event).into_response()
}

async fn end(
    State(shared): State<Arc<Shared>>,
    Path((id, outcome)): Path<(String, String)>,
    body: Bytes,
) -> StatusCode {
    let now = Instant::now();
    let begun = shared.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    let Some((began, invoked)) = begun else { return StatusCode::BAD_REQUEST };
    let text = String::from_utf8_lossy(&body).into_owned();
    let response = match outcome.as_str() {
        "response" => serde_json::from_slice(&body).map_err(|_| text),
        _ => Err(text),
    };
    // The caller may have stopped waiting.
    let _ = invoked.send(Invoked { response, took: now - began });
    StatusCode::ACCEPTED
}

async fn cannot_begin(State(shared): State<Arc<Shared>>, body: String) -> StatusCode {
    shared.begun.send_replace(Some(Err(body)));
    StatusCode::ACCEPTED
}

/// An account's services, including DynamoDB, on a port of this machine.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its URL.
    pub url: String,
    times: Arc<Mutex<Vec<(Instant, Instant)>>>,
}

impl Endpoint {
    /// Serves until the runtime ends.
    pub async fn start(aws: &Aws, table: &Database) -> Self {
        let times = Arc::<Mutex<Vec<_>>>::default();
        let router = Router::new().fallback({
            let (aws, table, times) = (aws.clone(), table.clone(), Arc::clone(&times));
            move |request: Request| {
                let (aws, table, times) = (aws.clone(), table.clone(), Arc::clone(&times));
                async move {
                    let target = request.headers().get("x-amz-target").cloned();
                    let target = target.as_ref().and_then(|target| target.to_str().ok());
                    let Some(operation) =
                        target.and_then(|one| one.strip_prefix("DynamoDB_20120810."))
                    else {
                        return aws.answer_http(request).await.into_response();
                    };
                    let began = Instant::now();
                    let body = axum::body::to_bytes(request.into_body(), BODY_MAX).await;
                    let body = body.expect("a body").to_vec();
                    let answered = table.answer(operation.to_owned(), body).await;
                    let (status, body) = answered.expect("the table is open");
                    let ended = Instant::now();
                    times.lock().unwrap_or_else(PoisonError::into_inner).push((began, ended));
                    let status = StatusCode::from_u16(status).expect("a status");
                    let headers = [("content-type", "application/x-amz-json-1.0")];
                    (status, headers, body).into_response()
                }
            }
        });
        Self { url: format!("http://{}", serve(router).await), times }
    }

    /// When requests to the table arrived and were answered, since the last call.
    pub fn take_times(&self) -> Vec<(Instant, Instant)> {
        std::mem::take(&mut self.times.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move { axum::serve(listener, router).await.expect("a server") });
    address
}

/// The variables that Lambda sets for the process of a function with this handler.
pub fn process(handler: &str, runtime_api: &RuntimeApi) -> Vec<(&'static str, String)> {
    let given = [
        ("_HANDLER", handler),
        ("AWS_LAMBDA_RUNTIME_API", runtime_api.address.as_str()),
        ("AWS_LAMBDA_FUNCTION_NAME", "vedette"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "3008"),
        ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/vedette"),
        ("AWS_LAMBDA_LOG_STREAM_NAME", "of-a-test"),
        ("AWS_LAMBDA_LOG_FORMAT", "JSON"),
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", "AKIDTEST"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "session"),
    ];
    given.map(|(name, value)| (name, value.to_owned())).to_vec()
}

/// The variables that Lambda and `template.yaml` set for a function with this handler.
pub fn environment(
    handler: &str,
    runtime_api: &RuntimeApi,
    endpoint: &Endpoint,
) -> Vec<(&'static str, String)> {
    let there = deployment(Schedules::Each);
    let of_template = [
        ("AWS_ENDPOINT_URL", endpoint.url.as_str()),
        ("VEDETTE_TABLE", &there.table),
        ("VEDETTE_QUEUE_URL_PREFIX", &there.queue_url_prefix),
        ("VEDETTE_SCHEDULE_GROUP", &there.schedule_group),
        ("VEDETTE_SCHEDULE_TARGET", &there.schedule_target),
        ("VEDETTE_SCHEDULE_ROLE", &there.schedule_role),
        ("VEDETTE_SCHEDULE_DLQ", &there.schedule_dlq),
        ("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8"),
        ("VEDETTE_ALLOW_RECEIVERS", "127.0.0.0/8"),
        ("VEDETTE_CONCURRENCY", "2"),
        ("VEDETTE_RDAP", "none"),
        // Requests are not limited here.
        ("VEDETTE_THROTTLE", "4000000000"),
    ];
    let of_template = of_template.map(|(name, value)| (name, value.to_owned()));
    process(handler, runtime_api).into_iter().chain(of_template).collect()
}
