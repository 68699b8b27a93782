//! What is published, and what never is.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use uuid::Uuid;

use super::incident::UPDATE_TEXT_MAX;
use super::*;
use crate::accounts::plan::Plan;
use crate::accounts::team::Team;
use crate::alerts::channel::LinkKey;
use crate::checks::history::{CheckCount, Day, DayUptime, Downtime, RecentDays, day_of};
use crate::checks::percentage::Percentage;
use crate::checks::pointer::Latest;
use crate::checks::tool::{CheckStatus, RunReason, Tool};
use crate::checks::tool_state::ToolState;
use crate::id::{CheckId, ComponentId, IncidentId, SiteId, StatusPageId, TeamId, WindowId};
use crate::issues::Fingerprint;
use crate::maintenance::{MaintenanceWindow, Windows, parse_start};
use crate::sites::selector::Selector;
use crate::sites::tag::{Tag, Tags};
use crate::time_zone::NamedZone;

const NOW: &str = "2026-11-20T09:54:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

fn now() -> Timestamp {
    at(NOW)
}

fn site(number: u128) -> SiteId {
    SiteId(Uuid::from_u128((0x51_7e << 64) | number))
}

fn component(number: u128) -> ComponentId {
    ComponentId(Uuid::from_u128(number))
}

fn team() -> Team {
    Team::new(TeamId(Uuid::from_u128(0x7ea << 64)), "Observers", Plan::Agency, now())
}

/// A page with a group without a name and one with a name; component 1 shows site 1 and so on.
fn page() -> StatusPage {
    let component = |number, name: &str| Component {
        id: component(number),
        name: name.to_owned(),
        monitor: site(number),
        is_heartbeat: false,
        publishes_response_time: number == 1,
        is_hidden: false,
        is_selected: false,
    };
    StatusPage {
        id: StatusPageId(Uuid::from_u128(9)),
        team: team().id,
        slug: Slug::parse("meridian").expect("a slug"),
        name: "Meridian Goods".to_owned(),
        message: Some("You can still shop.".to_owned()),
        groups: vec![
            Group { name: None, components: vec![component(1, "Shop")] },
            Group {
                name: Some("Checkout".to_owned()),
                components: vec![component(2, "Orders"), component(3, "Payments")],
            },
        ],
        selector: None,
        publishes_new_sites: false,
        left: Vec::new(),
        link: None,
        names_windows: false,
        offers_subscriptions: false,
        managed_by: None,
        rev: 3,
        created_at: now(),
        updated_at: now(),
    }
}

/// The state of status checks of which one has completed.
fn checked() -> ToolState {
    let check = CheckId::automatic(site(1), Tool::Status, RunReason::Scheduled, now());
    ToolState { automatic: Some(Latest::row(check, CheckStatus::Completed)), ..ToolState::new() }
}

fn facts(active: &[Fingerprint]) -> MonitorFacts {
    let cadence = SignedDuration::from_mins(5);
    MonitorFacts {
        checks: checked(),
        is_monitored: true,
        cadence_minutes: Some(5),
        cadence,
        active: active.to_vec(),
        tags: Tags::new(),
    }
}

fn window(name: &str, start: &str, minutes: u32, sites: Option<u128>) -> MaintenanceWindow {
    MaintenanceWindow {
        id: WindowId(Uuid::from_u128(start.bytes().fold(0, |id, byte| id * 3 + u128::from(byte)))),
        name: name.to_owned(),
        sites: sites.map(|number| BTreeSet::from([site(number)])),
        selector: None,
        start: parse_start(start).expect("a start"),
        zone: NamedZone::utc(),
        minutes,
        rule: None,
        managed_by: None,
        ended_at: None,
        changed_at: None,
        is_past: false,
    }
}

fn tagged(tag: &str) -> MonitorFacts {
    MonitorFacts { tags: [Tag::parse(tag).expect("a tag")].into(), ..facts(&[]) }
}

/// A window for the sites with a tag.
fn selecting(tag: &str, start: &str) -> MaintenanceWindow {
    let selector = Some(Selector::parse(tag).expect("a selector"));
    MaintenanceWindow { selector, ..window("Deploy", start, 60, None) }
}

