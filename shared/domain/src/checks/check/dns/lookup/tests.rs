//! What resolvers say together, case by case.

use std::net::Ipv4Addr;

use proptest::prelude::*;
use serde_json::json;

use super::super::RecordData;
use super::*;
use DnsRecordType::{A, Aaaa, Mx, Txt};

const HOST: &str = "www.example.com";

fn a(last: u8) -> DnsRecord {
    let ip = Ipv4Addr::new(192, 0, 2, last);
    DnsRecord { host: HOST.to_owned(), ttl: 60, data: RecordData::A { ip } }
}

fn lookup(answer: Result<DnsAnswer, String>) -> Lookup {
    Lookup { answer, latency_ms: 1.5 }
}

/// The addresses `192.0.2.x`.
fn found(last: &[u8]) -> Lookup {
    let records = last.iter().map(|last| a(*last)).collect();
    lookup(Ok(DnsAnswer { rcode: Rcode::NO_ERROR, records, has_soa: last.is_empty() }))
}

fn failed(rcode: Rcode) -> Lookup {
    lookup(Ok(DnsAnswer { rcode, records: vec![], has_soa: rcode == Rcode::NX_DOMAIN }))
}

/// NXDOMAIN as Quad9 answers it for names that it blocks.
fn blocked() -> Lookup {
    lookup(Ok(DnsAnswer { rcode: Rcode::NX_DOMAIN, records: vec![], has_soa: false }))
}

fn silent() -> Lookup {
    lookup(Err("no answer in time".to_owned()))
}

/// A resolver that gives this answer for A, and for the other types an empty answer (or the same failure).
fn resolver(name: &str, of_a: Lookup) -> ResolverAnswers {
    let rest = if of_a.found().is_some() { found(&[]) } else { of_a.clone() };
    let mut lookups: BTreeMap<_, _> =
        DnsRecordType::ALL.into_iter().map(|kind| (kind, rest.clone())).collect();
    lookups.insert(A, of_a);
    ResolverAnswers { resolver: name.to_owned(), lookups }
}

fn conclusion(lookups: Vec<Lookup>) -> Option<Conclusion> {
    let names = ["one", "two", "three"];
    let heard: Vec<_> =
        names.into_iter().zip(lookups).map(|(name, lookup)| resolver(name, lookup)).collect();
    conclude(&heard)
}

fn addresses(conclusion: &Conclusion) -> Vec<String> {
    conclusion.records.watched(A, HOST)
}

#[test]
fn records_are_those_of_the_first_resolver_that_found_the_name() {
    for (lookups, last, spokesman) in [
        (vec![found(&[1]), found(&[2])], "192.0.2.1", 0),
        (vec![silent(), found(&[2])], "192.0.2.2", 1),
        (vec![failed(Rcode::SERV_FAIL), found(&[2])], "192.0.2.2", 1),
        (vec![failed(Rcode(5)), found(&[2])], "192.0.2.2", 1),
        (vec![blocked(), silent(), found(&[3])], "192.0.2.3", 2),
    ] {
        let conclusion = conclusion(lookups).expect("answers");
        assert_eq!(addresses(&conclusion), [last]);
        assert_eq!(conclusion.spokesman, spokesman);
        assert_eq!((conclusion.lookup_failure, conclusion.unanswered_types), (None, vec![]));
    }
}

#[test]
fn a_name_that_no_answer_finds_cannot_be_looked_up() {
    let (nx, servfail) = (Rcode::NX_DOMAIN, Rcode::SERV_FAIL);
    for (lookups, failure) in [
        (vec![failed(nx), failed(nx)], nx),
        (vec![failed(servfail), failed(servfail)], servfail),
        (vec![failed(servfail), failed(nx)], nx),
        (vec![silent(), failed(nx)], nx),
        (vec![failed(Rcode(5)), failed(servfail)], servfail),
    ] {
        let conclusion = conclusion(lookups).expect("answers");
        assert_eq!(conclusion.lookup_failure, Some(failure.to_string()));
        assert_eq!(conclusion.unanswered_types, DnsRecordType::ALL);
        assert_eq!(conclusion.records, DnsRecords::default());
    }
}

