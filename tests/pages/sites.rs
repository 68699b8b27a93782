//! The list of sites, the forms that add sites, and the page of a site.

use jiff::SignedDuration;
use lambda_http::http::HeaderValue;
use vedette_dashboard::Dashboard;
use vedette_domain::accounts::account::{Membership, Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_store::{Audit, SiteDeletion, SiteWithTools};
use vedette_testkit::{TestApp, WebServer, loopback, member_of, new_team};
use vedette_tests::Service;

use crate::results::{certificate, end, status};
use crate::site::watched;
use crate::support::{Browser, main_part, said, send_with, sent_to, text};

/// What follows the text in a page, up to a double quote.
pub(crate) fn after<'a>(page: &'a str, text: &str) -> &'a str {
    let (_, rest) = page.split_once(text).unwrap_or_else(|| panic!("no {text} in {page}"));
    rest.split('"').next().unwrap_or_default()
}

#[tokio::test]
async fn sites_are_pasted_and_then_listed_failing_ones_first() {
    let (service, owner) = Service::with_team().await;
    let (good, bad) = (WebServer::start().await, WebServer::start().await);
    bad.answer(503);
    let mut browser = Browser::of(&service.test, owner.user).await;
    let home = browser.get("/").await;
    assert!(said(&home).contains("Add your first site"));
    let form = browser.get(after(said(&home), "Adding many sites? <a href=\"")).await;
    let path = after(said(&form), "action=\"").to_owned();
    let urls = format!("urls={}%0D%0A%0D%0A+{}%0A{}", good.url, bad.url, good.url);
    let added = browser.post(&path, &urls).await;
    let list = sent_to(&added).to_owned();
    assert!(said(&browser.get(&list).await).contains("<b>2 sites added.</b>"));
    assert!(said(&browser.get("/").await).contains("<span>New</span></span><b>2</b>"));

    service.consume().await;
    service.advance_minutes(2);
    let down = service.test.app.store.directory(owner.team, 10).await.expect("read");
    let down = down.iter().find(|row| row.url.as_str().starts_with(&bad.url)).expect("a site").id;
    service.run_scheduled(down, Tool::Status).await;
    service.consume().await;
    let list = browser.get("/").await;
    let list = said(&list);
    let shown = text(list);
    for count in ["One of 2 sites is down One is up.", "All sites 2", "Down 1", "Up 1", "Paused 0"]
    {
        assert!(shown.contains(count), "{count}: {shown}");
    }
    let place = |url: &str| list.find(&format!("title=\"{url}")).expect("listed");
    assert!(place(&bad.url) < place(&good.url), "{list}");
    let nothing = browser.get("/?search=%3Cb%3E").await;
    assert!(
        text(said(&nothing)).contains("No sites match “ <b> ”. Show all sites"),
        "{}",
        said(&nothing)
    );
    for (query, shown) in [
        ("state=down", vec![&bad]),
        ("state=up", vec![&good]),
        ("state=paused", vec![]),
        ("state=other", vec![&bad, &good]),
        ("search=HTTP://127", vec![&bad, &good]),
        ("search=nothing", vec![]),
        ("page=2", vec![&bad, &good]),
    ] {
        let page = browser.get(&format!("/?{query}")).await;
        for site in [&good, &bad] {
            let is_shown = said(&page).contains(&format!("title=\"{}", site.url));
            assert_eq!(is_shown, shown.iter().any(|one| one.url == site.url), "{query}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_watched_stays_in_the_form_with_the_reason() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/sites", owner.team);
    sent_to(&browser.post(&path, "urls=https://a.test").await);
    let urls = "urls=a.test%0Ab.test%0Aftp://c.test%0A%3Cscript%3E%0A";
    let refused = browser.post(&path, urls).await;
    assert_eq!(refused.status(), 422);
    let page = main_part(&refused);
    for text in [
        "1 site added.",
        "1 site is already monitored and stays as it is.",
        "<bdi>ftp://c.test</bdi>: The URL must start with http:// or https://.",
        ">ftp://c.test\n&lt;script&gt;</textarea>",
        "aria-describedby=\"problems\"",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let empty = browser.post(&path, "urls=+%0A").await;
    assert_eq!(empty.status(), 422);
    assert!(main_part(&empty).contains("Enter a URL."));
    assert_eq!(service.test.app.store.directory(owner.team, 10).await.expect("read").len(), 2);
}

#[tokio::test]
async fn the_form_says_how_often_new_sites_are_checked_and_who_is_notified() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let team = format!("/teams/{}", owner.team);
    let form = browser.get(&format!("{team}/sites/new")).await;
    insta::assert_snapshot!(text(said(&form)), @"Sites Add sites URLs, one per line Without http:// or https://, Vedette uses https://, unless the URL has a port that does not speak TLS. An http:// URL needs no certificate. Up to 100 URLs at a time. Tags For example: env:prod team:shop legacy. Up to 10, separated by spaces. Lists can be filtered by tags. Add sites What happens next Team settings Status Every 5 minutes Notifications Nobody is notified of issues until there is a channel. Add a channel");
    let webhook = "kind=webhook&name=Pager&to=https%3A%2F%2Fhooks.test%2Fin";
    // The answer shows the key with which notifications are signed.
    assert_eq!(browser.post(&format!("{team}/channels"), webhook).await.status(), 200);
    let mail = "kind=email&name=Ops&to=ops%40example.com";
    sent_to(&browser.post(&format!("{team}/channels"), mail).await);
    // The refused form shows who will be notified, too.
    let refused = browser.post(&format!("{team}/sites"), "urls=ftp://a.test").await;
    let refused = text(main_part(&refused));
    assert!(refused.contains("Notifications Pager , Ops (waiting for confirmation)"), "{refused}");
}

#[tokio::test]
async fn a_site_is_added_with_the_checks_of_its_team_and_a_known_one_is_said_to_be_watched() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/sites", owner.team);
    let added = browser.post(&path, "urls=http://a.test%0Ahttps://b.test").await;
    assert!(sent_to(&added).ends_with("?added=2&watched=0"), "{}", sent_to(&added));
    let sites = service.test.app.store.directory(owner.team, 10).await.expect("read");
    let of = |url: &str| sites.iter().find(|row| row.url.as_str() == url).expect("a site");
    assert_eq!(of("http://a.test").enabled, [].into());
    assert_eq!(of("https://b.test").enabled, [].into());
    let again = browser.post(&path, "urls=a.test%0Ahttp://a.test").await;
    let list = browser.get(sent_to(&again)).await;
    assert!(
        text(said(&list)).contains(
            "1 site added. The first results arrive within a minute. 1 site is already monitored and stays \
             as it is."
        ),
        "{}",
        said(&list)
    );
    // The certificate of an https URL is that of its port.
    sent_to(&browser.post(&path, "urls=https://d.test:8443%0Ahttp://d.test:8080").await);
    let sites = service.test.app.store.directory(owner.team, 10).await.expect("read");
    for (url, port) in [
        ("https://b.test", None),
        ("https://d.test:8443", Some(8443)),
        ("http://d.test:8080", None),
    ] {
        let id = sites.iter().find(|row| row.url.as_str() == url).expect("a site").id;
        let shown = service.client(&owner).get(&format!("/sites/{id}")).await;
        let settings = &shown.body["data"]["monitoring"]["settings"]["tools"]["ssl"]["settings"];
        assert_eq!(settings.get("port").and_then(serde_json::Value::as_u64), port, "{url}");
    }
    // A site that is added through the API also has the checks of its team.
    let body = serde_json::json!({ "url": "http://c.test" });
    service.client(&owner).post(&path, &body).await;
    let sites = service.test.app.store.directory(owner.team, 10).await.expect("read");
    let of_api = sites.iter().find(|row| row.url.as_str() == "http://c.test").expect("a site");
    assert_eq!(of_api.enabled, [].into());
}

#[tokio::test]
async fn a_site_shows_how_it_is_and_runs_on_demand_as_often_as_the_api() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let site = add(&mut browser, &service, owner.team, &target.url).await;
    service.consume().await;
    let path = format!("/sites/{site}");
    let page = browser.get(&path).await;
    for text in [
        "<span>Up</span>",
        "HTTP 200 in",
        "<b>100\u{202f}%</b><span>24 h</span>",
        "<b>100\u{202f}%</b><span>30 d</span>",
        "20 Nov: no downtime",
        "Median response time of each minute since 2026-11-20 09:54 UTC",
        "No issues so far.",
    ] {
        assert!(said(&page).contains(text), "{text}: {}", said(&page));
    }
    service.advance_minutes(10);
    let before = target.requests();
    let run = format!("{path}/checks");
    let queued = browser.post(&run, "").await;
    assert!(said(&browser.get(sent_to(&queued)).await).contains("Checking now: "));
    let refused = browser.post(&run, "").await;
    assert_eq!(refused.status(), 422);
    assert!(main_part(&refused).contains("role=\"alert\""), "{}", main_part(&refused));
    service.consume().await;
    assert_eq!(target.requests(), before + 1);
    for _ in 2..10 {
        browser.post(&run, "").await;
    }
    assert_eq!(browser.post(&run, "").await.status(), 429, "ten a minute, as of the API");
}

