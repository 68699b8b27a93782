//! A DNS-over-HTTPS client for one resolver, with its HTTP/2 connection.
//!
//! All questions of a check share a connection, and so do checks in close succession: a handshake costs more than all
//! six answers. The connection belongs to the [`DohClient`] and ends with it. Queries may be dropped at any time.

use std::time::Duration;

use futures::future::join_all;
use hickory_resolver::proto::op::Message;
use hickory_resolver::proto::rr::{Name, RecordType};
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, StatusCode};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};
use vedette_domain::checks::check::Lookup;
use vedette_domain::sites::settings::DnsRecordType;

use super::message::{self, MESSAGE_LIMIT};
use super::servers::DohServer;
use crate::http::{self, Connection, MediaType, RequestBody};
use crate::ssrf_guard::SsrfGuard;

/// A connection idle for longer is assumed to be dead.
const IDLE_LIMIT: Duration = Duration::from_secs(10);

/// Timeout of a question on a reused connection, after which it is asked on a new one: a machine
/// that was suspended does not know that the connection is gone.
const REUSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Media type of DNS messages (RFC 8484, section 6).
const DNS_MESSAGE: &str = "application/dns-message";

const TIMED_OUT: &str = "no answer in time";

/// A name and the type of the records asked for.
pub(super) type Question = (Name, RecordType);

/// The outcome of a question.
pub(super) struct Reply {
    pub(super) message: Result<Message, String>,
    /// The time without connecting.
    latency: Duration,
    /// Whether there was no response at all.
    is_lost: bool,
}

/// Why a question has no usable answer.
enum QueryFailure {
    /// No response.
    Lost(String),
    /// An unusable response.
    Refused(String),
}

impl Reply {
    fn new(answer: Result<Message, QueryFailure>, latency: Duration) -> Self {
        let (message, is_lost) = match answer {
            Ok(message) => (Ok(message), false),
            Err(QueryFailure::Refused(why)) => (Err(why), false),
            Err(QueryFailure::Lost(why)) => (Err(why), true),
        };
        Self { message, latency, is_lost }
    }

    /// Whether there was a response, usable or not.
    pub(super) const fn is_answer(&self) -> bool {
        !self.is_lost
    }

    /// What the reply says about `host`'s records of a type, for the domain crate.
    pub(super) fn lookup(&self, host: &Name, kind: DnsRecordType) -> Lookup {
        Lookup {
            answer: match &self.message {
                Ok(message) => Ok(message::read(message, host, kind)),
                Err(why) => Err(why.clone()),
            },
            latency_ms: (self.latency.as_secs_f64() * 100_000.0).round() / 100.0,
        }
    }
}

/// One resolver and the connection to it.
pub(super) struct DohClient {
    server: DohServer,
    /// The connection, and when it was last used.
    connection: Mutex<Option<(Connection, Instant)>>,
}

impl DohClient {
    pub(super) fn new(server: DohServer) -> Self {
        Self { server, connection: Mutex::new(None) }
    }

    pub(super) fn server(&self) -> &DohServer {
        &self.server
    }

    /// Asks all questions at once. Replies come in the same order, and by `until`.
    pub(super) async fn query(
        &self,
        guard: &SsrfGuard,
        questions: &[Question],
        until: Instant,
    ) -> Vec<Reply> {
        let all: Vec<_> = questions.iter().collect();
        let Some(connection) = self.reusable().await else {
            return self.query_anew(guard, &all, until).await;
        };
        let first_try_until = until.min(Instant::now() + REUSE_TIMEOUT);
        let mut replies = self.query_on(connection, &all, first_try_until).await;
        let lost: Vec<_> = (0..replies.len()).filter(|index| replies[*index].is_lost).collect();
        if lost.is_empty() {
            return replies;
        }
        let again: Vec<_> = lost.iter().map(|index| &questions[*index]).collect();
        let renewed = self.query_anew(guard, &again, until).await;
        for (index, reply) in lost.into_iter().zip(renewed) {
            replies[index] = reply;
        }
        replies
    }

    async fn query_anew(
        &self,
        guard: &SsrfGuard,
        questions: &[&Question],
        until: Instant,
    ) -> Vec<Reply> {
        let opened = timeout_at(until, self.open(guard)).await;
        match opened.unwrap_or_else(|_| Err("no connection in time".to_owned())) {
            Ok(connection) => self.query_on(connection, questions, until).await,
            Err(why) => {
                let reply = |_| Reply::new(Err(QueryFailure::Lost(why.clone())), Duration::ZERO);
                questions.iter().map(reply).collect()
            }
        }
    }

    async fn query_on(
        &self,
        mut connection: Connection,
        questions: &[&Question],
        until: Instant,
    ) -> Vec<Reply> {
        // Only connections that can be shared are kept.
        let queries = questions.iter().filter_map(|question| Some((question, connection.share()?)));
        join_all(queries.map(|(question, connection)| async move {
            let started = Instant::now();
            let reply = timeout_at(until, exchange(&self.server, connection, question)).await;
            let answer = reply.unwrap_or_else(|_| Err(QueryFailure::Lost(TIMED_OUT.to_owned())));
            Reply::new(answer, started.elapsed())
        }))
        .await
    }

    /// The existing connection, if it can be reused.
    async fn reusable(&self) -> Option<Connection> {
        let mut kept = self.connection.lock().await;
        let (mut connection, last_used) = kept.take()?;
        if connection.is_closed() || last_used.elapsed() >= IDLE_LIMIT {
            return None;
        }
        let shared = connection.share();
        *kept = Some((connection, Instant::now()));
        shared
    }

    /// Opens a connection and keeps it.
    async fn open(&self, guard: &SsrfGuard) -> Result<Connection, String> {
        let opened = Connection::to(guard, &self.server.url).await;
        let mut connection = opened.map_err(|error| error.to_string())?;
        let shared = connection.share().ok_or("the resolver does not speak HTTP/2")?;
        *self.connection.lock().await = Some((connection, Instant::now()));
        Ok(shared)
    }
}

async fn exchange(
    server: &DohServer,
    connection: Connection,
    (name, kind): &Question,
) -> Result<Message, QueryFailure> {
    let refused = |why: &str| QueryFailure::Refused(why.to_owned());
    let question =
        message::question(name, *kind).ok_or_else(|| refused("the question cannot be encoded"))?;
    let headers =
        [(ACCEPT, DNS_MESSAGE), (CONTENT_TYPE, DNS_MESSAGE), (USER_AGENT, crate::USER_AGENT)];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    let request = http::request(Method::POST, &server.url, HeaderMap::from_iter(headers));
    let mut request = request.map_err(|_| refused("the resolver's URL cannot be requested"))?;
    *request.body_mut() = RequestBody::Left(Full::from(question));
    let response = connection.send(request).await;
    let response = response.map_err(|error| QueryFailure::Lost(error.to_string()))?;
    if response.status() != StatusCode::OK {
        return Err(QueryFailure::Refused(format!("HTTP {}", response.status().as_u16())));
    }
    if !MediaType::of(response.headers()).is(DNS_MESSAGE) {
        return Err(refused("the answer is not a DNS message"));
    }
    let body = Limited::new(response.into_body(), MESSAGE_LIMIT).collect().await;
    let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
        Ok(error) => QueryFailure::Lost(http::Error::Exchange(*error).to_string()),
        // The only other error is the size limit.
        Err(_) => refused("the answer is too large"),
    })?;
    message::answer(&body.to_bytes(), name, *kind).map_err(QueryFailure::Refused)
}