#[test]
fn without_an_answer_about_the_name_there_is_no_conclusion() {
    assert_eq!(conclusion(vec![]), None);
    assert_eq!(conclusion(vec![silent(), silent()]), None);
    assert_eq!(conclusion(vec![silent(), failed(Rcode(5)), failed(Rcode(4))]), None);
}

#[test]
fn a_name_with_one_family_of_addresses_resolves() {
    let mut one = resolver("one", found(&[1]));
    one.lookups.insert(Aaaa, failed(Rcode::SERV_FAIL));
    one.lookups.insert(Txt, silent());
    let conclusion = conclude(&[one.clone()]).expect("answers");
    assert_eq!(conclusion.lookup_failure, None);
    assert_eq!(conclusion.unanswered_types, [Aaaa, Txt]);
    // Visitors cannot use its other records.
    one.lookups.insert(A, failed(Rcode::SERV_FAIL));
    let conclusion = conclude(&[one.clone()]).expect("answers");
    assert_eq!(conclusion.lookup_failure.as_deref(), Some("SERVFAIL"));
    // No answer for the addresses is not a failure of the name.
    one.lookups.extend([(A, silent()), (Aaaa, silent())]);
    let conclusion = conclude(&[one]).expect("answers");
    assert_eq!(conclusion.lookup_failure, None);
    assert_eq!(conclusion.unanswered_types, [A, Aaaa, Txt]);
}

#[test]
fn a_name_without_any_address_is_not_found() {
    let (nx, servfail) = (|| failed(Rcode::NX_DOMAIN), || failed(Rcode::SERV_FAIL));
    let mail = || {
        let data = RecordData::Mx { priority: 10, target: "mail.example.com".to_owned() };
        let records = vec![DnsRecord { host: HOST.to_owned(), ttl: 60, data }];
        lookup(Ok(DnsAnswer { rcode: Rcode::NO_ERROR, records, has_soa: false }))
    };
    // The answers for A and AAAA, of one resolver each.
    for (families, failure) in [
        (vec![(found(&[]), found(&[]))], Some("NODATA")),
        (vec![(found(&[]), nx())], Some("NXDOMAIN")),
        (vec![(nx(), found(&[]))], Some("NXDOMAIN")),
        (vec![(servfail(), found(&[]))], Some("SERVFAIL")),
        (vec![(found(&[]), silent()), (silent(), found(&[]))], Some("NODATA")),
        (vec![(found(&[]), found(&[])), (silent(), silent())], Some("NODATA")),
        // The other family may have an address.
        (vec![(found(&[]), silent())], None),
        (vec![(found(&[]), failed(Rcode(5)))], None),
        (vec![(silent(), silent())], None),
        (vec![(found(&[1]), found(&[]))], None),
        (vec![(found(&[1]), nx())], None),
        (vec![(found(&[]), found(&[])), (found(&[1]), found(&[]))], None),
    ] {
        let answers: Vec<_> = families
            .iter()
            .map(|(of_a, of_aaaa)| {
                let mut one = resolver("one", of_a.clone());
                one.lookups.extend([(Aaaa, of_aaaa.clone()), (Mx, mail())]);
                one
            })
            .collect();
        let conclusion = conclude(&answers).expect("answers");
        assert_eq!(conclusion.lookup_failure.as_deref(), failure, "{families:?}");
        assert_eq!(conclusion.records.of(Mx).len(), 1);
    }
}

#[test]
fn a_resolver_that_blocks_with_an_empty_answer_hides_nothing() {
    let mut other = resolver("two", found(&[2]));
    other.lookups.insert(Txt, silent());
    let conclusion = conclude(&[resolver("one", found(&[])), other]).expect("answers");
    assert_eq!(addresses(&conclusion), ["192.0.2.2"]);
    assert_eq!((conclusion.spokesman, conclusion.unanswered_types), (1, vec![]));
}