fn under(windows: impl IntoIterator<Item = MaintenanceWindow>) -> Team {
    let windows = windows
        .into_iter()
        .fold(Windows::default(), |windows, window| windows.with(window, now()).expect("a window"));
    Team { windows, ..team() }
}

fn incident(number: u128, impact: Impact, statuses: &[IncidentStatus]) -> PageIncident {
    let updates = statuses.iter().zip(0..).map(|(status, minutes)| IncidentUpdate {
        at: now() - SignedDuration::from_mins(60 - minutes),
        status: *status,
        text: format!("update {minutes}"),
    });
    PageIncident {
        id: IncidentId(Uuid::from_u128(number)),
        title: format!("incident {number}"),
        impact,
        components: BTreeSet::from([component(2)]),
        started_at: now() - SignedDuration::from_mins(61),
        next_update_by: None,
        updates: updates.collect(),
        rev: 1,
        created_at: now(),
        updated_at: now(),
    }
}

fn published(
    team: &Team,
    sites: impl IntoIterator<Item = (u128, MonitorFacts)>,
    incidents: &[PageIncident],
) -> PublishedPage {
    let sites = sites.into_iter().map(|(number, facts)| (site(number), facts)).collect();
    publish(&page(), team, &sites, incidents, None, now())
}

fn states(page: &PublishedPage) -> Vec<ComponentState> {
    page.components().map(|component| component.state).collect()
}

#[test]
fn visitors_notice_some_issues_and_not_others() {
    use ComponentState::{Degraded, Down};
    let effects: Vec<_> = Fingerprint::ALL
        .into_iter()
        .filter_map(|fingerprint| Some((fingerprint.as_str(), affects(fingerprint)?)))
        .collect();
    let expected = [
        ("status:down", Down),
        ("status:partial", Degraded),
        ("status:expectation", Degraded),
        ("status:slow", Degraded),
        ("ssl:invalid", Degraded),
        ("dns:lookup_failed", Degraded),
        ("heartbeat:down", Down),
        ("heartbeat:running_long", Degraded),
    ];
    assert_eq!(effects, expected);
}

/// All cases: every set of issues of three kinds, monitored or not, checked or not, there or gone, in maintenance or
/// not, with each impact of an incident or none.
#[test]
fn the_state_of_a_component_follows_from_checks_windows_and_incidents() {
    use ComponentState::{Degraded, Down, Maintenance, Operational, Unknown};
    let kinds = [Fingerprint::StatusDown, Fingerprint::StatusSlow, Fingerprint::SslExpiring];
    let impacts = Impact::ALL.into_iter().map(Some).chain([None]);
    let mut cases = 0;
    for impact in impacts {
        for bits in 0..64_u8 {
            let has = |bit: u8| bits & (1 << bit) != 0;
            let active: Vec<_> =
                kinds.into_iter().zip(0..).filter(|(_, bit)| has(*bit)).map(|(of, _)| of).collect();
            let (is_monitored, is_checked, is_in_maintenance) = (has(3), has(4), has(5));
            let checks = if is_checked { checked() } else { ToolState::new() };
            let facts = MonitorFacts { checks, is_monitored, ..facts(&active) };
            let state = component_state(Some(&facts), is_in_maintenance, impact, now());
            let found = match (is_in_maintenance, is_monitored && is_checked) {
                (true, _) => Maintenance,
                (false, false) => Unknown,
                (false, true) if has(0) => Down,
                (false, true) if has(1) => Degraded,
                (false, true) => Operational,
            };
            let written = match impact {
                None | Some(Impact::None) => Operational,
                Some(Impact::Minor | Impact::Major) => Degraded,
                Some(Impact::Critical) => Down,
            };
            assert_eq!(state, found.max(written), "{facts:?} {is_in_maintenance} {impact:?}");
            cases += 1;
        }
        assert_eq!(
            component_state(None, true, impact, now()),
            Maintenance.max(component_state(None, false, impact, now()))
        );
    }
    assert_eq!(component_state(None, false, None, now()), Unknown);
    assert_eq!(cases, 320);
    assert!(ComponentState::ALL.is_sorted());
}

