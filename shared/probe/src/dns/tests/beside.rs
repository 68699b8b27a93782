//! What is looked up in addition to the records: who announces the addresses, and who registered the domain.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use vedette_domain::checks::check::{HostingProvider, IpEnrichment, Registration};

use super::*;
use crate::loopback::certificates::CURRENT;
use crate::loopback::{Server, hold, path, redirect, status};

const SITE: Zone = Zone::Holds(&[
    ("A", "93.184.216.34"),
    ("A", "93.184.216.35"),
    ("A", "10.0.0.5"),
    ("AAAA", "2606:2800:21f:cb07::1"),
]);

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[tokio::test]
async fn addresses_are_enriched_from_the_routing_registries() {
    let scene = Scene::new();
    let one = scene
        .server(
            "one",
            [
                ("example.com", SITE),
                (
                    "34.216.184.93.origin.asn.cymru.com",
                    Zone::Holds(&[
                        ("TXT", "64500 | 93.184.0.0/16 | EU | ripencc | 2008-06-01"),
                        ("TXT", "64501 64502 | 93.184.216.0/24 | EU | ripencc | 2008-06-02"),
                    ]),
                ),
                (
                    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.0.b.c.f.1.2.0.0.0.8.2.6.0.6.2.\
                     origin6.asn.cymru.com",
                    Zone::Holds(&[("TXT", "64501 | 2606:2800::/32 | US | arin | ")]),
                ),
                (
                    "as64501.asn.cymru.com",
                    Zone::Holds(&[(
                        "TXT",
                        "64501 | US | arin | 2007-03-19 | EDGE - Edge, Inc., US",
                    )]),
                ),
            ],
        )
        .await;
    let result = scene.probe(&[&one], "https://example.com/").await.expect("completed");
    let some = |text: &str| Some(text.to_owned());
    let name = some("EDGE - Edge, Inc., US");
    let expected = [
        (
            ip("93.184.216.34"),
            IpEnrichment {
                asn: Some(64501),
                as_name: name.clone(),
                prefix: some("93.184.216.0/24"),
                registry_country: some("EU"),
                registry: some("ripencc"),
                allocated: some("2008-06-02"),
            },
        ),
        // Nothing is known about this one, and the result says so.
        (ip("93.184.216.35"), IpEnrichment::default()),
        (
            ip("2606:2800:21f:cb07::1"),
            IpEnrichment {
                asn: Some(64501),
                as_name: name.clone(),
                prefix: some("2606:2800::/32"),
                registry_country: some("US"),
                registry: some("arin"),
                allocated: None,
            },
        ),
    ];
    assert_eq!(result.ip_enrichment, expected.into());
    assert_eq!(result.hosting_provider, Some(HostingProvider { asn: 64501, name }));
    let about = one.asked().into_iter().filter(|it| it.contains("cymru")).count();
    assert_eq!(about, 4, "three public addresses and one system: {:?}", one.asked());
}

#[tokio::test]
async fn few_addresses_are_asked_about() {
    let scene = Scene::new();
    let many = Zone::Holds(&[
        ("A", "93.184.216.1"),
        ("A", "93.184.216.2"),
        ("A", "93.184.216.3"),
        ("A", "93.184.216.4"),
        ("A", "93.184.216.5"),
        ("A", "93.184.216.6"),
        ("A", "93.184.216.7"),
        ("AAAA", "2606:2800:21f:cb07::1"),
    ]);
    let one = scene.server("one", [("example.com", many)]).await;
    let result = scene.probe(&[&one], "https://example.com/").await.expect("completed");
    assert_eq!(result.ip_enrichment.len(), 6);
    assert!(result.ip_enrichment.values().all(|it| *it == IpEnrichment::default()));
    assert_eq!(result.hosting_provider, None);
}

