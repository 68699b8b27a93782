//! `PATCH /sites/{site}`: a site that moves to another URL.

use futures::future::join_all;
use jiff::civil::date;
use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::checks::tool_state::Newest;
use vedette_store::DirectoryRow;
use vedette_testkit::{ApiResponse, WebServer, new_team};
use vedette_tests::Service;

use super::{Scene, URL};
use crate::support::{assert_invalid, new_site, new_site_with};

#[tokio::test]
async fn a_site_that_moves_keeps_its_name_its_history_and_what_it_expects() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let target = WebServer::start().await;
    target.answer(503);
    let at_once = json!({ "tools": { "status": { "settings": { "failures_to_open": 1 } } } });
    let site = new_site_with(&service, &owner, &target.url, &at_once).await;
    service.consume().await;
    let path = format!("/sites/{site}");
    let records = json!({ "url": target.url, "dns_expected_records": { "A": ["192.0.2.1"] } });
    let before = client.patch(&path, &records).await;

    let elsewhere = WebServer::start().await;
    let moved = client.patch(&path, &json!({ "url": elsewhere.url })).await;
    assert_eq!((moved.status, moved.data("url")), (200, elsewhere.url.clone()));
    for field in ["uuid", "name", "latest_checks", "created_at", "monitoring", "issue_settings"] {
        let [before, moved] = [&before, &moved].map(|answer| answer.body["data"][field].clone());
        let shown = |value: Value| value.to_string().replace(&target.url, &elsewhere.url);
        assert_eq!(shown(before), shown(moved), "{field}");
    }
    let history = client.get(&format!("{path}/checks")).await;
    assert_eq!(history.body["meta"]["total"], 1);
    assert_eq!(history.body["data"][0]["site"]["url"], json!(elsewhere.url));
    assert_eq!(client.get("/issues").await.body["data"][0]["site"]["url"], json!(elsewhere.url));

    // The next check decides whether the issue remains.
    service.consume().await;
    service.advance_minutes(5);
    service.run_scheduled(site, Tool::Status).await;
    assert_eq!((target.requests(), elsewhere.requests()), (1, 1));
    assert_eq!(client.get("/issues").await.body["meta"]["total"], 0);
}

#[tokio::test]
async fn a_generated_name_stays_with_the_site() {
    let scene = Scene::start().await;
    let moved = scene.patch(&json!({ "url": "https://www.example.org/shop" })).await;
    let shown = ["url", "domain", "name"].map(|field| moved.data(field));
    assert_eq!(shown, ["https://www.example.org/shop", "www.example.org", "example.com"]);
}

#[tokio::test]
async fn an_audited_page_stays_while_the_site_stays_on_its_host() {
    let page = json!("https://example.com/cart");
    let settings =
        json!({ "tools": { "performance": { "settings": { "url": page, "min_score": 70 } } } });
    let scene = Scene::with(&settings).await;
    let performance = |answer: &ApiResponse| {
        answer.body["data"]["monitoring"]["settings"]["tools"]["performance"]["settings"].clone()
    };
    for (url, kept) in [
        ("http://example.com/shop", page.clone()),
        ("https://www.example.com", json!(null)),
        ("https://example.com", json!(null)),
    ] {
        let answer = scene.patch(&json!({ "url": url })).await;
        let settings = performance(&answer);
        assert_eq!((&settings["url"], &settings["min_score"]), (&kept, &json!(70)), "{url}");
    }
    // The values are validated against the URL in the same request.
    let body = |url: &str| json!({ "url": url, "monitoring_settings": settings });
    let refused = scene.patch(&body("https://www.example.com")).await;
    let path = "monitoring_settings.tools.performance.settings.url";
    let message = format!("The {path} field must be on the site's domain www.example.com.");
    assert_invalid(&refused, path, &message);
    assert_eq!(performance(&scene.patch(&body("https://example.com/a")).await)["url"], page);
}

#[tokio::test]
async fn a_url_is_watched_once_in_a_team() {
    let scene = Scene::start().await;
    let (service, owner) = (&scene.service, &scene.owner);
    new_site(service, owner, "https://example.org/a").await;
    let before = scene.get().await;
    for url in ["https://example.org/a", "HTTPS://EXAMPLE.ORG/a#b", "https://example.org./a?"] {
        let refused = scene.patch(&json!({ "url": url, "name": "Again" })).await;
        assert_invalid(&refused, "url", "This URL is already monitored by the team.");
    }
    assert_eq!(scene.get().await.body, before.body);
    for url in ["http://example.org/a", "https://www.example.org/a", "https://example.org/a/"] {
        assert_eq!(scene.patch(&json!({ "url": url })).await.status, 200, "{url}");
    }
    let stranger = new_team(&service.test, Plan::Starter).await;
    new_site(service, &stranger, "https://example.net").await;
    assert_eq!(scene.patch(&json!({ "url": "https://example.net" })).await.status, 200);
    // Its previous URL is available again.
    new_site(service, owner, URL).await;
}

#[tokio::test]
async fn of_many_sites_that_move_to_one_url_at_once_one_does() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let mut sites = Vec::new();
    for n in 0..20 {
        sites.push(new_site(&service, &owner, &format!("https://example.com/{n}")).await);
    }
    let body = json!({ "url": "https://example.com/new" });
    let paths: Vec<_> = sites.iter().map(|site| format!("/sites/{site}")).collect();
    let answers = join_all(paths.iter().map(|path| client.patch(path, &body))).await;
    let (moved, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(moved.len(), 1);
    for answer in refused {
        assert_invalid(&answer, "url", "This URL is already monitored by the team.");
    }
    let rows = service.test.app.store.directory(owner.team, 10).await.expect("rows");
    assert_eq!(rows.len(), 20);
}

#[tokio::test]
async fn the_directory_follows_and_keeps_the_newest_states() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    let scene = Scene { service, owner, site };
    let path = |part: &str| format!("{}{part}", target.url);
    for (body, name, pinned, enabled) in [
        (json!({ "url": path("/a") }), "127.0.0.1", false, None),
        (json!({ "url": path("/a"), "name": "Shop" }), "Shop", false, None),
        (json!({ "url": path("/a"), "pinned": true }), "Shop", true, None),
        (
            json!({ "url": path("/a"), "monitoring_settings": {
                "tools": { "ssl": { "enabled": false }, "dns": { "enabled": true } },
            } }),
            "Shop",
            true,
            // The team has the same value.
            Some((Tool::Ssl, false)),
        ),
        (
            json!({ "url": path("/b"), "name": "Store", "monitoring_settings": {} }),
            "Store",
            true,
            None,
        ),
    ] {
        assert_eq!(scene.patch(&body).await.status, 200, "{body}");
        let listed = scene.listed().await;
        let newest =
            Newest { status: CheckStatus::Completed, date: date(2026, 11, 20), days: Some(365) };
        let expected = DirectoryRow {
            id: scene.site,
            name: name.to_owned(),
            url: body["url"].as_str().and_then(|url| url.parse().ok()).expect("a URL"),
            pinned,
            created_at: listed.created_at,
            enabled: enabled.into_iter().collect(),
            tags: vec![],
            is_checked: true,
            newest: [(Tool::Status, newest)].into(),
        };
        assert_eq!(listed, expected, "after {body}");
    }
}
