//! What DNS results say about each fingerprint, case by case.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::checks::check::{
    AddressHashes, DnsRecord, DnsRecords, RecordData, Registration, Reputation,
};
use DnsRecordType::{A, Aaaa, Mx, Ns, Txt};
use Fingerprint::{DnsDomainExpiring, DnsLookupFailed, DnsRecordsChanged, DnsRecordsMissing};

const HOST: &str = "example.com";

fn now() -> Timestamp {
    "2026-11-22T12:00:00Z".parse().expect("a timestamp")
}

fn dns(
    result: &DnsResult,
    settings: &DnsSettings,
    expected: &ExpectedRecords,
    baseline: Option<&DnsBaseline>,
) -> Vec<Evaluation> {
    super::dns(result, settings, expected, baseline, now())
}

fn records(values: &[(DnsRecordType, &str)]) -> DnsRecords {
    DnsRecords::new(values.iter().map(|(kind, value)| {
        let target = || (*value).to_owned();
        let data = match kind {
            A => RecordData::A { ip: value.parse().expect("an address") },
            Aaaa => RecordData::Aaaa { ip: value.parse().expect("an address") },
            DnsRecordType::Cname => RecordData::Cname { target: target() },
            Mx => RecordData::Mx { priority: 10, target: target() },
            Ns => RecordData::Ns { target: target() },
            Txt => RecordData::Txt { txt: target() },
        };
        DnsRecord { host: HOST.to_owned(), ttl: 300, data }
    }))
}

fn result(values: &[(DnsRecordType, &str)]) -> DnsResult {
    DnsResult {
        host: HOST.to_owned(),
        lookup_failure: None,
        unanswered_types: Vec::new(),
        records: records(values),
        resolver_observations: BTreeMap::new(),
        uses_cloudflare: false,
        ip_enrichment: BTreeMap::new(),
        hosting_provider: None,
        reputation: Reputation::default(),
        registration: None,
        registration_error: Some("not asked".to_owned()),
    }
}

fn failed(rcode: &str) -> DnsResult {
    DnsResult {
        lookup_failure: Some(rcode.to_owned()),
        unanswered_types: DnsRecordType::ALL.to_vec(),
        ..result(&[])
    }
}

fn without(unanswered: &[DnsRecordType], result: DnsResult) -> DnsResult {
    DnsResult { unanswered_types: unanswered.to_vec(), ..result }
}

fn expected(values: &[(DnsRecordType, &[&str])]) -> ExpectedRecords {
    let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    values.iter().map(|(kind, texts)| (*kind, owned(texts))).collect()
}

/// A baseline learned from this result, whose row still exists.
fn learnt(result: &DnsResult) -> DnsBaseline {
    DnsBaseline { known: KnownRecords::found_by(result), records: Some(result.records.clone()) }
}

fn lenient() -> DnsSettings {
    DnsSettings { hard_failures_only: true, ..DnsSettings::default() }
}

/// Whether the condition holds, and the summary without the host, if there is an evaluation.
fn told(evaluations: &[Evaluation], fingerprint: Fingerprint) -> Option<(bool, String)> {
    let mut of_it = evaluations.iter().filter(|one| one.fingerprint == fingerprint);
    let one = of_it.next()?;
    assert!(of_it.next().is_none(), "one evaluation of {fingerprint:?}");
    assert!(one.has_past(), "{}", one.summary);
    let said = one.summary.strip_prefix("example.com: ").unwrap_or(&one.summary).to_owned();
    Some((one.outcome == Outcome::Down, said))
}

fn some(down: bool, said: &str) -> Option<(bool, String)> {
    Some((down, said.to_owned()))
}

