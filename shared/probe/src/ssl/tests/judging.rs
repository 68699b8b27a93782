//! Which certificates are valid, and what is wrong with the others.

use rcgen::{BasicConstraints, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa};

use super::SslFailure::{Expired, HostnameMismatch, UntrustedChain};
use super::*;
use crate::loopback::certificates::Years;

const EXPIRED: Years = (2020, 2021);
const FUTURE: Years = (2119, 2120);

const EXPIRED_WORDS: &str = "the certificate expired on 2021-01-01 00:00:00 UTC";
const FUTURE_WORDS: &str = "the certificate is not valid before 2119-01-01 00:00:00 UTC";
const OTHER_WORDS: &str = "the certificate is for other.example, not for site.example";
const UNKNOWN_WORDS: &str =
    "a certificate in the chain is missing, or not trusted: that of the issuer \"CN=unknown\"";

#[tokio::test]
async fn every_flaw_is_found_beside_the_others() {
    let (known, unknown) = (Authority::new("known"), Authority::new("unknown"));
    let other = "other.example";
    for (authority, name, years, failure, verified, words) in [
        (&known, SITE, CURRENT, None, true, &[][..]),
        (&known, SITE, EXPIRED, Some(Expired), true, &[EXPIRED_WORDS]),
        (&known, SITE, FUTURE, Some(Expired), true, &[FUTURE_WORDS]),
        (&known, other, CURRENT, Some(HostnameMismatch), true, &[OTHER_WORDS]),
        (&unknown, SITE, CURRENT, Some(UntrustedChain), false, &[UNKNOWN_WORDS]),
        (&unknown, SITE, EXPIRED, Some(Expired), false, &[EXPIRED_WORDS, UNKNOWN_WORDS]),
        (&unknown, SITE, FUTURE, Some(Expired), false, &[FUTURE_WORDS, UNKNOWN_WORDS]),
        (&known, other, EXPIRED, Some(Expired), true, &[EXPIRED_WORDS, OTHER_WORDS]),
        (&unknown, other, CURRENT, Some(HostnameMismatch), false, &[OTHER_WORDS, UNKNOWN_WORDS]),
        (
            &unknown,
            other,
            EXPIRED,
            Some(Expired),
            false,
            &[EXPIRED_WORDS, OTHER_WORDS, UNKNOWN_WORDS],
        ),
    ] {
        let result = serve(authority.server(&[name], years, &[]), SITE, &[known.root()]).await;
        assert_eq!(verdict(&result), (failure, verified, words.join("; ").as_str()));
        assert_eq!(result.domain, SITE);
        assert_eq!(result.ip.as_deref(), Some("127.0.0.1"));
        assert!(result.info.is_some());
    }
}

#[tokio::test]
async fn validity_is_judged_to_the_second() {
    let authority = Authority::new("known");
    let server = Server::https(authority.server(&[SITE], (2026, 2027), &[]), |_| status(200)).await;
    let guard = guard_to(SITE, server.address, &[authority.root()]);
    let url = "https://site.example/".parse().expect("a URL");
    for (now, failure, days_left) in [
        ("2025-12-31T23:59:59.999Z", Some(Expired), 365),
        ("2026-01-01T00:00:00Z", None, 365),
        ("2026-01-01T00:00:01Z", None, 364),
        ("2026-12-31T12:00:00Z", None, 0),
        ("2027-01-01T00:00:00.999Z", None, 0),
        ("2027-01-01T00:00:01Z", Some(Expired), -1),
        ("2027-01-03T00:00:00Z", Some(Expired), -2),
    ] {
        let now = now.parse().expect("a timestamp");
        let result = probe(&guard, &SslProbe { now, ..probe_of(&url) }).await;
        let result = result.expect("completed");
        assert_eq!((result.failure_type, result.days_left), (failure, days_left), "{now}");
        assert!(result.verified, "{now}");
        assert_eq!(result.valid_from.as_deref(), Some("2026-01-01 00:00:00"));
        assert_eq!(result.valid_to.as_deref(), Some("2027-01-01 00:00:00"));
    }
}

