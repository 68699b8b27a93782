//! Status pages, as their readers are served them.

use std::fmt::Write as _;
use std::future::ready;

use jiff::SignedDuration;
use lambda_http::Body;
use lambda_http::http::request::Parts;
use lambda_http::http::{HeaderValue, Method, Response};
use vedette_dashboard::{StatusPages, find_public, not_published};
use vedette_domain::alerts::channel::LinkKey;
use vedette_domain::status_pages::{ComponentState, PublishedPage};
use vedette_routing::serve;
use vedette_store::Grant;
use vedette_testkit::status_pages::published_page;
use vedette_testkit::{Spent, TestApp, granted};

use crate::support::{body, head, main_part, text, whole};

/// A test with a page at `/status/meridian`.
async fn published(change: impl FnOnce(&mut PublishedPage)) -> TestApp {
    let test = TestApp::start().await;
    let mut page = published_page(test.now());
    change(&mut page);
    test.publish_page("meridian", None, &page).await;
    test
}

async fn send(test: &TestApp, head: &Parts) -> Response<Body> {
    let Some(found) = find_public(head) else { return not_published(&test.app, head) };
    let grant = found.route.function.grant();
    let served = serve(&StatusPages, &test.app, found, head, |_| ready(Ok(Body::Empty)));
    Box::pin(granted([grant, &Grant::NONE], served)).await
}

async fn get(test: &TestApp, path: &str) -> Response<Body> {
    send(test, &head("GET", path)).await
}

fn header<'r>(response: &'r Response<Body>, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().expect("text"))
}

/// What must hold for every page.
fn assert_sound(page: &str) {
    assert!(page.contains("<html lang=\"en\">") && page.contains("href=\"#main\""), "{page}");
    assert_eq!(page.matches("<h1>").count(), 1, "{page}");
    for wrong in ["<script", "<style", " style=", "http-equiv", "href=\"http", "src=\"http"] {
        assert!(!page.contains(wrong), "{wrong}: {page}");
    }
    assert_eq!(
        page.matches("<nav").count(),
        page.matches("<nav class=\"row\" aria-label=\"").count()
    );
}

#[tokio::test]
async fn a_page_shows_incidents_components_and_maintenance() {
    let test = published(|_| {}).await;
    let response = get(&test, "/status/meridian").await;
    assert_sound(body(&response));
    insta::assert_snapshot!(whole(&response), @"");
}

#[tokio::test]
async fn the_summary_is_that_of_statuspage() {
    let test = published(|page| {
        // One component says how all look.
        page.groups[1].components.truncate(1);
        page.incidents.truncate(1);
    })
    .await;
    let response = get(&test, "/status/meridian/api/v2/summary.json").await;
    insta::assert_snapshot!(documented(&response), @"");
}

#[tokio::test]
async fn the_other_documents_are_parts_of_statuspage() {
    let test = published(|page| page.groups[1].components.truncate(1)).await;
    let mut all = String::new();
    for name in ["status", "components", "incidents", "scheduled-maintenances"] {
        let response = get(&test, &format!("/status/meridian/api/v2/{name}.json")).await;
        assert_eq!(response.status(), 200, "{name}");
        let document: serde_json::Value = serde_json::from_str(body(&response)).expect("JSON");
        let document = document.as_object().expect("an object");
        let parts: Vec<_> = document
            .iter()
            .map(|(part, value)| {
                let entries = value.as_array().map(Vec::len);
                (part.as_str(), entries)
            })
            .collect();
        writeln!(all, "{name}: {parts:?}").expect("written");
    }
    insta::assert_snapshot!(all, @"");
    for name in ["summary", "summary.xml", "", "SUMMARY.json", "../summary.json"] {
        let response = get(&test, &format!("/status/meridian/api/v2/{name}")).await;
        assert_eq!(response.status(), 404, "{name}");
    }
}

/// Status, headers and body of a JSON document, one value on each line.
fn documented(response: &Response<Body>) -> String {
    let value: serde_json::Value = serde_json::from_str(body(response)).expect("JSON");
    let shown = whole(response);
    let (headers, _) = shown.split_once("\n\n").expect("a body");
    format!("{headers}\n\n{}", serde_json::to_string_pretty(&value).expect("JSON"))
}

