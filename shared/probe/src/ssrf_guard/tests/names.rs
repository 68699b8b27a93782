//! How the SSRF guard resolves names.

use super::*;

#[tokio::test]
async fn a_name_with_forbidden_addresses_alone_is_refused() {
    let names = NameServer::start([
        ("inner.example", Entry::addresses(&["10.0.0.1"])),
        ("inner6.example", Entry::addresses(&["10.0.0.1", "::1"])),
        ("mapped.example", Entry::addresses(&["::ffff:10.0.0.1"])),
        ("alias.example", Entry::Alias("inner.example")),
    ])
    .await;
    let guard = names.guard(Outbound::default());
    for (host, address) in [
        ("inner.example", "10.0.0.1"),
        ("inner6.example", "10.0.0.1"),
        ("mapped.example", "::ffff:10.0.0.1"),
        ("alias.example", "10.0.0.1"),
        ("INNER.example.", "10.0.0.1"),
    ] {
        let outcome = guard.admit(&url(&format!("http://{host}/"))).await;
        assert_eq!(refused_address(&outcome), Some(address.parse().expect("an address")), "{host}");
    }
}

#[tokio::test]
async fn a_name_has_only_its_admitted_addresses() {
    let names = NameServer::start([
        ("mixed.example", Entry::addresses(&["10.0.0.1", "1.1.1.1", "169.254.169.254"])),
        ("mixed6.example", Entry::addresses(&["1.1.1.1", "::1", "fd12::1"])),
        ("reversed.example", Entry::addresses(&["127.0.0.1", "2606:4700::1"])),
        ("split.example", Entry::addresses(&["10.1.0.1", "10.2.0.1", "fd12::1"])),
        ("alias.example", Entry::Alias("mixed.example")),
    ])
    .await;
    let outbound = || Outbound {
        own_listeners: vec![socket("10.1.0.1:8787")],
        ..allow(&["10.1.0.0/16", "fd12::/16"])
    };
    for (outbound, text, admitted) in [
        (Outbound::default(), "http://mixed.example/", &["1.1.1.1:80"][..]),
        (Outbound::default(), "http://mixed6.example/", &["1.1.1.1:80"]),
        (Outbound::default(), "http://reversed.example/", &["[2606:4700::1]:80"]),
        (Outbound::default(), "https://alias.example/", &["1.1.1.1:443"]),
        (outbound(), "http://mixed6.example/", &["1.1.1.1:80", "[fd12::1]:80"]),
        (outbound(), "http://split.example/", &["10.1.0.1:80", "[fd12::1]:80"]),
        (outbound(), "http://split.example:8787/", &["[fd12::1]:8787"]),
    ] {
        let target = names.guard(outbound).admit(&url(text)).await.expect(text);
        let admitted: Vec<_> = admitted.iter().map(|address| socket(address)).collect();
        assert_eq!(target.addresses(), admitted, "{text}");
    }
}

#[tokio::test]
async fn a_refusal_names_the_setting_that_could_allow_the_address() {
    let names = NameServer::start([("me.example", Entry::addresses(&["127.0.0.1"]))]).await;
    let read = |name: &str| (name == "VEDETTE_ALLOW_TARGETS").then(|| "127.0.0.0/8".to_owned());
    let outbound = Outbound::default().allowing(&read, "VEDETTE_ALLOW_TARGETS").expect("networks");
    let guard = names.guard(Outbound { own_listeners: vec![socket("127.0.0.1:8787")], ..outbound });
    for (text, message) in [
        (
            "http://10.0.0.1/",
            "the target is forbidden: 10.0.0.1 is a private address (10.0.0.0/8), \
             which VEDETTE_ALLOW_TARGETS does not allow",
        ),
        (
            "http://me.example:8787/",
            "the target is forbidden: 127.0.0.1:8787 is an address of this service",
        ),
    ] {
        let refusal = guard.admit(&url(text)).await.expect_err(text);
        assert_eq!(refusal.to_string(), message);
    }
}

#[tokio::test]
async fn a_name_is_pinned_to_its_addresses_in_turns_of_family() {
    let names = NameServer::start([(
        "site.example",
        Entry::addresses(&["1.1.1.1", "1.0.0.1", "1.1.1.1", "2606:4700::1", "2606:4700::2"]),
    )])
    .await;
    let target = names.guard(Outbound::default()).admit(&url("https://site.example/")).await;
    let mut addresses = target.expect("admitted").addresses;
    // The name server may have shuffled within a family.
    assert!(addresses[0].is_ipv4() && addresses[1].is_ipv6() && addresses[2].is_ipv4());
    addresses.sort();
    assert_eq!(
        addresses,
        [
            socket("1.0.0.1:443"),
            socket("1.1.1.1:443"),
            socket("[2606:4700::1]:443"),
            socket("[2606:4700::2]:443"),
        ]
    );
}