#[tokio::test]
async fn names_match_as_in_browsers() {
    let authority = Authority::new("known");
    for (names, host, matches) in [
        (&["site.example"][..], "site.example", true),
        (&["site.example"], "site.example.", true),
        (&["site.example"], "SITE.example", true),
        (&["a.example", "site.example"], "site.example", true),
        (&["site.example"], "www.site.example", false),
        (&["*.example.org"], "www.example.org", true),
        // A wildcard matches exactly one label.
        (&["*.example.org"], "a.b.example.org", false),
        (&["*.example.org"], "example.org", false),
        (&["w*.example.org"], "www.example.org", false),
        // Punycode on both sides.
        (&["xn--bcher-kva.example"], "bücher.example", true),
        (&["xn--bcher-kva.example"], "xn--bcher-kva.example", true),
        (&["bucher.example"], "bücher.example", false),
        // Addresses only match addresses.
        (&["127.0.0.1"], "127.0.0.1", true),
        (&["127.0.0.2"], "127.0.0.1", false),
        (&["site.example"], "127.0.0.1", false),
        (&["127.0.0.1"], "site.example", false),
    ] {
        let result = serve(authority.server(names, CURRENT, &[]), host, &[authority.root()]).await;
        let failure = (!matches).then_some(HostnameMismatch);
        assert_eq!((result.failure_type, result.verified), (failure, true), "{names:?} {host}");
    }
    let result = serve(authority.server(&["x.example"], CURRENT, &[]), "bücher.example", &[]).await;
    assert_eq!(result.domain, "xn--bcher-kva.example");
}

#[tokio::test]
async fn a_common_name_is_not_a_host() {
    let authority = Authority::new("known");
    let identity = authority.issue(&[], CURRENT, |params| {
        params.distinguished_name.push(DnType::CommonName, SITE);
    });
    let result = serve(identity.server(), SITE, &[authority.root()]).await;
    let words = "the certificate names no hosts (a common name does not count), so it is not for \
                 site.example";
    assert_eq!(verdict(&result), (Some(HostnameMismatch), true, words));
    assert_eq!(result.issued_to.as_deref(), Some(SITE));
}

