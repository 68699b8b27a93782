//! A resolver's HTTP/2 connection, and the questions on it.
//!
//! All questions of a check share a connection, and so do checks that follow one another closely:
//! a handshake costs more than all six answers. It belongs to the [`Session`]; dropping that ends
//! it, and whoever asks may go at any time.

use std::time::Duration;

use futures::future::join_all;
use hickory_resolver::proto::op::Message;
use hickory_resolver::proto::rr::{Name, RecordType};
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, StatusCode};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};
use vedette_domain::check::Lookup;
use vedette_domain::settings::DnsRecordType;

use super::message::{self, MESSAGE_LIMIT};
use super::servers::DohServer;
use crate::guard::Guard;
use crate::http::{self, Connection, RequestBody};

/// A connection that was idle for longer is not trusted to be alive.
const IDLE_LIMIT: Duration = Duration::from_secs(10);

/// How long a question on a connection from before may go unanswered until it is asked on a new
/// one: a machine that slept in between does not know that the connection is gone.
const REUSE_PATIENCE: Duration = Duration::from_secs(1);

/// Media type of DNS messages (RFC 8484, section 6).
const DNS_MESSAGE: &str = "application/dns-message";

const TIMED_OUT: &str = "no answer in time";

/// A name and the type of the records asked for.
pub(super) type Question = (Name, RecordType);

/// What came of a question.
pub(super) struct Reply {
    pub(super) message: Result<Message, String>,
    /// Without the time to connect.
    latency: Duration,
    /// Whether nothing came back at all.
    is_lost: bool,
}

/// Why a question has no answer that can be read.
enum Failure {
    /// Nothing came back.
    Lost(String),
    /// Something else did.
    Refused(String),
}

impl Reply {
    fn new(answer: Result<Message, Failure>, latency: Duration) -> Self {
        let (message, is_lost) = match answer {
            Ok(message) => (Ok(message), false),
            Err(Failure::Refused(why)) => (Err(why), false),
            Err(Failure::Lost(why)) => (Err(why), true),
        };
        Self { message, latency, is_lost }
    }

    /// As the domain sees it: what it says of `host`'s records of a type.
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
pub(super) struct Session {
    server: DohServer,
    /// With when it was last used.
    connection: Mutex<Option<(Connection, Instant)>>,
}

impl Session {
    pub(super) fn new(server: DohServer) -> Self {
        Self { server, connection: Mutex::new(None) }
    }

    pub(super) fn server(&self) -> &DohServer {
        &self.server
    }

    /// Asks all questions at once; the replies are in their order, and there by `until`.
    pub(super) async fn ask(
        &self,
        guard: &Guard,
        questions: &[Question],
        until: Instant,
    ) -> Vec<Reply> {
        let all: Vec<_> = questions.iter().collect();
        let Some(connection) = self.reusable().await else {
            return self.ask_anew(guard, &all, until).await;
        };
        let patience = until.min(Instant::now() + REUSE_PATIENCE);
        let mut replies = self.ask_on(connection, &all, patience).await;
        let lost: Vec<_> = (0..replies.len()).filter(|index| replies[*index].is_lost).collect();
        if lost.is_empty() {
            return replies;
        }
        let again: Vec<_> = lost.iter().map(|index| &questions[*index]).collect();
        let renewed = self.ask_anew(guard, &again, until).await;
        for (index, reply) in lost.into_iter().zip(renewed) {
            replies[index] = reply;
        }
        replies
    }

    async fn ask_anew(&self, guard: &Guard, questions: &[&Question], until: Instant) -> Vec<Reply> {
        let opened = timeout_at(until, self.open(guard)).await;
        match opened.unwrap_or_else(|_| Err("no connection in time".to_owned())) {
            Ok(connection) => self.ask_on(connection, questions, until).await,
            Err(why) => {
                let reply = |_| Reply::new(Err(Failure::Lost(why.clone())), Duration::ZERO);
                questions.iter().map(reply).collect()
            }
        }
    }

    async fn ask_on(
        &self,
        mut connection: Connection,
        questions: &[&Question],
        until: Instant,
    ) -> Vec<Reply> {
        // A connection of a session can always be shared.
        let asked = questions.iter().filter_map(|question| Some((question, connection.share()?)));
        join_all(asked.map(|(question, connection)| async move {
            let started = Instant::now();
            let reply = timeout_at(until, exchange(&self.server, connection, question)).await;
            let answer = reply.unwrap_or_else(|_| Err(Failure::Lost(TIMED_OUT.to_owned())));
            Reply::new(answer, started.elapsed())
        }))
        .await
    }

    /// The connection from before, if it can be used again.
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

    /// A new connection, which is kept.
    async fn open(&self, guard: &Guard) -> Result<Connection, String> {
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
) -> Result<Message, Failure> {
    let refused = |why: &str| Failure::Refused(why.to_owned());
    let question =
        message::question(name, *kind).ok_or_else(|| refused("the question has no form"))?;
    let headers =
        [(ACCEPT, DNS_MESSAGE), (CONTENT_TYPE, DNS_MESSAGE), (USER_AGENT, crate::USER_AGENT)];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    let request = http::request(Method::POST, &server.url, HeaderMap::from_iter(headers));
    let mut request = request.map_err(|_| refused("the resolver's URL cannot be requested"))?;
    *request.body_mut() = RequestBody::Left(Full::from(question));
    let response = connection.send(request).await;
    let response = response.map_err(|error| Failure::Lost(error.to_string()))?;
    if response.status() != StatusCode::OK {
        return Err(Failure::Refused(format!("HTTP {}", response.status().as_u16())));
    }
    if !http::media_type(response.headers()).eq_ignore_ascii_case(DNS_MESSAGE) {
        return Err(refused("the answer is not a DNS message"));
    }
    let body = Limited::new(response.into_body(), MESSAGE_LIMIT).collect().await;
    let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
        Ok(error) => Failure::Lost(http::Error::Exchange(*error).to_string()),
        // The only other error is that of the limit.
        Err(_) => refused("the answer is too large"),
    })?;
    message::answer(&body.to_bytes(), name, *kind).map_err(Failure::Refused)
}
