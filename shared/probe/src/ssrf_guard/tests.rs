//! What the SSRF guard admits and refuses.

mod names;

use std::net::SocketAddr;

use serde_json::json;

use super::*;
use crate::loopback::guard_of;
use crate::loopback::names::{Entry, NameServer};

fn url(text: &str) -> Url {
    text.parse().expect(text)
}

fn allow(networks: &[&str]) -> Outbound {
    Outbound {
        allow: networks.iter().map(|network| network.parse().expect("a network")).collect(),
        ..Outbound::default()
    }
}

fn socket(text: &str) -> SocketAddr {
    text.parse().expect("an address and port")
}

fn refused_address(outcome: &Result<AdmittedTarget, NotAdmitted>) -> Option<IpAddr> {
    match outcome {
        Err(NotAdmitted::Forbidden(ForbiddenTarget {
            reason: ForbiddenReason::Address(of),
            ..
        })) => Some(of.address),
        _ => None,
    }
}

#[tokio::test]
async fn no_spelling_of_an_inner_address_is_admitted() {
    let guard = guard_of(Outbound::default());
    for (spelling, address) in [
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),      // decimal
        ("http://017700000001/", "127.0.0.1"),    // octal
        ("http://0x7f000001/", "127.0.0.1"),      // hexadecimal
        ("http://0177.0.0.1/", "127.0.0.1"),      // octal, dotted
        ("http://0x7f.0.0.1/", "127.0.0.1"),      // hexadecimal, dotted
        ("http://127.1/", "127.0.0.1"),           // short
        ("http://127.0.1/", "127.0.0.1"),         // short
        ("http://127.0.0.1./", "127.0.0.1"),      // absolute
        ("http://１２７.０.０.１/", "127.0.0.1"), // full-width digits
        ("http://①②⑦.⓪.⓪.①/", "127.0.0.1"),       // circled digits
        ("http://127。0。0。1/", "127.0.0.1"),    // ideographic full stops
        ("http://%31%32%37.0.0.1/", "127.0.0.1"), // percent-encoded
        ("http://user:pass@127.0.0.1/", "127.0.0.1"),
        ("http://example.com@10.0.0.1/", "10.0.0.1"),
        ("http:\\\\10.0.0.1\\", "10.0.0.1"),
        ("http://0/", "0.0.0.0"),
        ("http://[::]/", "::"),
        ("http://[::1]/", "::1"),
        ("http://[0:0:0:0:0:0:0:1]/", "::1"),
        ("http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1"), // IPv4-mapped
        ("http://[::ffff:7f00:1]/", "::ffff:127.0.0.1"),
        ("http://[::ffff:8.8.8.8]/", "::ffff:8.8.8.8"), // mapped public ones, too: no site has them
        ("http://[::127.0.0.1]/", "::127.0.0.1"),       // IPv4-compatible
        ("http://[64:ff9b::a9fe:a9fe]/", "64:ff9b::169.254.169.254"), // NAT64
        ("http://[64:ff9b:1::10.0.0.1]/", "64:ff9b:1::10.0.0.1"), // local NAT64
        ("http://[2002:7f00:1::]/", "2002:7f00:1::"),   // 6to4
        ("http://[2001:0:4136:e378::1]/", "2001:0:4136:e378::1"), // Teredo
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254"), // AWS, Azure, GCP
        ("http://[fd00:ec2::254]/", "fd00:ec2::254"),   // AWS
        ("http://100.100.100.200/", "100.100.100.200"), // Alibaba
        ("http://168.63.129.16/", "168.63.129.16"),     // Azure
        ("http://192.0.0.192/", "192.0.0.192"),         // Oracle
        ("https://10.0.0.1:8443/", "10.0.0.1"),
        ("https://[fe80::1]/", "fe80::1"),
    ] {
        let outcome = guard.admit(&url(spelling)).await;
        let address = address.parse().expect("an address");
        assert_eq!(refused_address(&outcome), Some(address), "{spelling}");
    }
}

#[tokio::test]
async fn only_http_and_https_are_admitted() {
    let guard = guard_of(allow(&["0.0.0.0/0", "::/0"]));
    for text in [
        "ftp://1.1.1.1/",
        "ws://1.1.1.1/",
        "file:///etc/passwd",
        "gopher://1.1.1.1:70/",
        "data:text/html,hi",
        "javascript:alert(1)",
        "mailto:a@example.com",
        "unix:/run/x.sock",
    ] {
        let outcome = guard.admit(&url(text)).await;
        assert!(
            matches!(
                &outcome,
                Err(NotAdmitted::Forbidden(ForbiddenTarget { reason: ForbiddenReason::Scheme(scheme), .. }))
                    if text.starts_with(scheme.as_str())
            ),
            "{text}: {outcome:?}"
        );
    }
}

#[tokio::test]
async fn public_addresses_are_admitted_with_the_port_of_the_url() {
    let guard = guard_of(Outbound::default());
    for (text, address) in [
        ("http://1.1.1.1/", "1.1.1.1:80"),
        ("https://1.1.1.1/", "1.1.1.1:443"),
        ("https://1.1.1.1:8443/a?b", "1.1.1.1:8443"),
        ("https://[2606:4700:4700::1111]/", "[2606:4700:4700::1111]:443"),
    ] {
        let target = guard.admit(&url(text)).await.expect(text);
        assert_eq!(target.addresses(), [socket(address)], "{text}");
    }
}

