//! The history of checks, and one check.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::check::{CheckError, Finish};
use vedette_domain::checks::history::block::BlockVersion;
use vedette_domain::id::{CheckId, SiteId};
use vedette_testkit::{Member, member_of, new_team};
use vedette_tests::Service;

use crate::results::{HARMLESS, HOSTILE, certificate, dns, end, links, performance, status};
use crate::site::watched;
use crate::support::{Browser, main_part, said};

#[tokio::test]
async fn the_history_is_filtered_and_paged() {
    let (service, owner, site) = watched().await;
    for minute in 0..60 {
        end(&service, site, status(if minute == 7 { 503 } else { 200 }, 9.0)).await;
        service.advance_minutes(1);
    }
    end(&service, site, links()).await;
    let browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{site}/checks");
    let rows = |page: &str| page.matches("<td><a href=\"/checks/").count();
    for (query, total, shown) in [
        ("", 61, 25),
        ("?page=2", 61, 25),
        ("?page=3", 61, 11),
        ("?page=4", 61, 0),
        ("?type=status&status=&automatic=&run_reason=&from=&to=", 60, 25),
        ("?type=broken-links", 1, 1),
        ("?automatic=false", 0, 0),
        ("?status=failed", 0, 0),
        ("?run_reason=scheduled&from=2026-11-20&to=2026-11-20", 61, 25),
        ("?from=2026-11-21", 0, 0),
    ] {
        let page = browser.get(&format!("{path}{query}")).await;
        let caption = format!("{total} check");
        assert!(said(&page).contains(&caption), "{query}: {}", said(&page));
        assert_eq!(rows(said(&page)), shown, "{query}");
    }
    let page = browser.get(&format!("{path}?type=status&page=2")).await;
    for link in ["rel=\"prev\" href=\"", "rel=\"next\" href=\""] {
        assert!(said(&page).contains(&format!("{link}{path}?type=status&amp;page=")), "{link}");
    }
    assert!(said(&page).contains("<option value=\"status\" selected>"));
    let wrong = browser.get(&format!("{path}?from=2026-11-21&to=2026-11-20&type=ftp")).await;
    assert_eq!(wrong.status(), 422);
    for text in [
        "The selected type is invalid. (and 1 more error)",
        "<p class=\"err\" id=\"to-problem\" role=\"alert\">Must be a date on or after from.",
        "value=\"2026-11-21\"",
    ] {
        assert!(main_part(&wrong).contains(text), "{text}: {}", main_part(&wrong));
    }
}

/// Only this code is a failure from now on.
async fn judge(service: &Service, owner: &Member, site: SiteId, code: u16) {
    let settings = json!({ "incident_status_codes": [code] });
    let settings = json!({ "tools": { "status": { "settings": settings } } });
    let body = json!({ "url": "https://a.test/", "name": "A", "monitoring_settings": settings });
    let changed = service.client(owner).patch(&format!("/sites/{site}"), &body).await;
    assert_eq!(changed.status, 200, "{changed:?}");
}

