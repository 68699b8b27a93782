//! The gateway: HTTP/1.1 in, the API's routes behind, as API Gateway stands before the functions.

use std::collections::HashMap;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use lambda_http::http::header::EXPECT;
use lambda_http::http::{Method, StatusCode, request};
use lambda_http::{Body, RequestExt as _};
use percent_encoding::percent_decode_str;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};
use vedette_api::{BODY_MAX, FALLBACK, ROUTES, Route};
use vedette_http::error::ApiError;
use vedette_http::response::{Response, json as answer};
use vedette_runtime::App;

/// The largest request line with headers, in bytes, as in API Gateway; beyond it hyper answers 431.
const HEAD_MAX: usize = 10_240;
/// What a connection may hold of requests that have arrived and are not yet read.
const BUFFER_MAX: usize = 64 * 1024;
/// How much of a body that is too large is read before the refusal: a client that is still sending
/// would meet a closed connection instead of the answer.
const REFUSED_BODY_MAX: usize = 10 * 1024 * 1024;
/// How long the head of a request, its body, and the work on it may take, each.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long running requests may take to finish at the end.
const GRACE: Duration = Duration::from_secs(5);
/// Before the next try to take a connection, when this process has too many files open.
const BREATH: Duration = Duration::from_millis(100);

/// The API's routes, and what they work with.
pub(crate) struct Gateway {
    routes: matchit::Router<Vec<&'static Route>>,
    app: App,
}

/// Why a body was not read.
enum Unread {
    TooLarge,
    Broken,
}

impl Gateway {
    /// A gateway before these routes.
    pub(crate) fn new(app: App) -> Result<Self, matchit::InsertError> {
        let mut by_path: HashMap<&str, Vec<&'static Route>> = HashMap::new();
        for route in ROUTES {
            by_path.entry(route.path).or_default().push(route);
        }
        let mut routes = matchit::Router::new();
        for (path, methods) in by_path {
            routes.insert(path, methods)?;
        }
        Ok(Self { routes, app })
    }

