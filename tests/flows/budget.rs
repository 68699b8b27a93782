//! What things cost: writes of an uneventful check, sizes of items.

use std::num::NonZeroU32;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::value::{BytesDeserializer, Error};
use serde_json::{Value, json};
use vedette_domain::checks::check::KnownRecords;
use vedette_domain::checks::evidence::EvidenceMarks;
use vedette_domain::checks::history::{
    Counters, Day, Kind, RecentDays, ReportSums, Sample, Sum, day_of, day_start, recent_dates,
};
use vedette_domain::checks::pointer::{CheckPointer, Latest};
use vedette_domain::checks::policy::ToolPolicy;
use vedette_domain::checks::timer::Timer;
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::checks::tool_state::{Learnt, PostsInFlight, ToolState, Tracked};
use vedette_domain::expectations::{
    CONTENT_TYPE_MAX, EXPECTATIONS_MAX, EXPECTED_TEXT_MAX, OwnershipRecord, POST_BODY_MAX,
};
use vedette_domain::id::{CheckId, IssueId, SiteId, Trigger};
use vedette_domain::issues::record::{Issue, IssueChange};
use vedette_domain::issues::tracker::{Failures, Phase, Tracker};
use vedette_domain::issues::{Fingerprint, Lifecycle, Timeline};
use vedette_domain::sites::settings::Settings;
use vedette_testkit::{NameServices, PACKED_CHECK, Spent};

use crate::scene::{Scene, URL, is_finished};
use vedette_store::Audit;

impl Scene {
    /// The size of the item at this sort key, or the largest below it.
    async fn size(&self, sort_key: &str) -> usize {
        let sizes = self.service.test.table.sizes().await;
        let of_site = sizes.iter().filter(|((pk, _), _)| pk.starts_with("S#"));
        let found = of_site.filter(|((_, sk), _)| sk.starts_with(sort_key));
        *found.map(|(_, size)| size).max().expect("an item")
    }
}

#[tokio::test]
async fn an_uneventful_check_is_one_put() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let faults = scene.service.test.faults();
    for minutes in [5, 10, 600] {
        scene.service.advance_minutes(minutes);
        let (writes, items) = (faults.writes(), faults.transacted_items());
        scene.service.run_scheduled(site, Tool::Status).await;
        assert_eq!((faults.writes() - writes, faults.transacted_items() - items), (1, 0));
    }
    // A follow-up while an issue is active has a row in addition to the state, in which only the streak changes.
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    scene.run_timer(site).await;
    for _ in 0..2 {
        let (writes, items) = (faults.writes(), faults.transacted_items());
        scene.run_timer(site).await;
        assert_eq!((faults.writes() - writes, faults.transacted_items() - items), (1, 2));
    }
    // When the day ends, four items are written: the state, the closed block, the closed day and the directory row.
    scene.service.advance_minutes(24 * 60);
    let (writes, items) = (faults.writes(), faults.transacted_items());
    scene.service.run_scheduled(site, Tool::Status).await;
    assert_eq!((faults.writes() - writes, faults.transacted_items() - items), (1, 4));
}

#[tokio::test]
async fn an_uneventful_check_takes_one_write_unit() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let (faults, meter) = (scene.service.test.faults(), scene.service.test.meter());
    for minutes in [5, 10, 600] {
        scene.service.advance_minutes(minutes);
        let message = scene.scheduled(site, Tool::Status, scene.service.test.now());
        let (writes, items) = (faults.writes(), faults.transacted_items());
        meter.start();
        assert!(is_finished(&scene.service.check(&message).await));
        let spent = meter.stop();
        assert_eq!((faults.writes() - writes, faults.transacted_items() - items), (1, 0));
        // The site, the tool, the team and its settings are read in one batch, for half a unit each.
        let writes = f64::from(PACKED_CHECK);
        assert_eq!(spent, Spent { reads: 2.0, writes, round_trips: 2, rounds: 2 });
    }
}

impl Scene {
    /// The write units of a tool's scheduled checks, on average over a day from noon to noon.
    async fn units_of_a_day(&self, site: SiteId, tool: Tool, minutes: i64) -> f64 {
        let meter = self.service.test.meter();
        let checks = 24 * 60 / minutes;
        let mut writes = 0.0;
        for _ in 0..checks {
            self.service.advance_minutes(minutes);
            let message = self.scheduled(site, tool, self.service.test.now());
            meter.start();
            assert!(is_finished(&self.service.check(&message).await));
            writes += meter.stop().writes;
        }
        writes / f64::from(i32::try_from(checks).expect("few"))
    }
}

