//! The reports of a team, whose figures are those of its sites, its outages and the API.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use vedette_domain::checks::check::{CheckError, Finish};
use vedette_domain::checks::history::{DayUptime, Downtime};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId, StatusPageId};
use vedette_domain::message::ReconcileMessage;
use vedette_domain::status_pages::{PageAddress, PublishedPage};
use vedette_testkit::Member;
use vedette_tests::Service;

use crate::results::{HARMLESS, HOSTILE, status};
use crate::support::{Browser, body, main_part, said};

/// Sites whose issues open and resolve at once, and whose first runs have not happened.
async fn sites(service: &Service, owner: &Member, names: &[&str]) -> Vec<SiteId> {
    let mut sites = Vec::new();
    for (place, (name, tag)) in names.iter().zip(["a", "b", "c"]).enumerate() {
        let settings = json!({ "failures_to_open": 1, "successes_to_resolve": 1 });
        let new = json!({
            "url": format!("https://site-{place}.example"), "name": name,
            "tags": [tag],
            "monitoring_settings": { "tools": { "status": { "settings": settings } } },
        });
        let path = format!("/teams/{}/sites", owner.team);
        let created = service.client(owner).post(&path, &new).await;
        assert_eq!(created.status, 201, "{}", created.body);
        sites.push(SiteId::parse(&created.data("uuid")).expect("an id"));
    }
    service.waiting();
    sites
}

/// A scheduled check ends at a minute after the beginning of Monday, 23 November; `None` could not run.
async fn checked(service: &Service, site: SiteId, minute: i64, code: Option<u16>) {
    let monday: jiff::Timestamp = "2026-11-23T00:00:00Z".parse().expect("a timestamp");
    service.test.set_clock(monday + jiff::SignedDuration::from_mins(minute));
    let finish = match code {
        Some(code) => {
            status(code, 100.0 + f64::from(u32::try_from(minute.rem_euclid(50)).expect("small")))
        }
        None => Finish::Failed(CheckError {
            message: "The check could not run.".to_owned(),
            code: "internal".to_owned(),
            data: json!({}),
        }),
    };
    let check = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, service.test.now());
    service.test.end_run(site, check, finish).await;
}

async fn make(service: &Service, owner: &Member, time: &str) {
    service.test.set_clock(time.parse().expect("a timestamp"));
    let message = ReconcileMessage::Report(owner.team);
    vedette_reconciler::handle(&service.test.app, &message).await.expect("made");
}