#[tokio::test]
async fn registries_that_do_not_answer_hold_nothing_up() {
    let scene = Scene::new();
    let silent = "34.216.184.93.origin.asn.cymru.com";
    let site = Zone::Holds(&[("A", "93.184.216.34")]);
    let one = scene.server("one", [("example.com", site), (silent, Zone::Silent)]).await;
    let rdap = Server::raw(hold).await;
    let rdap = format!("https://{}/domain/", rdap.address).parse().expect("a URL");
    let url = "https://example.com/".parse().expect("a URL");
    let deadline = Duration::from_millis(800);
    let started = Instant::now();
    let both = resolvers(vec![one.server.clone()], Some(rdap));
    let probe = DnsProbe { url: &url, deadline, now: now() };
    let result = super::super::probe(&scene.guard, &both, &probe).await.expect("completed");
    // Twice, for machines that are busy with other work.
    assert!(started.elapsed() < 2 * deadline, "{:?}", started.elapsed());
    assert_eq!(result.ip_enrichment, [(ip("93.184.216.34"), IpEnrichment::default())].into());
    let why = "the registry did not answer in time";
    assert_eq!(result.registration_error.as_deref(), Some(why));
    assert_eq!(result.lookup_failure, None);
}

/// An answer with this body.
fn page(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn object(domain: &str) -> String {
    json!({
        "objectClassName": "domain",
        "ldhName": domain,
        "events": [
            {"eventAction": "registration", "eventDate": "1995-08-14T04:00:00Z"},
            {"eventAction": "expiration", "eventDate": "2027-08-13T04:00:00Z"},
        ],
        "entities": [{
            "roles": ["registrar"],
            "vcardArray": ["vcard", [["fn", {}, "text", "Registrar, Inc."]]],
        }],
    })
    .to_string()
}

#[tokio::test]
async fn the_registration_comes_from_the_registry_and_is_remembered() {
    let scene = Scene::new();
    let one = scene.server("one", []).await;
    let tls = || scene.authority.server(&["127.0.0.1"], CURRENT, &[]);
    let registry = Server::https(tls(), |head| {
        assert!(head.to_lowercase().contains("accept: application/rdap+json"), "{head}");
        assert_eq!(path(head), "/com/v1/domain/example.com");
        page(&object("EXAMPLE.COM"))
    })
    .await;
    let location = registry.url("/com/v1/domain/example.com").to_string();
    let service = Server::https(tls(), move |head| {
        assert_eq!(path(head), "/domain/example.com");
        redirect(302, &location)
    })
    .await;
    let both = resolvers(vec![one.server.clone()], Some(service.url("/domain/")));
    let at = |text: &str| Some(text.parse().expect("a timestamp"));
    let expected = Registration {
        domain: "example.com".to_owned(),
        registrar: Some("Registrar, Inc.".to_owned()),
        registered_at: at("1995-08-14T04:00:00Z"),
        expires_at: at("2027-08-13T04:00:00Z"),
        status: Vec::new(),
        unregistered: None,
    };
    for url in ["https://www.example.com/", "https://example.com/"] {
        // Also for a name that cannot be looked up, since the expiry of its domain may be the reason.
        let result = scene.probe_with(&both, url).await.expect("completed");
        assert_eq!(result.registration.as_ref(), Some(&expected));
        assert_eq!(result.registration_error, None);
    }
    assert_eq!((service.connections(), registry.connections()), (1, 1));
}

#[tokio::test]
async fn a_registration_that_ends_soon_is_asked_for_at_every_check() {
    let scene = Scene::new();
    let one = scene.server("one", []).await;
    let tls = scene.authority.server(&["127.0.0.1"], CURRENT, &[]);
    let service = Server::https(tls, |_| page(&object("example.com"))).await;
    let both = resolvers(vec![one.server.clone()], Some(service.url("/domain/")));
    let url = "https://example.com/".parse().expect("a URL");
    // It is reported from 30 days before 2027-08-13, and remembered for 12 hours.
    for (now, connections) in [
        ("2027-08-01T04:00:00Z", 1),
        ("2027-08-01T04:01:00Z", 2),
        ("2027-07-13T04:00:00Z", 3),
        ("2027-07-12T16:00:01Z", 4),
        ("2027-07-12T16:00:00Z", 5),
        ("2027-07-12T16:00:00Z", 5),
    ] {
        let now = now.parse().expect("a timestamp");
        let probe = DnsProbe { url: &url, deadline: Duration::from_secs(10), now };
        let result = super::super::probe(&scene.guard, &both, &probe).await.expect("completed");
        assert!(result.registration.is_some(), "{result:?}");
        assert_eq!(service.connections(), connections, "{now}");
    }
}

#[tokio::test]
async fn without_a_registration_the_reason_is_reported() {
    let scene = Scene::new();
    let one = scene.server("one", []).await;
    let tls = || scene.authority.server(&["127.0.0.1"], CURRENT, &[]);
    let inner = "https://192.168.0.1/domain/example.com";
    for (answer, why) in [
        (status(404), "the registry does not know example.com"),
        (status(429), "the registry answers HTTP 429"),
        (page("<html>"), "the registry's answer cannot be read"),
        (page(&object("example.net")), "the registry's answer is not about example.com"),
        (page(&"x".repeat(300_000)), "the registry's answer is too large"),
        (redirect(302, "http://127.0.0.1/"), "the registry cannot be reached over https"),
        (redirect(302, ""), "the registry redirects in circles"),
        (
            redirect(302, "https://"),
            "the registry: redirected to \"https://\", which is not a URL (empty host)",
        ),
        (
            redirect(302, inner),
            "the registry: the target is forbidden: 192.168.0.1 is a private address (192.168.0.0/16)",
        ),
    ] {
        let service = Server::https(tls(), move |_| answer.clone()).await;
        let both = resolvers(vec![one.server.clone()], Some(service.url("/domain")));
        let result = scene.probe_with(&both, "https://example.com/").await.expect("completed");
        assert_eq!(result.registration, None);
        assert_eq!(result.registration_error.as_deref(), Some(why));
        scene.probe_with(&both, "https://example.com/").await.expect("completed");
        assert!(service.connections() <= 5, "failures are not tried again at once");
    }
    let nobody = Some("https://127.0.0.1:9/".parse().expect("a URL"));
    let both = resolvers(vec![one.server.clone()], nobody);
    for (url, why) in [
        ("https://site.internal-name/", "the host is not in a registered domain"),
        ("https://example.org/", "the registry: connection refused"),
    ] {
        let result = scene.probe_with(&both, url).await.expect("completed");
        assert_eq!(result.registration_error.as_deref(), Some(why));
    }
}

#[tokio::test]
async fn a_suffix_without_a_registry_is_remembered() {
    let scene = Scene::new();
    let one = scene.server("one", []).await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let tls = scene.authority.server(&["127.0.0.1"], CURRENT, &[]);
    let service = Server::https(tls, move |head| {
        let domain = path(head).rsplit('/').next().expect("a path").to_owned();
        seen.lock().expect("no panic").push(domain.clone());
        match domain.as_str() {
            "github.io" | "uk.com" | "one.uk.com" | "two.uk.com" => page(&object(&domain)),
            "limited.web.app" => status(429),
            "down.web.app" => status(503),
            "odd.web.app" => status(400),
            "refused.web.app" => status(403),
            "none.web.app" => status(501),
            "above.web.app" => page(&object("web.app")),
            _ => status(404),
        }
    })
    .await;
    let both = resolvers(vec![one.server.clone()], Some(service.url("/domain/")));
    for (host, requests) in [
        ("one.github.io", &["one.github.io", "github.io"][..]),
        ("two.github.io", &[]),
        // One name that is gone does not make a registry none.
        ("one.uk.com", &["one.uk.com"]),
        ("gone.uk.com", &["gone.uk.com", "uk.com"]),
        ("two.uk.com", &["two.uk.com"]),
        // Other answers say nothing about the suffix.
        ("limited.web.app", &["limited.web.app"]),
        ("down.web.app", &["down.web.app"]),
        ("odd.web.app", &["odd.web.app", "web.app"]),
        ("refused.web.app", &["refused.web.app"]),
        ("none.web.app", &["none.web.app"]),
        ("above.web.app", &["above.web.app"]),
    ] {
        let url = format!("https://{host}/");
        let result = scene.probe_with(&both, &url).await.expect("completed");
        let asked = std::mem::take(&mut *asked.lock().expect("no panic"));
        assert_eq!(asked, requests, "{host}: {:?}", result.registration_error);
    }
}
