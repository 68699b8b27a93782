//! Addresses that change with every answer, of pools and of sites that moved.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::*;
use crate::checks::check::{DnsBaseline, DnsResult, KnownRecords};
use crate::checks::tool_state::Learnt;

/// A result with these addresses and no other records.
fn found(addresses: &[IpAddr]) -> DnsResult {
    let of_family = |kind: &str, is_v4: bool| -> Vec<Value> {
        let of_family = addresses.iter().filter(|ip| ip.is_ipv4() == is_v4);
        let record = |ip| json!({ "host": "example.com", "ttl": 60, "type": kind, "ip": ip });
        of_family.map(record).collect()
    };
    serde_json::from_value(json!({
        "host": "example.com", "lookup_failure": null, "unanswered_types": [],
        "records": {
            "A": of_family("A", true), "AAAA": of_family("AAAA", false),
            "CNAME": [], "MX": [], "NS": [], "TXT": [],
        },
        "resolver_observations": {}, "uses_cloudflare": false, "ip_enrichment": {},
        "hosting_provider": null,
        "reputation": {
            "status": "unknown", "flags": [], "risk_score": null, "risk_types": null,
            "suspected_malware_family": null, "ip_reputation": null,
        },
        "registration": null, "registration_error": null,
    }))
    .expect("a result")
}

/// A site whose checks are an hour apart. Two failures open an issue.
struct Lookups {
    state: ToolState,
    hours: i64,
}

impl Lookups {
    fn start() -> Self {
        Self { state: ToolState::new(), hours: 0 }
    }

    /// The next check finds these addresses.
    fn next(&mut self, addresses: &[IpAddr]) -> Vec<Event> {
        self.hours += 1;
        let slot = after(3_600 * self.hours);
        let check = CheckId::automatic(site(), Tool::Dns, RunReason::Scheduled, slot);
        let finish = Finish::Completed(ToolResult::Dns(Box::new(found(addresses))));
        let now = slot + 1.second();
        let windows = Windows::default();
        let run = Scenario { check, finish, evaluations: Vec::new(), now, cfg: 1, windows };
        let learnt = self.state.learnt.as_ref();
        let known = learnt.map(|learnt| learnt.baseline.clone());
        let baseline = known.map(|known| DnsBaseline { known, records: None });
        let evaluations = run.run().evaluate(&run.finish, baseline.as_ref(), now);
        let of_records = |one: &Evaluation| one.fingerprint == Fingerprint::DnsRecordsChanged;
        let evaluations = evaluations.into_iter().filter(of_records).collect();
        let change = Scenario { evaluations, ..run }.saved(&self.state);
        let stored = serde_json::to_value(&change.state).expect("json");
        assert_eq!(serde_json::from_value::<ToolState>(stored).expect("readable"), change.state);
        self.state = change.state;
        change.events.iter().map(|event| event.event).collect()
    }

    fn is_open(&self) -> bool {
        self.state.has_active(Fingerprint::DnsRecordsChanged)
    }
}

fn member(is_v4: bool, number: u8) -> IpAddr {
    if is_v4 {
        [192, 0, 2, number].into()
    } else {
        [0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(number)].into()
    }
}

#[test]
fn accepted_addresses_are_known_and_the_old_ones_are_not() {
    let all = |range: std::ops::Range<u8>| -> Vec<_> {
        range.flat_map(|number| [true, false].map(|is_v4| member(is_v4, number))).collect()
    };
    let mut lookups = Lookups::start();
    lookups.next(&all(0..4));
    lookups.next(&all(10..14));
    assert!(matches!(lookups.next(&all(11..15))[..], [Event::Opened { .. }]));
    lookups.state = lookups.state.resolved_by_hand(Fingerprint::DnsRecordsChanged, Timestamp::MAX);
    for _ in 0..2 {
        assert_eq!((lookups.next(&all(14..20)), lookups.next(&all(19..20))), (vec![], vec![]));
    }
    assert_eq!(lookups.next(&all(0..4)), []);
    assert!(matches!(lookups.next(&all(0..4))[..], [Event::Opened { .. }]));
}

#[test]
fn records_found_during_a_change_join_the_pool_only_beside_known_ones() {
    let [one, two, three] = [1, 2, 3].map(|number| member(true, number));
    let mut lookups = Lookups::start();
    for answer in [&[one][..], &[two], &[two]] {
        lookups.next(answer);
    }
    assert!(lookups.is_open());
    assert!(matches!(lookups.next(&[one, three])[..], [Event::Resolved { .. }]));
    assert_eq!((lookups.next(&[three]), lookups.next(&[two])), (vec![], vec![]));
    assert!(matches!(lookups.next(&[two])[..], [Event::Opened { .. }]));
    // No addresses at all share none with the known ones.
    lookups.next(&[one]);
    assert_eq!(lookups.next(&[]), []);
    assert!(matches!(lookups.next(&[])[..], [Event::Opened { .. }]));
}