#[test]
fn a_site_whose_checks_stop_coming_is_unknown() {
    use ComponentState::{Degraded, Down, Operational, Unknown};
    for (minutes, active, impact, expected) in [
        (14, vec![], None, Operational),
        (15, vec![], None, Unknown),
        (14, vec![Fingerprint::StatusDown], None, Down),
        (15, vec![Fingerprint::StatusDown], None, Unknown),
        (15, vec![], Some(Impact::Minor), Degraded),
    ] {
        let later = now() + SignedDuration::from_mins(minutes);
        let found = component_state(Some(&facts(&active)), false, impact, later);
        assert_eq!(found, expected, "{minutes} {active:?}");
    }
}

#[test]
fn a_page_says_since_when_no_state_has_changed() {
    let (team, page) = (team(), page());
    let publish = |active: &[Fingerprint], before: Option<&PublishedPage>, minutes| {
        let sites = BTreeMap::from([(site(1), facts(active))]);
        let later = now() + SignedDuration::from_mins(minutes);
        publish(&page, &team, &sites, &[], before, later)
    };
    let first = publish(&[], None, 0);
    assert_eq!(first.unchanged_since, Some(now()));
    assert_eq!(first.cadences(), Some((5, 5)));
    let same = publish(&[Fingerprint::SslExpiring], Some(&first), 2);
    assert_eq!(same.unchanged_since, Some(now()), "readers do not notice that");
    let down = publish(&[Fingerprint::StatusDown], Some(&same), 3);
    assert_eq!(down.unchanged_since, Some(down.generated_at));
    // An earlier version has published the same.
    let older = PublishedPage { unchanged_since: None, ..down.clone() };
    let next = publish(&[Fingerprint::StatusDown], Some(&older), 4);
    assert_eq!(next.unchanged_since, Some(down.generated_at));
}

#[test]
fn the_worst_state_and_the_worst_incident_sum_a_page_up() {
    use Fingerprint::{StatusDown, StatusSlow};
    let team = team();
    let all = |one: &[Fingerprint], two: &[Fingerprint], three: &[Fingerprint]| {
        [(1, facts(one)), (2, facts(two)), (3, facts(three))]
    };
    let resolved = incident(1, Impact::Critical, &[IncidentStatus::Resolved]);
    let open = |impact| incident(2, impact, &[IncidentStatus::Investigating]);
    let up = all(&[], &[], &[]);
    for (sites, incidents, summary) in [
        (up.to_vec(), vec![], PageSummary::Operational),
        (up.to_vec(), vec![resolved], PageSummary::Operational),
        (up.to_vec(), vec![open(Impact::None)], PageSummary::Operational),
        (up.to_vec(), vec![open(Impact::Minor)], PageSummary::Degraded),
        (up.to_vec(), vec![open(Impact::Major)], PageSummary::PartialOutage),
        (up.to_vec(), vec![open(Impact::Critical)], PageSummary::MajorOutage),
        (all(&[], &[StatusSlow], &[]).to_vec(), vec![], PageSummary::Degraded),
        (all(&[StatusDown], &[StatusSlow], &[]).to_vec(), vec![], PageSummary::PartialOutage),
        (
            all(&[StatusDown], &[StatusDown], &[StatusDown]).to_vec(),
            vec![],
            PageSummary::MajorOutage,
        ),
        (vec![(1, facts(&[StatusDown]))], vec![], PageSummary::PartialOutage),
        (vec![(1, facts(&[]))], vec![], PageSummary::Operational),
        (vec![], vec![], PageSummary::Unknown),
    ] {
        let page = published(&team, sites, &incidents);
        assert_eq!(page.summary(), summary, "{:?} {:?}", states(&page), page.incidents);
    }
    let team = under([window("Deploy", "2026-11-20T09:30", 60, Some(3))]);
    assert_eq!(published(&team, up, &[]).summary(), PageSummary::Maintenance);
}