#[tokio::test]
async fn allowed_ranges_are_admitted_and_no_more() {
    let guard = guard_of(allow(&["10.1.0.0/16", "fd12::/16"]));
    for text in ["http://10.1.2.3/", "http://[fd12::1]/", "http://1.1.1.1/"] {
        assert!(guard.admit(&url(text)).await.is_ok(), "{text}");
    }
    for text in ["http://10.2.0.1/", "http://[fd13::1]/", "http://[::ffff:10.1.2.3]/"] {
        assert!(refused_address(&guard.admit(&url(text)).await).is_some(), "{text}");
    }
    assert_eq!(guard.check_ip(IpAddr::from([10, 1, 2, 3])), Ok(()));
    assert!(guard.check_ip(IpAddr::from([10, 2, 0, 1])).is_err());
}

#[tokio::test]
async fn our_own_listeners_are_refused_even_under_allow() {
    let everything = || allow(&["0.0.0.0/0", "::/0"]);
    for (listener, text, admitted) in [
        ("127.0.0.1:8787", "http://127.0.0.1:8787/", false),
        ("127.0.0.1:8787", "http://[::ffff:127.0.0.1]:8787/", false),
        ("127.0.0.1:8787", "http://0.0.0.0:8787/", false),
        ("127.0.0.1:8787", "http://127.0.0.1:8788/", true),
        ("127.0.0.1:8787", "http://127.0.0.2:8787/", true),
        ("127.0.0.1:80", "http://127.0.0.1/", false),
        ("[::1]:443", "https://[::1]/", false),
        ("0.0.0.0:8787", "http://127.0.0.1:8787/", false),
        ("0.0.0.0:8787", "http://127.9.9.9:8787/", false),
        ("0.0.0.0:8787", "http://1.1.1.1:8787/", true),
        ("0.0.0.0:8787", "http://127.0.0.1:80/", true),
        ("[::]:8787", "http://127.0.0.1:8787/", false),
        ("[::]:8787", "http://[::1]:8787/", false),
        ("1.1.1.1:443", "https://1.1.1.1/", false),
    ] {
        let outbound = Outbound { own_listeners: vec![socket(listener)], ..everything() };
        let outcome = guard_of(outbound).admit(&url(text)).await;
        match outcome {
            Ok(_) => assert!(admitted, "{listener} {text}"),
            Err(NotAdmitted::Forbidden(ForbiddenTarget {
                reason: ForbiddenReason::OwnListener(_),
                ..
            })) => assert!(!admitted, "{listener} {text}"),
            other => panic!("{listener} {text}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_detour_comes_before_the_lookup_and_is_checked_like_any_address() {
    let names = NameServer::start([("shop.example", Entry::addresses(&["1.1.1.1"]))]).await;
    let outbound = Outbound {
        connect_to: [
            "shop.example:443:127.0.0.1:8443",
            "shop.example:8080:10.0.0.1:80",
            "1.1.1.1:80:127.0.0.1:8081",
            "[2606:4700::1]:80:[::1]:8082",
        ]
        .map(|text| text.parse().expect(text))
        .to_vec(),
        own_listeners: vec![socket("127.0.0.1:8081")],
        ..allow(&["127.0.0.0/8", "::1/128"])
    };
    let guard = names.guard(outbound);
    for text in ["https://shop.example/", "https://SHOP.example.:443/x"] {
        let target = guard.admit(&url(text)).await.expect(text);
        assert_eq!(target.addresses(), [socket("127.0.0.1:8443")], "{text}");
    }
    assert_eq!(names.asked(), [""; 0]);
    let target = guard.admit(&url("http://[2606:4700::1]/")).await.expect("a detour to IPv6");
    assert_eq!(target.addresses(), [socket("[::1]:8082")]);
    let target = guard.admit(&url("http://shop.example/")).await.expect("no detour");
    assert_eq!(target.addresses(), [socket("1.1.1.1:80")]);

    let inner = guard.admit(&url("http://shop.example:8080/")).await;
    assert_eq!(refused_address(&inner), Some(IpAddr::from([10, 0, 0, 1])));
    let own = guard.admit(&url("http://1.1.1.1/")).await;
    assert!(matches!(
        own,
        Err(NotAdmitted::Forbidden(ForbiddenTarget {
            reason: ForbiddenReason::OwnListener(_),
            ..
        }))
    ));
}

#[tokio::test]
async fn a_refusal_is_a_check_error_without_credentials() {
    let guard = guard_of(Outbound::default());
    let refusal = |text| {
        let guard = &guard;
        async move {
            match guard.admit(&url(text)).await {
                Err(NotAdmitted::Forbidden(refusal)) => CheckError::from(refusal),
                other => panic!("{text}: {other:?}"),
            }
        }
    };
    let error = refusal("http://user:secret@10.0.0.1/a?b").await;
    assert_eq!(
        error,
        CheckError {
            message: "the target is forbidden: 10.0.0.1 is a private address (10.0.0.0/8)".into(),
            code: "target_forbidden".into(),
            data: json!({ "url": "http://10.0.0.1/a?b", "address": "10.0.0.1" }),
        }
    );
    let error = refusal("ftp://user:secret@example.com/").await;
    assert_eq!(error.data, json!({ "url": "ftp://example.com/" }));
    assert_eq!(
        error.message,
        "the target is forbidden: the scheme \"ftp\" is neither http nor https"
    );
}

#[test]
fn an_unusable_extra_root_is_named_by_its_place() {
    let authority = crate::loopback::certificates::Authority::new("known");
    let extra_roots = vec![authority.root(), b"not a certificate".to_vec().into()];
    let error = SsrfGuard::with_resolver(
        Outbound { extra_roots, ..Outbound::default() },
        ResolverConfig::default(),
        ResolverOpts::default(),
    )
    .expect_err("refused");
    assert!(error.to_string().starts_with("extra root certificate 2 cannot be used: "), "{error}");
}