#[tokio::test]
async fn a_day_of_checks_takes_little_more_than_one_write_unit_each() {
    let (mut rows, packed) = (Scene::start().await, Scene::start().await);
    rows.service.test.app.service.writes_blocks = None;
    let url = format!("{URL}/{}", "a".repeat(99 - URL.len()));
    let (before, now) = (rows.watch_url(&url).await, packed.watch_url(&url).await);
    // Once a day, the evidence of a successful check is written again, for two units.
    for (minutes, most) in [(1, 1.15), (5, 1.15), (30, 4.0), (12 * 60, 7.0), (24 * 60, 10.0)] {
        let rows = rows.units_of_a_day(before, Tool::Status, minutes).await;
        let average = packed.units_of_a_day(now, Tool::Status, minutes).await;
        assert!(average <= most && average <= rows, "{average}, {rows} every {minutes} minutes");
    }
    // Blocks of a site with an address of a hundred bytes.
    let blocks = packed.service.test.table.blocks().await;
    let closed = blocks.iter().filter(|((_, sk), _)| sk.starts_with("H#"));
    let full = closed.map(|(_, checks)| *checks).max();
    assert!(full.is_some_and(|checks| checks >= 24), "{blocks:?}");
}

#[tokio::test]
async fn a_new_site_is_one_transaction_with_its_first_runs_counted() {
    let mut scene = Scene::start().await;
    // From time to time, a request records that the token was used.
    scene.client().get("/me").await;
    let mut items = Vec::new();
    for (tools, url) in [(&[Tool::Status][..], "http://one.test"), (&Tool::ALL, "http://two.test")]
    {
        scene.service.test.app.service.tools = tools.to_vec();
        let (faults, meter) = (scene.service.test.faults(), scene.service.test.meter());
        let transacted = faults.transacted_items();
        meter.start();
        let path = format!("/teams/{}/sites", scene.owner.team);
        let created = scene.client().post(&path, &json!({ "url": url })).await;
        let spent = meter.stop();
        assert_eq!(created.status, 201, "{created:?}");
        items.push((faults.transacted_items() - transacted, spent));
    }
    let spent = |writes| Spent { reads: 7.0, writes, round_trips: 7, rounds: 5 };
    assert_eq!(items, [(9, spent(23.0)), (10, spent(27.0))]);
}

#[tokio::test]
async fn a_message_that_is_not_wanted_writes_nothing() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let faults = scene.service.test.faults();
    let writes = faults.writes();
    for _ in 0..3 {
        scene.service.run_scheduled(site, Tool::Status).await;
    }
    assert_eq!(faults.writes(), writes);
    scene.redeliver().await;
    assert_eq!(faults.writes(), writes, "redelivery that finds nothing");
}

#[tokio::test]
async fn a_row_of_a_status_check_is_small() {
    let scene = Scene::start().await;
    let url = format!("{URL}/a/path/as/long/as/they/usually/are");
    let site = scene.watch_url(&url).await;
    // The check that opens an issue has a row.
    scene.target.answer(503);
    scene.service.advance_minutes(5);
    scene.service.run_scheduled(site, Tool::Status).await;
    scene.run_timer(site).await;
    let size = scene.size("H#status#").await;
    assert!(size <= 512, "{size} bytes");
    let size = scene.size("T#status").await;
    assert!(size <= 512, "{size} bytes on a new site");
}

/// What a check that takes as long as possible adds to its day.
fn slowest(tool: Tool) -> Option<Sample> {
    let response_ms = 29_999.99;
    match tool {
        Tool::Status => Some(Sample::Status { up: true, met: None, response_ms }),
        Tool::Performance => {
            Some(Sample::Performance { score: None, response_ms, speed_index_s: None })
        }
        Tool::Ssl | Tool::Dns | Tool::BrokenLinks | Tool::Heartbeat => None,
    }
}