#[tokio::test]
async fn names_are_absolute_whatever_domain_this_machine_is_in() {
    let names =
        NameServer::start([("intranet.corp.example", Entry::addresses(&["1.1.1.1"]))]).await;
    let outcome = names.guard(Outbound::default()).admit(&url("http://intranet/")).await;
    assert_eq!(outcome, Err(NotAdmitted::Unresolved(Unresolved::NoSuchName)));
    assert_eq!(names.asked(), ["intranet."]);
}

#[tokio::test]
async fn why_a_name_has_no_address_is_reported() {
    let names = NameServer::start([
        ("mail.example", Entry::addresses(&[])),
        ("broken.example", Entry::Fails),
        ("silent.example", Entry::Silent),
        ("v6.example", Entry::addresses(&["2606:4700::1"])),
    ])
    .await;
    let guard = names.guard(Outbound::default());
    for (host, words) in [
        ("nowhere.example", "name does not resolve"),
        ("mail.example", "name has no address"),
        ("broken.example", "name lookup failed: SERVFAIL"),
        ("silent.example", "name lookup timed out"),
        ("a..example", "not a valid domain name"),
        (&format!("{}.example", "a".repeat(64)), "not a valid domain name"),
    ] {
        match guard.admit(&url(&format!("http://{host}/"))).await {
            Err(NotAdmitted::Unresolved(why)) => assert_eq!(why.to_string(), words, "{host}"),
            other => panic!("{host}: {other:?}"),
        }
    }
    let target = guard.admit(&url("http://v6.example/")).await.expect("IPv6 alone will do");
    assert_eq!(target.addresses(), [socket("[2606:4700::1]:80")]);
}

#[tokio::test]
async fn a_failed_lookup_is_not_remembered() {
    let names = NameServer::start([]).await;
    let guard = names.guard(Outbound::default());
    for round in 1..=2 {
        let outcome = guard.admit(&url("http://late.example/")).await;
        assert_eq!(outcome, Err(NotAdmitted::Unresolved(Unresolved::NoSuchName)));
        assert_eq!(names.queries("late.example."), 2 * round, "A and AAAA each time");
    }
}

#[tokio::test]
async fn localhost_is_refused_unless_allowed_and_never_asked_for() {
    let names = NameServer::start([("localhost", Entry::addresses(&["1.1.1.1"]))]).await;
    let guard = names.guard(Outbound::default());
    for host in ["localhost", "LOCALHOST", "localhost.", "any.localhost"] {
        let outcome = guard.admit(&url(&format!("http://{host}/"))).await;
        assert!(refused_address(&outcome).is_some_and(|address| address.is_loopback()), "{host}");
    }
    let guard = names.guard(allow(&["127.0.0.0/8", "::1/128"]));
    let target = guard.admit(&url("http://localhost:8080/")).await.expect("allowed");
    assert!(target.addresses().iter().all(|address| address.ip().is_loopback()));
    for (network, address) in [("127.0.0.0/8", "127.0.0.1:80"), ("::1/128", "[::1]:80")] {
        let target = names.guard(allow(&[network])).admit(&url("http://localhost/")).await;
        assert_eq!(target.expect("allowed").addresses(), [socket(address)]);
    }
    assert_eq!(names.asked(), [""; 0]);
}

#[tokio::test]
async fn a_name_that_resolves_to_our_own_listener_is_refused() {
    let names = NameServer::start([("me.example", Entry::addresses(&["127.0.0.1"]))]).await;
    let outbound =
        Outbound { own_listeners: vec![socket("0.0.0.0:8787")], ..allow(&["127.0.0.0/8"]) };
    let guard = names.guard(outbound);
    assert!(guard.admit(&url("http://me.example/")).await.is_ok());
    let outcome = guard.admit(&url("http://me.example:8787/")).await;
    let Err(NotAdmitted::Forbidden(refusal)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(
        refusal.to_string(),
        "the target is forbidden: 127.0.0.1:8787 is an address of this service"
    );
}

#[tokio::test]
async fn the_resolver_configuration_of_the_system_is_read() {
    // The answer differs between machines, except for this name.
    let guard =
        SsrfGuard::new(allow(&["127.0.0.0/8", "::1/128"])).expect("a system with a resolver");
    let target = guard.admit(&url("http://localhost/")).await.expect("allowed");
    assert!(target.addresses().iter().all(|address| address.ip().is_loopback()));
}