#[test]
fn agreement_is_with_what_most_say() {
    let agreement = |lookups| {
        let observations = conclusion(lookups).expect("answers").observations;
        ["one", "three", "two"]
            .map(|name| observations.get(name).and_then(|observation| observation.agrees))
    };
    // By name: one, three, two.
    for (lookups, agree) in [
        (vec![found(&[1, 2]), found(&[2, 1]), found(&[1, 2])], [Some(true); 3]),
        (vec![found(&[2]), found(&[1]), found(&[1])], [Some(false), Some(true), Some(true)]),
        (vec![found(&[1]), found(&[2]), found(&[3])], [Some(true), Some(false), Some(false)]),
        (vec![found(&[1]), silent(), found(&[2])], [Some(true), Some(false), None]),
        (vec![found(&[1]), failed(Rcode(5)), silent()], [None; 3]),
        (vec![found(&[1]), found(&[1]), blocked()], [Some(true), Some(false), Some(true)]),
        (vec![found(&[]), failed(Rcode::NX_DOMAIN)], [Some(true), None, Some(false)]),
        (vec![failed(Rcode::SERV_FAIL), found(&[1])], [Some(false), None, Some(true)]),
    ] {
        assert_eq!(agreement(lookups.clone()), agree, "{lookups:?}");
    }
    let observations = conclusion(vec![found(&[1]), found(&[2])]).expect("answers").observations;
    assert_eq!(observations["two"].differing_types, [A]);
}

#[test]
fn observations_show_each_lookup() {
    let observations =
        conclusion(vec![found(&[2, 1]), silent(), failed(Rcode(5))]).expect("answers").observations;
    let shown = serde_json::to_value(&observations).expect("json");
    let lookup = |rcode, answers: &[&str], error| {
        json!({
            "rcode": rcode, "answers": answers, "latency_ms": 1.5, "error": error,
        })
    };
    let none = None::<&str>;
    let answers = &["192.0.2.1", "192.0.2.2"];
    assert_eq!(shown["one"]["lookups"]["A"], lookup(Some("NOERROR"), answers, none));
    assert_eq!(shown["one"]["lookups"]["MX"], lookup(Some("NOERROR"), &[], none));
    assert_eq!(shown["two"]["lookups"]["A"], lookup(none, &[], Some("no answer in time")));
    assert_eq!(shown["three"]["lookups"]["A"], lookup(Some("REFUSED"), &[], none));
    let read: BTreeMap<String, ResolverObservation> =
        serde_json::from_value(shown).expect("readable");
    assert_eq!(read, observations);
}

#[test]
fn long_answers_are_shown_in_part_and_compared_whole() {
    let long = |end: &str| {
        let mut one = resolver(end, found(&[]));
        let records = (0..30).map(|number| DnsRecord {
            host: HOST.to_owned(),
            ttl: 60,
            data: RecordData::Txt { txt: format!("{number:02}{}{end}", "ü".repeat(300)) },
        });
        let answer =
            DnsAnswer { rcode: Rcode::NO_ERROR, records: records.collect(), has_soa: false };
        one.lookups.insert(Txt, lookup(Ok(answer)));
        one
    };
    let conclusion = conclude(&[long("a"), long("b")]).expect("answers");
    let shown = &conclusion.observations["b"].lookups[&Txt].answers;
    assert_eq!((shown.len(), shown[19].chars().count()), (20, 255));
    assert_eq!(conclusion.observations["b"].differing_types, [Txt]);
    assert_eq!(conclusion.records.of(Txt).len(), 30);
}

