//! Access for other processes of the same user: a Unix socket in the data folder.

use std::error::Error;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::HOST;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::client::{self, TARGET, answer, operation};
use crate::files::SOCKET;
use crate::operation::is_of_items;
use crate::{Database, Folder, FolderError, Priority};

/// What the service reports about itself without asking the table, since the table may be what does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// Its problems, as JSON.
    Health,
    /// Its metrics, in Prometheus's text format.
    Metrics,
    /// The address of its pages.
    Pages,
}

impl Report {
    const ALL: [Self; 3] = [Self::Health, Self::Metrics, Self::Pages];

    const fn path(self) -> &'static str {
        match self {
            Self::Health => "/health",
            Self::Metrics => "/metrics",
            Self::Pages => "/pages",
        }
    }
}

/// Where other processes pass on messages to the service's queues.
const MESSAGES: &str = "/messages";
/// The largest request, in bytes: DynamoDB's limit for one request.
const BODY_MAX: usize = 16 * 1024 * 1024;
/// The pause before the next attempt to accept a connection, when this process has too many files
/// open.
const BREATH: Duration = Duration::from_millis(100);

/// The socket of a data folder, from the other process's point of view.
#[derive(Debug, Clone)]
pub struct Socket {
    path: PathBuf,
}

impl Socket {
    pub(crate) fn of(folder: &Path) -> Self {
        Self { path: folder.join(SOCKET) }
    }

    /// Whether a service is listening.
    pub(crate) async fn answers(&self) -> bool {
        UnixStream::connect(&self.path).await.is_ok()
    }

    /// An HTTP client for the service behind the socket.
    pub fn http_client(&self) -> SharedHttpClient {
        client::http_client(self.clone())
    }

    /// What the service reports, as passed to [`serve`]; `None` if the service's version does not report it.
    ///
    /// # Errors
    ///
    /// When no service answers.
    pub async fn report(&self, report: Report) -> Result<Option<Bytes>, ConnectorError> {
        let request = Request::get(report.path()).header(HOST, "embedded").body(Full::default());
        let request = request.map_err(|error| ConnectorError::user(error.into()))?;
        let (status, body) = self.ask(request).await?;
        Ok((status == StatusCode::OK).then_some(body))
    }

    /// Passes on messages to the service's queues. A version that does not take them finds their work in the table.
    ///
    /// # Errors
    ///
    /// When no service answers.
    pub async fn pass_on(&self, messages: Vec<u8>) -> Result<(), ConnectorError> {
        let request = Request::post(MESSAGES).header(HOST, "embedded");
        let request = request.body(Full::from(messages));
        let request = request.map_err(|error| ConnectorError::user(error.into()))?;
        self.ask(request).await.map(drop)
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let body = request.body().bytes().unwrap_or_default();
        let target = request.headers().get(TARGET).unwrap_or_default();
        let sent = Request::post("/")
            .header(HOST, "embedded")
            .header(TARGET, target)
            .body(Full::new(Bytes::copy_from_slice(body)))
            .map_err(|error| ConnectorError::user(error.into()))?;
        let (status, body) = self.ask(sent).await?;
        answer(status.as_u16(), body)
    }

    async fn ask(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), ConnectorError> {
        let stream = UnixStream::connect(&self.path).await;
        let stream = stream.map_err(|error| ConnectorError::io(error.into()))?;
        let broken = |error: hyper::Error| ConnectorError::io(error.into());
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // The task ends with the answer, which says what went wrong.
        tokio::spawn(async move { drop(connection.await) });
        let (head, body) = sender.send_request(request).await.map_err(broken)?.into_parts();
        Ok((head.status, body.collect().await.map_err(broken)?.to_bytes()))
    }
}

impl HttpConnector for Socket {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let socket = self.clone();
        HttpConnectorFuture::new(async move { socket.send(request).await })
    }
}

/// Creates the socket in a folder that this process holds, and replaces one that a crash may have left.
///
/// # Errors
///
/// When the system refuses, for example because the path is too long.
pub fn listen(folder: &Folder) -> Result<UnixListener, FolderError> {
    let path = folder.path().join(SOCKET);
    let made = match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => UnixListener::bind(&path),
    };
    // The folder itself does not let anybody else in either.
    let kept = made.and_then(|listener| {
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        folder.held().note(folder.path(), SOCKET)?;
        Ok(listener)
    });
    kept.map_err(|error| FolderError::Io { path, error })
}