#[tokio::test]
async fn a_team_reads_its_reports_and_saves_their_figures() {
    let (service, owner) = Service::with_team().await;
    let groups = json!({ "groups": [{ "name": "All <b>", "selector": "!none" }] });
    service.client(&owner).put(&format!("/teams/{}/groups", owner.team), &groups).await;
    let browser = Browser::of(&service.test, owner.user).await;
    let list = format!("/teams/{}/reports", owner.team);
    assert!(main_part(&browser.get(&list).await).contains("There are no reports yet."));
    let sites = sites(&service, &owner, &[HOSTILE, "=Blog"]).await;
    for (site, minute, code) in
        [(0, 60, 200), (0, 600, 503), (0, 641, 200), (1, 60, 200), (0, 9_000, 503)]
    {
        checked(&service, sites[site], minute, Some(code)).await;
    }
    make(&service, &owner, "2026-11-30T06:00:00Z").await;
    let page = browser.get(&list).await;
    assert!(main_part(&page).contains("Week 48 of 2026"), "{}", main_part(&page));
    let page = browser.get(&format!("{list}/2026-W48")).await;
    let page = said(&page);
    for text in [
        "<h1>60.00 % uptime in week 48 of 2026, with 2 outages</h1>",
        "The 2 outages took 18 h 41 min in total. The longest took 18 h: ",
        "Longest downtime",
        "Fastest without downtime",
        HARMLESS,
        "24 Nov: no downtime",
        "18 h so far",
        "Vedette made 5 of the 5 checks that were due.",
        "All &lt;b&gt;",
        "Days and times are in UTC.",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let of_group = browser.get(&format!("{list}/2026-W48?group=All+%3Cb%3E")).await;
    assert!(said(&of_group).contains("60.00 % uptime"));
    assert_eq!(browser.get(&format!("{list}/2026-W48?group=Other")).await.status(), 404);
    let file = browser.get(&format!("{list}/2026-W48/figures.csv")).await;
    assert_eq!(
        file.headers()["content-disposition"],
        "attachment; filename=\"report-2026-W48.csv\""
    );
    let file =
        body(&file).replace(&sites[0].to_string(), "<0>").replace(&sites[1].to_string(), "<1>");
    let rows: Vec<&str> = file.lines().collect();
    assert_eq!(rows.len(), 3, "{file}");
    assert!(
        rows.iter()
            .any(|row| row.starts_with("<1>,\"'=Blog\",\"site-1.example\",1,1,100,0,0,0,0,0,")),
        "{file}"
    );
    assert!(rows.iter().any(|row| row.contains(",4,2,50,0,0,0,2,67260,")), "{file}");
}

/// A figure of the rows of a site's own report, summed.
fn sum(rows: &[Vec<String>], column: usize) -> u64 {
    rows.iter().map(|row| row[column].parse().unwrap_or(0)).sum()
}

async fn get(service: &Service, owner: &Member, path: &str) -> Value {
    let answer = service.client(owner).get(path).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["data"].clone()
}

/// The page for readers with a component for each site, when its report was made.
async fn status_page(service: &Service, owner: &Member, page: &str) -> PublishedPage {
    let page = StatusPageId::parse(page).expect("an id");
    let publish = ReconcileMessage::Publish { team: owner.team, page };
    vedette_reconciler::handle(&service.test.app, &publish).await.expect("published");
    let address = PageAddress::parse("week").expect("an address");
    service.test.app.store.published(&address).await.expect("read").expect("a page")
}

/// The figures of the week in the report, on the pages of the sites, on the status page, in the list of outages and in the
/// API are equal.
async fn compare(checks: &[(usize, i64, Option<u16>)]) {
    const DAYS: &str = "from=2026-11-23&to=2026-11-29";
    const NAMES: [&str; 3] = ["A", "B", "C"];
    let (service, owner) = Service::with_team().await;
    let sites = sites(&service, &owner, &NAMES).await;
    let client = service.client(&owner);
    let parts = NAMES.iter().zip(&sites);
    let parts: Vec<Value> =
        parts.map(|(name, site)| json!({ "name": name, "site": site })).collect();
    let readers = json!({ "slug": "week", "name": "Week", "groups": [{ "name": "All", "components": parts }] });
    let readers = client.post(&format!("/teams/{}/status-pages", owner.team), &readers).await;
    let groups = NAMES.map(|name| json!({ "name": name, "selector": name.to_lowercase() }));
    let groups = json!({ "groups": groups });
    client.put(&format!("/teams/{}/groups", owner.team), &groups).await;
    let mut checks = checks.to_vec();
    checks.sort_by_key(|(site, minute, _)| (*minute, *site));
    checks.dedup_by_key(|(site, minute, _)| (*minute, *site));
    for (site, minute, code) in &checks {
        checked(&service, sites[*site], *minute, *code).await;
    }
    make(&service, &owner, "2026-11-30T06:00:00Z").await;
    let report = get(&service, &owner, &format!("/teams/{}/reports/2026-W48", owner.team)).await;
    let totals = &report["totals"];
    let browser = Browser::of(&service.test, owner.user).await;
    let (mut pages, mut api) = ([0; 3], [0; 2]);
    for site in &sites {
        let file = browser.get(&format!("/sites/{site}/report.csv?{DAYS}")).await;
        let rows: Vec<Vec<String>> = body(&file)
            .lines()
            .skip(1)
            .map(|row| row.split(',').map(str::to_owned).collect())
            .collect();
        for (figure, column) in pages.iter_mut().zip([1, 2, 7]) {
            *figure += sum(&rows, column);
        }
        let uptime = get(&service, &owner, &format!("/sites/{site}/reports/uptime?days=8")).await;
        for day in &uptime["days"].as_array().expect("days")[..7] {
            api[0] += day["total_checks"].as_u64().expect("a number");
            api[1] += day["up_checks"].as_u64().expect("a number");
        }
    }
    assert_eq!([&totals["total_checks"], &totals["up_checks"]], [&json!(api[0]), &json!(api[1])]);
    assert_eq!(pages[..2], api);
    // All instants are whole minutes, so nothing is rounded.
    assert_eq!(totals["downtime_seconds"], json!(pages[2] * 60));
    let list = format!("/teams/{}/outages?{DAYS}&per_page=100", owner.team);
    let outages = get(&service, &owner, &list).await;
    let outages = outages.as_array().expect("outages");
    assert_eq!(totals["outages"], json!(outages.len()));
    let page = browser.get(&format!("/teams/{}/outages?{DAYS}", owner.team)).await;
    let down = totals["downtime_seconds"].as_i64().expect("a number");
    if down > 0 {
        let said = vedette_domain::time::duration(jiff::SignedDuration::from_secs(down));
        assert!(main_part(&page).contains(&format!("{said} down")), "{said}: {}", main_part(&page));
    }
    let of_days = report["days"].as_array().expect("days").iter();
    let of_days: i64 = of_days.map(|day| day["downtime_seconds"].as_i64().expect("a number")).sum();
    assert_eq!(of_days, down);
    let published = status_page(&service, &owner, &readers.data("uuid")).await;
    for (site, (name, component)) in NAMES.iter().zip(published.components()).enumerate() {
        let path = format!("/teams/{}/reports/2026-W48?group={name}", owner.team);
        let report = get(&service, &owner, &path).await;
        let days = report["days"].as_array().expect("days");
        // The last of the 90 days is the Monday on which the report is made.
        for ((number, day), shown) in (0..).zip(days).zip(&component.days[82..]) {
            let is_of_day = |&(of, minute, _): &(usize, i64, Option<u16>)| {
                of == site && minute.div_euclid(1_440) == number
            };
            if !checks.iter().any(is_of_day) {
                // Nobody knows, even if an outage goes on.
                assert_eq!(*shown, DayUptime::Unknown, "{name} {day}");
                continue;
            }
            let seconds = u32::try_from(day["downtime_seconds"].as_u64().expect("a number"));
            let downtime = Downtime::of(seconds.expect("a day"));
            let down = (day["outages"] != json!(0)).then_some(DayUptime::Down(downtime));
            let is_down = matches!(shown, DayUptime::Down(_));
            assert_eq!(is_down.then_some(*shown), down, "{name} {day}");
        }
    }
    let not_run =
        checks.iter().filter(|(_, minute, code)| code.is_none() && (0..10_080).contains(minute));
    assert_eq!(totals["checks_not_run"], json!(not_run.count()));
}

#[test]
fn a_report_equals_the_pages_the_status_page_the_outages_and_the_api() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let code = prop_oneof![4 => Just(Some(200)), 3 => Just(Some(503)), 1 => Just(None)];
    // Some checks are before the week and after it: the report is made six hours later.
    let check = (0_usize..3, -600_i64..10_400, code);
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 24, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    runner
        .run(&proptest::collection::vec(check, 1..40), |checks| {
            runtime.block_on(compare(&checks));
            Ok(())
        })
        .expect("equal figures");
}
