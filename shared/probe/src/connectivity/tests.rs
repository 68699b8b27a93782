//! What Vedette finds out about its own connection, and how that affects failures.

use std::io;

use futures::future::join_all;
use vedette_domain::checks::check::{
    FinishReason, LinksResult, SslFailure, SslResult, StatusResult,
};
use vedette_domain::expectations::CheckMethod;
use vedette_domain::sites::settings::LinksSettings;

use super::*;
use crate::http;
use crate::links::{self, CrawlLimiter, LinksProbe};
use crate::loopback::certificates::Authority;
use crate::loopback::doh::DohZone;
use crate::loopback::names::{Entry, NameServer};
use crate::loopback::{Server, hold, path, status as answer};
use crate::ssl::{self, SslProbe};
use crate::ssrf_guard::Outbound;
use crate::status::{self, StatusProbe};

/// Long enough for a server on this machine, and short enough to wait for.
const HASTY: Duration = Duration::from_millis(300);

/// Multicast groups, to which TCP has no route.
const UNREACHABLE: &str = "224.0.0.0/4";

fn at(origin: Instant, seconds: u64) -> Instant {
    origin + Duration::from_secs(seconds)
}

fn last(asked_at: Instant, is_connected: bool) -> Last {
    Last(Some(Answer { asked_at, is_connected }))
}

#[test]
fn the_resolvers_are_asked_once_in_ten_seconds_at_most() {
    let origin = Instant::now();
    let at = |seconds| at(origin, seconds);
    for (last, began, now, verdict) in [
        (Last::default(), at(0), at(1), Verdict::AskAt(at(1))),
        // There was no connection.
        (last(at(10), false), at(0), at(10), Verdict::Known(false)),
        (last(at(10), false), at(15), at(19), Verdict::Known(false)),
        (last(at(10), false), at(15), at(20), Verdict::AskAt(at(20))),
        // There was one, after the check began.
        (last(at(10), true), at(0), at(10), Verdict::Known(true)),
        (last(at(10), true), at(10), at(19), Verdict::Known(true)),
        (last(at(10), true), at(0), at(20), Verdict::AskAt(at(20))),
        (last(at(10), true), at(0), at(50), Verdict::AskAt(at(50))),
        // There was one, but it may have been lost before the check began.
        (last(at(10), true), at(11), at(11), Verdict::AskAt(at(20))),
        (last(at(10), true), at(11), at(30), Verdict::AskAt(at(30))),
    ] {
        assert_eq!(last.judge(began, now), verdict, "{last:?} {began:?} {now:?}");
    }
}

#[test]
fn the_operator_is_reported_when_an_outage_begins_and_when_it_is_over() {
    let mut last = Last::default();
    let answers = [true, true, false, false, true, false, true, true];
    let now = Instant::now();
    let told = answers.map(|is_connected| last.note(Answer { asked_at: now, is_connected }));
    let (lost, regained) = (Some(Change::Lost), Some(Change::Regained));
    assert_eq!(told, [None, None, lost, None, regained, lost, regained, None]);
    let first = Last::default().note(Answer { asked_at: now, is_connected: false });
    assert_eq!(first, lost);
}

#[test]
fn only_what_the_target_cannot_have_said_may_be_our_own_fault() {
    for (kind, may_be_ours) in [
        (io::ErrorKind::TimedOut, true),
        (io::ErrorKind::NetworkUnreachable, true),
        (io::ErrorKind::HostUnreachable, true),
        (io::ErrorKind::NetworkDown, true),
        (io::ErrorKind::ConnectionRefused, false),
        (io::ErrorKind::ConnectionReset, false),
        (io::ErrorKind::ConnectionAborted, false),
        (io::ErrorKind::UnexpectedEof, false),
        (io::ErrorKind::PermissionDenied, false),
    ] {
        assert_eq!(http::Error::Connection(kind.into()).may_be_ours(), may_be_ours, "{kind}");
        assert_eq!(http::Error::Handshake(kind.into()).may_be_ours(), may_be_ours, "{kind}");
    }
    assert!(!http::Error::ServerName.may_be_ours() && !http::Error::NoRoute.may_be_ours());
}

/// A resolver that answers, or that only accepts connections and closes them, and its client.
struct Scene {
    names: NameServer,
    guard: SsrfGuard,
    zone: DohZone,
    dead: Server,
}

