//! What the resolvers answer, and how their answers are used.

use DnsRecordType::{A, Aaaa, Cname, Mx, Ns, Txt};

use super::*;

const SITE: Zone = Zone::Holds(&[
    ("A", "93.184.216.35"),
    ("A", "93.184.216.34"),
    ("AAAA", "2606:2800:21f:cb07::1"),
    ("MX", "20 Mail2.Example.com"),
    ("MX", "10 mail1.example.com"),
    ("NS", "ns1.example.net"),
    ("TXT", "v=spf1 -all"),
]);

#[tokio::test]
async fn all_types_are_asked_of_every_resolver() {
    let scene = Scene::new();
    let one = scene.server("one", [("example.com", SITE)]).await;
    let two = scene.server("two", [("example.com", SITE)]).await;
    let result = scene.probe(&[&one, &two], "https://example.com/path").await.expect("completed");
    assert_eq!(result.host, "example.com");
    assert_eq!((&result.lookup_failure, &*result.unanswered_types), (&None, &[][..]));
    let records = serde_json::to_value(&result.records).expect("json");
    let entry = |kind: &str, mut value: Value| {
        value["host"] = json!("example.com");
        value["ttl"] = json!(300);
        value["type"] = json!(kind);
        value
    };
    let expected = json!({
        "A": [
            entry("A", json!({"ip": "93.184.216.34"})),
            entry("A", json!({"ip": "93.184.216.35"})),
        ],
        "AAAA": [entry("AAAA", json!({"ip": "2606:2800:21f:cb07::1"}))],
        "CNAME": [],
        "MX": [
            entry("MX", json!({"priority": 10, "target": "mail1.example.com"})),
            entry("MX", json!({"priority": 20, "target": "mail2.example.com"})),
        ],
        "NS": [entry("NS", json!({"target": "ns1.example.net"}))],
        "TXT": [entry("TXT", json!({"txt": "v=spf1 -all"}))],
    });
    assert_eq!(records, expected);
    for (zone, name) in [(&one, "one"), (&two, "two")] {
        let observation = &result.resolver_observations[name];
        assert_eq!(observation.agrees, Some(true));
        assert_eq!(told(observation), ["NOERROR"; 6]);
        assert!(observation.lookups.values().all(|it| it.latency_ms > 0.0));
        assert_eq!(
            observation.lookups[&Mx].answers,
            ["10 mail1.example.com", "20 mail2.example.com"]
        );
        let of_site: Vec<_> =
            zone.asked().into_iter().filter(|it| it.starts_with("example.com ")).collect();
        let types = ["A", "AAAA", "CNAME", "MX", "NS", "TXT"];
        assert_eq!(of_site, types.map(|kind| format!("example.com {kind}")));
    }
    assert!(!result.uses_cloudflare);
    assert_eq!(result.reputation, Default::default());
    assert_eq!(result.registration, None);
    assert_eq!(result.registration_error.as_deref(), Some("registrations are not looked up here"));
}

#[tokio::test]
async fn a_result_can_be_read_again() {
    let scene = Scene::new();
    let one = scene.server("one", [("example.com", SITE)]).await;
    let result = scene.probe(&[&one], "https://example.com/").await.expect("completed");
    let stored = serde_json::to_string(&result).expect("json");
    assert_eq!(serde_json::from_str::<DnsResult>(&stored).expect("readable"), result);
    assert_eq!(result.resolver_observations["one"].agrees, None, "there is no other");
}

#[tokio::test]
async fn resolvers_may_disagree() {
    let scene = Scene::new();
    let other = Zone::Holds(&[("A", "93.184.216.99"), ("TXT", "v=spf1 -all")]);
    let same = Zone::Holds(&[("TXT", "v=spf1 -all"), ("A", "93.184.216.34")]);
    let one = scene.server("one", [("example.com", other)]).await;
    let two = scene.server("two", [("example.com", same.clone())]).await;
    let three = scene.server("three", [("example.com", same)]).await;
    let result =
        scene.probe(&[&one, &two, &three], "https://example.com/").await.expect("completed");
    assert_eq!(values(&result, A), ["93.184.216.99"], "the first that answered");
    let observation = &result.resolver_observations["one"];
    assert_eq!((observation.agrees, &*observation.differing_types), (Some(false), &[A][..]));
    assert_eq!(result.resolver_observations["three"].agrees, Some(true));
}

#[tokio::test]
async fn types_without_records_are_empty() {
    let scene = Scene::new();
    let one = scene.server("one", [("example.com", Zone::Holds(&[]))]).await;
    let result = scene.probe(&[&one], "https://example.com/").await.expect("completed");
    assert_eq!(result.lookup_failure.as_deref(), Some("NODATA"), "it has no address");
    assert_eq!(result.unanswered_types, []);
    for kind in DnsRecordType::ALL {
        assert!(result.records.of(kind).is_empty());
    }
    assert_eq!(told(&result.resolver_observations["one"]), ["NOERROR"; 6]);
}

