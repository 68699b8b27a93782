//! The time zone of a user, with a form, and the zone of the times on pages.

use jiff::Timestamp;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::{TestApp, new_team};
use vedette_tests::Service;

use crate::issues::broken;
use crate::support::{Browser, body, main_part, said, sent_to, text};

const PATH: &str = "/time-zone";

#[tokio::test]
async fn a_zone_is_chosen_of_all_that_there_are_and_given_up_again() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let home = browser.get("/").await;
    assert!(body(&home).contains("href=\"/time-zone\""), "in the user's menu");
    for (chosen, sent) in [
        ("", "time_zone=Europe%2FBerlin"),
        ("Europe/Berlin", "time_zone="),
        ("", "time_zone=UTC"),
        ("UTC", "time_zone="),
    ] {
        let page = browser.get(PATH).await;
        let selected = format!("<option value=\"{chosen}\" selected>");
        assert!(said(&page).contains(&selected), "{chosen}: {}", said(&page));
        assert_eq!(said(&page).matches(" selected>").count(), 1);
        assert_eq!(sent_to(&browser.post(PATH, sent).await), "/time-zone?notice=saved");
    }
    let page = browser.get("/time-zone?notice=saved").await;
    assert!(said(&page).contains("Saved."));
    let refused = browser.post(PATH, "time_zone=Europe%2FAtlantis").await;
    assert_eq!(refused.status(), 422);
    assert!(main_part(&refused).contains("Must be an IANA time zone name"));
}

/// The last words of a page, which name the zone of its times.
fn footer(page: &str) -> &str {
    page.split_once("<footer class=\"wrap foot\">").expect("a footer").1
}

#[tokio::test]
async fn times_are_in_the_zone_of_the_reader_or_else_of_the_team_or_else_in_utc() {
    let (service, owner) = Service::with_team().await;
    let (_target, id) = broken(&service, &owner).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let team_zone = format!("/teams/{}/time-zone", owner.team);
    let issue = format!("/issues/{id}");
    for (path, sent, exact, minute, zone) in [
        (
            PATH,
            "time_zone=",
            "20 Nov, 09:54:00 UTC",
            "2026-11-20 09:54 UTC",
            "<span id=\"zone\">UTC</span>",
        ),
        (
            &team_zone,
            "time_zone=Europe%2FBerlin",
            "20 Nov, 10:54:00 CET",
            "2026-11-20 10:54 CET",
            "<span id=\"zone\" data-chosen>Europe/Berlin</span>",
        ),
        (
            PATH,
            "time_zone=Asia%2FKathmandu",
            "20 Nov, 15:39:00 +0545",
            "2026-11-20 15:39 +0545",
            "<span id=\"zone\" data-chosen>Asia/Kathmandu</span>",
        ),
        (
            PATH,
            "time_zone=UTC",
            "20 Nov, 09:54:00 UTC",
            "2026-11-20 09:54 UTC",
            "<span id=\"zone\" data-chosen>UTC</span>",
        ),
    ] {
        sent_to(&browser.post(path, sent).await);
        let page = browser.get(&issue).await;
        assert!(text(said(&page)).contains(&format!("Since {exact}")), "{sent}: {}", said(&page));
        assert!(footer(body(&page)).contains(zone), "{sent}: {}", footer(body(&page)));
        assert_eq!(body(&page).matches("id=\"zone\"").count(), 1, "named once");
        // How long ago something was has the time where the pointer finds it.
        let list = browser.get("/").await;
        assert!(
            said(&list).contains(&format!("title=\"Since {minute}\"")),
            "{sent}: {}",
            said(&list)
        );
    }
}

/// What the page of an issue that opens at an instant says about its beginning.
async fn since(service: &Service, at: &str) -> String {
    service.test.set_clock(at.parse::<Timestamp>().expect("a timestamp"));
    let owner = new_team(&service.test, Plan::Agency).await;
    let (_target, id) = broken(service, &owner).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    sent_to(&browser.post(PATH, "time_zone=Europe%2FBerlin").await);
    let page = browser.get(&format!("/issues/{id}")).await;
    let shown = text(said(&page));
    let (_, rest) = shown.split_once("Since ").expect("since when");
    rest.split_whitespace().take(4).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn times_follow_both_clock_changes_of_a_year() {
    let (service, _) = Service::with_team().await;
    for (at, shown) in [
        ("2027-03-28T00:59:59Z", "28 Mar, 01:59:59 CET"),
        ("2027-03-28T01:00:00Z", "28 Mar, 03:00:00 CEST"),
        ("2027-10-31T00:30:00Z", "31 Oct, 02:30:00 CEST"),
        ("2027-10-31T01:30:00Z", "31 Oct, 02:30:00 CET"),
    ] {
        assert_eq!(since(&service, at).await, shown, "{at}");
    }
}
