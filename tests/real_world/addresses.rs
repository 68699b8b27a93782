//! Names with several addresses, of which Vedette may connect to some.

use std::time::Duration;

use url::Url;
use vedette_domain::checks::check::{CheckError, StatusResult};
use vedette_domain::expectations::CheckMethod;
use vedette_domain::sites::settings::LinksSettings;
use vedette_probe::links::{self, CrawlLimiter};
use vedette_probe::post::{self, Post};
use vedette_probe::ssl::{self, HTTPS_PORT, SslProbe};
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard, TARGET_FORBIDDEN};
use vedette_probe::status::{self, StatusProbe};
use vedette_testkit::WebServer;

use crate::crawls::crawl_of;

/// A guard with this variable, which lists `networks`, and with a listener of Vedette itself.
fn guard(setting: &'static str, networks: &str, own: Option<&str>) -> SsrfGuard {
    let read = |name: &str| (name == setting).then(|| networks.to_owned());
    let outbound = Outbound::read(&read).expect("a configuration");
    let outbound = outbound.allowing(&read, setting).expect("networks");
    let own_listeners = own.map(|own| own.parse().expect("an address")).into_iter().collect();
    SsrfGuard::new(Outbound { own_listeners, ..outbound }).expect("a guard")
}

fn targets(networks: &str) -> SsrfGuard {
    guard("VEDETTE_ALLOW_TARGETS", networks, None)
}

/// The URL of a server by a name that is `127.0.0.1` and `::1`.
fn by_name(site: &WebServer, name: &str) -> Url {
    site.url.replace("127.0.0.1", name).parse().expect("a URL")
}

async fn check(guard: &SsrfGuard, url: &Url) -> Result<StatusResult, CheckError> {
    let probe = StatusProbe {
        url,
        method: CheckMethod::Get,
        post: None,
        header: None,
        deadline: status::DEADLINE,
        connectivity: None,
        expected: None,
    };
    status::probe(guard, &probe).await
}

#[tokio::test]
async fn the_allowed_addresses_of_a_name_are_used() {
    let site = WebServer::start().await;
    for (networks, name) in [
        ("127.0.0.0/8", "localhost"),
        ("127.0.0.1/32, 10.0.0.0/8", "LOCALHOST."),
        ("127.0.0.1/32", "shop.localhost"),
    ] {
        let result = check(&targets(networks), &by_name(&site, name)).await.expect("a result");
        assert_eq!(result.code, 200, "{networks} {name}: {:?}", result.error);
    }
    let url = by_name(&site, "localhost");
    let own = format!("[::1]:{}", url.port().expect("a port"));
    let guard = guard("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8, ::1/128", Some(&own));
    assert_eq!(check(&guard, &url).await.expect("a result").code, 200, "beside an own listener");
}

#[tokio::test]
async fn a_crawl_and_an_alert_use_the_allowed_addresses_too() {
    let site = WebServer::with_pages(&[("/", "<a href=/next>x</a>"), ("/next", "hello")]).await;
    let url = by_name(&site, "localhost").join("/").expect("a URL");
    let settings = LinksSettings::default();
    let probe = crawl_of(&url, &settings);
    let guard_of_checks = targets("127.0.0.0/8");
    let result = links::probe(&guard_of_checks, &CrawlLimiter::default(), &probe, |_| {}).await;
    let result = result.expect("a result");
    assert_eq!((result.found, result.crawled), (0, 2), "{result:?}");

    let guard = guard("VEDETTE_ALLOW_RECEIVERS", "127.0.0.0/8", None);
    let alert = Post {
        is_put: false,
        url: &url,
        headers: &[],
        body: b"",
        deadline: Duration::from_secs(30),
    };
    assert_eq!(post::post(&guard, &alert).await.expect("an answer").status, 200);
}

#[tokio::test]
async fn a_refusal_names_the_setting() {
    for (networks, url, address) in [
        ("10.0.0.0/8", "http://localhost/", "127.0.0.1 is a loopback address (127.0.0.0/8)"),
        ("", "https://192.168.7.9/", "192.168.7.9 is a private address (192.168.0.0/16)"),
        ("127.0.0.0/8", "http://[fd12::1]/", "fd12::1 is a private address (fc00::/7)"),
    ] {
        let url = url.parse().expect("a URL");
        let guard = targets(networks);
        let message = format!(
            "the target is forbidden: {address}, which VEDETTE_ALLOW_TARGETS does not allow"
        );
        let error = check(&guard, &url).await.expect_err("refused");
        assert_eq!((error.code.as_str(), &error.message), (TARGET_FORBIDDEN, &message));
        let now = "2026-11-20T10:05:00Z".parse().expect("a time");
        let probe = SslProbe {
            url: &url,
            port: HTTPS_PORT,
            deadline: ssl::DEADLINE,
            now,
            connectivity: None,
        };
        if url.scheme() == "https" {
            let error = ssl::probe(&guard, &probe).await.expect_err("refused");
            assert_eq!((error.code.as_str(), &error.message), (TARGET_FORBIDDEN, &message));
        }
    }
    let guard = guard("VEDETTE_ALLOW_RECEIVERS", "", None);
    let url = "http://localhost/".parse().expect("a URL");
    let alert = Post {
        is_put: false,
        url: &url,
        headers: &[],
        body: b"",
        deadline: Duration::from_secs(30),
    };
    let refusal = post::post(&guard, &alert).await.expect_err("refused").to_string();
    assert!(refusal.ends_with("which VEDETTE_ALLOW_RECEIVERS does not allow"), "{refusal}");
}
