//! A team with two thousand sites: orders, pages, an outage of many of them, and forms in which sites are chosen.

use jiff::SignedDuration;
use vedette_actions::ACKNOWLEDGED_MAX;
use vedette_domain::accounts::audit::{AuditEvent, IssueDecision};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::SiteId;
use vedette_domain::issues::IssueStatus;
use vedette_domain::maintenance::SITES_MAX;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_store::{Audit, SiteWithTools};
use vedette_testkit::Member;
use vedette_tests::Service;

use crate::results::{certificate, end, status};
use crate::sites::after;
use crate::support::{Browser, main_part, said, sent_to, text};

const SITES: usize = 2_000;
/// The tools that the list shows. Each makes a new site take longer.
const TOOLS: [Tool; 2] = [Tool::Status, Tool::Ssl];

/// A team with these sites, each added a second after the one before.
async fn with_sites(count: usize) -> (Service, Member, Vec<SiteId>) {
    let (service, owner) = Service::with_team().await;
    let app = &service.test.app;
    let team = app.store.team(owner.team, service.test.now()).await.expect("read").expect("a team");
    let mut sites = Vec::new();
    for number in 0..count {
        let url = SiteUrl::parse(&format!("https://site-{number:04}.test")).expect("a URL");
        let id = app.entropy.site_id().expect("an id");
        let added_at = service.test.now() + SignedDuration::from_secs(number as i64);
        let site = Site::new(id, owner.team, url, added_at);
        let stored =
            SiteWithTools { site, tools: TOOLS.map(|tool| (tool, ToolState::new())).into() };
        app.store.create_site(&team.team, &stored, None, None, Audit::None).await.expect("created");
        sites.push(id);
    }
    (service, owner, sites)
}

/// Has these sites fail until their issues open.
async fn go_down(service: &Service, sites: &[SiteId]) {
    for _ in 0..2 {
        service.advance_minutes(2);
        for site in sites {
            end(service, *site, status(503, 30.0)).await;
        }
    }
    service.waiting();
}

/// The names of the sites on a page of the list, in their order.
fn names(page: &str) -> Vec<String> {
    let (_, rows) = page.split_once("<tbody>").expect("rows");
    let names = rows.split("<a class=\"name cut\"").skip(1);
    names.map(|row| row.split_once("<bdi>").expect("a name").1[..9].to_owned()).collect()
}

#[tokio::test]
async fn many_sites_that_go_down_together_are_one_card_and_acknowledged_at_once() {
    let (service, owner, sites) = with_sites(SITES).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}", owner.team);
    go_down(&service, &sites[..1]).await;
    service.advance_minutes(60);
    // Two percent of the sites are forty.
    go_down(&service, &sites[100..139]).await;
    let list = browser.get(&path).await;
    assert!(!said(&list).contains("Acknowledge all"), "{}", said(&list));
    let shown = text(said(&list));
    assert!(shown.contains("35 more open issues"), "{shown}");
    assert!(!shown.contains("none of them critical"), "{shown}");
    go_down(&service, &sites[139..140]).await;
    end(&service, sites[7], certificate()).await;

    let meter = service.test.meter();
    meter.start();
    let list = browser.get(&path).await;
    let spent = meter.stop();
    // Session and account; then team and count; then the directory in four parts, the tags, the groups and the index
    // once; then the alerts, and the status tools and certificates of the page.
    assert_eq!((spent.round_trips, spent.rounds), (14, 4), "{spent:?}");
    let shown = text(said(&list));
    for words in [
        "41 of 2 000 sites are down",
        "40 sites are down since 11:00 For 6 min · Not acknowledged Acknowledge all",
        "site-0000.test · For 1 h 10 min",
        "1–25 of 2 000",
    ] {
        assert!(shown.replace('\u{202f}', " ").contains(words), "{words}: {shown}");
    }
    assert!(shown.find("40 sites are down") < shown.find("site-0000.test · For 1 h"), "{shown}");

    let acknowledged = async || {
        let log = service.test.app.store.audit_log(owner.team, None, 100).await.expect("read");
        let decisions = log.entries.into_iter().filter(|entry| {
            let decision = IssueDecision::Acknowledged;
            matches!(&entry.event, AuditEvent::Issue { decision: made, .. } if *made == decision)
        });
        decisions.count()
    };
    let time = |name: &str| after(said(&list), &format!("name=\"{name}\" value=\"")).to_owned();
    let form = format!("from={}&to={}", time("from"), time("to"));
    let acknowledge = format!("{path}/issues/acknowledge");
    let done = browser.post(&acknowledge, &form).await;
    assert_eq!(sent_to(&done), format!("{path}?notice=all-acknowledged"));
    assert_eq!(acknowledged().await, 40);
    let index = service.test.app.store.issue_index(owner.team, true).await.expect("read");
    let open: Vec<_> = index.iter().filter(|row| row.status == IssueStatus::Open).collect();
    assert_eq!(open.iter().map(|row| row.monitor).collect::<Vec<_>>(), [sites[0]], "nothing else");
    // A repeated request finds nothing to do.
    let again = browser.post(&acknowledge, &form).await;
    assert_eq!(sent_to(&again), format!("{path}?notice=none-open"));
    assert_eq!(acknowledged().await, 40);
    let list = browser.get(&path).await;
    let shown = text(said(&list));
    assert!(shown.contains("40 sites are down since 11:00 For 6 min Acknowledged"), "{shown}");
    let wrong = browser.post(&acknowledge, "from=yesterday&to=").await;
    assert_eq!(wrong.status(), 400);
}