#[test]
fn a_failed_lookup_is_down_and_says_nothing_of_records() {
    let settings = DnsSettings::default();
    let expected = expected(&[(A, &["192.0.2.1"])]);
    let baseline = learnt(&result(&[(A, "192.0.2.1")]));
    for rcode in ["NXDOMAIN", "SERVFAIL"] {
        for settings in [&settings, &lenient()] {
            let told_of = dns(&failed(rcode), settings, &expected, Some(&baseline));
            let summary = format!("example.com cannot be looked up: {rcode}");
            assert_eq!(told(&told_of, DnsLookupFailed), some(true, &summary));
            assert!(told(&told_of, DnsRecordsMissing).is_none());
            assert!(told(&told_of, DnsRecordsChanged).is_none());
        }
    }
    let told_of = dns(&failed("NODATA"), &settings, &expected, None);
    let summary = "example.com cannot be looked up: no address";
    assert_eq!(told(&told_of, DnsLookupFailed), some(true, summary));
}

#[test]
fn a_name_is_found_by_an_address_of_either_family() {
    let told_of = |result: DnsResult| {
        let told_of = dns(&result, &DnsSettings::default(), &ExpectedRecords::new(), None);
        told(&told_of, DnsLookupFailed)
    };
    let found = some(false, "example.com can be looked up");
    assert_eq!(told_of(result(&[(A, "192.0.2.1")])), found);
    assert_eq!(told_of(without(&[A], result(&[(Aaaa, "2001:db8::1")]))), found);
    // The other family may have an address, so the name is neither up nor down.
    assert_eq!(told_of(without(&[A], result(&[(Mx, "mail.example.com")]))), None);
    assert_eq!(told_of(without(&[A, Aaaa], result(&[]))), None);
}

#[test]
fn missing_records_are_down_and_more_records_are_not() {
    let found = || result(&[(A, "192.0.2.1"), (A, "192.0.2.9"), (Mx, "mail.example.com")]);
    let down = |types: &str| some(true, &format!("expected {types} records are missing"));
    let up = |why| some(false, why);
    for (expected, result, evaluation) in [
        (expected(&[(A, &["192.0.2.1"])]), found(), up("all expected records are there")),
        (expected(&[(Mx, &["MAIL.example.com."])]), found(), up("all expected records are there")),
        (expected(&[(A, &["192.0.2.1", "192.0.2.2"])]), found(), down("A")),
        (expected(&[(A, &["192.0.2.2"]), (Txt, &["x"])]), found(), down("A and TXT")),
        (
            expected(&[(A, &["192.0.2.2"]), (Ns, &["x"]), (Txt, &["x"])]),
            found(),
            down("A, NS and TXT"),
        ),
        (expected(&[]), found(), up("no records are expected")),
        // A type that was not looked up is neither missing nor present.
        (expected(&[(Txt, &["x"])]), without(&[Txt], found()), None),
        (expected(&[(A, &["192.0.2.1"]), (Txt, &["x"])]), without(&[Txt], found()), None),
        (expected(&[(A, &["192.0.2.2"]), (Txt, &["x"])]), without(&[Txt], found()), down("A")),
        (
            expected(&[(A, &["192.0.2.1"])]),
            without(&[Txt], found()),
            up("all expected records are there"),
        ),
    ] {
        let told_of = dns(&result, &DnsSettings::default(), &expected, None);
        assert_eq!(told(&told_of, DnsRecordsMissing), evaluation, "{expected:?}");
    }
}

