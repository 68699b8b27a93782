//! Names that cannot be looked up, and resolvers that cannot be reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::rdata::A;
use hickory_resolver::proto::rr::{RData, Record};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use vedette_domain::checks::check::KnownRecords;

use super::*;
use crate::loopback::certificates::CURRENT;
use crate::loopback::{Server, hold, status};

const SITE: Zone = Zone::Holds(&[("A", "10.0.0.5")]);

#[tokio::test]
async fn a_name_that_cannot_be_looked_up_is_a_result() {
    let scene = Scene::new();
    let servfail = || Zone::Fails(ResponseCode::ServFail);
    for (one, two, failure) in [
        (None, None, "NXDOMAIN"),
        (Some(servfail()), Some(servfail()), "SERVFAIL"),
        (Some(servfail()), None, "NXDOMAIN"),
        (Some(Zone::Fails(ResponseCode::Refused)), Some(servfail()), "SERVFAIL"),
    ] {
        let zone = |zone: Option<Zone>| zone.map(|zone| ("example.com", zone));
        let one = scene.server("one", zone(one)).await;
        let two = scene.server("two", zone(two)).await;
        let result = scene.probe(&[&one, &two], "https://example.com/").await.expect("completed");
        assert_eq!(result.lookup_failure.as_deref(), Some(failure));
        assert_eq!(result.unanswered_types, DnsRecordType::ALL);
        assert_eq!(KnownRecords::found_by(&result), KnownRecords::default());
        assert_eq!(result.records, DnsRecords::default());
    }
}

#[tokio::test]
async fn one_resolver_that_finds_the_name_is_enough() {
    let scene = Scene::new();
    let one = scene.server("one", [("example.com", Zone::Fails(ResponseCode::ServFail))]).await;
    let two = scene.server("two", [("example.com", SITE)]).await;
    let result = scene.probe(&[&one, &two], "https://example.com/").await.expect("completed");
    assert_eq!(result.lookup_failure, None);
    assert_eq!(values(&result, DnsRecordType::A), ["10.0.0.5"]);
    assert_eq!(told(&result.resolver_observations["one"]), ["SERVFAIL"; 6]);
    assert_eq!(result.resolver_observations["one"].agrees, Some(false));
    assert_eq!(result.resolver_observations["two"].agrees, Some(true));
}

#[tokio::test]
async fn a_silent_resolver_is_left_behind() {
    let scene = Scene::new();
    let silent = scene.server("silent", [("example.com", Zone::Silent)]).await;
    let dumb = Server::raw(hold).await;
    let dumb_server = server("dumb", &format!("https://{}/", dumb.address).parse().expect("URL"));
    let one = scene.server("one", [("example.com", SITE)]).await;
    let all = vec![silent.server.clone(), dumb_server, one.server.clone()];
    let url = "https://example.com/".parse().expect("a URL");
    let deadline = Duration::from_millis(900);
    let started = Instant::now();
    let probe = DnsProbe { url: &url, deadline, now: now() };
    let result = super::super::probe(&scene.guard, &resolvers(all, None), &probe).await;
    // Twice, for machines that are busy with other work.
    assert!(started.elapsed() < 2 * deadline, "{:?}", started.elapsed());
    let result = result.expect("completed");
    assert_eq!(values(&result, DnsRecordType::A), ["10.0.0.5"]);
    assert_eq!(told(&result.resolver_observations["silent"]), ["no answer in time"; 6]);
    assert_eq!(told(&result.resolver_observations["dumb"]), ["no connection in time"; 6]);
    assert_eq!(result.resolver_observations["silent"].agrees, None);
    let waited = result.resolver_observations["silent"].lookups[&DnsRecordType::A].latency_ms;
    assert!(waited > 100.0, "{waited}");
}