/// The state of a tool with everything that it can contain at once: as many active issues as possible, a timer, a
/// pending on-demand check, and every kind of check in every hour of the day.
fn fullest(tool: Tool, site: SiteId, midnight: Timestamp) -> ToolState {
    let later = |hours| midnight + SignedDuration::from_hours(hours);
    let policy = ToolPolicy::of(tool, &Settings::default());
    let occurs = |kind: &Kind| match kind.trigger.reason() {
        Some(RunReason::ConfirmationRetry) => policy.retry_minutes.is_some(),
        Some(RunReason::IncidentFollowUp) => policy.follow_up_minutes.is_some(),
        Some(RunReason::Scheduled) | None => true,
    };
    let mut day = Day::new(day_of(midnight), 365);
    for kind in Kind::all().filter(occurs) {
        for hour in 0..24 {
            for _ in 0..60 {
                day.counters.add(kind, later(hour));
                let counts = kind.trigger.is_automatic() && kind.status == CheckStatus::Completed;
                if let Some(sample) = slowest(tool).filter(|_| counts) {
                    day.add_sample(sample, later(hour));
                }
            }
        }
    }
    if tool == Tool::Performance {
        let sum = Sum { sum: 123_456_789.123_456, count: 1_440 };
        (day.sums.score, day.sums.response_ms, day.sums.speed_s) = (sum, sum, sum);
    }
    let many = NonZeroU32::new(100_000).expect("not zero");
    let trackers = Fingerprint::ALL.into_iter().filter(|fingerprint| fingerprint.tool() == tool);
    let trackers = trackers.map(|fingerprint| {
        let issue = IssueId::new(site, fingerprint, midnight);
        let failures = Failures { first: midnight, last: later(1), streak: many };
        let phase = match fingerprint {
            Fingerprint::StatusDown => {
                Phase::Recovering { issue, failures, since: later(2), streak: many }
            }
            // At most one of the two is active. This one has been active before.
            Fingerprint::StatusPartial => Phase::Up { since: later(2) },
            // The other tools' issues are resolved by the first success.
            _ => Phase::Down { issue, failures },
        };
        let tracker = Tracker { phase, last_slot: Some(later(3)) };
        let was_active = fingerprint == Fingerprint::StatusPartial;
        let issue = was_active.then_some(issue);
        let evidence = fingerprint.is_of_expectations().then(evidence_marks);
        (fingerprint, Tracked { tracker, issue, last_good: None, evidence })
    });
    let automatic = CheckId::automatic(site, tool, RunReason::Scheduled, later(3));
    let on_demand = CheckId::on_demand(site, tool, later(4), 127);
    ToolState {
        rev: 10_000_000,
        cfg: 1_000,
        trackers: trackers.collect(),
        timer: Some(Timer { reason: RunReason::ConfirmationRetry, due: later(5) }),
        pending: Some(on_demand),
        last_on_demand: Some(later(4)),
        automatic: Some(Latest::row(automatic, CheckStatus::Completed)),
        on_demand: Some(Latest::row(on_demand, CheckStatus::Pending)),
        evaluated: Some(CheckPointer::row(automatic)),
        previous: Some(CheckPointer::row(automatic)),
        failing_since: None,
        // Only while no check can run.
        not_run: None,
        monitoring_ended_at: (tool == Tool::Status).then(|| later(5)),
        reports: None,
        failure: (tool == Tool::Status).then(|| "x".repeat(48)),
        evidence: (tool == Tool::Status).then(evidence_marks),
        learnt: (tool == Tool::Dns).then(|| {
            let records = |hash: u8| {
                // Sixteen addresses of each family.
                let addresses = (0..128).map(|place| hash ^ (place / 4));
                let addresses: Vec<u8> = [16].into_iter().chain(addresses).collect();
                let hashes = [vec![0b11_1111], vec![hash; 24]].concat();
                let hashes = BytesDeserializer::<Error>::new(&hashes);
                let addresses = BytesDeserializer::<Error>::new(&addresses);
                KnownRecords {
                    hashes: Deserialize::deserialize(hashes).expect("hashes"),
                    addresses: Deserialize::deserialize(addresses).expect("addresses"),
                }
            };
            Learnt {
                check: automatic,
                baseline: records(1),
                seen: Some(records(64)),
                is_repeated: true,
            }
        }),
        recent: (tool == Tool::Status).then(|| different_days(&day)),
        day: Some(day),
        block: None,
        certificate_ends: (tool == Tool::Ssl).then(|| later(7)),
        had_certificate: tool == Tool::Ssl,
        used_until: Some(later(6)),
        // Only while a check posts.
        posts: PostsInFlight::default(),
    }
}

/// The days before a day, each with a different number of checks than the day before, and some failures.
pub(crate) fn different_days(day: &Day) -> RecentDays {
    let past = recent_dates(day.date).zip(1_000_u32..).map(|(date, checks)| Day {
        counters: many_checks(date, checks),
        sums: ReportSums { up: checks / 2, ..ReportSums::default() },
        responses: day.responses,
        ..Day::new(date, 30)
    });
    past.fold(None, |days, day| Some(RecentDays::with(days, &day))).expect("days")
}