    /// Takes connections until it is stopped; then running requests get a few seconds.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    connections.spawn(Arc::clone(&self).converse(stream, stop.clone()));
                }
                Err(error) => {
                    warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
        drop(listener);
        let finished = async { while connections.join_next().await.is_some() {} };
        if timeout(GRACE, finished).await.is_err() {
            warn!("requests were cut off by the end");
        }
    }

    async fn converse(self: Arc<Self>, stream: TcpStream, stop: CancellationToken) {
        // Answers are small and whole: they need not wait for more.
        let _ = stream.set_nodelay(true);
        let service = service_fn(move |request| {
            let gateway = Arc::clone(&self);
            async move { Ok::<_, Infallible>(gateway.answer_always(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .max_header_size(HEAD_MAX)
            .max_buf_size(BUFFER_MAX)
            .half_close(true)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "a connection ended early");
        }
    }

    async fn answer_always(&self, request: hyper::Request<Incoming>) -> Response {
        let answered = AssertUnwindSafe(self.answer(request)).catch_unwind().await;
        answered.unwrap_or_else(|_| {
            error!("a request ended in a panic");
            ApiError::Internal("panic".to_owned()).into_response()
        })
    }

    async fn answer(&self, request: hyper::Request<Incoming>) -> Response {
        let (head, incoming) = request.into_parts();
        let body = match timeout(PATIENCE, read(&head, incoming)).await {
            Ok(Ok(body)) => body,
            Ok(Err(Unread::TooLarge)) => return ApiError::PayloadTooLarge.into_response(),
            Ok(Err(Unread::Broken)) => {
                return refuse(StatusCode::BAD_REQUEST, "The request body could not be read.");
            }
            Err(_) => {
                return refuse(StatusCode::REQUEST_TIMEOUT, "The request body took too long.");
            }
        };
        let path = head.uri.path().to_owned();
        let (route, parameters) =
            self.find(&head.method, &path).unwrap_or((&FALLBACK, HashMap::new()));
        let request = lambda_http::Request::from_parts(head, body)
            .with_raw_http_path(path)
            .with_path_parameters(parameters);
        let answered = timeout(PATIENCE, vedette_api::answer(&self.app, route, request)).await;
        answered.unwrap_or_else(|_| {
            error!(route = route.name, "a request took too long");
            ApiError::Unavailable("the time is up".to_owned()).into_response()
        })
    }

    /// The route for a request, and the values in its path.
    ///
    /// Paths are matched as they were sent and decoded afterwards, so that an encoded slash stays
    /// within its segment.
    fn find(
        &self,
        method: &Method,
        path: &str,
    ) -> Option<(&'static Route, HashMap<String, String>)> {
        let found = self.routes.at(path).ok()?;
        let route = found.value.iter().find(|route| route.method == method.as_str())?;
        let parameters = found.params.iter().map(|(name, value)| {
            (name.to_owned(), percent_decode_str(value).decode_utf8_lossy().into_owned())
        });
        Some((route, parameters.collect()))
    }
}

async fn read(head: &request::Parts, mut incoming: Incoming) -> Result<Body, Unread> {
    let announced = incoming.size_hint().lower();
    let is_refusable = head.headers.contains_key(EXPECT) && announced > BODY_MAX as u64;
    if is_refusable || announced > REFUSED_BODY_MAX as u64 {
        return Err(Unread::TooLarge);
    }
    let mut body = Vec::new();
    let mut length: usize = 0;
    while let Some(frame) = incoming.frame().await {
        // Trailers are not for us.
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else {
            continue;
        };
        length = length.saturating_add(data.len());
        if length > REFUSED_BODY_MAX {
            return Err(Unread::TooLarge);
        } else if length > BODY_MAX {
            body.clear();
        } else {
            body.extend_from_slice(&data);
        }
    }
    if length > BODY_MAX {
        return Err(Unread::TooLarge);
    }
    Ok(match String::from_utf8(body) {
        Ok(text) if text.is_empty() => Body::Empty,
        Ok(text) => Body::Text(text),
        Err(other) => Body::Binary(other.into_bytes()),
    })
}

fn refuse(status: StatusCode, message: &str) -> Response {
    answer(status, &json!({ "message": message }))
}

#[cfg(test)]
mod tests {
    use vedette_runtime::LocalQueue;

    use super::*;
    use crate::tests::app_without_table;

    fn gateway() -> Gateway {
        Gateway::new(app_without_table(&LocalQueue::new())).expect("routes that can be told apart")
    }

    #[test]
    fn every_route_is_found_by_its_own_path() {
        let gateway = gateway();
        for route in ROUTES {
            let method = Method::from_bytes(route.method.as_bytes()).expect("a method");
            let path = route.path.replace(['{', '}'], "");
            let (found, parameters) = gateway.find(&method, &path).expect(route.name);
            assert_eq!(found.name, route.name);
            assert_eq!(parameters.len(), route.path.matches('{').count(), "{}", route.name);
            assert!(parameters.iter().all(|(name, value)| name == value), "{parameters:?}");
            assert!(gateway.find(&method, &format!("{path}/")).is_none(), "a trailing slash");
            assert!(gateway.find(&Method::HEAD, &path).is_none(), "HEAD is no method of ours");
        }
    }

    #[test]
    fn values_are_decoded_within_their_segment() {
        let gateway = gateway();
        for (path, value) in [
            ("/api/v1/sites/a%2Fb", Some("a/b")),
            ("/api/v1/sites/a%2Fchecks", Some("a/checks")),
            ("/api/v1/sites/%ff%00%zz%", Some("\u{fffd}\0%zz%")),
            ("/api/v1/sites/{site}", Some("{site}")),
            ("/api/v1/sites/..", Some("..")),
            ("/api/v1/sites/", None),
            ("/api/v1/sites//checks", None),
            ("/api/v1/me/../sites/a", None),
            ("api/v1/sites/a", None),
            ("*", None),
            ("", None),
        ] {
            let found = gateway.find(&Method::GET, path);
            let found = found.map(|(_, parameters)| parameters["site"].clone());
            assert_eq!(found.as_deref(), value, "{path}");
        }
    }
}
