//! Services that answer us on a target's behalf, with invalid answers: a resolver with DNS over HTTPS, a domain
//! registry, and PageSpeed Insights, on an ordinary server with HTTP/2.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;

use crate::server::{Server, Stream};

/// What a service answers: a unit, repeated this many times.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) content_type: &'static str,
    /// Made from the request's body.
    pub(crate) unit: fn(&[u8]) -> Vec<u8>,
    pub(crate) times: usize,
}

const DNS: &str = "application/dns-message";
const JSON: &str = "application/json";

/// A response to the question that announces this many answers, but contains `rest` instead.
fn answers(question: &[u8], count: u16, rest: &[u8]) -> Vec<u8> {
    // The request to the registry contains no message.
    if question.len() < 12 {
        return Vec::new();
    }
    let mut message = question.to_vec();
    // Without anything after the question.
    let name = 12 + message[12..].iter().position(|byte| *byte == 0).unwrap_or_default();
    message.truncate(name + 5);
    message[2..4].copy_from_slice(&[0x81, 0x80]);
    message[6..8].copy_from_slice(&count.to_be_bytes());
    message[8..12].fill(0);
    message.extend_from_slice(rest);
    message
}

pub(crate) fn resolvers() -> Vec<Case> {
    let case = |name, unit, times| Case { name, content_type: DNS, unit, times };
    vec![
        case("an answer without end", |_| vec![0; 16_384], usize::MAX),
        case("an empty answer", |_| Vec::new(), 1),
        case("the question as its answer", <[u8]>::to_vec, 1),
        case("65,535 answers that are missing", |it| answers(it, 65_535, &[]), 1),
        case(
            "a name that points to itself",
            |it| answers(it, 1, &[0xc0, 0x21, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 1, 2, 3, 4]),
            1,
        ),
        case(
            "a thousand records",
            |it| {
                let record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 192, 0, 2, 1];
                answers(it, 1_000, &record.repeat(1_000))
            },
            1,
        ),
        case(
            "a thousand empty texts",
            |it| answers(it, 1_100, &[0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 1, 0, 1, 0].repeat(1_100)),
            1,
        ),
    ]
}

pub(crate) fn auditors() -> Vec<Case> {
    let case = |name, unit, times| Case { name, content_type: JSON, unit, times };
    vec![
        case("JSON without end", |_| b"[0,".to_vec(), usize::MAX),
        case("a million brackets", |_| vec![b'['; 1_000_000], 1),
        case("a report of nothing", |_| b"{\"lighthouseResult\":null}".to_vec(), 1),
        case(
            "a report of objects",
            |_| {
                let objects = "{\"\":0},".repeat(500_000);
                format!("{{\"lighthouseResult\":{{\"audits\":[{objects}0]}}}}").into_bytes()
            },
            1,
        ),
    ]
}

pub(crate) async fn serve(case: &Case, tls: Arc<ServerConfig>) -> Server {
    let Case { content_type, unit, times, .. } = *case;
    let serve = Arc::new(move |stream: Stream| {
        let service = service_fn(move |request: Request<Incoming>| async move {
            let question =
                request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
            let unit = Bytes::from(unit(&question.unwrap_or_default()));
            let frames = (0..times).map(move |_| Ok::<_, Infallible>(Frame::data(unit.clone())));
            let body = StreamBody::new(futures::stream::iter(frames));
            Response::builder().header("content-type", content_type).body(body)
        });
        let serving = async move {
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            // Ends with an error when the client leaves, as it should.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        };
        Box::pin(serving) as std::pin::Pin<Box<dyn Future<Output = ()> + Send>>
    });
    Server::start(serve, Some(tls)).await
}