#[test]
fn days_and_figures_come_from_status_checks() {
    let date = |ago: i64| day_of(now() - SignedDuration::from_hours(24 * ago));
    let day = |ago, up, checks: u32| {
        let mut day = Day::new(date(ago), 365);
        let kind = crate::checks::history::Kind {
            trigger: crate::id::Trigger::Automatic(RunReason::Scheduled),
            status: CheckStatus::Completed,
        };
        for _ in 0..checks {
            day.counters.add(kind, now());
        }
        day.sums.up = up;
        day
    };
    let closed = [day(3, 10, 10), day(2, 9, 10), Day { down_s: 9_000, ..day(1, 0, 10) }];
    let recent = closed.iter().fold(None, |days, day| Some(RecentDays::with(days, day)));
    let checks = ToolState { recent, day: Some(day(0, 5, 5)), ..checked() };
    let facts = MonitorFacts { checks, ..facts(&[]) };
    let page = published(&team(), [(1, facts)], &[]);
    assert_eq!(page.today, date(0));
    let shop = page.component(component(1)).expect("a component");
    assert_eq!(shop.days.len(), RecentDays::MAX);
    assert_eq!(
        shop.days[RecentDays::MAX - 5..],
        [
            DayUptime::Unknown,
            DayUptime::Up,
            DayUptime::Partly,
            DayUptime::Down(Downtime::Hours),
            DayUptime::Up
        ]
    );
    // 24 of 35 checks.
    assert_eq!(shop.uptime.map(Percentage::value), Some(68.57));
    let orders = page.component(component(2)).expect("a component");
    assert_eq!((orders.uptime, orders.days[89]), (None, DayUptime::Unknown));
}

#[test]
fn uptime_is_100_only_if_nothing_failed() {
    for (checks, failed, percentage) in [
        (0, 0, None),
        (1, 0, Some(100.0)),
        (1, 1, Some(0.0)),
        (43_200, 1, Some(99.99)),
        (4_000_000_000, 1, Some(99.99)),
        (3, 1, Some(66.66)),
    ] {
        assert_eq!(CheckCount { checks, failed }.uptime().map(Percentage::value), percentage);
    }
}

#[test]
fn incidents_are_shown_until_90_days_after_their_resolution() {
    use IncidentStatus::{Identified, Investigating, Resolved};
    let old = PageIncident {
        updates: vec![IncidentUpdate {
            at: now() - SignedDuration::from_hours(91 * 24),
            status: Resolved,
            text: "long ago".to_owned(),
        }],
        ..incident(1, Impact::Minor, &[])
    };
    let resolved = incident(2, Impact::Minor, &[Investigating, Resolved]);
    let open = PageIncident {
        next_update_by: Some(now() + SignedDuration::from_mins(30)),
        components: BTreeSet::from([component(3), component(1), component(7)]),
        ..incident(3, Impact::Major, &[Investigating, Identified])
    };
    let page = published(&team(), [], &[old, resolved, open]);
    let titles: Vec<_> = page.incidents.iter().map(|shown| shown.title.as_str()).collect();
    assert_eq!(titles, ["incident 3", "incident 2"], "what is open comes first");
    let open = &page.incidents[0];
    assert_eq!(open.components, [component(1), component(3)], "without one that is gone");
    let texts: Vec<_> = open.updates.iter().map(|update| update.text.as_str()).collect();
    assert_eq!(texts, ["update 1", "update 0"]);
    assert_eq!((open.resolved_at, open.next_update_by.is_some()), (None, true));
    let resolved = &page.incidents[1];
    assert_eq!(resolved.resolved_at, Some(now() - SignedDuration::from_mins(59)));
    assert_eq!(page.unresolved().count(), 1);
}

#[test]
fn a_page_has_no_more_text_of_incidents_than_its_item_can_hold() {
    let text = "ä".repeat(UPDATE_TEXT_MAX);
    let long = |number| {
        let mut incident =
            incident(number, Impact::Minor, &[IncidentStatus::Monitoring; UPDATES_MAX]);
        for update in &mut incident.updates {
            update.text.clone_from(&text);
        }
        incident
    };
    let incidents: Vec<_> = (0..20).map(long).collect();
    let page = published(&team(), [], &incidents);
    let json = serde_json::to_string(&page).expect("JSON");
    assert!(json.len() < 200_000, "{} bytes", json.len());
    assert_eq!(page.incidents.len(), 20, "each open one has its newest update at least");
    assert!(page.incidents.iter().all(|incident| !incident.updates.is_empty()));
    // What is not shown counts all the same.
    assert!(states(&page).contains(&ComponentState::Degraded), "{:?}", states(&page));
}

