//! Pages as programs ask for them: HEAD, and other spellings of an address.

use std::future::ready;

use lambda_http::Body;
use lambda_http::http::header::{COOKIE, LOCATION, SET_COOKIE};
use lambda_http::http::request::Parts;
use lambda_http::http::{HeaderValue, Request, Response, Uri};
use serde_json::json;
use vedette_dashboard::{
    Dashboard, Function, PAGES, SETUP_PAGES, StatusPages, find_page, find_public, not_published,
};
use vedette_domain::accounts::session::SignInLink;
use vedette_domain::alerts::channel::{Channel, Filter, LinkKey, Target};
use vedette_domain::alerts::link;
use vedette_domain::id::{ChannelId, UserId};
use vedette_http::response::for_method;
use vedette_routing::serve;
use vedette_store::{Audit, ChannelRef, Grant};
use vedette_testkit::status_pages::published_page;
use vedette_testkit::{TestApp, granted};
use vedette_tests::Service;

fn head(method: &str, path: &str) -> Parts {
    let uri = Uri::builder().scheme("https").authority("monitor.test").path_and_query(path);
    let request = Request::builder().method(method).uri(uri.build().expect("a path"));
    let request = request.header("host", "monitor.test").header("sec-fetch-site", "same-origin");
    request.body(()).expect("a request").into_parts().0
}

/// Somebody who asks for pages of the dashboard.
pub(crate) struct Visitor<'a> {
    test: &'a TestApp,
    dashboard: Dashboard,
    cookie: Option<HeaderValue>,
}

impl<'a> Visitor<'a> {
    fn new(test: &'a TestApp) -> Self {
        Self { test, dashboard: Dashboard::default(), cookie: None }
    }

    /// A visitor who has followed a sign-in link.
    pub(crate) async fn signed_in(test: &'a TestApp, user: UserId) -> Self {
        let mut visitor = Self::new(test);
        let path = sign_in_link(test, user).await;
        let response = visitor.ask("POST", &path).await;
        let cookie = response.headers()[SET_COOKIE].to_str().expect("text");
        let (cookie, _) = cookie.split_once(';').expect("attributes");
        visitor.cookie = Some(HeaderValue::try_from(cookie).expect("a cookie"));
        visitor
    }

    /// The body of a page.
    pub(crate) async fn get(&self, path: &str) -> String {
        let response = self.ask("GET", path).await;
        assert_eq!(response.status(), 200, "{path}");
        String::from_utf8(response.body().to_vec()).expect("text")
    }

    async fn ask(&self, method: &str, path: &str) -> Response<Body> {
        let mut head = head(method, path);
        head.headers.extend(self.cookie.clone().map(|cookie| (COOKIE, cookie)));
        let page = find_page(PAGES, &head);
        let page = page.unwrap_or_else(|| panic!("no page is at {method} {path}"));
        let grant = page.route.function.grant();
        let served =
            serve(&self.dashboard, &self.test.app, page, &head, |_| ready(Ok(Body::Empty)));
        Box::pin(granted([grant, &Grant::NONE], served)).await
    }
}

async fn sign_in_link(test: &TestApp, user: UserId) -> String {
    let secret = test.app.entropy.session_secret().expect("a secret");
    let link = SignInLink::new(&secret, user, test.now());
    test.app.store.create_sign_in_link(&link).await.expect("a link");
    link::sign_in("", &secret)
}

#[test]
fn head_is_for_every_page_that_only_shows() {
    for page in PAGES.iter().chain(SETUP_PAGES) {
        let path = page.path.replace(['{', '}'], "");
        let table =
            if PAGES.iter().any(|known| known.path == page.path) { PAGES } else { SETUP_PAGES };
        let found = find_page(table, &head("HEAD", &path)).map(|found| found.route);
        // Only the functions of forms, and of the pages that let people in, may write what pages show.
        let shows = |known: &&vedette_dashboard::Page| {
            known.path == page.path && known.method == "GET" && known.function == Function::Read
        };
        let expected = table.iter().find(shows);
        assert_eq!(found.map(|found| found.name), expected.map(|page| page.name), "{path}");
    }
    for path in ["/sign-out", "/oidc", "/oidc/callback", "/sites/a/pause", "/issues/a/resolve"] {
        assert!(find_page(PAGES, &head("HEAD", path)).is_none(), "{path}");
    }
}