impl Scene {
    async fn start() -> Self {
        let authority = Authority::new("resolvers");
        let names = NameServer::start([("silent.example", Entry::Silent)]).await;
        let guard = names.guard(Outbound {
            allow: ["127.0.0.0/8", UNREACHABLE]
                .map(|network| network.parse().expect("a network"))
                .into(),
            extra_roots: vec![authority.root()],
            ..Outbound::default()
        });
        let zone = DohZone::start("alive", &authority, []).await;
        let dead = Server::raw(|_| async {}).await;
        Self { names, guard, zone, dead }
    }

    fn of(&self, servers: &[&str]) -> Connectivity {
        let servers = servers.join(",").parse().expect("servers");
        Connectivity::new(Arc::new(Resolvers::new(&servers, None)))
    }

    fn dead(&self) -> Connectivity {
        self.of(&[&format!("dead=https://{}/dns-query", self.dead.address)])
    }

    async fn status(
        &self,
        url: &Url,
        connectivity: Option<&Connectivity>,
    ) -> Result<StatusResult, CheckError> {
        let probe = StatusProbe {
            url,
            method: CheckMethod::Get,
            post: None,
            header: None,
            deadline: HASTY,
            connectivity,
            expected: None,
        };
        status::probe(&self.guard, &probe).await
    }

    async fn ssl(&self, url: &Url, connectivity: &Connectivity) -> Result<SslResult, CheckError> {
        let now = "2026-11-20T12:00:00Z".parse().expect("a timestamp");
        let connectivity = Some(connectivity);
        ssl::probe(
            &self.guard,
            &SslProbe { url, port: ssl::HTTPS_PORT, deadline: HASTY, now, connectivity },
        )
        .await
    }

    async fn crawl(
        &self,
        url: &Url,
        connectivity: Option<&Connectivity>,
    ) -> Result<LinksResult, CheckError> {
        let probe = LinksProbe {
            url,
            header: None,
            settings: &LinksSettings::default(),
            browser: None,
            limits: links::CrawlBounds::default(),
            deadline: Duration::from_secs(20),
            connectivity,
            now: "2026-11-20T12:00:00Z".parse().expect("a timestamp"),
        };
        links::probe(&self.guard, &CrawlLimiter::default(), &probe, |_| {}).await
    }

    fn alive(&self) -> Connectivity {
        let dead = format!("dead=https://{}/dns-query", self.dead.address);
        self.of(&[&dead, &self.zone.server.to_string()])
    }
}

#[tokio::test]
async fn checks_that_fail_at_the_same_time_ask_once() {
    let scene = Scene::start().await;
    let began = Instant::now();
    for (connectivity, expected) in [(scene.alive(), true), (scene.dead(), false)] {
        let all = (0..50).map(|_| connectivity.is_there(&scene.guard, began));
        assert_eq!(join_all(all).await, [expected; 50]);
    }
    assert_eq!(scene.zone.asked(), [" NS"], "the name servers of the root");
    assert_eq!(scene.dead.connections(), 2, "once by each");
}

#[tokio::test]
async fn an_error_of_a_resolver_is_an_answer_and_a_closed_or_silent_connection_is_none() {
    let scene = Scene::start().await;
    let authority = Authority::new("another");
    let guard = scene.names.guard(Outbound {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        extra_roots: vec![authority.root()],
        ..Outbound::default()
    });
    let tls = || authority.server(&["127.0.0.1"], crate::loopback::certificates::CURRENT, &["h2"]);
    let broken = Server::http2(tls(), |_| async {
        let body = http_body_util::Empty::<hyper::body::Bytes>::new();
        hyper::Response::builder().status(500).body(body).expect("a response")
    })
    .await;
    let silent = Server::raw(hold).await;
    for (address, expected) in [(broken.address, true), (silent.address, false)] {
        let connectivity = scene.of(&[&format!("one=https://{address}/dns-query")]);
        assert_eq!(connectivity.is_there(&guard, Instant::now()).await, expected);
    }
    // Not trusted: whatever answers, it is not the resolver.
    assert!(
        !scene
            .of(&[&format!("one=https://{}/", broken.address)])
            .is_there(&scene.guard, Instant::now())
            .await
    );
}

#[tokio::test]
async fn a_lost_connection_is_looked_for_again() {
    let scene = Scene::start().await;
    let connectivity = scene.alive();
    connectivity.look_again(&scene.guard).await;
    assert_eq!(scene.zone.asked().len(), 0, "nothing has failed");
    for (seconds, asked) in [(9, 0), (11, 1), (30, 1)] {
        if seconds < 30 {
            let ago = Instant::now() - Duration::from_secs(seconds);
            *connectivity.last.lock().await = last(ago, false);
        }
        connectivity.look_again(&scene.guard).await;
        assert_eq!(scene.zone.asked().len(), asked, "{seconds}");
    }
    assert!(!connectivity.last.lock().await.is_lost());
}

