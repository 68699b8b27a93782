//! Whatever a team writes, readers are served valid documents in which it is text.

use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;
use uuid::Uuid;
use vedette_domain::checks::history::{CheckCount, DayUptime, Downtime, day_of};
use vedette_domain::id::{ComponentId, IncidentId};
use vedette_domain::status_pages::{
    ComponentState, Impact, IncidentStatus, PageAddress, PublishedComponent, PublishedGroup,
    PublishedIncident, PublishedPage, PublishedUpdate, PublishedWindow, VERSION,
};
use vedette_domain::time_zone::NamedZone;
use vedette_http::response::Response;

use super::context::Shown;
use super::{badge, document, feed, page};

/// What browsers and XML parsers would take for markup.
const MARKUP: &str = "<script>alert(\"x\")</script>&'\u{0}\u{b}\u{ffff}]]>--><!--";

fn text() -> impl Strategy<Value = String> {
    let hostile = any::<String>().prop_map(|more| format!("{more}{MARKUP}"));
    prop_oneof![any::<String>(), hostile]
}

fn instant() -> impl Strategy<Value = Timestamp> {
    let all = Timestamp::MIN.as_second()..Timestamp::MAX.as_second();
    let usual = 1_700_000_000_i64..1_900_000_000;
    prop_oneof![usual, all].prop_map(|second| Timestamp::from_second(second).expect("in range"))
}

fn component(number: u128) -> impl Strategy<Value = PublishedComponent> {
    let state = prop::sample::select(ComponentState::ALL.to_vec());
    let days = vec(
        prop::sample::select(vec![
            DayUptime::Down(Downtime::Minutes),
            DayUptime::Down(Downtime::Hour),
            DayUptime::Down(Downtime::Hours),
            DayUptime::Down(Downtime::Long),
            DayUptime::Partly,
            DayUptime::Maintenance,
            DayUptime::Up,
            DayUptime::Unknown,
        ]),
        0..100,
    );
    (text(), state, days, any::<(u32, u32)>(), any::<Option<u32>>()).prop_map(
        move |(name, state, days, (checks, failed), response_ms)| PublishedComponent {
            id: ComponentId(Uuid::from_u128(number)),
            name,
            state,
            cadence_minutes: response_ms,
            days,
            uptime: CheckCount { checks, failed }.uptime(),
            response_ms,
        },
    )
}

fn incident(number: u128) -> impl Strategy<Value = PublishedIncident> {
    let impact = prop::sample::select(Impact::ALL.to_vec());
    let update = (instant(), prop::sample::select(IncidentStatus::ALL.to_vec()), text())
        .prop_map(|(at, status, text)| PublishedUpdate { at, status, text });
    let times = (instant(), prop::option::of(instant()), prop::option::of(instant()));
    (text(), impact, vec(update, 0..3), times).prop_map(
        move |(title, impact, updates, (started_at, resolved_at, next_update_by))| {
            PublishedIncident {
                id: IncidentId(Uuid::from_u128(number)),
                title,
                impact,
                status: updates.first().map_or(IncidentStatus::Investigating, |one| one.status),
                components: vec![ComponentId(Uuid::from_u128(1)), ComponentId(Uuid::from_u128(9))],
                started_at,
                resolved_at,
                next_update_by,
                updates,
            }
        },
    )
}

fn shown() -> impl Strategy<Value = Shown> {
    let window = (text(), instant(), instant()).prop_map(|(name, starts_at, ends_at)| {
        let (id, components) = ("00ff".to_owned(), vec![ComponentId(Uuid::from_u128(1))]);
        PublishedWindow { id, name, starts_at, ends_at, components }
    });
    let groups = (prop::option::of(text()), component(1), prop::option::of(component(2)));
    let zone = prop::sample::select(vec!["UTC", "Europe/Berlin", "Pacific/Apia"]);
    let written = (text(), prop::option::of(text()), any::<bool>(), zone);
    (written, groups, vec(incident(3), 0..3), vec(window, 0..2), instant(), instant()).prop_map(
        |((name, message, is_unlisted, zone), (group, one, two), incidents, windows, at, now)| {
            let components = std::iter::once(one).chain(two).collect();
            let page = PublishedPage {
                version: VERSION,
                generated_at: at,
                unchanged_since: Some(at),
                name,
                message,
                zone: NamedZone::parse(zone).expect("a zone"),
                is_unlisted,
                offers_subscriptions: false,
                today: day_of(at),
                groups: vec![PublishedGroup { name: group, components }],
                incidents,
                windows,
            };
            let (path, base) = ("/status/shop".to_owned(), "https://monitor.test".to_owned());
            Shown { page, path, base, subscribe: None, is_frozen: false, now }
        },
    )
}

fn body(response: &Response) -> &str {
    std::str::from_utf8(response.body()).expect("text")
}

/// Reads a whole XML document.
fn assert_well_formed(xml: &str) {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(error) => panic!("{error}: {xml}"),
        }
    }
    let is_allowed = |letter: char| letter >= ' ' || matches!(letter, '\t' | '\n' | '\r');
    assert!(xml.chars().all(|letter| is_allowed(letter) && letter != '\u{ffff}'), "{xml:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_a_team_writes_never_becomes_markup(shown in shown()) {
        let html = page::rendered(&shown);
        prop_assert!(!body(&html).contains("<script"), "{}", body(&html));
        prop_assert_eq!(body(&html).matches("<h1>").count(), 1);

        let atom = feed::of(&shown);
        let written = atom.write_to(Vec::new()).expect("written");
        let written = String::from_utf8(written).expect("text");
        assert_well_formed(&written);
        let read: atom_syndication::Feed = written.parse().expect("a feed");
        prop_assert_eq!(read.entries.len(), shown.page.incidents.len());

        for svg in badge::all(&shown.page) {
            assert_well_formed(&svg);
            prop_assert!(!svg.contains("<script"), "{}", svg);
        }

        let summary = document::written("summary.json", &shown).expect("a document");
        let summary: Value = serde_json::from_str(&summary).expect("JSON");
        prop_assert_eq!(&summary["page"]["name"], &Value::from(shown.page.name.as_str()));
    }
}

#[test]
fn the_seeds_of_the_fuzzer_are_addresses_or_refused() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/address");
    let mut found = 0;
    for seed in std::fs::read_dir(seeds).expect("seeds") {
        let path = seed.expect("a seed").path();
        let text = std::fs::read_to_string(&path).expect("text");
        let is_address = PageAddress::parse(&text).is_some();
        assert_eq!(is_address, !path.ends_with("refused"), "{text}");
        found += 1;
    }
    assert!(found > 2, "{found} seeds");
}