#[tokio::test]
async fn head_is_answered_like_get_and_changes_nothing() {
    let (service, owner) = Service::with_team().await;
    let (test, team) = (&service.test, owner.team);
    test.publish_page("meridian", None, &published_page(test.now())).await;
    let key = LinkKey::from_random([7; LinkKey::BYTES]);
    let id = ChannelId::parse("3f2504e0-4f89-41d3-9a0c-0305e82c3301").expect("an id");
    let target = Target::email("ada@example.com").expect("an address");
    let channel = Channel::new(id, team, "Ada", target, Filter::default(), key.clone(), test.now());
    test.app.store.put_channel(&channel, Audit::None).await.expect("saved");
    let stored = async || {
        let place = ChannelRef { team, id };
        test.app.store.channel(place).await.expect("read").expect("a channel")
    };
    let body = json!({ "url": "https://shop.test/" });
    let created = service.client(&owner).post(&format!("/teams/{team}/sites"), &body).await;
    let site = created.data("uuid");
    let path = format!("/teams/{team}/maintenance-calendar");
    let calendar = service.client(&owner).post(&path, &json!({})).await.data("url");
    let calendar = calendar.split_once("monitor.test").expect("an address").1;
    let sign_in = sign_in_link(test, owner.user).await;
    let before = stored().await;

    let stranger = Visitor::new(test);
    let member = Visitor::signed_in(test, owner.user).await;
    let key = key.reveal();
    for (visitor, path, status) in [
        (&stranger, calendar.to_owned(), 200),
        (&stranger, sign_in.clone(), 200),
        (&stranger, format!("/channels/{team}/{id}/confirm?key={key}"), 200),
        (&stranger, format!("/channels/{team}/{id}/unsubscribe?key={key}"), 200),
        (&stranger, format!("/channels/{team}/{id}/confirm?key=x"), 404),
        (&stranger, "/sign-in".to_owned(), 200),
        (&stranger, "/join/unknown".to_owned(), 404),
        (&stranger, "/assets/unknown.css".to_owned(), 404),
        (&stranger, "/".to_owned(), 303),
        (&stranger, format!("/sites/{site}"), 303),
        (&member, "/".to_owned(), 200),
        (&member, format!("/sites/{site}"), 200),
        (&member, format!("/sites/{site}/report.csv"), 200),
        (&member, format!("/teams/{team}/settings"), 200),
        (&member, format!("/teams/{team}/issues"), 200),
    ] {
        let get = visitor.ask("GET", &path).await;
        let head = visitor.ask("HEAD", &path).await;
        assert_eq!((get.status().as_u16(), head.status()), (status, get.status()), "{path}");
        assert_eq!(head.headers(), get.headers(), "{path}");
        // A server leaves the body out. A Lambda function does it itself, and says how long the body is.
        assert_eq!(head.body(), get.body(), "{path}");
        let length = get.body().len();
        let sent = for_method(&"HEAD".parse().expect("a method"), head);
        assert!(sent.body().is_empty(), "{path}");
        let said = sent.headers().get("content-length").map(|said| said.to_str().expect("text"));
        assert_eq!(said, Some(&*length.to_string()).filter(|_| length > 0), "{path}");
    }
    assert_eq!(stored().await, before, "HEAD and GET confirm and remove nothing");
    // The link still works, once.
    let response = stranger.ask("POST", &sign_in).await;
    assert!(response.headers().contains_key(SET_COOKIE), "{response:?}");
    let confirm = format!("/channels/{team}/{id}/confirm?key={key}");
    assert_eq!(stranger.ask("POST", &confirm).await.status(), 200);
    assert_ne!(stored().await, before, "POST confirms the address");
}

async fn ask_public(test: &TestApp, method: &str, path: &str) -> Response<Body> {
    let head = head(method, path);
    let Some(found) = find_public(&head) else { return not_published(&test.app, &head) };
    let grant = found.route.function.grant();
    let served = serve(&StatusPages, &test.app, found, &head, |_| ready(Ok(Body::Empty)));
    Box::pin(granted([grant, &Grant::NONE], served)).await
}

#[tokio::test]
async fn another_spelling_of_a_status_page_redirects_to_its_address() {
    let test = TestApp::start().await;
    test.publish_page("north-shop", None, &published_page(test.now())).await;
    for (path, canonical) in [
        ("/status/north-shop/", "/status/north-shop"),
        ("/status/north-shop//", "/status/north-shop"),
        ("/status/North-Shop", "/status/north-shop"),
        ("/status/NORTH-SHOP/?from=mail&x=%41", "/status/north-shop?from=mail&x=%41"),
        ("/status/north%2Dshop", "/status/north-shop"),
        ("/status/north%2dsho%50", "/status/north-shop"),
        ("/status//north-shop", "/status/north-shop"),
        ("/status/North-Shop/history.atom", "/status/north-shop/history.atom"),
        ("/status/north-shop/history.atom/", "/status/north-shop/history.atom"),
        ("/status/north-shop/api/v2/summary.json/", "/status/north-shop/api/v2/summary.json"),
        ("/status/NORTH-shop//badges/uptime.svg", "/status/north-shop/badges/uptime.svg"),
    ] {
        for method in ["GET", "HEAD"] {
            let response = ask_public(&test, method, path).await;
            assert_eq!(response.status(), 301, "{method} {path}");
            assert_eq!(response.headers()[LOCATION], canonical, "{method} {path}");
            assert_eq!(ask_public(&test, method, canonical).await.status(), 200, "{canonical}");
        }
        assert_eq!(ask_public(&test, "POST", path).await.status(), 404, "{path}");
    }
    // Nothing leads to another host, and what cannot be an address is not there.
    for path in [
        "/status//evil.example/",
        "/status/%2f%2fevil.example",
        "/status/north_shop/",
        "/status/north-shop%2f",
        "/status/north-shop%00/",
        "/status/a/",
        "/status/",
        "/status//",
    ] {
        assert_eq!(ask_public(&test, "GET", path).await.status(), 404, "{path}");
    }
    // A page that does not exist is not found at its canonical address.
    let unknown = ask_public(&test, "GET", "/status/South-Shop").await;
    assert_eq!(unknown.headers()[LOCATION], "/status/south-shop");
    assert_eq!(ask_public(&test, "GET", "/status/south-shop").await.status(), 404);
}