#[tokio::test]
async fn a_check_that_began_after_the_last_answer_waits_for_the_next_one() {
    let scene = Scene::start().await;
    let connectivity = scene.alive();
    let (ago, soon) = (Duration::from_millis(9_500), Duration::from_millis(500));
    let (asked_at, now) = (Instant::now() - ago, Instant::now());
    *connectivity.last.lock().await = last(asked_at, true);
    let took = async |began| {
        assert!(connectivity.is_there(&scene.guard, began).await);
        now.elapsed()
    };
    let all = tokio::join!(took(now), took(now), took(asked_at));
    assert!(all.0 >= soon && all.1 >= soon && all.2 < soon, "{all:?}");
    assert_eq!(scene.zone.asked().len(), 1);
}

#[tokio::test]
async fn a_status_check_without_a_connection_fails() {
    let scene = Scene::start().await;
    for (host, why) in
        [("nowhere.example", "name does not resolve"), ("silent.example", "no answer within 0.3 s")]
    {
        let url = format!("http://{host}/").parse().expect("a URL");
        let error = scene.status(&url, Some(&scene.dead())).await.expect_err("no connection");
        assert_eq!(error.code, NO_CONNECTIVITY);
        assert_eq!(
            error.message,
            format!("this machine has no connection to the Internet ({why})")
        );
        assert_eq!(error.data, json!({ "failure": why }));
        for connectivity in [Some(&scene.alive()), None] {
            let result = scene.status(&url, connectivity).await.expect("completed");
            assert_eq!(result.error.as_deref(), Some(why));
        }
    }
}

#[tokio::test]
async fn what_the_target_says_and_what_an_allowed_network_does_not_say_counts() {
    let scene = Scene::start().await;
    let (silent, closed) = (Server::raw(hold).await, Server::raw(|_| async {}).await);
    let dead = scene.dead();
    for (url, why) in [
        (silent.url("/"), "no answer within 0.3 s"),
        (closed.url("/"), "connection reset"),
        ("http://127.0.0.1:1/".parse().expect("a URL"), "connection refused"),
        ("http://224.0.0.1/".parse().expect("a URL"), "network unreachable"),
    ] {
        let result = scene.status(&url, Some(&dead)).await.expect("completed");
        assert_eq!(result.error.as_deref(), Some(why));
    }
    assert_eq!(scene.dead.connections(), 0, "nobody was asked");
}

#[tokio::test]
async fn a_certificate_check_without_a_connection_fails() {
    let scene = Scene::start().await;
    for host in ["nowhere.example", "silent.example"] {
        let url = format!("https://{host}/").parse().expect("a URL");
        let error = scene.ssl(&url, &scene.dead()).await.expect_err("no connection");
        assert_eq!(error.code, NO_CONNECTIVITY);
        let result = scene.ssl(&url, &scene.alive()).await.expect("completed");
        assert_eq!(result.failure_type, Some(SslFailure::ConnectionFailed));
    }
    let refused = "https://127.0.0.1/".parse().expect("a URL");
    let result = scene.ssl(&refused, &scene.dead()).await.expect("completed");
    assert_eq!(result.failure_type, Some(SslFailure::ConnectionFailed));
}

#[tokio::test]
async fn a_crawl_without_a_connection_fails() {
    let scene = Scene::start().await;
    let site = Server::http(|head| match path(head) {
        "/" => {
            let page = "<a href='http://nowhere.example/'>A</a>";
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html";
            format!("{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len()).into_bytes()
        }
        _ => answer(404),
    })
    .await;
    let start = "http://nowhere.example/".parse().expect("a URL");
    // Either the start page or one of its links cannot be reached.
    for (url, reason) in
        [(start, FinishReason::Unreachable), (site.url("/"), FinishReason::Completed)]
    {
        let error = scene.crawl(&url, Some(&scene.dead())).await.expect_err("no connection");
        assert_eq!(error.code, NO_CONNECTIVITY);
        for connectivity in [Some(&scene.alive()), None] {
            let result = scene.crawl(&url, connectivity).await.expect("completed");
            assert_eq!((result.found, result.crawl.finish_reason), (1, reason));
        }
    }
    let asked = scene.dead.connections();
    for url in [site.url("/gone"), "http://224.0.0.1/".parse().expect("a URL")] {
        let result = scene.crawl(&url, Some(&scene.dead())).await.expect("completed");
        assert_eq!(result.found, 1);
    }
    assert_eq!(scene.dead.connections(), asked, "nobody was asked about these");
}