/// This many completed checks, spread over a day.
fn many_checks(date: Date, checks: u32) -> Counters {
    let trigger = Trigger::Automatic(RunReason::Scheduled);
    let mut counters = Counters::default();
    for number in 0..checks {
        let at = day_start(date) + SignedDuration::from_mins(i64::from(number) % 1_440);
        counters.add(Kind { trigger, status: CheckStatus::Completed }, at);
    }
    counters
}

#[tokio::test]
async fn a_tool_item_stays_below_a_kilobyte_at_its_fullest() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let test = &scene.service.test;
    let (store, now) = (&test.app.store, test.now());
    let stored = store.site(site.partition()).await.expect("read").expect("a site");
    let mut sizes = Vec::new();
    for tool in Tool::ALL {
        let read = stored.tool(tool).expect("a tool");
        let mut state = fullest(tool, site, day_start(day_of(now)));
        state.rev = read.rev + 1;
        if tool == Tool::Status {
            // The trackers of expectations. Each has an issue and evidence.
            store.put_tool(site.partition(), tool, &state, now).await.expect("written");
            let size = scene.size(&format!("T#{tool}")).await;
            assert!(size < 1_536, "{size} bytes");
            state.trackers.retain(|fingerprint, _| !fingerprint.is_of_expectations());
            state.rev += 1;
        }
        if tool == Tool::Dns {
            // A pool that does not change, with sixteen known addresses of each family.
            let mut pool = state.clone();
            for tracked in pool.trackers.values_mut() {
                tracked.tracker.phase = Phase::Up { since: now };
            }
            pool.learnt.as_mut().expect("records").seen = None;
            store.put_tool(site.partition(), tool, &pool, now).await.expect("written");
            let size = scene.size(&format!("T#{tool}")).await;
            assert!(size < 1_024, "{size} bytes");
            state.rev += 1;
        }
        store.put_tool(site.partition(), tool, &state, now).await.expect("written");
        sizes.push((tool, scene.size(&format!("T#{tool}")).await));
        let read = store.site_tool(site.partition(), tool).await.expect("read");
        assert_eq!(read.expect("a site").1, state, "read back as it was");
    }
    // The history of a site that has failed on each of thirty days, a different number of times on each, takes a second
    // unit. So do thirty-two other addresses in place of those known, while all issues of DNS checks are active.
    let most = |tool| if matches!(tool, Tool::Status | Tool::Dns) { 1_280 } else { 1_024 };
    assert!(sizes.iter().all(|(tool, size)| *size < most(*tool)), "{sizes:?}");
}

/// The greatest length that they can have.
fn evidence_marks() -> EvidenceMarks {
    EvidenceMarks::deserialize(BytesDeserializer::<Error>::new(&[7; 12])).expect("marks")
}

/// A site in which everything has the greatest length that the API allows.
pub(crate) fn largest() -> Value {
    let paths: Vec<String> = (0..100).map(|number| format!("/{number:080}")).collect();
    let host = "site.test";
    json!({
        "url": format!("http://{host}/{}", "u".repeat(2_048 - 17)),
        "name": "🦀".repeat(255),
        "notes": "🦀".repeat(1_700),
        "js_rendered": true,
        "monitoring_settings": {
            "tools": {
                "status": { "enabled": true, "cadence_minutes": 5 },
                "broken-links": { "enabled": true, "settings": { "ignore_paths": paths } },
                "performance": {
                    "enabled": true,
                    "settings": { "url": format!("http://{host}/{}", "p".repeat(2_048 - 17)) },
                },
            },
            "request_header": { "name": "h".repeat(255), "value": "v".repeat(2_000) },
        },
        "dns_expected_records": { "TXT": ["t".repeat(340)] },
    })
}

#[tokio::test]
async fn a_site_item_stays_within_six_read_units_at_the_limits() {
    let mut scene = Scene::start().await;
    let names = NameServices::start().await;
    scene.service.test.app.txt_records = names.txt_records();
    let path = format!("/teams/{}/sites", scene.owner.team);
    let created = scene.client().post(&path, &largest()).await;
    assert_eq!(created.status, 201, "{}", created.shown());
    let size = scene.size("A").await;
    assert!((22_000..=24_576).contains(&size), "{size} bytes");

    // Expectations at their limits take three more.
    let (name, value) = ("h".repeat(255), "🦀".repeat(EXPECTED_TEXT_MAX));
    let longest = json!({ "kind": "header_contains", "name": name, "value": value });
    let body = json!({ "expectations": vec![longest; EXPECTATIONS_MAX] });
    let path = format!("/sites/{}/expectations", created.data("uuid"));
    let answer = scene.client().put(&path, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.shown());
    let size = scene.size("A").await;
    assert!((33_000..=36_864).contains(&size), "{size} bytes");

    // A POST at its limits takes another one.
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    names.publish(&OwnershipRecord::of(&scene.stored(site).await.0).expect("a record"));
    let post = json!({
        "content_type": format!("text/{}", "x".repeat(CONTENT_TYPE_MAX - 5)),
        "body": "x".repeat(POST_BODY_MAX),
    });
    let longest = json!({ "kind": "header_contains", "name": name, "value": value });
    let body = json!({
        "method": "POST",
        "post": post,
        "expectations": vec![longest; EXPECTATIONS_MAX],
    });
    let answer = scene.client().put(&path, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.shown());
    let size = scene.size("A").await;
    assert!((37_000..=40_960).contains(&size), "{size} bytes");
}