#[test]
fn changed_records_are_down_until_they_return() {
    let before = || result(&[(A, "192.0.2.1"), (A, "192.0.2.2"), (Txt, "one")]);
    let baseline = learnt(&before());
    let mut partly = baseline.clone();
    partly.known = KnownRecords::found_by(&without(&[Txt], before()));
    let only = |kinds: &[DnsRecordType]| DnsSettings {
        monitored_record_types: kinds.iter().copied().collect(),
        ..DnsSettings::default()
    };
    let all = DnsSettings::default();
    let moved = || result(&[(A, "192.0.2.3"), (A, "192.0.2.4"), (Txt, "two")]);
    let pooled = || result(&[(A, "192.0.2.2"), (A, "192.0.2.3"), (Txt, "one")]);
    let mut exact = baseline.clone();
    exact.known.addresses = AddressHashes::default();
    let same = || result(&[(Txt, "one"), (A, "192.0.2.2"), (A, "192.0.2.1")]);
    let (unchanged, both) = ("records are unchanged", "A and TXT records changed");
    for (result, settings, baseline, evaluation) in [
        (same(), &all, Some(&baseline), some(false, unchanged)),
        (moved(), &all, Some(&baseline), some(true, both)),
        (pooled(), &all, Some(&baseline), some(false, unchanged)),
        // Earlier versions stored no addresses.
        (same(), &all, Some(&exact), some(false, unchanged)),
        (pooled(), &all, Some(&exact), some(true, "A records changed")),
        (moved(), &only(&[Txt]), Some(&baseline), some(true, "TXT records changed")),
        (moved(), &only(&[Mx]), Some(&baseline), some(false, unchanged)),
        (moved(), &only(&[]), Some(&baseline), some(false, unchanged)),
        (result(&[]), &only(&[Txt]), Some(&baseline), some(true, "TXT records changed")),
        (moved(), &all, Some(&partly), some(true, "A records changed")),
        (moved(), &all, None, some(false, "no earlier records to compare with")),
        // A type that was not looked up has neither changed nor stayed the same.
        (without(&[A], moved()), &all, Some(&baseline), some(true, "TXT records changed")),
        (without(&[A], same()), &all, Some(&baseline), None),
        (without(&[A], same()), &only(&[Txt]), Some(&baseline), some(false, unchanged)),
    ] {
        let told_of = dns(&result, settings, &ExpectedRecords::new(), baseline);
        assert_eq!(told(&told_of, DnsRecordsChanged), evaluation, "{settings:?}");
    }
}

#[test]
fn disabled_checks_of_records_never_fail() {
    let expected = expected(&[(A, &["192.0.2.2"])]);
    let baseline = learnt(&result(&[(A, "192.0.2.2")]));
    let found = result(&[(A, "192.0.2.1")]);
    let told_of = dns(&found, &lenient(), &expected, Some(&baseline));
    for fingerprint in [DnsRecordsMissing, DnsRecordsChanged] {
        assert_eq!(told(&told_of, fingerprint), some(false, "records are not watched"));
    }
    let told_of = dns(&found, &DnsSettings::default(), &expected, Some(&baseline));
    let why = "changes are not watched where records are expected";
    assert_eq!(told(&told_of, DnsRecordsChanged), some(false, why));
    assert_eq!(told(&told_of, DnsRecordsMissing).map(|(down, _)| down), Some(true));
}

/// A result whose domain's registration ends at this instant, if known.
fn registered_until(end: Option<&str>, result: DnsResult) -> DnsResult {
    let registration = Registration {
        domain: HOST.to_owned(),
        registrar: Some("Registrar, Inc.".to_owned()),
        registered_at: None,
        expires_at: end.map(|end| end.parse().expect("a timestamp")),
        status: Vec::new(),
        unregistered: None,
    };
    DnsResult { registration: Some(registration), registration_error: None, ..result }
}

/// A result for a name that has records and whose registration does not end soon.
pub(in crate::issues::evaluate) fn sound() -> DnsResult {
    registered_until(Some("2099-01-01T00:00:00Z"), result(&[(A, "203.0.113.7")]))
}

#[test]
fn a_domain_that_ends_within_thirty_days_is_down() {
    for (end, down, said) in [
        ("2027-08-13T04:00:00Z", false, "does not expire soon (it expires on 2027-08-13)"),
        ("2026-12-23T12:00:00Z", false, "does not expire soon (it expires on 2026-12-23)"),
        ("2026-12-23T11:59:59Z", true, "expires on 2026-12-23"),
        ("2026-12-04T12:00:00Z", true, "expires on 2026-12-04"),
        ("2026-11-23T23:30:00+02:00", true, "expires on 2026-11-23"),
        ("2026-11-23T11:59:59Z", true, "expires on 2026-11-23"),
        ("2026-11-22T11:59:59Z", true, "expired on 2026-11-22"),
        ("2026-01-01T00:00:00Z", true, "expired on 2026-01-01"),
    ] {
        for result in [result(&[]), failed("NXDOMAIN"), without(&DnsRecordType::ALL, result(&[]))] {
            let result = registered_until(Some(end), result);
            let told_of = dns(&result, &DnsSettings::default(), &ExpectedRecords::new(), None);
            let said = format!("the domain example.com {said}");
            assert_eq!(told(&told_of, DnsDomainExpiring), some(down, &said));
        }
    }
}