#[test]
fn windows_are_shown_with_the_components_that_they_cover() {
    let team = under([
        window("Secret project", "2026-11-22T01:00", 90, Some(2)),
        window("Deploy", "2026-11-20T09:30", 60, None),
        window("Next year", "2027-11-20T09:30", 60, None),
        window("Elsewhere", "2026-11-21T09:30", 60, Some(77)),
    ]);
    let page = published(&team, [(1, facts(&[Fingerprint::StatusDown]))], &[]);
    let shown: Vec<_> = page
        .windows
        .iter()
        .map(|window| {
            let numbers = window.components.iter().map(|id| id.0.as_u128()).collect::<Vec<_>>();
            (&*window.name, window.starts_at.to_string(), window.is_active(now()), numbers)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("Maintenance", "2026-11-20T09:30:00Z".to_owned(), true, vec![1, 2, 3]),
            ("Maintenance", "2026-11-22T01:00:00Z".to_owned(), false, vec![2]),
        ]
    );
    assert_eq!(states(&page), [ComponentState::Maintenance; 3]);
    let named = StatusPage { names_windows: true, ..super::tests::page() };
    let named = publish(&named, &team, &BTreeMap::new(), &[], None, now());
    assert_eq!(named.windows[1].name, "Secret project");
    assert_eq!(named.windows[1].id, page.windows[1].id, "the same whenever it is composed");
}

#[test]
fn a_window_with_a_selector_covers_the_components_whose_sites_match() {
    use ComponentState::{Maintenance, Operational};
    let team =
        under([selecting("env:prod", "2026-11-20T09:30"), selecting("x", "2026-11-20T09:40")]);
    let sites = [(1, tagged("env:prod")), (2, tagged("env:test")), (3, tagged("env:prod"))];
    let page = published(&team, sites, &[]);
    assert_eq!(states(&page), [Maintenance, Operational, Maintenance]);
    let shown: Vec<_> = page.windows.iter().map(|window| &window.components[..]).collect();
    assert_eq!(shown, [[component(1), component(3)]]);
}

#[test]
fn a_page_is_published_again_when_time_changes_it() {
    let next = |team: &Team, sites: &[(u128, MonitorFacts)]| {
        let sites = sites.iter().map(|(number, facts)| (site(*number), facts.clone())).collect();
        next_publication(&super::tests::page(), &sites, team, now()).to_string()
    };
    let all = [1, 2, 3].map(|number| (number, facts(&[])));
    assert_eq!(next(&team(), &all), "2026-11-20T10:09:00Z", "when no check has come");
    let mut seldom = all.clone();
    for (_, facts) in &mut seldom {
        facts.cadence = SignedDuration::from_mins(30);
    }
    assert_eq!(next(&team(), &seldom), "2026-11-20T10:54:00Z", "once an hour");
    seldom[1].1.cadence = SignedDuration::from_mins(1);
    assert_eq!(next(&team(), &seldom), "2026-11-20T09:59:00Z", "but not too often");
    let mut new = all.clone();
    new[2].1.checks = ToolState::default();
    assert_eq!(next(&team(), &new), "2026-11-20T09:59:00Z", "until all are known");
    new[2].1.is_monitored = false;
    assert_eq!(next(&team(), &new), "2026-11-20T10:09:00Z", "nothing comes of a paused site");
    assert_eq!(next(&team(), &[]), "2026-11-20T10:54:00Z", "nor of one that is gone");
    let starting = under([window("Deploy", "2026-11-20T10:05", 60, Some(2))]);
    assert_eq!(next(&starting, &all), "2026-11-20T10:05:00Z");
    let ending = under([window("Deploy", "2026-11-20T09:05", 60, Some(2))]);
    assert_eq!(next(&ending, &all), "2026-11-20T10:05:00Z");
    let elsewhere = under([window("Deploy", "2026-11-20T10:05", 60, Some(77))]);
    assert_eq!(next(&elsewhere, &all), "2026-11-20T10:09:00Z");
    let prod = under([selecting("env:prod", "2026-11-20T10:05")]);
    for (tag, at) in [("env:prod", "10:05"), ("env:test", "10:09")] {
        let next = next(&prod, &[(1, tagged(tag))]);
        assert_eq!(next, format!("2026-11-20T{at}:00Z"), "{tag}");
    }
    let late = at("2026-11-20T23:57:00Z");
    let sites = all.iter().map(|(number, facts)| (site(*number), facts.clone())).collect();
    let next = next_publication(&super::tests::page(), &sites, &team(), late);
    assert_eq!(next.to_string(), "2026-11-21T00:00:00Z", "the day turns");
}