#[tokio::test]
async fn aliases_are_followed_and_shown() {
    let scene = Scene::new();
    let zones = [
        ("www.example.com", Zone::Holds(&[("CNAME", "CDN.example.net")])),
        ("cdn.example.net", Zone::Holds(&[("CNAME", "edge.example.org")])),
        ("edge.example.org", Zone::Holds(&[("A", "93.184.216.34"), ("TXT", "edge")])),
    ];
    let one = scene.server("one", zones).await;
    let result = scene.probe(&[&one], "https://www.example.com/").await.expect("completed");
    let chain: Vec<_> = result
        .records
        .of(Cname)
        .iter()
        .map(|record| (&*record.host, record.data.normal()))
        .collect();
    let expected = [
        ("www.example.com", "cdn.example.net".to_owned()),
        ("cdn.example.net", "edge.example.org".to_owned()),
    ];
    assert_eq!(chain, expected);
    assert_eq!(values(&result, A), ["93.184.216.34"]);
    assert_eq!(result.records.of(A)[0].host, "edge.example.org");
    assert_eq!(values(&result, Txt), ["edge"]);
    assert!(result.records.of(Aaaa).is_empty());
    let observation = &result.resolver_observations["one"];
    assert_eq!(observation.lookups[&Cname].answers, ["cdn.example.net"]);
}

#[tokio::test]
async fn an_alias_to_nowhere_cannot_be_looked_up() {
    let scene = Scene::new();
    let zones = [("www.example.com", Zone::Holds(&[("CNAME", "gone.example.net")]))];
    let one = scene.server("one", zones).await;
    let result = scene.probe(&[&one], "https://www.example.com/").await.expect("completed");
    assert_eq!(result.lookup_failure.as_deref(), Some("NXDOMAIN"));
    assert_eq!(values(&result, Cname), ["gone.example.net"]);
}

#[tokio::test]
async fn a_long_txt_record_is_joined() {
    const LONG: &str = match std::str::from_utf8(&[b'k'; 700]) {
        Ok(text) => text,
        Err(_) => "",
    };
    let scene = Scene::new();
    let one =
        scene.server("one", [("example.com", Zone::Holds(&[("TXT", LONG), ("TXT", "short")]))]);
    let result = scene.probe(&[&one.await], "https://example.com/").await.expect("completed");
    assert_eq!(values(&result, Txt), [LONG, "short"]);
}

#[tokio::test]
async fn names_are_asked_for_as_dns_writes_them() {
    let scene = Scene::new();
    let zones = [("xn--bcher-kva.example", Zone::Holds(&[("NS", "ns1.example.net")]))];
    let one = scene.server("one", zones).await;
    for url in ["https://BÜCHER.example/", "http://xn--bcher-kva.example.:8080/"] {
        let result = scene.probe(&[&one], url).await.expect("completed");
        assert_eq!(
            (&*result.host, values(&result, Ns)),
            ("xn--bcher-kva.example", vec!["ns1.example.net".to_owned()])
        );
    }
    assert_eq!(one.asked()[0], "xn--bcher-kva.example A");
}

#[tokio::test]
async fn private_addresses_are_reported_and_no_one_is_asked_about_them() {
    let scene = Scene::new();
    let site = Zone::Holds(&[("A", "10.0.0.5"), ("A", "169.254.169.254"), ("AAAA", "fd00::1")]);
    let one = scene.server("one", [("example.com", site)]).await;
    let result = scene.probe(&[&one], "https://example.com/").await.expect("completed");
    assert_eq!(values(&result, A), ["10.0.0.5", "169.254.169.254"]);
    assert_eq!(values(&result, Aaaa), ["fd00::1"]);
    assert!(result.ip_enrichment.is_empty() && result.hosting_provider.is_none());
    assert_eq!(one.asked().len(), 6, "{:?}", one.asked());
}

#[tokio::test]
async fn cloudflares_proxy_is_known_by_its_addresses() {
    let scene = Scene::new();
    for (zone, uses_it) in [
        (Zone::Holds(&[("A", "93.184.216.34"), ("A", "104.16.132.229")]), true),
        (Zone::Holds(&[("AAAA", "2606:4700::6810:84e5")]), true),
        // Cloudflare's name servers alone do not make a proxy.
        (Zone::Holds(&[("A", "93.184.216.34"), ("NS", "ada.ns.cloudflare.com")]), false),
    ] {
        let one = scene.server("one", [("example.com", zone)]).await;
        let result = scene.probe(&[&one], "https://example.com/").await.expect("completed");
        assert_eq!(result.uses_cloudflare, uses_it);
    }
}

#[tokio::test]
async fn a_block_is_flagged_and_hides_nothing() {
    use vedette_domain::checks::check::ReputationStatus::{Clear, Flagged};
    let scene = Scene::new();
    let quad9 = scene.server("quad9", [("bad.example", Zone::Blocked), ("good.example", SITE)]);
    let quad9 = quad9.await;
    let one = scene.server("one", [("bad.example", SITE), ("good.example", SITE)]).await;
    let result = scene.probe(&[&quad9, &one], "https://bad.example/").await.expect("completed");
    assert_eq!((result.reputation.status, result.lookup_failure), (Flagged, None));
    assert_eq!(result.reputation.flags, ["quad9_blocked"]);
    assert_eq!(result.records.of(A).len(), 2);
    assert_eq!(result.resolver_observations["quad9"].agrees, Some(false));
    let result = scene.probe(&[&quad9, &one], "https://good.example/").await.expect("completed");
    assert_eq!((result.reputation.status, result.reputation.flags), (Clear, vec![]));
}
