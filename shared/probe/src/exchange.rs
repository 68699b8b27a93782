//! One exchange with a service that the operator chose, such as an OpenID provider: no redirect is
//! followed, and the answer is taken whole or not at all.

use std::time::Duration;

use http_body_util::Full;
use hyper::header::{HeaderValue, USER_AGENT};
use hyper::{Request, Response};
use tokio::time::timeout;
use url::Url;

use crate::guard::Guard;
use crate::http::{self, Connection, RequestBody};

/// What an exchange may take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// For all of it, name lookup and answer included.
    pub time: Duration,
    /// Bytes of the answer's body.
    pub bytes: usize,
}

/// Why there is no answer. The text names neither URL nor headers.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The request cannot be sent.
    #[error("the request cannot be sent")]
    NotSendable,
    /// Nobody answered.
    #[error("{0}")]
    NoAnswer(String),
    /// The answer does not end in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TooSlow(Duration),
    /// The answer is longer than expected.
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
}

/// Sends a request, and returns the whole answer, whatever its status.
///
/// # Errors
/// See [`ExchangeError`].
pub async fn exchange(
    guard: &Guard,
    request: Request<Vec<u8>>,
    bounds: Bounds,
) -> Result<Response<Vec<u8>>, ExchangeError> {
    let exchanged = timeout(bounds.time, send(guard, request, bounds.bytes)).await;
    exchanged.map_err(|_| ExchangeError::TooSlow(bounds.time))?
}

async fn send(
    guard: &Guard,
    request: Request<Vec<u8>>,
    bytes: usize,
) -> Result<Response<Vec<u8>>, ExchangeError> {
    let no_answer = |error: http::Error| ExchangeError::NoAnswer(error.to_string());
    let (head, sent) = request.into_parts();
    let url = Url::parse(&head.uri.to_string()).map_err(|_| ExchangeError::NotSendable)?;
    let mut request =
        http::request(head.method, &url, head.headers).map_err(|_| ExchangeError::NotSendable)?;
    request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(crate::USER_AGENT));
    *request.body_mut() = RequestBody::Left(Full::from(sent));
    let connection = Connection::to(guard, &url).await.map_err(no_answer)?;
    let (head, mut incoming) = connection.send(request).await.map_err(no_answer)?.into_parts();
    let mut body = Vec::new();
    let read = http::read(&mut incoming, bytes, |part| body.extend_from_slice(part)).await;
    let is_whole = read.map_err(|error| ExchangeError::NoAnswer(error.to_string()))?;
    if !is_whole {
        return Err(ExchangeError::TooLong(bytes));
    }
    Ok(Response::from_parts(head, body))
}
