//! Faults between the SDK and the table: crashes, lost answers, throttling, conflicts.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use tokio::sync::Notify;

/// What goes wrong with a write to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process ends before the write reaches the table.
    CrashBefore,
    /// The process ends after the write was done, but before it learns that.
    CrashAfter,
    /// The write is done, and its answer is lost on the way.
    LoseAnswer,
    /// The table has no capacity left for it.
    Throttle,
    /// A transaction meets another one.
    Conflict,
    /// The table cannot write, as a file on a full disk cannot.
    Refuse,
}

/// The keys of a batch read, in their order.
type Asked = Vec<[String; 2]>;

/// The faults to come, and the number of writes so far.
///
/// DynamoDB Local and similar tables never conflict or throttle, so faults are injected between the SDK and the table.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    plan: Mutex<Plan>,
    crashed: Notify,
    held: Notify,
    released: Notify,
}

#[derive(Debug, Default)]
struct Plan {
    writes: u64,
    items: u64,
    faults: VecDeque<(u64, Fault)>,
    /// Tokens of the transactions whose answers were lost.
    lost: HashSet<String>,
    /// How many batch reads remain until the one whose answer is held back.
    hold_in: Option<u64>,
    /// The previous answers of eventually consistent batch reads, while these lag.
    lagging: Option<HashMap<Asked, Vec<u8>>>,
    counts_nothing: bool,
    refuses_writes: bool,
}

impl Faults {
    /// Makes the n-th write from now fail, counted from 1.
    pub fn on_write(&self, n: u64, fault: Fault) {
        let mut plan = self.0.plan.lock().expect("a plan");
        let at = plan.writes + n;
        plan.faults.push_back((at, fault));
    }

    /// Lets the table run out of capacity for counting requests, from now on.
    pub fn on_counting(&self) {
        self.0.plan.lock().expect("a plan").counts_nothing = true;
    }

    /// Makes the table refuse all writes, like a file on a full disk, or ends that.
    pub fn refuse_writes(&self, refuses: bool) {
        self.0.plan.lock().expect("a plan").refuses_writes = refuses;
    }

    /// Holds back the answer to the n-th batch read from now, counted from 1: the data is outdated when the answer
    /// arrives.
    pub fn hold_read(&self, n: u64) {
        self.0.plan.lock().expect("a plan").hold_in = Some(n);
    }

    /// Makes eventually consistent batch reads lag: each returns what the same read found before.
    pub fn lag_relaxed_reads(&self) {
        self.0.plan.lock().expect("a plan").lagging = Some(HashMap::new());
    }

    /// Waits until an answer is held back.
    pub async fn until_held(&self) {
        self.0.held.notified().await;
    }

    /// Lets the answer arrive.
    pub fn release(&self) {
        self.0.released.notify_one();
    }

    /// Writes so far.
    pub fn writes(&self) -> u64 {
        self.0.plan.lock().expect("a plan").writes
    }

    /// Items written in transactions so far: two write units each, for small items.
    pub fn transacted_items(&self) -> u64 {
        self.0.plan.lock().expect("a plan").items
    }

    /// Ends the process at once.
    pub fn crash(&self) {
        self.0.crashed.notify_one();
    }

    /// Drops the faults that are still to come.
    pub fn forget(&self) {
        self.0.plan.lock().expect("a plan").faults.clear();
    }

    /// Runs work until it is done or a fault ends the process; `None` in the latter case.
    pub async fn until_crash<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        // A fixed order, so that a simulation can be repeated.
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.0.crashed.notified() => None,
        }
    }

    /// A client that forwards the requests that these faults let through.
    pub(crate) fn client(&self, inner: SharedHttpClient) -> SharedHttpClient {
        SharedHttpClient::new(FaultyClient { inner, faults: self.clone() })
    }

    fn is_to_be_held(&self, request: &HttpRequest) -> bool {
        if operation(request) != Some("BatchGetItem") {
            return false;
        }
        let hold_in = &mut self.0.plan.lock().expect("a plan").hold_in;
        *hold_in = hold_in.and_then(|reads| reads.checked_sub(1));
        hold_in.take_if(|reads| *reads == 0).is_some()
    }

    /// The keys of a batch read, if it is to lag.
    fn lagging(&self, request: &HttpRequest) -> Option<Asked> {
        if self.0.plan.lock().expect("a plan").lagging.is_none()
            || operation(request) != Some("BatchGetItem")
        {
            return None;
        }
        let body: serde_json::Value = serde_json::from_slice(request.body().bytes()?).ok()?;
        let wanted = body["RequestItems"].as_object()?.values().next()?;
        let key = |key: &serde_json::Value| [&key["pk"], &key["sk"]].map(ToString::to_string);
        let mut keys: Asked = wanted["Keys"].as_array()?.iter().map(key).collect();
        keys.sort();
        (wanted["ConsistentRead"] == false).then_some(keys)
    }

    /// Returns the previous answer, and keeps this one for the next time.
    fn answer_before(&self, asked: Asked, answer: Vec<u8>) -> Vec<u8> {
        let mut plan = self.0.plan.lock().expect("a plan");
        let before = plan.lagging.as_mut().and_then(|known| known.insert(asked, answer.clone()));
        before.unwrap_or(answer)
    }

    /// Whether a transaction is a retry after its first answer was lost. DynamoDB recognizes the retry by its token and
    /// does nothing; the embedded table, which loses no answer, does not need tokens.
    fn is_known(&self, request: &HttpRequest) -> bool {
        let lost = &self.0.plan.lock().expect("a plan").lost;
        !lost.is_empty() && token(request).is_some_and(|token| lost.contains(&token))
    }

    /// Remembers the token of a transaction that was done, and whose answer was lost.
    fn remember(&self, token: Option<String>) {
        self.0.plan.lock().expect("a plan").lost.extend(token);
    }

    fn next(&self, request: &HttpRequest) -> Option<Fault> {
        let operation = operation(request)?;
        let is_write = matches!(
            operation,
            "PutItem" | "UpdateItem" | "DeleteItem" | "TransactWriteItems" | "BatchWriteItem"
        );
        // Writes that count requests are not part of a story, so they get no fault unless a test asks for one.
        let body = request.body().bytes().unwrap_or_default();
        if !is_write {
            return None;
        }
        let mut plan = self.0.plan.lock().expect("a plan");
        if plan.refuses_writes {
            return Some(Fault::Refuse);
        }
        if is_throttle_window(body) {
            return plan.counts_nothing.then_some(Fault::Throttle);
        }
        plan.writes += 1;
        if operation == "TransactWriteItems" {
            let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
            plan.items += body["TransactItems"].as_array().map_or(0, Vec::len) as u64;
        }
        let at = plan.writes;
        let place = plan.faults.iter().position(|(n, _)| *n == at)?;
        plan.faults.remove(place).map(|(_, fault)| fault)
    }
}