/// Sites of the team that fail, each with an open issue and its last two checks.
async fn in_trouble(scene: &Scene, sites: u32) {
    scene.target.answer(503);
    let site = |number| json!({ "url": format!("{URL}/{number}") });
    let sites: Vec<Value> = (0..sites).map(site).collect();
    let path = format!("/teams/{}/sites/bulk", scene.owner.team);
    let created = scene.client().post(&path, &json!({ "sites": sites })).await;
    assert_eq!(created.status, 200, "{}", created.shown());
    let created = created.body["data"]["created"].as_array().expect("sites").clone();
    scene.service.consume().await;
    for _ in 0..2 {
        scene.service.advance_minutes(5);
        for site in &created {
            let id = SiteId::parse(site["uuid"].as_str().expect("a uuid")).expect("an id");
            scene.service.run_scheduled(id, Tool::Status).await;
        }
    }
    scene.service.waiting();
}

#[tokio::test]
async fn a_page_of_issues_takes_eighty_read_units_and_six_rounds_of_calls() {
    let scene = Scene::start().await;
    in_trouble(&scene, 40).await;
    let meter = scene.service.test.meter();
    meter.start();
    let page = scene.client().get("/issues").await;
    let spent = meter.stop();
    let issues = page.body["data"].as_array().expect("issues");
    let shown = |field: &str| issues.iter().filter(|issue| issue[field].is_object()).count();
    assert_eq!((shown("check"), shown("previous_check")), (25, 25));
    assert_eq!(page.body["meta"]["total"], 40);
    assert!(spent.reads <= 80.0 && spent.rounds <= 6, "{spent:?}");
}

#[tokio::test]
async fn an_issue_stays_within_one_read_unit_however_long_it_lives() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let (app, now) = (&scene.service.test.app, scene.service.test.now());
    let (site, _) = scene.stored(site).await;
    let later = |minute| now + SignedDuration::from_mins(minute);
    let (mut lifecycle, mut timeline) = (Lifecycle::open(now), Timeline::default());
    for minute in (0..300).step_by(3) {
        for next in [
            Ok(lifecycle),
            lifecycle.acknowledge(later(minute + 1), scene.owner.user),
            lifecycle.resolve(later(minute + 2), Some(scene.owner.user)),
        ] {
            timeline = timeline.then(next.expect("a step"));
        }
        lifecycle = Lifecycle::open(later(minute + 3));
    }
    let check = CheckId::automatic(site.id, Tool::Status, RunReason::Scheduled, now);
    let after = Issue {
        lifecycle,
        timeline,
        summary: "s".repeat(400),
        context: json!({ "measured": "m".repeat(1_500) }),
        check: Some(CheckPointer::row(check)),
        previous_check: Some(CheckPointer::row(check)),
        last_evaluated_at: Some(now),
        ..Issue::opened(site.id, Fingerprint::StatusDown, now)
    };
    let change = IssueChange { before: None, after, opening: None, publishes: false };
    app.store.commit_issue((&site).into(), &change, None, Audit::None).await.expect("saved");
    let size = scene.size("I#").await;
    assert!(size <= 4_096, "{size} bytes");
    let read = app.store.issue(site.id.partition(), Fingerprint::StatusDown).await;
    assert_eq!(read.expect("read").expect("an issue"), change.after, "read back as it was");
}

#[tokio::test]
async fn a_deletion_asks_for_all_issues_of_a_site_at_once() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({})).await;
    let meter = scene.service.test.meter();
    meter.start();
    let deleted = scene.client().delete(&format!("/sites/{site}")).await;
    let spent = meter.stop();
    assert_eq!(deleted.status, 204);
    // The token; its last use, its user and a count; site and team; its issues; the transaction.
    assert_eq!((spent.round_trips, spent.rounds), (8, 5), "{spent:?}");
}