/// Serves the clients of the socket until it is dropped. Clients can read and write items, but cannot change or remove
/// the table itself. `report` is the answer to [`Socket::report`], and `receive` gets what [`Socket::pass_on`] sends.
pub async fn serve(
    listener: UnixListener,
    database: Database,
    report: impl Fn(Report) -> Vec<u8> + Clone + Send + Sync + 'static,
    receive: impl Fn(&[u8]) + Clone + Send + Sync + 'static,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let (report, receive) = (report.clone(), receive.clone());
                    connections.spawn(converse(stream, database.clone(), report, receive));
                }
                Err(error) => {
                    warn!(%error, "could not accept a connection to the table");
                    tokio::time::sleep(BREATH).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse(
    stream: UnixStream,
    database: Database,
    report: impl Fn(Report) -> Vec<u8>,
    receive: impl Fn(&[u8]),
) {
    let service = service_fn(|request| respond(request, &database, &report, &receive));
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        debug!(%error, "a connection to the table ended early");
    }
}

async fn respond(
    request: Request<Incoming>,
    database: &Database,
    report: &impl Fn(Report) -> Vec<u8>,
    receive: &impl Fn(&[u8]),
) -> Result<Response<Full<Bytes>>, Box<dyn Error + Send + Sync>> {
    if request.method() == Method::GET
        && let Some(asked) = Report::ALL.into_iter().find(|one| one.path() == request.uri().path())
    {
        return Ok(Response::new(Full::from(report(asked))));
    }
    if request.method() == Method::POST && request.uri().path() == MESSAGES {
        let body = Limited::new(request.into_body(), BODY_MAX).collect().await?.to_bytes();
        receive(&body);
        return Ok(Response::builder().status(StatusCode::NO_CONTENT).body(Full::default())?);
    }
    let target = request.headers().get(TARGET).and_then(|target| target.to_str().ok());
    let operation = operation(target.unwrap_or_default()).to_owned();
    if !is_of_items(&operation) {
        let refused = Response::builder().status(StatusCode::FORBIDDEN);
        return Ok(refused.body(Full::from("only items can be read and written here"))?);
    }
    let body = Limited::new(request.into_body(), BODY_MAX).collect().await?.to_bytes();
    // A client of the socket is a person who waits at a terminal.
    let answered = database.answer_for(Priority::Interactive, operation, body.into()).await;
    let (status, body) = answered.ok_or("the table is closed")?;
    Ok(Response::builder().status(status).body(Full::from(body))?)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;

    use super::*;
    use crate::{Fsync, Reached, TABLE, reach, sdk_client, store};

    #[tokio::test]
    async fn another_process_reads_and_writes_items_and_nothing_else() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        fs::write(temporary.path().join(SOCKET), "left by a crash").expect("written");
        let database = Database::open(&folder, Fsync::EverySecond).await.expect("opened");
        let received = Arc::new(Mutex::new(Vec::new()));
        let receiver = Arc::clone(&received);
        let served = tokio::spawn(serve(
            listen(&folder).expect("a socket"),
            database.clone(),
            |report| format!("{report:?}").into_bytes(),
            move |messages: &[u8]| receiver.lock().expect("a lock").extend_from_slice(messages),
        ));

        let mode = fs::metadata(temporary.path().join(SOCKET)).expect("a socket").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        let Ok(Reached::Served(socket)) = reach(temporary.path()).await else {
            panic!("somebody serves it");
        };
        assert!(store(socket.http_client()).all_teams().await.expect("an answer").is_empty());

        let client = sdk_client(socket.http_client());
        let refused = client.delete_table().table_name(TABLE).send().await.expect_err("refused");
        assert_eq!(refused.raw_response().expect("an answer").status().as_u16(), 403);
        let refused = client.scan().table_name(TABLE).send().await.expect_err("refused");
        assert_eq!(refused.code(), None);
        let described = database.store().table_state().await.expect("an answer");
        assert_eq!(described, vedette_store::TableState::Whole);

        socket.pass_on(b"messages".to_vec()).await.expect("passed on");
        assert_eq!(*received.lock().expect("a lock"), b"messages");

        database.close().await;
        for report in Report::ALL {
            let told = socket.report(report).await.expect("an answer");
            let expected = format!("{report:?}").into_bytes();
            assert_eq!(told.as_deref(), Some(&*expected), "the table is not asked");
        }
        let closed = store(socket.http_client()).all_teams().await;
        assert!(closed.is_err(), "the service is ending");
        served.abort();
        assert!(served.await.is_err());
        drop(folder);
        let Ok(Reached::Free(_)) = reach(temporary.path()).await else {
            panic!("nobody has it");
        };
    }
}
