//! What the browser's tab and the header show on each page, and how often a page is refreshed.

use vedette_dashboard::Dashboard;
use vedette_domain::accounts::account::{Membership, Role};
use vedette_domain::accounts::plan::Plan;
use vedette_store::Audit;
use vedette_testkit::new_team;

use crate::failing::Watched;
use crate::site::watched;
use crate::support::{Browser, body, send_with, sent_to, text};

/// What follows `start` in a page, until `end`.
fn between<'p>(page: &'p str, start: &str, end: &str) -> &'p str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no {start}: {page}"));
    rest.split_once(end).expect("its end").0
}

/// A page's title, the state of its icon and its mark, the count in the navigation, and the seconds until its refresh.
async fn frame(browser: &Browser<'_>, path: &str) -> [String; 5] {
    let response = browser.get(path).await;
    assert_eq!(response.status(), 200, "{path}");
    let page = body(&response);
    let state = between(page, "rel=\"icon\" href=\"/assets/icon-", "-");
    let mark = between(page, "class=\"mark ", "\"");
    let count = text(between(page, "<span id=\"unacknowledged\">", "</a>"));
    let title = between(page, "<title>", "</title>").to_owned();
    let every = between(page, "data-live=\"", "\"").to_owned();
    [title, state.to_owned(), mark.to_owned(), count, every]
}

#[tokio::test]
async fn each_page_says_the_state_in_its_tab() {
    let watched = Watched::start().await;
    let (service, team) = (&watched.service, watched.owner.team);
    let mut browser = Browser::of(&service.test, watched.owner.user).await;
    let plan = format!("/teams/{team}/plan");
    for path in ["/", &plan] {
        let [_, state, mark, ..] = frame(&browser, path).await;
        assert_eq!((&*state, &*mark), ("unknown", "unknown"), "nothing is checked");
    }
    let site = watched.site(&mut browser, 200).await;
    let page = format!("/sites/{site}");
    let stored = service.test.app.store.site(site.partition()).await.expect("read");
    let host = stored.expect("a site").site.name.to_string();
    let shows = async |browser: &Browser<'_>, says: &str, state: &str, count: &str, every: &str| {
        for (path, title, every) in [
            ("/", format!("Your site {says}"), every),
            (&page, format!("{host} {says}"), every),
            (&plan, "Plan".to_owned(), "30"),
        ] {
            let title = format!("{title} · Observers");
            assert_eq!(frame(browser, path).await, [&title, state, state, count, every], "{path}");
        }
    };
    shows(&browser, "is up", "up", "", "30").await;
    watched.check(site, 503).await;
    shows(&browser, "is failing", "failing", "", "15").await;
    watched.check(site, 503).await;
    let count = "1 critical and not acknowledged";
    shows(&browser, "is down", "down", count, "15").await;
    let issue = format!("/issues/{}", watched.issue(site).await);
    let [title, state, _, _, every] = frame(&browser, &issue).await;
    assert_eq!(
        (&*title, &*state, &*every),
        (&*format!("{host} is down: HTTP 503 Service Unavailable · Observers"), "down", "15")
    );
    sent_to(&browser.post(&format!("{issue}/acknowledge"), "").await);
    shows(&browser, "is down", "down", "", "15").await;
    watched.check(site, 200).await;
    shows(&browser, "is up", "up", "", "30").await;
    let [_, state, _, _, every] = frame(&browser, &issue).await;
    assert_eq!([&*state, &*every], ["up", "30"], "it is over");
    sent_to(&browser.post(&format!("{page}/pause"), "").await);
    for path in ["/", &page] {
        let [title, state, ..] = frame(&browser, path).await;
        assert!(title.contains("is paused") && state == "unknown", "{title}: {state}");
    }
}

#[tokio::test]
async fn a_page_that_waits_for_its_first_check_is_refreshed_more_often_on_one_machine() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let guide = include_str!("../../docs/reference/dashboard.md").replace('\n', " ");
    for (dashboard, seconds, said) in [
        (Dashboard::default().on_one_machine(), 5, "refresh every 5 seconds on one machine"),
        (Dashboard::default(), 15, "and every 15 seconds on AWS"),
    ] {
        for path in ["/".to_owned(), format!("/sites/{site}")] {
            let page = send_with(&service.test, &dashboard, &browser.head("GET", &path), "").await;
            let every = between(body(&page), "data-live=\"", "\"");
            assert_eq!(every, seconds.to_string(), "{path}");
        }
        assert!(guide.contains(said), "{said}");
    }
    assert!(guide.contains("a page also refreshes itself every 30 seconds"));
}

#[tokio::test]
async fn a_member_of_several_teams_sees_the_count_of_the_team_that_a_site_belongs_to() {
    let watched = Watched::start().await;
    let mut browser = Browser::of(&watched.service.test, watched.owner.user).await;
    let site = watched.site(&mut browser, 503).await;
    watched.check(site, 503).await;
    let test = &watched.service.test;
    let other = new_team(test, Plan::Agency).await.team;
    let place = Membership { team: other, user: watched.owner.user, role: Role::Owner };
    test.app.store.put_member(&place, None, Audit::None).await.expect("a member");
    let [_, state, _, count, _] = frame(&browser, &format!("/sites/{site}")).await;
    assert_eq!([&*state, &*count], ["down", "1 critical and not acknowledged"]);
}

#[tokio::test]
async fn a_page_takes_half_a_read_more_for_the_count() {
    let watched = Watched::start().await;
    let browser = Browser::of(&watched.service.test, watched.owner.user).await;
    let meter = watched.service.test.meter();
    meter.start();
    browser.get(&format!("/teams/{}/plan", watched.owner.team)).await;
    let spent = meter.stop();
    // Session and account; then at once the team, the count of requests and the count of issues.
    assert_eq!((spent.round_trips, spent.rounds), (5, 2), "{spent:?}");
}

#[tokio::test]
async fn times_of_checks_have_seconds_and_a_year_only_if_it_is_another_one() {
    let watched = Watched::start().await;
    let mut browser = Browser::of(&watched.service.test, watched.owner.user).await;
    let site = watched.site(&mut browser, 200).await;
    watched.check(site, 503).await;
    watched.check(site, 503).await;
    let issue = format!("/issues/{}", watched.issue(site).await);
    let history = format!("/sites/{site}/checks");
    for path in [&history, &issue] {
        let shown = text(body(&browser.get(path).await));
        assert!(
            shown.contains("20 Nov, 10:04:00 UTC") && !shown.contains("20 Nov 2026"),
            "{shown}"
        );
    }
    // The session does not last that long.
    watched.service.advance_minutes(60 * 24 * 60);
    let browser = Browser::of(&watched.service.test, watched.owner.user).await;
    let shown = text(body(&browser.get(&issue).await));
    assert!(shown.contains("20 Nov 2026, 10:04:00 UTC"), "{shown}");
}