#[tokio::test]
async fn more_than_a_thousand_sites_are_not_changed_together() {
    let (service, owner, _) = with_sites(1_001).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}", owner.team);
    let list = browser.get(&format!("{path}?selected=all")).await;
    let shown = text(said(&list)).replace('\u{202f}', " ");
    assert!(shown.contains("All 1 001 selected"), "{shown}");
    assert!(shown.contains("Narrow the filter to 1 000 sites or fewer"), "{shown}");
    let selected = format!("{path}/sites/selected");
    let refused = browser.post(&selected, "all=1&do=pause").await;
    assert_eq!(sent_to(&refused), format!("{path}?notice=too-many"));
}

#[tokio::test]
async fn of_two_mass_outages_each_is_acknowledged_alone_a_thousand_issues_at_a_time() {
    let (service, owner, sites) = with_sites(ACKNOWLEDGED_MAX + 60).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}", owner.team);
    go_down(&service, &sites[..30]).await;
    service.advance_minutes(60);
    go_down(&service, &sites[30..ACKNOWLEDGED_MAX + 40]).await;
    let list = browser.get(&path).await;
    let shown = text(said(&list)).replace('\u{202f}', " ");
    let places = ["1 010 sites are down since", "30 sites are down since"].map(|of| shown.find(of));
    assert!(places[0].is_some() && places[0] < places[1], "the newest first: {shown}");

    let time = |name: &str| after(said(&list), &format!("name=\"{name}\" value=\"")).to_owned();
    let form = format!("from={}&to={}", time("from"), time("to"));
    let acknowledge = format!("{path}/issues/acknowledge");
    for (notice, left) in [("some-acknowledged", 40), ("all-acknowledged", 30), ("none-open", 30)] {
        let done = browser.post(&acknowledge, &form).await;
        assert_eq!(sent_to(&done), format!("{path}?notice={notice}"));
        let index = service.test.app.store.issue_index(owner.team, true).await.expect("read");
        let open = index.iter().filter(|row| row.status == IssueStatus::Open).count();
        assert_eq!(open, left, "{notice}");
    }
}

#[tokio::test]
async fn the_list_has_pages_of_three_sizes_and_any_page_asked_for_is_one_of_them() {
    let (service, owner, sites) = with_sites(260).await;
    let browser = Browser::of(&service.test, owner.user).await;
    end(&service, sites[100], status(200, 30.0)).await;
    end(&service, sites[200], status(200, 90.0)).await;
    for (query, rows, first, range) in [
        ("", 25, "site-0000", "1–25 of 260"),
        ("page=2", 25, "site-0025", "26–50 of 260"),
        ("page=3&size=100", 60, "site-0202", "201–260 of 260"),
        ("page=99999999999999999999", 10, "site-0252", "251–260 of 260"),
        ("page=x&size=99999999999999999999", 25, "site-0000", "1–25 of 260"),
        ("sort=-name", 25, "site-0259", "1–25 of 260"),
        ("sort=added", 25, "site-0259", "1–25 of 260"),
        ("sort=-added&page=2", 25, "site-0025", "26–50 of 260"),
        ("sort=response", 25, "site-0200", "1–25 of 260"),
        ("sort=-response", 25, "site-0100", "1–25 of 260"),
        ("sort=checked&search=site-02", 25, "site-0200", "1–25 of 60"),
        ("sort=nothing", 25, "site-0000", "1–25 of 260"),
    ] {
        let page = browser.get(&format!("/?{query}")).await;
        let names = names(said(&page));
        assert_eq!((names.len(), &*names[0]), (rows, first), "{query}");
        assert!(text(said(&page)).contains(range), "{query}: {}", text(said(&page)));
    }
    let page = browser.get("/?state=unknown&search=site&sort=-name&size=50&page=2").await;
    for link in [
        "rel=\"prev\" href=\"/?state=unknown&amp;search=site&amp;selector=&amp;sort=-name&amp;size=50\"",
        "rel=\"next\" href=\"/?state=unknown&amp;search=site&amp;selector=&amp;sort=-name&amp;size=50&amp;page=3\"",
        // The page of another size has the same rows.
        "href=\"/?state=unknown&amp;search=site&amp;selector=&amp;sort=-name&amp;page=3\"",
        "href=\"/?state=&amp;search=site&amp;selector=&amp;sort=-name&amp;size=50\"",
        "aria-sort=\"descending\"><a href=\"/?state=unknown&amp;search=site&amp;selector=&amp;sort=name&amp;size=50\"",
    ] {
        assert!(said(&page).contains(link), "{link}: {}", said(&page));
    }
}