#[test]
fn a_publication_is_outstanding_while_something_is_wanted_or_due() {
    let new = Publication::of_new_page(team().id, page().id);
    assert!(new.is_outstanding(now()));
    let done = Publication { done: 1, next: Some(now()), ..new.clone() };
    assert!(done.is_outstanding(now()));
    assert!(!done.is_outstanding(now() - SignedDuration::from_secs(1)));
    let deleted = Publication { is_deleted: true, next: None, ..done };
    assert!(deleted.is_outstanding(now()));
}

fn chosen(id: Option<u128>, name: &str, number: u128) -> ComponentInput {
    let (uuid, name) = (id.map(component), name.to_owned());
    let site = Some(site(number));
    ComponentInput { uuid, name, site, heartbeat: None, response_time: false, hidden: None }
}

fn regrouped(components: Vec<ComponentInput>) -> Result<Vec<(u128, u128)>, PageRefusal> {
    let mut drawn = 100;
    let new_id = || {
        drawn += 1;
        Ok(component(drawn))
    };
    let groups = Some(vec![GroupInput { name: None, components }]);
    let edit = PageEdit { groups, ..PageEdit::default() };
    let key = LinkKey::from_random([7; LinkKey::BYTES]);
    let page = edit.apply_to::<PageRefusal>(&page(), key, new_id, now())?;
    let numbers = |of: &Component| (of.id.0.as_u128(), of.monitor.0.as_u128() & 0xffff);
    Ok(page.components().map(numbers).collect())
}

#[test]
fn components_keep_their_ids() {
    // By their ids, by their sites, and new ones.
    let moved = regrouped(vec![
        chosen(None, "Orders", 2),
        chosen(Some(1), "Elsewhere", 5),
        chosen(None, "New", 1),
        chosen(None, "Orders again", 2),
    ]);
    assert_eq!(moved, Ok(vec![(2, 2), (1, 5), (101, 1), (102, 2)]));
    // One that is named later is not given to an earlier one of the same site.
    let named = regrouped(vec![chosen(None, "Orders", 2), chosen(Some(2), "Shop", 1)]);
    assert_eq!(named, Ok(vec![(101, 2), (2, 1)]));
    for ids in [[Some(7), None], [Some(1), Some(1)]] {
        let components = ids.map(|id| chosen(id, "Shop", 1)).to_vec();
        assert_eq!(regrouped(components), Err(PageRefusal::UnknownComponent));
    }
}

#[test]
fn a_page_keeps_its_link_until_it_is_listed_again() {
    let keys = [7, 8].map(|byte| LinkKey::from_random([byte; LinkKey::BYTES]));
    let change = |page: &StatusPage, unlisted, key: &LinkKey| {
        let edit = PageEdit { unlisted, ..PageEdit::default() };
        let new_id = || Err(PageRefusal::UnknownComponent);
        edit.apply_to(page, key.clone(), new_id, now()).expect("a page")
    };
    let unlisted = change(&page(), Some(true), &keys[0]);
    assert_eq!(unlisted.address(), PageAddress::from(&keys[0]));
    for is_unlisted in [None, Some(true)] {
        assert_eq!(change(&unlisted, is_unlisted, &keys[1]).link.as_ref(), Some(&keys[0]));
    }
    let listed = change(&unlisted, Some(false), &keys[1]);
    assert_eq!(listed.address(), PageAddress::from(&listed.slug));
    assert_eq!(change(&listed, Some(true), &keys[1]).link.as_ref(), Some(&keys[1]));
}