#[tokio::test]
async fn the_history_has_four_outcomes_and_pages_by_day() {
    let (mut service, owner, site) = watched().await;
    let error = CheckError {
        message: "no memory".to_owned(),
        code: "out_of_memory".to_owned(),
        data: serde_json::Value::Null,
    };
    // Two failed checks in a row open an issue by default; the first one belongs to the outage, too.
    let mut opening = None;
    for (minutes, finish) in [
        (0, status(200, 9.0)),
        (1, status(503, 9.0)),
        (1, status(503, 9.0)),
        (1, status(503, 9.0)),
        (1, Finish::Failed(error)),
        (1, status(200, 9.0)),
        (1, status(200, 9.0)),
        (24 * 60, status(404, 9.0)),
    ] {
        service.advance_minutes(minutes);
        end(&service, site, finish).await;
        let issues = service.test.app.store.issues_of_site(site.partition()).await.expect("read");
        opening = opening.or(issues.first().map(|issue| issue.id));
    }
    let issue = opening.expect("an issue");
    let browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{site}/checks");
    let all = browser.get(&path).await;
    for (outcome, class, count) in
        [("OK", "up", 3), ("Failed", "down", 4), ("Could not run", "issues", 1)]
    {
        let pills = said(&all).split("<tbody>").nth(1).expect("rows");
        let pill = format!("<span class=\"pill bare {class}\">");
        assert_eq!(pills.matches(&pill).count(), count, "{outcome}: {pills}");
        assert_eq!(pills.matches(&format!("<span>{outcome}</span>")).count(), count, "{outcome}");
    }
    for link in ["outcome=ok", "outcome=failed", "outcome=not-run", "outcome=skipped"] {
        assert!(said(&all).contains(&format!("href=\"{path}?{link}\"")), "{link}");
    }
    // The last failed check is alone, so it has opened nothing.
    let links = format!("<a href=\"/issues/{issue}\">");
    assert_eq!(said(&all).matches(&links).count(), 3, "{}", said(&all));
    assert_eq!(said(&all).matches("Opened the issue</a>").count(), 1);

    let rows = |page: &str| page.matches("<td><a href=\"/checks/").count();
    let newest = browser.get(&format!("{path}?outcome=failed")).await;
    assert!(said(&newest).contains("1 check on 21 Nov (UTC)"), "{}", said(&newest));
    assert_eq!(rows(said(&newest)), 1);
    assert!(!said(&newest).contains("Newer</a>"));
    let older = format!("{path}?outcome=failed&amp;day=2026-11-20");
    assert!(said(&newest).contains(&older), "{}", said(&newest));
    let older = browser.get(&format!("{path}?outcome=failed&day=2026-11-20")).await;
    assert_eq!(rows(said(&older)), 3);
    assert!(said(&older).contains("Newer</a>") && !said(&older).contains("Older</a>"));
    for (query, shown) in [
        ("outcome=ok", 0),
        ("outcome=ok&day=2026-11-20", 3),
        ("outcome=ok&type=ssl", 0),
        ("outcome=not-run", 1),
        ("outcome=skipped", 0),
    ] {
        let page = browser.get(&format!("{path}?{query}")).await;
        assert_eq!(rows(said(&page)), shown, "{query}");
    }
    assert_eq!(browser.get(&format!("{path}?outcome=ok&day=x")).await.status(), 422);

    // Checks keep how they were judged. Those of earlier versions are judged by the present settings.
    judge(&service, &owner, site, 500).await;
    for version in [BlockVersion::Two, BlockVersion::One] {
        service.test.app.service.writes_blocks = Some(version);
        service.advance_minutes(1);
        end(&service, site, status(404, 9.0)).await;
    }
    judge(&service, &owner, site, 404).await;
    let browser = Browser::of(&service.test, owner.user).await;
    for (outcome, shown) in [("ok", 1), ("failed", 2)] {
        let page = browser.get(&format!("{path}?outcome={outcome}")).await;
        assert_eq!(rows(said(&page)), shown, "{outcome}: {}", said(&page));
    }
}

#[tokio::test]
async fn a_check_is_shown_whole_and_texts_of_strangers_stay_texts() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let error = CheckError {
        message: HOSTILE.to_owned(),
        code: "target_forbidden".to_owned(),
        data: json!({ "address": HOSTILE }),
    };
    let expected: [(Finish, &[&str]); 5] = [
        (certificate(), &["Valid, 41 days left", "<bdi>Chain</bdi></caption>", HARMLESS]),
        (dns(&["192.0.2.1"]), &["2 records", "<bdi>192.0.2.1</bdi>", HARMLESS]),
        (
            links(),
            &[
                "32 broken of 99 links",
                "<bdi>javascript:alert(1)</bdi>",
                "https://a.test/29",
                HARMLESS,
            ],
        ),
        (performance(93), &["Score 93 of 100", "Est savings of 21 KiB", HARMLESS]),
        (Finish::Failed(error), &["Could not run: <bdi>", "<dt><bdi>Address", HARMLESS]),
    ];
    for (finish, texts) in expected {
        let check = end(&service, site, finish).await;
        let page = browser.get(&format!("/checks/{check}")).await;
        for text in texts {
            assert!(said(&page).contains(text), "{text}: {}", said(&page));
        }
        let history = browser.get(&format!("/sites/{site}/checks")).await;
        assert!(said(&history).contains(&check.to_string()));
    }
    let page = browser.get(&format!("/sites/{site}/checks")).await;
    assert!(said(&page).contains(HARMLESS), "{}", said(&page));
}

#[tokio::test]
async fn checks_are_for_their_team() {
    let (service, owner, site) = watched().await;
    let check = end(&service, site, status(200, 9.0)).await;
    let viewer = member_of(&service.test, owner.team, Role::Viewer, &Scope::ALL).await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    let (viewing, other) = (
        Browser::of(&service.test, viewer.user).await,
        Browser::of(&service.test, stranger.user).await,
    );
    for path in [format!("/checks/{check}"), format!("/sites/{site}/checks")] {
        assert_eq!(other.get(&path).await.status(), 404, "{path}");
        assert!(!said(&viewing.get(&path).await).contains("method=\"post\""), "{path}");
    }
    let unknown = CheckId::on_demand(site, check.tool(), service.test.now(), 1);
    for path in [format!("/checks/{unknown}"), "/checks/x".to_owned(), "/sites/x/checks".to_owned()]
    {
        assert_eq!(viewing.get(&path).await.status(), 404, "{path}");
    }
}