#[tokio::test]
async fn a_long_list_is_sorted_by_what_checks_say_once_it_is_filtered() {
    let (service, owner, sites) = with_sites(501).await;
    let browser = Browser::of(&service.test, owner.user).await;
    end(&service, sites[300], status(200, 90.0)).await;
    let whole = browser.get("/?sort=response").await;
    assert_eq!(names(said(&whole))[0], "site-0000");
    let shown = text(said(&whole));
    assert!(shown.contains("501 sites, sorted by state"), "{shown}");
    assert!(shown.contains("this takes at most 500 sites"), "{shown}");
    let filtered = browser.get("/?sort=response&search=site-03").await;
    assert_eq!(names(said(&filtered))[0], "site-0300");
    let shown = text(said(&filtered));
    assert!(shown.contains("100 of 501 sites, sorted by response time"), "{shown}");
}

#[tokio::test]
async fn sites_are_found_in_forms_without_losing_what_was_typed_and_chosen() {
    let (service, owner, sites) = with_sites(260).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let team = format!("/teams/{}", owner.team);
    let windows = format!("{team}/maintenance");
    let box_of = |field: &str, site: SiteId, is_chosen: bool| {
        let checked = if is_chosen { " checked" } else { "" };
        format!("type=\"checkbox\" name=\"{field}\" value=\"{site}\"{checked}>")
    };
    let form = browser.get(&windows).await;
    assert!(!said(&form).contains(&box_of("sites", sites[250], false)));
    assert!(text(said(&form)).contains("60 more sites match."), "{}", text(said(&form)));
    let typed = "duration_minutes=60&starts_at=&time_zone=UTC&recurrence=&rule=";
    let search = format!("name=Updates&{typed}&sites={}&find=SITE-0250&do=find", sites[3]);
    let found = browser.post(&windows, &search).await;
    let page = said(&found);
    for part in [
        box_of("sites", sites[3], true),
        box_of("sites", sites[250], false),
        "value=\"Updates\"".to_owned(),
        "value=\"SITE-0250\"".to_owned(),
    ] {
        assert!(page.contains(&part), "{part}: {page}");
    }
    assert!(!page.contains(&box_of("sites", sites[4], false)), "{page}");
    assert!(text(page).contains("No maintenance is planned."), "nothing was added");
    let nothing = browser.post(&windows, &format!("name=&{typed}&find=nothing&do=find")).await;
    assert!(text(said(&nothing)).contains("No site matches."), "{}", text(said(&nothing)));
    // A window takes at most a hundred sites, and the form keeps them all.
    let many: String =
        sites[150..=150 + SITES_MAX].iter().map(|site| format!("&sites={site}")).collect();
    let refused = browser.post(&windows, &format!("name=Many&{typed}{many}")).await;
    assert_eq!(refused.status(), 422);
    assert_eq!(main_part(&refused).matches("name=\"sites\"").count(), 101 + 159);
    assert_eq!(main_part(&refused).matches("\" checked").count(), 101);

    sent_to(&browser.post(&format!("{team}/status-pages"), "name=Shops&slug=shops").await);
    let page = service.test.app.store.status_pages(owner.team).await.expect("read").remove(0);
    let edit = format!("{team}/status-pages/{}/edit", page.id);
    let search = format!(
        "name=Shops&slug=shops&message=Hello&site%3A{0}={0}&show={0}&name%3A{0}=Third&find=site-0250&do=find",
        sites[3]
    );
    let found = browser.post(&edit, &search).await;
    let page = said(&found);
    for part in [
        box_of("show", sites[3], true),
        box_of("show", sites[250], false),
        "value=\"Third\"".to_owned(),
    ] {
        assert!(page.contains(&part), "{part}: {page}");
    }
    assert_eq!(page.matches("name=\"show\"").count(), 2, "{page}");
    let pages = service.test.app.store.status_pages(owner.team).await.expect("read");
    assert_eq!(pages[0].components().count(), 0, "nothing was saved");
}