#[test]
fn only_the_filtering_resolver_gives_a_reputation() {
    use ReputationStatus::{Clear, Flagged, Unknown};
    let servfail = || failed(Rcode::SERV_FAIL);
    for (name, says, other, status) in [
        ("quad9", blocked(), found(&[1]), Flagged),
        ("Quad9", blocked(), found(&[]), Flagged),
        ("quad9", found(&[1]), found(&[1]), Clear),
        ("quad9", found(&[]), silent(), Clear),
        // Says neither that it blocks the name nor that it does not.
        ("quad9", failed(Rcode::NX_DOMAIN), found(&[1]), Unknown),
        ("quad9", blocked(), blocked(), Unknown),
        ("quad9", blocked(), silent(), Unknown),
        ("quad9", servfail(), found(&[1]), Unknown),
        ("quad9", silent(), found(&[1]), Unknown),
        ("google", blocked(), found(&[1]), Unknown),
        ("google", found(&[1]), found(&[1]), Unknown),
    ] {
        let heard = [resolver("one", other), resolver(name, says)];
        let reputation = conclude(&heard).expect("answers").reputation;
        assert_eq!(reputation.status, status, "{heard:?}");
        assert_eq!(reputation.flags.is_empty(), status != Flagged);
        let Reputation { risk_score, risk_types, suspected_malware_family, ip_reputation, .. } =
            reputation;
        assert!(risk_score.is_none() && risk_types.is_none());
        assert!(suspected_malware_family.is_none() && ip_reputation.is_none());
    }
    let flagged = [resolver("one", found(&[1])), resolver("quad9", blocked())];
    let reputation = conclude(&flagged).expect("answers").reputation;
    assert_eq!(
        serde_json::to_value(reputation).expect("json"),
        json!({
            "status": "flagged", "flags": ["quad9_blocked"], "risk_score": null, "risk_types": null,
            "suspected_malware_family": null, "ip_reputation": null,
        }),
    );
}

#[test]
fn codes_have_names() {
    let names = [0, 1, 2, 3, 4, 5, 23].map(|code| Rcode(code).to_string());
    let expected = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "RCODE 23"];
    assert_eq!(names, expected);
}

fn any_lookup() -> impl Strategy<Value = Lookup> {
    prop_oneof![
        prop::collection::vec(0_u8..3, 0..3).prop_map(|last| found(&last)),
        (0_u16..7).prop_filter("a failure", |code| *code != 0).prop_map(|code| failed(Rcode(code))),
        Just(blocked()),
        Just(silent()),
    ]
}

proptest! {
    /// For any answers: the known and the unknown types together are all types, a failure leaves no addresses, and
    /// resolvers that agree give the same answer.
    #[test]
    fn conclusions_hang_together(lookups in prop::collection::vec((any_lookup(), any_lookup()), 0..4)) {
        let names = ["one", "quad9", "three", "four"];
        let heard: Vec<_> = names
            .into_iter()
            .zip(lookups)
            .map(|(name, (of_a, of_mx))| {
                let mut one = resolver(name, of_a);
                one.lookups.insert(Mx, of_mx);
                one
            })
            .collect();
        let Some(conclusion) = conclude(&heard) else {
            let silent = heard.iter().all(|one| {
                DnsRecordType::ALL.into_iter().all(|kind| one.says(kind).is_none())
            });
            prop_assert!(silent);
            return Ok(());
        };
        for kind in DnsRecordType::ALL {
            let known = heard.iter().any(|one| one.found(kind).is_some());
            prop_assert_eq!(conclusion.unanswered_types.contains(&kind), !known);
        }
        if conclusion.lookup_failure.is_some() {
            prop_assert!(conclusion.records.of(A).is_empty());
            prop_assert!(conclusion.records.of(Aaaa).is_empty());
        }
        let agreeing: Vec<_> = heard
            .iter()
            .filter(|one| conclusion.observations[&one.resolver].agrees == Some(true))
            .collect();
        for pair in agreeing.windows(2) {
            for kind in DnsRecordType::ALL {
                if let (Some(one), Some(other)) = (pair[0].says(kind), pair[1].says(kind)) {
                    prop_assert_eq!(one, other);
                }
            }
        }
        prop_assert!(conclusion.spokesman < heard.len());
    }
}