#[tokio::test]
async fn a_viewer_is_offered_nothing_that_would_be_refused() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let site = add(&mut browser, &service, owner.team, &target.url).await;
    let viewer = member_of(&service.test, owner.team, Role::Viewer, &Scope::ALL).await;
    let mut viewing = Browser::of(&service.test, viewer.user).await;
    let page = format!("/sites/{site}");
    for (path, offer) in [("/", "sites/new"), (page.as_str(), "<form")] {
        assert!(said(&browser.get(path).await).contains(offer));
        assert!(!said(&viewing.get(path).await).contains(offer));
    }
    let before = service.test.app.store.directory(owner.team, 10).await.expect("read").len();
    let sites = format!("/teams/{}/sites", owner.team);
    for path in [format!("{page}/checks"), sites.clone()] {
        assert_eq!(viewing.post(&path, "urls=b.test").await.status(), 403, "{path}");
    }
    assert_eq!(viewing.get(&format!("{sites}/new")).await.status(), 403);
    let after = service.test.app.store.directory(owner.team, 10).await.expect("read").len();
    assert_eq!(after, before);
}

#[tokio::test]
async fn another_teams_pages_are_not_there() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let site = add(&mut browser, &service, owner.team, "https://a.test").await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    let mut other = Browser::of(&service.test, stranger.user).await;
    let team = format!("/teams/{}", owner.team);
    for path in
        [format!("/sites/{site}"), team.clone(), format!("{team}/sites/new"), "/sites/x".to_owned()]
    {
        assert_eq!(other.get(&path).await.status(), 404, "{path}");
    }
    for path in [format!("/sites/{site}/checks"), format!("{team}/sites")] {
        assert_eq!(other.post(&path, "urls=b.test").await.status(), 404, "{path}");
    }
    // People who belong to several teams choose one.
    let place = Membership { team: owner.team, user: stranger.user, role: Role::Viewer };
    service.test.app.store.put_member(&place, None, Audit::None).await.expect("a member");
    let choice = other.get("/").await;
    for team in [owner.team, stranger.team] {
        assert!(said(&choice).contains(&format!("href=\"/teams/{team}\"")));
    }
    assert!(said(&other.get(&team).await).contains("a.test"));
}