#[test]
fn a_domain_that_is_about_to_be_deleted_is_down_whatever_its_date() {
    for end in [Some("2099-01-01T00:00:00Z"), Some("2026-01-01T00:00:00Z"), None] {
        for (status, shown) in [
            (&["redemption period"][..], "redemption period"),
            (&["pending delete"], "pending delete"),
            (&["pending delete", "redemption period"], "redemption period"),
        ] {
            let mut result = registered_until(end, result(&[]));
            let registration = result.registration.as_mut().expect("a registration");
            registration.status = status.iter().map(ToString::to_string).collect();
            let evaluations = dns(&result, &DnsSettings::default(), &ExpectedRecords::new(), None);
            let said = format!("the domain example.com is about to be deleted: {shown}");
            assert_eq!(told(&evaluations, DnsDomainExpiring), some(true, &said));
            let is_it = |one: &&Evaluation| one.fingerprint == DnsDomainExpiring;
            let measured = &evaluations.iter().find(is_it).expect("an evaluation").measured;
            assert_eq!(measured["status"], json!(shown));
            assert_eq!(measured["expires_at"].is_null(), end.is_none());
        }
    }
}

#[test]
fn the_end_of_a_registration_is_unknown_or_not_watched() {
    let (settings, none) = (DnsSettings::default(), ExpectedRecords::new());
    let soon = || registered_until(Some("2026-12-04T12:00:00Z"), result(&[]));
    for unknown in [result(&[]), failed("NXDOMAIN"), registered_until(None, result(&[]))] {
        assert_eq!(told(&dns(&unknown, &settings, &none, None), DnsDomainExpiring), None);
        let why = "the domain's registration is not watched";
        for result in [unknown, soon()] {
            let told_of = dns(&result, &lenient(), &none, None);
            assert_eq!(told(&told_of, DnsDomainExpiring), some(false, why));
        }
    }
}

#[test]
fn the_context_names_what_is_wrong() {
    let measured = |evaluations: &[Evaluation], fingerprint| {
        let mut of_it = evaluations.iter().filter(|one| one.fingerprint == fingerprint);
        of_it.next().expect("an evaluation").measured.clone()
    };
    let settings =
        DnsSettings { monitored_record_types: [A, Txt].into(), ..DnsSettings::default() };
    let expects = expected(&[(A, &["192.0.2.1", "192.0.2.2"]), (Mx, &["10 a.example"])]);
    let found = result(&[(A, "192.0.2.1")]);
    assert_eq!(
        measured(&dns(&found, &settings, &expects, None), DnsRecordsMissing),
        json!({
            "host": "example.com",
            "missing": {"A": ["192.0.2.2"], "MX": ["10 a.example"]},
            "missing_not_named": 0,
            "expected_types": ["A", "MX"],
        }),
    );
    let baseline = learnt(&result(&[(A, "192.0.2.7"), (Txt, "v=spf1 -all")]));
    let none = ExpectedRecords::new();
    let changed = dns(&found, &settings, &none, Some(&baseline));
    let mut named = json!({
        "host": "example.com",
        "changed": {
            "A": {"removed": ["192.0.2.7"], "added": ["192.0.2.1"]},
            "TXT": {"removed": ["v=spf1 -all"], "added": []},
        },
        "values_not_named": 0,
        "monitored_record_types": ["A", "TXT"],
    });
    assert_eq!(measured(&changed, DnsRecordsChanged), named);
    let forgotten = DnsBaseline { records: None, ..baseline };
    named["changed"] = json!({"A": null, "TXT": null});
    let changed = dns(&found, &settings, &none, Some(&forgotten));
    assert_eq!(measured(&changed, DnsRecordsChanged), named);
    assert_eq!(
        measured(
            &dns(
                &registered_until(Some("2026-12-04T12:00:00Z"), result(&[])),
                &settings,
                &none,
                None,
            ),
            DnsDomainExpiring,
        ),
        json!({
            "domain": "example.com",
            "registrar": "Registrar, Inc.",
            "expires_at": "2026-12-04T12:00:00+00:00",
            "days_left": 12,
            "expiry_days": 30,
        }),
    );
    assert_eq!(
        measured(&dns(&failed("NXDOMAIN"), &settings, &none, None), DnsLookupFailed),
        json!({
            "host": "example.com", "failure": "NXDOMAIN", "resolvers": 0,
            "disagreeing_resolvers": 0, "unanswered_types": DnsRecordType::ALL,
        }),
    );
}

