//! One exchange with a service that the operator chose, such as an OpenID provider. It follows no redirect, and takes
//! the answer whole or not at all.

use std::time::Duration;

use http_body_util::Full;
use hyper::header::{HeaderValue, USER_AGENT};
use hyper::{Request, Response};
use tokio::time::timeout;
use url::Url;

use crate::http::{self, Connection, RequestBody};
use crate::ssrf_guard::SsrfGuard;

/// The limits of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The time for all of it, including the name lookup and the answer.
    pub time: Duration,
    /// The most bytes of the answer's body.
    pub bytes: usize,
}

/// Why there is no answer. The text contains neither the URL nor headers.
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
    guard: &SsrfGuard,
    request: Request<Vec<u8>>,
    bounds: Bounds,
) -> Result<Response<Vec<u8>>, ExchangeError> {
    let exchanged = timeout(bounds.time, send(guard, request, bounds.bytes)).await;
    exchanged.map_err(|_| ExchangeError::TooSlow(bounds.time))?
}

async fn send(
    guard: &SsrfGuard,
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::ssrf_guard::Outbound;

    /// The outcome of a request to a server that answers this and keeps the connection open.
    async fn ask(answer: &'static str, bounds: Bounds) -> Result<String, ExchangeError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/a?b=c", listener.local_addr().expect("an address"));
        let server = async {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut asked = [0; 1024];
            let length = stream.read(&mut asked).await.expect("a request");
            assert!(asked[..length].starts_with(b"POST /a?b=c HTTP/1.1\r\n"));
            stream.write_all(answer.as_bytes()).await.expect("sent");
            std::future::pending::<()>().await;
        };
        let allow = vec!["127.0.0.0/8".parse().expect("a network")];
        let guard = SsrfGuard::new(Outbound { allow, ..Outbound::default() }).expect("a guard");
        let request = Request::post(url).body(b"asked".to_vec()).expect("a request");
        tokio::select! {
            () = server => unreachable!("it never ends"),
            answer = exchange(&guard, request, bounds) => {
                answer.map(|answer| String::from_utf8(answer.into_body()).expect("text"))
            }
        }
    }

    #[tokio::test]
    async fn incomplete_and_late_answers_are_errors() {
        let bounds = Bounds { time: Duration::from_secs(5), bytes: 4 };
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd";
        assert_eq!(ask(answer, bounds).await.expect("an answer"), "abcd");
        let moved = "HTTP/1.1 302 Found\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(ask(moved, bounds).await.expect("an answer"), "");
        let long = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde";
        assert!(matches!(ask(long, bounds).await, Err(ExchangeError::TooLong(4))));
        let soon = Bounds { time: Duration::from_millis(100), bytes: 9 };
        for unfinished in ["", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcd"] {
            assert!(matches!(ask(unfinished, soon).await, Err(ExchangeError::TooSlow(_))));
        }
    }
}