/// Adds a site with the form, and finds its page.
pub(crate) async fn add(
    browser: &mut Browser<'_>,
    service: &Service,
    team: TeamId,
    url: &str,
) -> SiteId {
    sent_to(&browser.post(&format!("/teams/{team}/sites"), &format!("urls={url}")).await);
    let sites = service.test.app.store.directory(team, 10).await.expect("read");
    let newest = sites.iter().max_by_key(|row| row.created_at).expect("a site");
    newest.id
}

#[tokio::test]
async fn the_list_of_very_many_sites_is_whole_and_knows_at_once_of_new_and_deleted_ones() {
    let (test, owner) = TestApp::with_team().await;
    let team = test.app.store.team(owner.team, test.now()).await.expect("read").expect("a team");
    let long = "a".repeat(1_900);
    let add = async |name: &str| {
        let url = SiteUrl::parse(&format!("https://{name}.test/{long}")).expect("a URL");
        let id = test.app.entropy.site_id().expect("an id");
        let site = Site::new(id, owner.team, url, test.now());
        let tools = Tool::ALL.map(|tool| (tool, ToolState::new()));
        let stored = SiteWithTools { site, tools: tools.into() };
        test.app
            .store
            .create_site(&team.team, &stored, None, None, Audit::None)
            .await
            .expect("created");
        stored
    };
    for number in 0..1_100 {
        add(&format!("site-{number}")).await;
    }
    let dashboard = Dashboard::default();
    let browser = Browser::of(&test, owner.user).await;
    let path = format!("/teams/{}", owner.team);
    let list = async || {
        let response = send_with(&test, &dashboard, &browser.head("GET", &path), "").await;
        let (_, count) = said(&response).split_once("All sites</span><b>").expect("a count");
        count.split('<').next().expect("a count").replace('\u{202f}', "")
    };
    assert_eq!(list().await, "1100", "in ranges side by side");
    test.meter().start();
    assert_eq!(list().await, "1100");
    let again = test.meter().stop();
    assert!(again.reads < 100.0, "kept for a moment: {again:?}");
    let new = add("new").await;
    assert_eq!(list().await, "1101");
    test.app
        .store
        .delete_site(&new, SiteDeletion::default(), test.now(), Audit::None)
        .await
        .expect("deleted");
    assert_eq!(list().await, "1100");
    test.advance(SignedDuration::from_secs(10));
    test.meter().start();
    assert_eq!(list().await, "1100");
    assert!(test.meter().stop().reads > 400.0, "read again");
}

