//! `GET /teams/{team}/sites`: pages, order and links.

mod filters;
mod tags;

use futures::future::join_all;
use jiff::SignedDuration;
use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::Message;
use vedette_testkit::{ApiResponse, Member, WebServer, new_team};
use vedette_tests::Service;

use crate::support::{assert_invalid, assert_page, assert_paged, new_site, rows};

async fn list(service: &Service, caller: &Member, query: &str) -> ApiResponse {
    service.client(caller).get(&format!("/teams/{}/sites{query}", caller.team)).await
}

fn names(answer: &ApiResponse) -> Vec<String> {
    rows(answer).iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
}

async fn patch(service: &Service, owner: &Member, site: SiteId, body: &Value) {
    let answer = service.client(owner).patch(&format!("/sites/{site}"), body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

async fn order(service: &Service, owner: &Member, site: SiteId, tool: &str) {
    let body = json!({ "tools": [tool] });
    let ordered = service.client(owner).post(&format!("/sites/{site}/checks"), &body).await;
    assert_eq!(ordered.status, 202, "{ordered:?}");
}

/// A new site with a name, a minute after the previous one.
async fn named(service: &Service, owner: &Member, name: &str, url: &str) -> SiteId {
    service.advance_minutes(1);
    let body = json!({ "url": url, "name": name });
    let created = service.client(owner).post(&format!("/teams/{}/sites", owner.team), &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    SiteId::parse(&created.data("uuid")).expect("an id")
}

#[tokio::test]
async fn a_page_holds_sites_with_the_latest_check_of_each_tool() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    order(&service, &owner, site, "ssl").await;
    let answer = list(&service, &owner, "").await;
    let alone = service.client(&owner).get(&format!("/sites/{site}")).await;
    assert_eq!(rows(&answer), [alone.body["data"].clone()]);
    assert_page(&answer, (&format!("/teams/{}/sites", owner.team), ""), (1, 25, 1));
}

#[tokio::test]
async fn a_team_without_sites_has_one_empty_page() {
    let (service, owner) = Service::with_team().await;
    let answer = list(&service, &owner, "").await;
    assert_page(&answer, (&format!("/teams/{}/sites", owner.team), ""), (1, 25, 0));
}

#[tokio::test]
async fn sites_are_ordered_as_the_client_asks_and_the_newest_first_otherwise() {
    let (service, owner) = Service::with_team().await;
    let url = |n: u8| format!("https://example.com/{n}");
    let first = named(&service, &owner, "b", &url(1)).await;
    named(&service, &owner, "a", &url(2)).await;
    let third = named(&service, &owner, "B", &url(3)).await;
    named(&service, &owner, "C", &url(4)).await;
    for (site, n) in [(first, 1), (third, 3)] {
        patch(&service, &owner, site, &json!({ "url": url(n), "pinned": true })).await;
    }
    for (sort, expected) in [
        ("", ["C", "B", "a", "b"]),
        ("?sort=-created_at", ["C", "B", "a", "b"]),
        ("?sort=created_at", ["b", "a", "B", "C"]),
        ("?sort=name", ["a", "b", "B", "C"]),
        ("?sort=-name", ["C", "B", "b", "a"]),
        ("?sort=pinned", ["B", "b", "C", "a"]),
    ] {
        assert_eq!(names(&list(&service, &owner, sort).await), expected, "{sort}");
    }
}

#[tokio::test]
async fn pages_of_any_size_put_together_are_the_whole_list() {
    let (service, owner) = Service::with_team().await;
    // All were created at the same instant, so the uuid decides the order.
    for n in 0..30 {
        new_site(&service, &owner, &format!("https://example.com/{n:02}")).await;
    }
    let (client, path) = (service.client(&owner), format!("/teams/{}/sites", owner.team));
    assert_page(&list(&service, &owner, "").await, (&path, ""), (1, 25, 30));
    for (filter, count) in [("", 30), ("sort=name&", 30), ("search=1&", 12)] {
        let all = assert_paged(&client, &path, filter, &[1, 7, 29, 30]).await;
        assert_eq!(all.len(), count);
    }
    // Links repeat filters in their order, decoded where they can be.
    let answer =
        client.get(&format!("{path}?sort=name&search=exa%4Dple&per_page=7&pinned=0")).await;
    assert_page(&answer, (&path, "sort=name&search=exaMple&per_page=7&pinned=0&"), (1, 7, 30));
}

#[tokio::test]
async fn parameters_have_one_form_each() {
    let (service, owner) = Service::with_team().await;
    let choice = |name: &str| format!("The selected {name} is invalid.");
    let boolean = "The pinned field must be true or false.".to_owned();
    for (query, field, message) in [
        ("pinned=yes", "pinned", boolean.clone()),
        ("pinned=True", "pinned", boolean.clone()),
        ("pinned=", "pinned", boolean),
        ("tool=links", "tool", choice("tool")),
        ("tool=Status", "tool", choice("tool")),
        ("tool=", "tool", choice("tool")),
        ("status=up", "status", choice("status")),
        ("status=", "status", choice("status")),
        ("sort=-pinned", "sort", choice("sort")),
        ("sort=url", "sort", choice("sort")),
        ("sort=Name", "sort", choice("sort")),
        ("sort=", "sort", choice("sort")),
    ] {
        assert_invalid(&list(&service, &owner, &format!("?{query}")).await, field, &message);
    }
    for query in ["search=", "pinned=1", "pinned=0", "x=&y[]=1"] {
        assert_eq!(list(&service, &owner, &format!("?{query}")).await.status, 200, "{query}");
    }
    let many = list(&service, &owner, "?sort=x&status=x&tool=x&pinned=x&per_page=x&page=x").await;
    insta::assert_snapshot!(many.shown(), @r#"
    422 {
      "errors": {
        "page": ["The page field must be an integer."],
        "per_page": ["The per_page field must be an integer."],
        "pinned": ["The pinned field must be true or false."],
        "sort": ["The selected sort is invalid."],
        "status": ["The selected status is invalid."],
        "tool": ["The selected tool is invalid."]
      },
      "message": "The page field must be an integer. (and 5 more errors)"
    }
    "#);
}

#[tokio::test]
async fn sites_of_other_teams_are_not_listed() {
    let (service, owner) = Service::with_team().await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    new_site(&service, &stranger, "https://example.com").await;
    assert_eq!(rows(&list(&service, &owner, "").await), Vec::<Value>::new());
    assert_eq!(rows(&list(&service, &stranger, "").await).len(), 1);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_hides_no_other() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    named(&service, &owner, "a", &format!("{}/a", target.url)).await;
    let rows = service.test.table.dump().await;
    let (pk, sk) = rows.keys().find(|(pk, _)| pk.starts_with("L#")).expect("a row");
    named(&service, &owner, "b", &format!("{}/b", target.url)).await;
    service.consume().await;
    service.test.table.set(pk, sk, "doc", "spoilt").await;
    for query in ["", "?status=completed"] {
        let listed = list(&service, &owner, query).await;
        let names: Vec<_> = listed.body["data"].as_array().expect("sites").iter().collect();
        assert_eq!(names.len(), 1, "{query}");
        assert_eq!((&names[0]["name"], &listed.body["meta"]["total"]), (&json!("b"), &json!(1)));
    }
}

#[tokio::test]
async fn a_site_that_is_deleted_meanwhile_is_neither_shown_nor_counted() {
    let (service, owner) = Service::with_team().await;
    let mut sites = Vec::new();
    for n in 0..20 {
        sites.push(new_site(&service, &owner, &format!("https://example.com/{n}")).await);
    }
    let client = service.client(&owner);
    let deletions = join_all(sites.iter().map(async |site| {
        assert_eq!(client.delete(&format!("/sites/{site}")).await.status, 204);
    }));
    let lists = join_all((0..40).map(async |_| {
        let answer = list(&service, &owner, "?per_page=100").await;
        assert_eq!(answer.body["meta"]["total"], rows(&answer).len());
    }));
    futures::join!(deletions, lists);
    assert_eq!(list(&service, &owner, "").await.body["meta"]["total"], 0);
}

#[tokio::test]
async fn a_moved_site_is_listed_once_and_as_it_is_now() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    patch(&service, &owner, site, &json!({ "url": format!("{}/new", target.url) })).await;
    let answer = list(&service, &owner, "?status=completed&tool=status&search=/new").await;
    assert_eq!(rows(&answer).len(), 1);
    assert_eq!(rows(&list(&service, &owner, "").await).len(), 1);
}

#[tokio::test]
async fn the_latest_check_is_that_of_each_site() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let mut sites = Vec::new();
    for n in 0..3 {
        sites.push(new_site(&service, &owner, &format!("{}/{n}", target.url)).await);
    }
    service.consume().await;
    for (minutes, site) in (1..).zip(&sites) {
        service.test.advance(SignedDuration::from_mins(minutes));
        service.run_scheduled(*site, Tool::Status).await;
    }
    order(&service, &owner, sites[1], "dns").await;
    let waiting = service.waiting();
    assert!(waiting.iter().any(|(message, _)| matches!(message, Message::Check(_))));
    for row in rows(&list(&service, &owner, "").await) {
        let uuid = row["uuid"].as_str().expect("an id");
        let alone = service.client(&owner).get(&format!("/sites/{uuid}")).await;
        assert_eq!(row, alone.body["data"]);
    }
}