#[test]
fn pools_stored_by_earlier_versions_are_read_and_completed() {
    let pool = [1, 2, 3].map(|number| member(true, number));
    let mut lookups = Lookups::start();
    lookups.next(&pool[..2]);
    let stored = serde_json::to_value(lookups.state.learnt.clone()).expect("json");
    let of_version_before = json!({ "c": stored["c"], "b": stored["b"], "s": stored["b"] });
    let learnt: Learnt = serde_json::from_value(of_version_before).expect("readable");
    assert!(learnt.baseline.addresses.is_empty() && learnt.seen.is_some());
    lookups.state.learnt = Some(learnt);
    lookups.next(&pool[1..]);
    assert!(
        lookups.state.trackers[&Fingerprint::DnsRecordsChanged]
            .tracker
            .is_failing_below_threshold()
    );
    lookups.next(&pool[..2]);
    for _ in 0..2 {
        assert_eq!((lookups.next(&pool[1..]), lookups.next(&pool[2..])), (vec![], vec![]));
    }
}

proptest! {
    /// For any pool of up to 16 addresses, whatever else was seen with it before: after every member has been seen, no
    /// answer with members opens an issue, and an answer without any opens one with the second check.
    #[test]
    fn a_pool_is_known_after_all_members_have_been_seen(
        is_v4: bool,
        size in 1_u8..=16,
        earlier in prop::collection::vec(prop::collection::vec(100_u8..140, 0..20), 0..8),
        answers in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 1..16), 1..12),
        foreign in prop::collection::btree_set(200_u8..255, 0..20),
    ) {
        let pool: Vec<_> = (0..size).map(|number| member(is_v4, number)).collect();
        let mut lookups = Lookups::start();
        for others in earlier {
            // The answer is put in order, so the member is among the last, and kept of more than 16.
            let others = others.into_iter().map(|number| member(is_v4, number));
            let answer: Vec<_> = others.take(15).chain([pool[0]]).collect();
            prop_assert_eq!(lookups.next(&answer), []);
        }
        prop_assert_eq!(lookups.next(&pool[..1]), []);
        for pair in pool.windows(2) {
            prop_assert_eq!(lookups.next(pair), []);
        }
        for answer in answers {
            let answer: Vec<_> = answer.iter().map(|index| pool[index.index(pool.len())]).collect();
            prop_assert_eq!(lookups.next(&answer), []);
            let learnt = lookups.state.learnt.as_ref().expect("learnt");
            prop_assert_eq!(&learnt.seen, &None);
            let known = KnownRecords::found_by(&found(&pool));
            prop_assert_eq!(learnt.baseline.changed_types(&known), []);
        }
        let foreign: Vec<_> = foreign.into_iter().map(|number| member(is_v4, number)).collect();
        prop_assert_eq!(lookups.next(&foreign), []);
        let second = lookups.next(&foreign);
        let opens = matches!(second[..], [Event::Opened { .. }]);
        prop_assert!(opens && lookups.is_open());
        lookups.next(&pool[..1]);
        prop_assert!(!lookups.is_open());
    }

    /// The same for pools whose answers share nothing: after a round, all members are known.
    #[test]
    fn a_pool_whose_answers_share_nothing_is_known_after_a_round(
        is_v4: bool,
        size in 1_u8..=16,
        at_once in 1_usize..=8,
        answers in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 1..16), 1..12),
        foreign in 200_u8..255,
    ) {
        let pool: Vec<_> = (0..size).map(|number| member(is_v4, number)).collect();
        let mut lookups = Lookups::start();
        for answer in pool.chunks(at_once).chain([&pool[..1]]) {
            lookups.next(answer);
        }
        prop_assert!(!lookups.is_open());
        for answer in answers {
            let answer: Vec<_> = answer.iter().map(|index| pool[index.index(pool.len())]).collect();
            prop_assert_eq!(lookups.next(&answer), []);
        }
        let foreign = [member(is_v4, foreign)];
        prop_assert_eq!(lookups.next(&foreign), []);
        let second = lookups.next(&foreign);
        let opens = matches!(second[..], [Event::Opened { .. }]);
        prop_assert!(opens);
        lookups.next(&pool[..1]);
        lookups.next(&foreign);
        lookups.next(&foreign);
        prop_assert!(lookups.is_open(), "what stayed is not known");
    }
}