#[tokio::test]
async fn a_port_without_a_scheme_is_tried_once_and_the_list_says_what_it_speaks() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let port = target.url.strip_prefix("http://").expect("an address");
    let dashboard = Dashboard::default().reaching(loopback());
    let browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/sites", owner.team);
    let add = async |urls: &str| {
        let mut head = browser.head("POST", &path);
        head.headers.insert("sec-fetch-site", HeaderValue::from_static("same-origin"));
        send_with(&service.test, &dashboard, &head, &format!("urls={urls}")).await
    };
    // Vedette does not try the port if the user enters a scheme, or no port.
    let named = add(&format!("https://{port}/named%0Aa.invalid")).await;
    assert!(sent_to(&named).ends_with("?added=2&watched=0"), "{}", sent_to(&named));
    let tried = add(&format!("{port}/a?b=c%0A{port}/d")).await;
    assert!(sent_to(&tried).ends_with("?added=2&watched=0&https=0&http=2"), "{}", sent_to(&tried));
    let list = browser.get(sent_to(&tried)).await;
    let words = "2 ports without a scheme answered over http:// and are monitored that way.";
    assert!(text(said(&list)).contains(words), "{}", text(said(&list)));
    let sites = service.test.app.store.directory(owner.team, 10).await.expect("read");
    let of = |url: String| sites.iter().find(|row| row.url.as_str() == url).expect("a site");
    of(format!("http://{port}/a?b=c"));
    of(format!("https://{port}/named"));
    // After ten attempts at ports in an hour, Vedette does not try any more, and uses https.
    for number in 0..8 {
        add(&format!("{port}/{number}")).await;
    }
    let more = add(&format!("{port}/more")).await;
    assert!(sent_to(&more).ends_with("?added=1&watched=0"), "{}", sent_to(&more));
    let sites = service.test.app.store.directory(owner.team, 20).await.expect("read");
    let untried = format!("https://{port}/more");
    assert!(sites.iter().any(|row| row.url.as_str() == untried), "{sites:?}");
}

#[tokio::test]
async fn a_row_has_the_figures_of_its_site() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let row = async || {
        let list = browser.get("/").await;
        let (_, rows) = said(&list).split_once("<tbody>").expect("rows");
        text(rows.split_once("</tbody>").expect("its end").0)
    };
    // Nothing is known yet.
    assert_eq!(row().await.matches("Not known").count(), 6, "{}", row().await);
    // Two days, a check an hour; four of them fail.
    end(&service, site, certificate()).await;
    for hour in 0..48 {
        let code = if hour % 12 == 5 { 503 } else { 200 };
        end(&service, site, status(code, 100.0 + f64::from(hour))).await;
        service.advance_minutes(60);
    }
    let shown = row().await;
    for figure in ["147 ms", "91.66 %", "39 days", "1 h ago"] {
        assert!(shown.contains(figure), "{figure}: {shown}");
    }
    let list = browser.get("/").await;
    let (_, line) = said(&list).split_once("<svg class=\"spark\"").expect("a sparkline");
    let (line, _) = line.split_once("</svg>").expect("its end");
    assert!(line.contains("Response time, 24 hours: 123 to 147 ms"), "{line}");
    // It is down: there is a block instead of a line, and no time.
    for _ in 0..2 {
        end(&service, site, status(503, 30_000.0)).await;
        service.advance_minutes(60);
    }
    let list = browser.get("/").await;
    assert!(said(&list).contains("<path class=\"gap\""), "{}", said(&list));
    assert!(text(said(&list)).contains("Down for 2 h · HTTP 503"), "{}", text(said(&list)));
}