#[tokio::test]
async fn the_indicator_follows_the_state_of_all_components() {
    for (states, expected, heading) in [
        ([ComponentState::Operational; 2], "none", "Everything is up"),
        ([ComponentState::Unknown; 2], "none", "No data yet"),
        (
            [ComponentState::Operational, ComponentState::Maintenance],
            "none",
            "Orders is under maintenance",
        ),
        ([ComponentState::Operational, ComponentState::Degraded], "minor", "Orders is degraded"),
        ([ComponentState::Degraded; 2], "minor", "2 of 2 components are degraded"),
        ([ComponentState::Operational, ComponentState::Down], "major", "Orders is down"),
        ([ComponentState::Down; 2], "critical", "Everything is down"),
    ] {
        let test = published(|page| {
            page.incidents.clear();
            page.groups[1].components.truncate(1);
            page.groups[0].components[0].state = states[0];
            page.groups[1].components[0].state = states[1];
        })
        .await;
        let status = get(&test, "/status/meridian/api/v2/status.json").await;
        let status: serde_json::Value = serde_json::from_str(body(&status)).expect("JSON");
        assert_eq!(status["status"]["indicator"], expected, "{heading}");
        let page = get(&test, "/status/meridian").await;
        let main = main_part(&page);
        assert!(main.contains(&format!("<h1>{heading}</h1>")), "{heading}: {main}");
    }
}

#[tokio::test]
async fn the_feed_has_an_entry_for_each_incident() {
    let test = published(|_| {}).await;
    let response = get(&test, "/status/meridian/history.atom").await;
    insta::assert_snapshot!(whole(&response).replace("><", ">\n<"), @"");
}

#[tokio::test]
async fn a_badge_shows_the_state_the_uptime_or_the_response_time() {
    let test = published(|_| {}).await;
    let response = get(&test, "/status/meridian/badges/state.svg").await;
    insta::assert_snapshot!(whole(&response).replace("><", ">\n<"), @"");
    let mut all = String::new();
    let shop = "components/00000000-0000-0000-0000-000000000001/badges";
    let help = "components/00000000-0000-0000-0000-000000000005/badges";
    for place in ["badges", shop, help] {
        for name in ["state", "uptime", "response-time"] {
            let image = get(&test, &format!("/status/meridian/{place}/{name}.svg")).await;
            let shields = get(&test, &format!("/status/meridian/{place}/{name}.json")).await;
            let (_, label) = body(&image).split_once("aria-label=\"").expect("a label");
            let label = label.split('"').next().expect("its end");
            writeln!(all, "{label}\n{}", body(&shields)).expect("written");
        }
    }
    insta::assert_snapshot!(all, @"");
    for other in [
        "badges/state.png",
        "badges/state",
        "components/00000000-0000-0000-0000-000000000009/badges/state.svg",
        "components/shop/badges/state.svg",
    ] {
        assert_eq!(get(&test, &format!("/status/meridian/{other}")).await.status(), 404, "{other}");
    }
}

const EVERYTHING: [&str; 5] = [
    "/status/meridian",
    "/status/meridian/api/v2/summary.json",
    "/status/meridian/history.atom",
    "/status/meridian/badges/state.svg",
    "/status/meridian/badges/state.json",
];

#[tokio::test]
async fn what_is_served_may_be_kept_for_half_a_minute_and_asked_for_again() {
    let test = published(|_| {}).await;
    for path in EVERYTHING {
        let mut request = head("GET", path);
        // Nobody is known here.
        request.headers.insert("cookie", HeaderValue::from_static("__Host-vedette=x"));
        let first = send(&test, &request).await;
        assert_eq!(first.status(), 200, "{path}");
        assert_eq!(header(&first, "cache-control"), "public, max-age=30", "{path}");
        assert_eq!(header(&first, "vary"), "accept-encoding", "{path}");
        assert_eq!(header(&first, "set-cookie"), "", "{path}");
        assert_eq!(header(&first, "x-robots-tag"), "", "{path}");
        let is_page = path == EVERYTHING[0];
        let shared = if is_page { ["", "same-origin"] } else { ["*", "cross-origin"] };
        let found = ["access-control-allow-origin", "cross-origin-resource-policy"];
        assert_eq!(found.map(|name| header(&first, name)), shared, "{path}");

        let tag = first.headers()["etag"].clone();
        request.headers.insert("if-none-match", tag.clone());
        let again = send(&test, &request).await;
        assert_eq!((again.status().as_u16(), again.body().len()), (304, 0), "{path}");
        assert_eq!(again.headers()["etag"], tag);
        assert_eq!(header(&again, "cache-control"), "public, max-age=30", "{path}");

        let packed = {
            let mut request = head("GET", path);
            request.headers.insert("accept-encoding", HeaderValue::from_static("gzip"));
            send(&test, &request).await
        };
        let is_long = first.body().len() >= 1024;
        assert_eq!(header(&packed, "content-encoding") == "gzip", is_long, "{path}");
        assert_eq!(packed.headers()["etag"] == tag, !is_long, "{path}");

        let only_head = send(&test, &head("HEAD", path)).await;
        assert_eq!(only_head.headers(), first.headers(), "{path}");
    }
}

#[tokio::test]
async fn one_read_of_the_table_is_enough() {
    let test = published(|_| {}).await;
    for path in EVERYTHING {
        test.meter().start();
        assert_eq!(get(&test, path).await.status(), 200);
        let Spent { round_trips, writes, .. } = test.meter().stop();
        assert_eq!(round_trips, 1, "{path}");
        assert!(writes == 0.0, "{path}");
    }
    // What cannot be there is not looked for.
    for path in ["/status/Meridian", "/status/meridian/badges/x.svg", "/status/a"] {
        test.meter().start();
        assert_eq!(get(&test, path).await.status(), 404);
        assert_eq!(test.meter().stop().round_trips, 0, "{path}");
    }
}

