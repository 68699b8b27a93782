//! A resolver's HTTP/2 connection, and the questions on it.
//!
//! All questions of a check share a connection, and so do checks that follow one another closely:
//! a handshake costs more than all six answers. It belongs to the [`Session`]; dropping that ends
//! it, and whoever asks may go at any time.

use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use futures::future::join_all;
use hickory_resolver::proto::op::Message;
use hickory_resolver::proto::rr::{Name, RecordType};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use vedette_domain::check::Lookup;
use vedette_domain::settings::DnsRecordType;

use super::message::{self, MESSAGE_LIMIT};
use super::servers::DohServer;
use crate::connect::{ConnectError, connect};
use crate::exchange::{Tasks, secure};
use crate::failure;
use crate::guard::Guard;
use crate::paced::Paced;

/// A connection that was idle for longer is not trusted to be alive.
const IDLE_LIMIT: Duration = Duration::from_secs(10);

/// How long a question on a connection from before may go unanswered until it is asked on a new
/// one: a machine that slept in between does not know that the connection is gone.
const REUSE_PATIENCE: Duration = Duration::from_secs(1);

/// HTTP/2 windows and the answer's head: more than any answer that is taken.
const BUFFER: u32 = 64 * 1024;

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
    connection: Mutex<Option<Connection>>,
}

#[derive(Clone)]
struct Connection {
    sender: http2::SendRequest<Full<Bytes>>,
    last_used: Instant,
    /// hyper's half of the connection; aborted with the last clone.
    _work: Arc<JoinSet<()>>,
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
        let mut replies = self.ask_on(&connection, &all, patience).await;
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
        let opened = timeout_at(until, open(guard, &self.server)).await;
        match opened.unwrap_or_else(|_| Err("no connection in time".to_owned())) {
            Ok(connection) => {
                *self.connection.lock().await = Some(connection.clone());
                self.ask_on(&connection, questions, until).await
            }
            Err(why) => {
                let reply = |_| Reply::new(Err(Failure::Lost(why.clone())), Duration::ZERO);
                questions.iter().map(reply).collect()
            }
        }
    }

    async fn ask_on(
        &self,
        connection: &Connection,
        questions: &[&Question],
        until: Instant,
    ) -> Vec<Reply> {
        join_all(questions.iter().map(|question| async {
            let started = Instant::now();
            let reply = timeout_at(until, exchange(&self.server, connection, question)).await;
            let answer = reply.unwrap_or_else(|_| Err(Failure::Lost(TIMED_OUT.to_owned())));
            Reply::new(answer, started.elapsed())
        }))
        .await
    }

    /// The connection from before, if it can be used again.
    async fn reusable(&self) -> Option<Connection> {
        let mut connection = self.connection.lock().await;
        let is_fresh =
            |it: &Connection| !it.sender.is_closed() && it.last_used.elapsed() < IDLE_LIMIT;
        if !connection.as_ref().is_some_and(is_fresh) {
            *connection = None;
        }
        let connection = connection.as_mut()?;
        connection.last_used = Instant::now();
        Some(connection.clone())
    }
}

async fn open(guard: &Guard, server: &DohServer) -> Result<Connection, String> {
    let target = guard.admit(&server.url).await.map_err(|error| error.to_string())?;
    let stream = connect(&target).await.map_err(|error| match error {
        ConnectError::NoRoute => "IPv6 is not available here".to_owned(),
        ConnectError::NoSocket(_) => "this machine is out of sockets".to_owned(),
        ConnectError::Failed(error) => failure::of_connection(&error).to_owned(),
    })?;
    let stream = secure(guard, stream, &server.url).await?;
    if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
        return Err("the resolver does not speak HTTP/2".to_owned());
    }
    let tasks = Arc::<StdMutex<JoinSet<()>>>::default();
    let (sender, connection) = http2::Builder::new(Tasks::of(&tasks))
        .initial_stream_window_size(BUFFER)
        .initial_connection_window_size(8 * BUFFER)
        .max_header_list_size(BUFFER)
        .handshake(TokioIo::new(Paced::new(stream)))
        .await
        .map_err(|error| failure::of_exchange(&error))?;
    let mut work = JoinSet::new();
    work.spawn(async move {
        // Its errors reach the requests, too.
        drop(connection.await);
        drop(tasks);
    });
    Ok(Connection { sender, last_used: Instant::now(), _work: Arc::new(work) })
}

async fn exchange(
    server: &DohServer,
    connection: &Connection,
    (name, kind): &Question,
) -> Result<Message, Failure> {
    let refused = |why: &str| Failure::Refused(why.to_owned());
    let lost = |error: &hyper::Error| Failure::Lost(failure::of_exchange(error));
    let question =
        message::question(name, *kind).ok_or_else(|| refused("the question has no form"))?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(server.url.as_str())
        .header(ACCEPT, DNS_MESSAGE)
        .header(CONTENT_TYPE, DNS_MESSAGE)
        .header(USER_AGENT, crate::USER_AGENT)
        .body(Full::new(Bytes::from(question)))
        .map_err(|_| refused("the resolver's URL cannot be requested"))?;
    let mut sender = connection.sender.clone();
    let answer = sender.send_request(request).await.map_err(|error| lost(&error))?;
    if answer.status() != StatusCode::OK {
        return Err(Failure::Refused(format!("HTTP {}", answer.status().as_u16())));
    }
    let is_message = |value: &[u8]| {
        let media_type = value.split(|byte| *byte == b';').next().unwrap_or_default();
        media_type.trim_ascii().eq_ignore_ascii_case(DNS_MESSAGE.as_bytes())
    };
    if !answer.headers().get(CONTENT_TYPE).is_some_and(|it| is_message(it.as_bytes())) {
        return Err(refused("the answer is not a DNS message"));
    }
    let body = Limited::new(answer.into_body(), MESSAGE_LIMIT).collect().await;
    let body = body.map_err(|error| match error.downcast_ref() {
        Some(error) => lost(error),
        // The only other error is that of the limit.
        None => refused("the answer is too large"),
    })?;
    message::answer(&body.to_bytes(), name, *kind).map_err(Failure::Refused)
}