#[test]
fn the_context_stays_small() {
    let text = |seed: usize| format!("{seed}{}", "\u{1}ü".repeat(2000));
    let texts: Vec<String> = (0..50).map(text).collect();
    let many: Vec<_> = texts.iter().map(|text| (Txt, text.as_str())).collect();
    let long_host = DnsResult { host: "h".repeat(5000), ..result(&[]) };
    let baseline = learnt(&result(&many));
    let expects = ExpectedRecords::from([(Txt, texts.clone())]);
    let evaluations = [
        dns(&long_host, &DnsSettings::default(), &ExpectedRecords::new(), Some(&baseline)),
        dns(&long_host, &DnsSettings::default(), &expects, None),
    ];
    for evaluation in evaluations.iter().flatten() {
        let bytes = evaluation.measured.to_string().len();
        assert!(bytes < 1_350, "{bytes}: {}", evaluation.measured);
        assert!(evaluation.summary.chars().count() < 300);
    }
    let few = ["a", "b"].map(|end| end.repeat(500));
    let expects = ExpectedRecords::from([(Txt, few.into())]);
    let evaluations = dns(&result(&[]), &DnsSettings::default(), &expects, None);
    let missing = &evaluations[0].measured;
    assert_eq!(missing["missing"]["TXT"][0], json!(format!("{}…", "a".repeat(199))));
    assert_eq!(missing["missing_not_named"], json!(0));
}

proptest! {
    /// If the records themselves are the expected ones or the baseline, none are missing or changed. If an address is
    /// removed, records are missing; they have changed if it was the only one.
    #[test]
    fn records_agree_with_themselves(
        addresses in prop::collection::btree_set(0_u8..8, 1..5),
        texts in prop::collection::btree_set("[a-zA-Z=][a-zA-Z =]{0,5}", 0..4),
    ) {
        let addresses: Vec<_> = addresses.iter().map(|last| format!("192.0.2.{last}")).collect();
        let values: Vec<_> = addresses
            .iter()
            .map(|it| (A, it.as_str()))
            .chain(texts.iter().map(|it| (Txt, it.as_str())))
            .collect();
        let whole = result(&values);
        let lacking = result(&values[1..]);
        let settings = DnsSettings::default();
        let mut expects = ExpectedRecords::new();
        for (kind, value) in &values {
            expects.entry(*kind).or_default().push((*value).to_owned());
        }
        let baseline = learnt(&whole);
        let is_down = |result, expects, fingerprint| {
            let evaluations = dns(result, &settings, expects, Some(&baseline));
            told(&evaluations, fingerprint).expect("an evaluation").0
        };
        let none = ExpectedRecords::new();
        prop_assert!(!is_down(&whole, &expects, DnsRecordsMissing));
        prop_assert!(!is_down(&whole, &none, DnsRecordsChanged));
        prop_assert!(is_down(&lacking, &expects, DnsRecordsMissing));
        prop_assert_eq!(is_down(&lacking, &none, DnsRecordsChanged), addresses.len() == 1);
    }
}
