//! The page of a team's outages, and the days of a site that link to it.

use serde_json::json;
use vedette_domain::id::SiteId;
use vedette_domain::issues::Fingerprint;
use vedette_testkit::Member;
use vedette_tests::Service;

use crate::results::{HARMLESS, end, status};
use crate::site::watched;
use crate::support::{Browser, body, main_part, said};

/// A site that was down from 9:54 to 10:34 and was acknowledged at 10:04, and is down again since 13:54.
async fn twice_down() -> (Service, Member, SiteId) {
    let (service, owner, site) = watched().await;
    let check = async |code, minutes_later| {
        end(&service, site, status(code, 100.0)).await;
        service.advance_minutes(minutes_later);
    };
    check(503, 5).await;
    check(503, 5).await;
    let store = &service.test.app.store;
    let issue = store.issue(site.partition(), Fingerprint::StatusDown).await.expect("read");
    service.acknowledge(issue.expect("an issue").id, owner.user).await;
    service.advance_minutes(30);
    check(200, 200).await;
    check(503, 5).await;
    check(503, 10).await;
    (service, owner, site)
}

#[tokio::test]
async fn a_team_sees_all_outages_with_their_lengths_and_filters_them() {
    let (service, owner, site) = twice_down().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/outages", owner.team);
    let page = browser.get(&path).await;
    let page = said(&page);
    for text in [
        "<h1>2 outages in 30 days, 55 min down</h1>",
        "One outage is going on.",
        "<span>Mean time to acknowledge</span><p class=\"big\">10 min</p><span>1 not acknowledged</span>",
        "<span>Mean time to resolve</span><p class=\"big\">40 min</p><span>Median 40 min</span>",
        ">15 min</time> so far",
        "HTTP 503 Service Unavailable",
        ", after 10 min",
        "Nobody yet",
        "20 Nov: down 55 min in 2 outages",
        HARMLESS,
        "An outage lasts from the first failed check to the next good one",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    for (filter, expected) in [
        ("?cause=http", 2),
        ("?cause=dns", 0),
        ("?site=A.TEST", 2),
        ("?site=elsewhere", 0),
        (&*format!("?site={site}"), 2),
        ("?from=2026-11-20&to=2026-11-20", 2),
        ("?from=2026-11-01&to=2026-11-19", 0),
    ] {
        let page = browser.get(&format!("{path}{filter}")).await;
        let outages = said(&page).matches("HTTP 503 Service Unavailable").count();
        assert_eq!(outages, expected, "{filter}");
    }
    for (filter, problem) in [
        ("?from=2026-08-01&to=2026-11-20", "At most 92 days can be read at a time."),
        ("?from=2026-11-20&to=2026-11-01", "a date on or after from"),
        ("?cause=fire", "The selected cause is invalid."),
    ] {
        let page = browser.get(&format!("{path}{filter}")).await;
        assert_eq!(page.status(), 422, "{filter}");
        assert!(main_part(&page).contains(problem), "{filter}: {}", main_part(&page));
    }
}

#[tokio::test]
async fn a_file_has_a_line_for_each_outage() {
    let (service, owner, _) = twice_down().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/outages.csv?from=2026-11-20&to=2026-11-20", owner.team);
    let csv = browser.get(&path).await;
    assert_eq!(csv.headers()["content-type"], "text/csv; charset=utf-8");
    let name = "attachment; filename=\"outages-2026-11-20-2026-11-20.csv\"";
    assert_eq!(csv.headers()["content-disposition"], name);
    let lines: Vec<&str> = body(&csv).lines().collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("start,end,seconds,site,url,tags,cause,detail,acknowledged_by,"));
    assert!(lines[1].contains(",,900,"), "it goes on: {lines:?}");
    assert!(lines[1].starts_with("2026-11-20T"), "{lines:?}");
    assert!(lines[2].contains(",2400,"), "{lines:?}");
    assert!(
        lines[2].contains(",http,\"HTTP 503 Service Unavailable\",") && lines[2].contains(",600,")
    );
}

#[tokio::test]
async fn site_report_issue_and_events_say_the_same_lengths() {
    let (service, owner, site) = twice_down().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let issue = service.test.app.store.issue(site.partition(), Fingerprint::StatusDown).await;
    let issue = issue.expect("read").expect("an issue").id;
    let outages = format!("/teams/{}/outages?site={site}", owner.team);
    let day =
        format!("href=\"{}&amp;from=2026-11-20&amp;to=2026-11-20\"", outages.replace('&', "&amp;"));
    for (path, texts) in [
        (format!("/sites/{site}"), &[&*day, "20 Nov: down 55 min in 2 outages", "55 min down"][..]),
        (
            format!("/sites/{site}/report"),
            &["<dt>Outages</dt><dd>2</dd>", "<dt>Downtime</dt><dd>55 min</dd>", "<td>40 min</td>"],
        ),
        (
            format!("/issues/{issue}"),
            &["2 failed checks, opened after 2.", ">15 min</time>", "15 min so far", "40 min"],
        ),
        (format!("/teams/{}/events", owner.team), &[" · 40 min"]),
    ] {
        let page = browser.get(&path).await;
        for text in texts {
            assert!(said(&page).contains(text), "{path}: {text}: {}", said(&page));
        }
    }
}

#[tokio::test]
async fn a_team_without_outages_is_told_so() {
    let (service, owner, _) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let created = json!({ "url": "https://b.test/" });
    service.client(&owner).post(&format!("/teams/{}/sites", owner.team), &created).await;
    let page =
        browser.get(&format!("/teams/{}/outages?from=2026-11-14&to=2026-11-20", owner.team)).await;
    assert!(said(&page).contains("<h1>No outages in 7 days</h1>"), "{}", said(&page));
}