#[tokio::test]
async fn an_unlisted_page_is_found_by_its_link_alone_and_not_by_search_engines() {
    let test = TestApp::start().await;
    let key = LinkKey::from_random([7; LinkKey::BYTES]);
    let page = PublishedPage { is_unlisted: true, ..published_page(test.now()) };
    test.publish_page("meridian", Some(key.clone()), &page).await;
    for path in EVERYTHING {
        assert_eq!(get(&test, path).await.status(), 404, "{path}");
        let path = path.replace("meridian", key.reveal());
        let response = get(&test, &path).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(header(&response, "x-robots-tag"), "noindex", "{path}");
        assert_eq!(header(&response, "referrer-policy"), "no-referrer", "{path}");
    }
}

#[tokio::test]
async fn where_no_page_is_there_is_a_404_that_caches_soon_forget() {
    let test = published(|_| {}).await;
    let nobody = get(&test, "/status/nobody/api/v2/summary.json").await;
    insta::assert_snapshot!(whole(&nobody), @"");
    let mut browser = head("GET", "/status/nobody");
    browser.headers.insert("accept", HeaderValue::from_static("text/html"));
    let page = send(&test, &browser).await;
    assert_sound(body(&page));
    insta::assert_snapshot!(whole(&page), @"");
}

#[tokio::test]
async fn hostile_paths_lead_nowhere() {
    let test = published(|_| {}).await;
    let long = format!("/status/{}", "a".repeat(5_000));
    for path in [
        "/status/",
        "/status//",
        "/status/meridian/",
        "/status/%00",
        "/status/%ff%fe",
        "/status/..%2f..%2fetc%2fpasswd",
        "/status/meridian%2f..",
        "/status/%3Cscript%3E",
        "/status/meridian/api/v2/%0a",
        "/status/meridian/components/%00/badges/state.svg",
        "/status/meridian/badges/.svg",
        "/status/0000000000000000000000000000000G",
        &long,
    ] {
        let response = get(&test, path).await;
        assert_eq!(response.status(), 404, "{path}");
        assert_eq!(header(&response, "cache-control"), "public, max-age=5", "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let response = send(&test, &head(method, "/status/meridian")).await;
        assert_eq!(response.status(), 404, "{method}");
    }
    assert_eq!(send(&test, &head("HEAD", "/status/nobody")).await.status(), 404);
}

#[tokio::test]
async fn a_page_that_is_no_longer_published_says_so() {
    let test = published(|_| {}).await;
    test.advance(SignedDuration::from_hours(2));
    let page = get(&test, "/status/meridian").await;
    assert!(!text(main_part(&page)).contains("may be out of date"));
    test.advance(SignedDuration::from_mins(1));
    let page = get(&test, "/status/meridian").await;
    let main = text(main_part(&page));
    assert!(
        main.contains("This page may be out of date. It was last updated at 10:54 CET , 2 h ago ."),
        "{main}"
    );
    // Maintenance that is over is not shown any more, whenever the page was published.
    test.advance(SignedDuration::from_hours(48));
    let page = get(&test, "/status/meridian").await;
    assert!(!main_part(&page).contains("Database upgrade"));
}

#[tokio::test]
async fn what_the_team_writes_is_shown_as_text() {
    let hostile = "<img src=x onerror=alert(1)>&\"'";
    let test = published(|page| {
        page.name = hostile.to_owned();
        page.message = Some(hostile.to_owned());
        page.groups[1].name = Some(hostile.to_owned());
        page.groups[1].components[0].name = hostile.to_owned();
        page.incidents[0].title = hostile.to_owned();
        page.incidents[0].updates[0].text = hostile.to_owned();
        page.windows[0].name = hostile.to_owned();
    })
    .await;
    for path in EVERYTHING {
        let response = get(&test, path).await;
        assert_eq!(response.status(), 200, "{path}");
        let is_markup = !header(&response, "content-type").contains("json");
        assert!(!is_markup || !body(&response).contains("<img"), "{path}: {}", body(&response));
    }
}

#[tokio::test]
async fn the_function_answers_the_event_of_the_gateway() {
    let test = published(|_| {}).await;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../events/dashboard/status_page.json");
    let event = std::fs::read_to_string(path).expect("an event");
    let (head, _) = lambda_http::request::from_str(&event).expect("a request").into_parts();
    assert_eq!(head.method, Method::GET);
    let response = send(&test, &head).await;
    assert_eq!(header(&response, "content-type"), "text/html; charset=utf-8");
    assert!(body(&response).contains("Orders are delayed"));
}