#[derive(Debug)]
struct FaultyClient {
    inner: SharedHttpClient,
    faults: Faults,
}

impl HttpClient for FaultyClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(FaultyConnector { inner, faults: self.faults.clone() })
    }
}

#[derive(Debug)]
struct FaultyConnector {
    inner: SharedHttpConnector,
    faults: Faults,
}

impl HttpConnector for FaultyConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inner, faults) = (self.inner.clone(), self.faults.clone());
        if faults.is_to_be_held(&request) {
            return HttpConnectorFuture::new(async move {
                let answer = inner.call(request).await;
                faults.0.held.notify_one();
                faults.0.released.notified().await;
                answer
            });
        }
        if let Some(asked) = faults.lagging(&request) {
            return HttpConnectorFuture::new(async move {
                let mut answer = inner.call(request).await?;
                if answer.status().is_success() {
                    let body = std::mem::replace(answer.body_mut(), SdkBody::taken());
                    let bytes = ByteStream::new(body).collect().await;
                    let bytes = bytes.map_err(|error| ConnectorError::io(error.into()))?;
                    let before = faults.answer_before(asked, bytes.into_bytes().to_vec());
                    *answer.body_mut() = SdkBody::from(before);
                }
                Ok(answer)
            });
        }
        let Some(fault) = faults.next(&request) else {
            if faults.is_known(&request) {
                return HttpConnectorFuture::ready(Ok(response(200, "{}".to_owned())));
            }
            return inner.call(request);
        };
        let is_transaction = operation(&request) == Some("TransactWriteItems");
        HttpConnectorFuture::new(async move {
            match fault {
                Fault::Throttle if is_transaction => Ok(refusal(
                    "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                    r#","CancellationReasons":[{"Code":"None"},{"Code":"ThrottlingError"}]"#,
                )),
                Fault::Throttle => Ok(refusal(
                    "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
                    "",
                )),
                Fault::Conflict if is_transaction => Ok(refusal(
                    "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                    r#","CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict"}]"#,
                )),
                Fault::Conflict => {
                    Ok(refusal("com.amazonaws.dynamodb.v20120810#TransactionConflictException", ""))
                }
                Fault::Refuse => {
                    let kind = "com.amazonaws.dynamodb.v20120810#InternalServerError";
                    let message = "Internal error: database or disk is full";
                    let body = format!(r#"{{"__type":"{kind}","message":"{message}"}}"#);
                    Ok(response(500, body))
                }
                Fault::LoseAnswer => {
                    let token = token(&request);
                    let answer = inner.call(request).await?;
                    // A refused write was not done, and is refused again.
                    if answer.status().is_success() {
                        faults.remember(token);
                    }
                    Err(ConnectorError::timeout("the answer was lost".into()))
                }
                Fault::CrashBefore | Fault::CrashAfter => {
                    if fault == Fault::CrashAfter {
                        inner.call(request).await?;
                    }
                    faults.0.crashed.notify_one();
                    std::future::pending().await
                }
            }
        })
    }
}

/// The operation that a request asks for.
pub(crate) fn operation(request: &HttpRequest) -> Option<&str> {
    request.headers().get("x-amz-target")?.rsplit('.').next()
}

/// The token by which DynamoDB recognizes a repeated transaction.
fn token(request: &HttpRequest) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(request.body().bytes()?).ok()?;
    body["ClientRequestToken"].as_str().map(str::to_owned)
}

/// Whether a request counts requests; resolved issues have `R#` in a sort key.
fn is_throttle_window(body: &[u8]) -> bool {
    const KEY: &[u8] = br#""pk":{"S":"R#"#;
    body.windows(KEY.len()).any(|part| part == KEY)
}

fn refusal(kind: &str, more: &str) -> HttpResponse {
    let body = format!(r#"{{"__type":"{kind}","message":"made by a test"{more}}}"#);
    response(400, body)
}

fn response(status: u16, body: String) -> HttpResponse {
    let mut response = HttpResponse::new(status.try_into().expect("a status"), SdkBody::from(body));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}