#[tokio::test]
async fn without_any_resolver_the_check_cannot_run() {
    let scene = Scene::new();
    let refusing = scene.server("refusing", [("example.com", Zone::Fails(ResponseCode::Refused))]);
    let refusing = refusing.await;
    let gone = server("gone", &"https://127.0.0.1:9/".parse().expect("a URL"));
    let unknown = Authority::new("unknown");
    let untrusted = DohZone::start("untrusted", &unknown, [("example.com", SITE)]).await;
    let config = scene.authority.server(&["127.0.0.1"], CURRENT, &["http/1.1"]);
    let old = Server::https(config, |_| status(200)).await;
    let servers = vec![
        gone,
        refusing.server.clone(),
        untrusted.server.clone(),
        server("old", &old.url("/")),
        server("inner", &"https://192.168.0.1/dns-query".parse().expect("a URL")),
    ];
    let error = scene
        .probe_with(&resolvers(servers, None), "https://example.com/")
        .await
        .expect_err("failed");
    assert_eq!(error.code, RESOLVER_UNAVAILABLE);
    let expected = json!({
        "host": "example.com",
        "resolvers": {
            "gone": "connection refused",
            "refusing": "REFUSED",
            "untrusted": "TLS: certificate from an unknown issuer",
            "old": "the resolver does not speak HTTP/2",
            "inner": "the target is forbidden: 192.168.0.1 is a private address (192.168.0.0/16)",
        },
    });
    assert_eq!(error.data, expected);
    assert_eq!(untrusted.asked(), [""; 0]);
}

#[tokio::test]
async fn an_address_is_not_looked_up() {
    let scene = Scene::new();
    let one = scene.server("one", []).await;
    let long = format!("https://{}.example/", "a".repeat(64));
    for url in ["https://192.0.2.1/", "http://[2001:db8::1]:8080/", &long] {
        let error = scene.probe(&[&one], url).await.expect_err("failed");
        assert_eq!(error.code, NO_DOMAIN, "{url}");
    }
    assert_eq!(one.asked(), [""; 0]);
}

#[tokio::test]
async fn lookups_end_with_their_check() {
    let scene = Scene::new();
    let config = scene.authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (left, mut leaving) = mpsc::unbounded_channel();
    // Accepts connections and answers nothing.
    let doh = Server::raw(move |stream| {
        let (acceptor, left) = (acceptor.clone(), left.clone());
        async move {
            let mut stream = acceptor.accept(stream).await.expect("TLS");
            while stream.read(&mut [0; 4096]).await.is_ok_and(|bytes| bytes > 0) {}
            left.send(()).expect("a test");
        }
    })
    .await;
    let url = format!("https://{}/", doh.address).parse().expect("a URL");
    let alone = resolvers(vec![server("one", &url)], None);
    let site = "https://example.com/".parse().expect("a URL");
    let asking = DnsProbe { url: &site, deadline: Duration::from_secs(9), now: now() };
    let dropped = super::super::probe(&scene.guard, &alone, &asking);
    tokio::time::timeout(Duration::from_millis(300), dropped).await.expect_err("unanswered");
    assert!(leaving.try_recv().is_err(), "kept for the next check");
    drop(alone);
    let ended = tokio::time::timeout(Duration::from_secs(5), leaving.recv()).await;
    assert_eq!(ended.expect("ended"), Some(()));
}

/// A DoH server based on hyper, which answers with these bytes as a body.
async fn answering<F>(
    scene: &Scene,
    answer: impl Fn(Message) -> F + Send + Sync + Clone + 'static,
) -> Server
where
    F: Future<Output = Vec<u8>> + Send + 'static,
{
    let config = scene.authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
    Server::http2(config, move |request: Request<Incoming>| {
        let answer = answer.clone();
        async move {
            assert_eq!(request.headers()["content-type"], "application/dns-message");
            let body = request.into_body().collect().await.expect("a body").to_bytes();
            let question = Message::from_vec(&body).expect("a question");
            assert_eq!((question.metadata.id, question.metadata.recursion_desired), (0, true));
            Response::builder()
                .header("content-type", "application/dns-message")
                .body(Full::new(Bytes::from(answer(question).await)))
                .expect("an answer")
        }
    })
    .await
}

