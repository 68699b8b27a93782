//! DNS records: pools, and hosts without an address.

use std::collections::BTreeSet;
use std::net::IpAddr;

use vedette_domain::checks::check::DnsResult;
use vedette_tests::names::MonitoredName;

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().expect("an address")).collect()
}

#[tokio::test]
async fn a_pool_opens_no_issue_whatever_subset_it_answers_with() {
    let pools: [&[&[&str]]; 4] = [
        // The second answer shares nothing with the first; with the third, its addresses become known.
        &[
            &["192.0.2.1", "192.0.2.2"],
            &["192.0.2.3", "192.0.2.4"],
            &["192.0.2.1", "192.0.2.4"],
            &["192.0.2.2", "192.0.2.3"],
        ],
        &[
            &["192.0.2.1", "192.0.2.2"],
            &["192.0.2.2", "192.0.2.3"],
            &["192.0.2.3"],
            &["192.0.2.3", "192.0.2.1"],
        ],
        &[&["2001:db8::1", "2001:db8::2"], &["2001:db8::2", "2001:db8::3"], &["2001:db8::3"]],
        &[
            &["192.0.2.1", "2001:db8::1"],
            &["192.0.2.1", "192.0.2.2", "2001:db8::2", "2001:db8::1"],
            &["2001:db8::2", "192.0.2.2"],
        ],
    ];
    for pool in pools {
        let scene = MonitoredName::new("https://www.example.com").await;
        for answer in pool.iter().cycle().take(4 * pool.len()) {
            scene.names.resolve_to(&addresses(answer));
            scene.check_after_hours(1).await;
            assert_eq!(scene.fingerprints().await, BTreeSet::new(), "{pool:?}");
        }
    }
}

#[tokio::test]
async fn a_pool_with_only_unknown_addresses_opens_an_issue() {
    for (known, moved) in [
        (
            &[&["192.0.2.1", "192.0.2.2"][..], &["192.0.2.2", "192.0.2.3"]][..],
            &["198.51.100.1"][..],
        ),
        (&[&["192.0.2.1", "2001:db8::1"]], &["192.0.2.1", "2001:db8::9"]),
        (&[&["192.0.2.1", "2001:db8::1"]], &["192.0.2.1"]),
    ] {
        let scene = MonitoredName::new("https://www.example.com").await;
        for answer in known {
            scene.names.resolve_to(&addresses(answer));
            scene.check_after_hours(1).await;
        }
        scene.names.resolve_to(&addresses(moved));
        scene.check_after_hours(1).await;
        assert_eq!(scene.fingerprints().await, BTreeSet::new(), "two failures open it");
        scene.check_after_hours(1).await;
        assert_eq!(
            scene.fingerprints().await,
            ["dns:records_changed".to_owned()].into(),
            "{moved:?}"
        );
        scene.names.resolve_to(&addresses(known[0]));
        scene.check_after_hours(1).await;
        assert_eq!(scene.fingerprints().await, BTreeSet::new());
    }
}

#[tokio::test]
async fn a_host_without_any_address_is_not_found() {
    for before in [&["192.0.2.1"][..], &["2001:db8::1"], &["192.0.2.1", "2001:db8::1"]] {
        let scene = MonitoredName::new("https://www.example.com").await;
        scene.names.resolve_to(&addresses(before));
        let found: DnsResult = scene.check_after_hours(1).await;
        assert_eq!(found.lookup_failure, None, "{before:?}");
        scene.names.resolve_to(&[]);
        let lost = scene.check_after_hours(1).await;
        assert_eq!(lost.lookup_failure.as_deref(), Some("NODATA"));
        scene.check_after_hours(1).await;
        assert!(scene.fingerprints().await.contains("dns:lookup_failed"), "{before:?}");
        scene.names.resolve_to(&addresses(before));
        scene.check_after_hours(1).await;
        assert_eq!(scene.fingerprints().await, BTreeSet::new());
    }
}