#[test]
fn an_update_keeps_the_status_unless_it_has_one() {
    let page = page();
    let write = |incident: &PageIncident, status, components: Option<u128>| {
        let text = Some("more".to_owned());
        let components = components.map(|number| BTreeSet::from([component(number)]));
        let edit = IncidentEdit { status, text, components, ..IncidentEdit::default() };
        edit.apply_to(incident, &page, now())
    };
    let open = incident(1, Impact::Minor, &[IncidentStatus::Identified]);
    let more = write(&open, None, None).expect("an incident");
    assert_eq!((more.status(), more.updates.len()), (IncidentStatus::Identified, 2));
    let over = write(&more, Some(IncidentStatus::Resolved), None).expect("an incident");
    assert_eq!((over.is_resolved(), over.resolved_at()), (true, Some(now())));
    let reopened = write(&over, Some(IncidentStatus::Investigating), None).expect("an incident");
    assert_eq!((reopened.is_resolved(), reopened.resolved_at()), (false, None));
    assert_eq!(write(&open, None, Some(7)), Err(IncidentRefusal::UnknownComponent));
    let gone = PageIncident { components: BTreeSet::from([component(7)]), ..open.clone() };
    assert!(write(&gone, None, Some(7)).is_ok(), "it concerned the component before");
    let full = incident(1, Impact::Minor, &[IncidentStatus::Monitoring; UPDATES_MAX]);
    assert_eq!(write(&full, None, None), Err(IncidentRefusal::TooManyUpdates));
    let over = write(&full, Some(IncidentStatus::Resolved), None).expect("room to resolve it");
    assert_eq!(write(&over, None, None), Err(IncidentRefusal::TooManyUpdates));
}

#[test]
fn an_incident_starts_now_or_earlier() {
    let page = page();
    let second = jiff::SignedDuration::from_secs(1);
    let open = incident(1, Impact::Minor, &[IncidentStatus::Identified]);
    let moved = |incident: &PageIncident, started_at| {
        let edit = IncidentEdit { started_at, ..IncidentEdit::default() };
        edit.apply_to(incident, &page, now()).map(|incident| incident.started_at)
    };
    for at in [now(), now() - second] {
        assert_eq!(moved(&open, Some(at)), Ok(at));
    }
    assert_eq!(moved(&open, Some(now() + second)), Err(IncidentRefusal::StartsInFuture));
    // Earlier versions accepted such an incident, and it can still be changed.
    let ahead = PageIncident { started_at: now() + second, ..open };
    assert_eq!(moved(&ahead, None), Ok(now() + second));
}

/// The paths of everything that a document contains, without the numbers of list items.
fn paths(value: &serde_json::Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                paths(value, &format!("{path}.{name}"), found);
            }
        }
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| paths(item, &format!("{path}[]"), found));
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

/// A text that must not be published.
const SECRET: &str = "https://internal.example.com/secret-2f9c";

/// Whatever is known about the sites, issues and windows.
fn anything() -> impl Strategy<Value = (Team, BTreeMap<SiteId, MonitorFacts>)> {
    let issues =
        proptest::sample::subsequence(Fingerprint::ALL.to_vec(), 0..=Fingerprint::ALL.len());
    let facts =
        (issues, any::<bool>(), any::<bool>()).prop_map(|(active, is_monitored, checks)| {
            let checks = if checks { checked() } else { ToolState::new() };
            let checks = ToolState { failure: Some(SECRET.to_owned()), ..checks };
            MonitorFacts { checks, is_monitored, ..facts(&active) }
        });
    let sites = proptest::collection::vec(facts, 0..=3);
    let windows = proptest::collection::vec((0..3_u128, any::<bool>()), 0..3);
    (sites, windows).prop_map(|(facts, windows)| {
        let windows = windows.into_iter().zip(10..).map(|((number, all), hour)| {
            let start = format!("2026-11-20T{hour}:30");
            window(SECRET, &start, 60, (!all).then_some(number))
        });
        let team = Team { name: SECRET.to_owned(), ..under(windows) };
        (team, facts.into_iter().zip(1..).map(|(facts, number)| (site(number), facts)).collect())
    })
}