#[tokio::test]
async fn a_thousand_names_are_counted() {
    let authority = Authority::new("known");
    let names: Vec<_> = (1..=1000).map(|n| format!("host-{n}.example")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let config = authority.server(&names, CURRENT, &[]);
    let result = serve(config.clone(), "host-1000.example", &[authority.root()]).await;
    assert_eq!(verdict(&result), (None, true, ""));
    let names = result.info.expect("a certificate").subject_alternative_names;
    assert_eq!((names.dns.len(), names.ip.len(), names.omitted), (100, 0, 900));

    let result = serve(config, SITE, &[authority.root()]).await;
    let words = "the certificate is for host-1.example, host-2.example, host-3.example and 997 \
                 more, not for site.example";
    assert_eq!(verdict(&result), (Some(HostnameMismatch), true, words));
}

#[tokio::test]
async fn a_self_signed_certificate_is_reported() {
    let mut of_authority = params(&[SITE]);
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    for params in [params(&[SITE]), of_authority] {
        let result = serve(Identity::self_signed(&params).server(), SITE, &[]).await;
        let words = "the certificate is self-signed";
        // By default, rcgen's certificates are valid until the year 4096.
        assert_eq!(verdict(&result), (Some(UntrustedChain), false, words));
    }
}

#[tokio::test]
async fn a_self_signed_certificate_that_the_operator_trusts_is_valid() {
    let with = |names: &[&str], (from, to): Years, is_ca| {
        let mut params = params(names);
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(to, 1, 1);
        params.is_ca = is_ca;
        Identity::self_signed(&params)
    };
    let ca = || IsCa::Ca(BasicConstraints::Unconstrained);
    for (names, years, is_ca, failure, in_words) in [
        (&[SITE][..], CURRENT, IsCa::NoCa, None, None),
        (&[SITE], CURRENT, IsCa::ExplicitNoCa, None, None),
        // As `openssl req -x509` makes it.
        (&[SITE], CURRENT, ca(), None, None),
        (&["other.example"], CURRENT, ca(), Some(HostnameMismatch), Some("is for another name")),
        (&[], CURRENT, ca(), Some(HostnameMismatch), Some("is for another name")),
        (&[SITE], EXPIRED, ca(), Some(Expired), Some("expired")),
        (&[SITE], FUTURE, ca(), Some(Expired), Some("not yet valid")),
    ] {
        let identity = with(names, years, is_ca);
        let server = Server::https(identity.server(), |_| status(200)).await;
        let guard = guard_to(SITE, server.address, &identity.chain);
        let result = completed(&guard, SITE).await;
        assert_eq!((result.failure_type, result.verified), (failure, true), "{names:?} {years:?}");
        // The verifier of all other engines has the same rule.
        let url = format!("https://{SITE}/").parse().expect("a URL");
        let answer = http::get(&guard, &url, Default::default()).await;
        let error = answer.err().map(|error| error.to_string());
        let in_words = in_words.map(|words| format!("TLS: certificate {words}"));
        assert_eq!(error, in_words, "{names:?} {years:?}");
    }
    // Another certificate of the same key and name is not the one that the operator trusts.
    let (trusted, other) = (with(&[SITE], CURRENT, ca()), with(&[SITE], (2021, 2120), ca()));
    let result = serve(other.server(), SITE, &trusted.chain).await;
    assert_eq!((result.failure_type, result.verified), (Some(UntrustedChain), false));
}

#[tokio::test]
async fn the_chain_is_what_the_server_presents() {
    let root = Authority::new("root");
    let upper = root.intermediate("upper", CURRENT);
    let lower = upper.intermediate("lower", CURRENT);
    let own = || lower.issue(&[SITE], CURRENT, |_| {});
    let missing = |name: &str| {
        Some(format!(
            "a certificate in the chain is missing, or not trusted: that of the issuer \"CN={name}\""
        ))
    };
    let roots = [root.root()];
    for (identity, roots, words) in [
        (own().and(lower.root()).and(upper.root()), &roots[..], None),
        // In any order, also with the root or with unrelated certificates.
        (own().and(root.root()).and(upper.root()).and(lower.root()), &roots, None),
        (own().and(lower.root()).and(Authority::new("x").root()).and(upper.root()), &roots, None),
        // An intermediate certificate is missing in either place.
        (own(), &roots, missing("lower")),
        (own().and(lower.root()), &roots, missing("upper")),
        (own().and(upper.root()), &roots, missing("lower")),
        // Complete, but not trusted.
        (
            own().and(lower.root()).and(upper.root()).and(root.root()),
            &[],
            Some("the chain ends in \"CN=root\", which is not trusted".to_owned()),
        ),
        (own().and(lower.root()).and(upper.root()), &[], missing("root")),
    ] {
        let result = serve(identity.server(), SITE, roots).await;
        let failure = words.is_some().then_some(UntrustedChain);
        let expected = (failure, words.is_none(), words.as_deref().unwrap_or_default());
        assert_eq!(verdict(&result), expected);
    }
}

#[tokio::test]
async fn an_issuer_that_expired_is_not_fine() {
    let root = Authority::new("root");
    for (issuer, own, failure, verified, words) in [
        (
            (2020, 2024),
            CURRENT,
            UntrustedChain,
            false,
            "a certificate in the chain expired on 2024-01-01 00:00:00 UTC",
        ),
        (
            (2030, 2040),
            CURRENT,
            UntrustedChain,
            false,
            "a certificate in the chain is not valid before 2030-01-01 00:00:00 UTC",
        ),
        // Both have expired. The chain was valid at the time: throughout, at its end, and at its beginning.
        (
            (2019, 2024),
            (2020, 2021),
            Expired,
            true,
            "the certificate expired on 2021-01-01 00:00:00 UTC",
        ),
        (
            (2024, 2030),
            (2014, 2025),
            Expired,
            true,
            "the certificate expired on 2025-01-01 00:00:00 UTC",
        ),
        (
            (2010, 2015),
            (2014, 2025),
            Expired,
            true,
            "the certificate expired on 2025-01-01 00:00:00 UTC",
        ),
        // They were never valid at the same time.
        (
            (2010, 2012),
            (2014, 2025),
            Expired,
            false,
            "the certificate expired on 2025-01-01 00:00:00 UTC; a certificate in the chain \
             expired on 2012-01-01 00:00:00 UTC",
        ),
    ] {
        let issuer = root.intermediate("issuer", issuer);
        let identity = issuer.issue(&[SITE], own, |_| {}).and(issuer.root());
        let result = serve(identity.server(), SITE, &[root.root()]).await;
        assert_eq!(verdict(&result), (Some(failure), verified, words));
    }
    // If an intermediate certificate was renewed under its name, the new one counts, whatever else is presented.
    let [old, new] = [(2020, 2024), CURRENT].map(|years| root.intermediate("issuer", years));
    let identity = new.issue(&[SITE], CURRENT, |_| {}).and(old.root()).and(new.root());
    let result = serve(identity.server(), SITE, &[root.root()]).await;
    assert_eq!(verdict(&result), (None, true, ""));
}

#[tokio::test]
async fn the_certificate_that_ends_a_valid_chain_is_named() {
    let root = Authority::new("root");
    let [early, late] = [(2020, 2027), (2020, 2028)];
    for (upper, lower, host, named) in [
        (CURRENT, CURRENT, SITE, None),
        ((2020, 2121), CURRENT, SITE, None),
        (late, CURRENT, SITE, Some(("CN=upper", "2028-01-01 00:00:00"))),
        (CURRENT, late, SITE, Some(("CN=lower", "2028-01-01 00:00:00"))),
        (early, late, SITE, Some(("CN=upper", "2027-01-01 00:00:00"))),
        (late, early, SITE, Some(("CN=lower", "2027-01-01 00:00:00"))),
        (early, late, "other.example", None),
    ] {
        let upper = root.intermediate("upper", upper);
        let lower = upper.intermediate("lower", lower);
        let own = lower.issue(&[SITE], CURRENT, |_| {}).and(lower.root()).and(upper.root());
        let result = serve(own.server(), host, &[root.root()]).await;
        assert_eq!(result.is_valid, host == SITE, "{result:?}");
        let first = result.first_to_expire.as_ref();
        assert_eq!(first.map(|of| (of.subject.as_str(), of.valid_to.as_str())), named);
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_for_servers_is_not_trusted() {
    let root = Authority::new("root");
    let for_clients = root.issue(&[SITE], CURRENT, |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    let of_authority = root.issue(&[SITE], CURRENT, |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "an authority");
    });
    // Signed by a certificate that does not belong to an authority.
    let neighbor = root.issue(&["neighbor.example"], CURRENT, |_| {});
    let mut issuer = params(&[]);
    issuer.distinguished_name = DistinguishedName::new();
    issuer.distinguished_name.push(DnType::CommonName, "rcgen self signed cert");
    let issuer = rcgen::Issuer::new(issuer, &neighbor.key);
    let own = params(&[SITE]);
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut names = own.clone();
    names.distinguished_name.push(DnType::CommonName, SITE);
    let signed = names.signed_by(&key, &issuer).expect("a certificate");
    let by_neighbor =
        Identity { chain: vec![signed.der().clone(), neighbor.chain[0].clone()], key };
    for (identity, words) in [
        (for_clients, "the certificate is not for servers"),
        (of_authority, "the certificate is an authority's, not a server's"),
        (by_neighbor, "a certificate in the chain is signed by one that may not issue it"),
    ] {
        let result = serve(identity.server(), SITE, &[root.root()]).await;
        assert_eq!(verdict(&result), (Some(UntrustedChain), false, words));
    }
}

#[tokio::test]
async fn a_broken_signature_is_not_trusted() {
    let (root, imposter) = (Authority::new("root"), Authority::new("root"));
    let result = serve(imposter.server(&[SITE], CURRENT, &[]), SITE, &[root.root()]).await;
    let words = "a signature in the chain does not match";
    assert_eq!(verdict(&result), (Some(UntrustedChain), false, words));
}

#[tokio::test]
async fn mozillas_roots_are_trusted_and_do_not_hide_others() {
    let unknown = Authority::new("unknown");
    let result = serve(unknown.server(&[SITE], CURRENT, &[]), SITE, &[]).await;
    assert_eq!(verdict(&result), (Some(UntrustedChain), false, UNKNOWN_WORDS));
    let guard = guard();
    assert!(guard.roots().len() > 100, "{}", guard.roots().len());
}