/// The address `10.0.0.7`, whatever the type asked for.
fn address(question: Message) -> Vec<u8> {
    let name = question.queries[0].name().clone();
    let mut answer = question.into_response();
    answer.add_answer(Record::from_rdata(name, 60, RData::A(A::new(10, 0, 0, 7))));
    answer.to_vec().expect("an answer")
}

#[tokio::test]
async fn answers_that_are_no_answers_are_reported() {
    let scene = Scene::new();
    let one = scene.server("one", [("example.com", SITE)]).await;
    let bytes = |bytes: Vec<u8>| move |_: Message| std::future::ready(bytes.clone());
    let cut = |mut question: Message| {
        question.metadata.truncation = true;
        std::future::ready(address(question))
    };
    let other = |mut question: Message| {
        question.queries[0].set_name("example.net.".parse().expect("a name"));
        std::future::ready(address(question))
    };
    let echo = |question: Message| std::future::ready(question.to_vec().expect("a message"));
    for (server_of, why) in [
        (answering(&scene, bytes(Vec::new())).await, "the answer is not a DNS message"),
        (answering(&scene, bytes(vec![0xff; 300])).await, "the answer is not a DNS message"),
        (answering(&scene, bytes(vec![0; 20_000])).await, "the answer is too large"),
        (answering(&scene, bytes(vec![0; 5_000_000])).await, "the answer is too large"),
        (answering(&scene, cut).await, "the answer is cut short"),
        (answering(&scene, other).await, "the answer is to another question"),
        (answering(&scene, echo).await, "the answer is to another question"),
    ] {
        let garbage = server("garbage", &server_of.url("/dns-query"));
        let both = resolvers(vec![garbage, one.server.clone()], None);
        let result = scene.probe_with(&both, "https://example.com/").await.expect("completed");
        assert_eq!(told(&result.resolver_observations["garbage"]), [why; 6]);
        assert_eq!(values(&result, DnsRecordType::A), ["10.0.0.5"]);
    }
}

#[tokio::test]
async fn web_pages_and_refusals_are_no_answers() {
    let scene = Scene::new();
    for (code, media_type, why) in [
        (429, "application/dns-message", "HTTP 429"),
        (200, "text/html; charset=utf-8", "the answer is not a DNS message"),
    ] {
        let config = scene.authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
        let page = Server::http2(config, move |_| async move {
            let answer = Response::builder().status(code).header("content-type", media_type);
            answer.body(Full::new(Bytes::from("hello"))).expect("an answer")
        })
        .await;
        let alone = resolvers(vec![server("page", &page.url("/"))], None);
        for _ in 0..2 {
            let error = scene.probe_with(&alone, "https://example.com/").await.expect_err("failed");
            assert_eq!(error.data["resolvers"]["page"], json!(why));
        }
        assert_eq!(page.connections(), 1, "the connection is good");
    }
}

#[tokio::test]
async fn checks_that_follow_closely_share_a_connection() {
    let scene = Scene::new();
    let doh = answering(&scene, |question| std::future::ready(address(question))).await;
    let alone = resolvers(vec![server("one", &doh.url("/dns-query"))], None);
    for _ in 0..3 {
        let result = scene.probe_with(&alone, "https://example.com/").await.expect("completed");
        assert_eq!(values(&result, DnsRecordType::A), ["10.0.0.7"]);
        assert!(result.records.of(DnsRecordType::Txt).is_empty(), "no address is a text");
    }
    assert_eq!(doh.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_fell_silent_is_replaced() {
    let scene = Scene::new();
    let questions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&questions);
    let doh = answering(&scene, move |question| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            if (6..12).contains(&number) {
                std::future::pending::<()>().await;
            }
            address(question)
        }
    })
    .await;
    let alone = resolvers(vec![server("one", &doh.url("/dns-query"))], None);
    for connections in [1, 2] {
        let result = scene.probe_with(&alone, "https://example.com/").await.expect("completed");
        assert_eq!(told(&result.resolver_observations["one"]), ["NOERROR"; 6]);
        assert_eq!(doh.connections(), connections);
    }
    assert_eq!(questions.load(Ordering::SeqCst), 18);
}