proptest! {
    /// The document has the fields that are listed here and no others, and none holds the id of a site, a team, a window or
    /// an issue, nor a text that the team did not write for its readers.
    #[test]
    fn nothing_but_published_names_and_states_is_published((team, sites) in anything()) {
        let incidents = [
            incident(0xabc, Impact::Major, &[IncidentStatus::Investigating, IncidentStatus::Resolved]),
            PageIncident {
                next_update_by: Some(now()),
                ..incident(0xabd, Impact::Major, &[IncidentStatus::Investigating])
            },
        ];
        let page = publish(&page(), &team, &sites, &incidents, None, now());
        let document = serde_json::to_value(&page).expect("JSON");
        let mut found = BTreeSet::new();
        paths(&document, "", &mut found);
        let known: BTreeSet<String> = [
            ".version", ".generated_at", ".unchanged_since", ".name", ".message", ".zone", ".is_unlisted", ".today",
            ".groups[].name", ".groups[].components[].id", ".groups[].components[].name",
            ".groups[].components[].state", ".groups[].components[].cadence",
            ".groups[].components[].days",
            ".groups[].components[].uptime", ".groups[].components[].response_ms",
            ".incidents[].id", ".incidents[].title", ".incidents[].impact", ".incidents[].status",
            ".incidents[].components[]", ".incidents[].started_at", ".incidents[].resolved_at",
            ".incidents[].next_update_by", ".incidents[].updates[].at",
            ".incidents[].updates[].status", ".incidents[].updates[].text", ".windows[].id",
            ".windows[].name", ".windows[].starts_at", ".windows[].ends_at",
            ".windows[].components[]",
        ].map(str::to_owned).into();
        prop_assert!(found.is_subset(&known), "{:?}", found.difference(&known));
        let text = document.to_string();
        let windows = team.windows.iter().map(|window| window.id.to_string());
        let ids = sites.keys().map(ToString::to_string).chain(windows);
        for secret in ids.chain([team.id.to_string(), SECRET.to_owned()]) {
            prop_assert!(!text.contains(&secret), "{secret} in {text}");
        }
        for fingerprint in Fingerprint::ALL {
            prop_assert!(!text.contains(fingerprint.as_str()));
        }
        let read: PublishedPage = serde_json::from_value(document).expect("read");
        prop_assert_eq!(read, page);
    }
}

#[test]
fn a_selector_fills_a_page_up_to_its_limit_and_gives_the_same_site_the_same_component() {
    let names: Vec<String> = (0..60).map(|number| format!("Site {number:02}")).collect();
    let sites: BTreeMap<SiteId, String> =
        names.iter().zip(1..).map(|(name, number)| (site(number), name.clone())).collect();
    let page = StatusPage { selector: Selector::parse("env:prod").ok(), ..page() };
    let Some(Following { page: full, components }) = page.following(&sites, now()) else {
        panic!("sites join");
    };
    assert_eq!((full.components().count(), components.len()), (COMPONENTS_MAX, COMPONENTS_MAX - 3));
    let (first, change) = &components[0];
    assert_eq!((&*first.name, *change), ("Site 03", ComponentChange::Joined), "1 to 3 are there");
    assert_eq!(full.groups.len(), 3, "after the group with a name");
    assert_eq!(full.as_published().components().count(), 3);
    assert_eq!(full.following(&sites, now()), None);
    // All that joined leave, and come back as the same components.
    let left = full.following(&BTreeMap::new(), now()).expect("sites leave");
    assert_eq!(left.page.components().count(), 3);
    assert_eq!(left.page.following(&sites, now()).expect("sites join").page.groups, full.groups);
    // They are what somebody has chosen for them before, and hidden if somebody has removed them.
    let mut chosen = full.clone();
    let first = &mut chosen.groups[2].components[0];
    (first.name, first.is_hidden) = ("Published".to_owned(), false);
    let left = chosen.following(&BTreeMap::new(), now()).expect("sites leave").page;
    let again = left.following(&sites, now()).expect("sites join").page;
    assert_eq!((&again.groups, &again.left), (&chosen.groups, &vec![]));
    let none = PageEdit { groups: Some(Vec::new()), ..PageEdit::default() };
    let key = LinkKey::from_random([7; LinkKey::BYTES]);
    let new_id = || Ok(component(0));
    let removed = none.apply_to::<PageRefusal>(&chosen, key, new_id, now()).expect("saved");
    let again = StatusPage { publishes_new_sites: true, ..removed };
    let again = again.following(&sites, now()).expect("sites join").page;
    let shown: Vec<_> = again.as_published().components().map(|of| of.monitor).collect();
    assert_eq!(shown, [site(1), site(2), site(3)], "which the selector had not added before");
    // What somebody has chosen stays.
    let without = StatusPage { selector: None, ..full.clone() };
    assert_eq!(without.following(&BTreeMap::new(), now()), None);
    let automatic = StatusPage { publishes_new_sites: true, ..page };
    let joined = automatic.following(&sites, now()).expect("sites join").page;
    assert_eq!(joined.as_published(), joined);
}
