//! `POST /teams/{team}/sites/bulk`: each site is created, skipped or failed on its own.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::SiteId;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_runtime::Clock;
use vedette_testkit::{ApiResponse, Fault, Member, new_team};
use vedette_tests::Service;

use crate::support::{assert_invalid, new_site};

const LIMIT: &str = "Your current plan has reached its site limit.";
const MONITORED: &str = "This URL is already monitored by the team.";
const REPEATED: &str = "This URL occurs more than once in the request.";

async fn post(service: &Service, caller: &Member, body: &Value) -> ApiResponse {
    service.client(caller).post(&format!("/teams/{}/sites/bulk", caller.team), body).await
}

async fn bulk(service: &Service, caller: &Member, urls: &[&str]) -> ApiResponse {
    let sites: Vec<_> = urls.iter().map(|url| json!({ "url": url })).collect();
    let answer = post(service, caller, &json!({ "sites": sites })).await;
    assert_eq!((answer.status, answer.header("location")), (200, ""), "{answer:?}");
    answer
}

/// The URLs of one of the three lists, in order.
fn urls(answer: &ApiResponse, outcome: &str) -> Vec<String> {
    let entries = answer.body["data"][outcome].as_array().expect("a list");
    entries.iter().map(|entry| entry["url"].as_str().expect("a URL").to_owned()).collect()
}

async fn sites_count(service: &Service, owner: &Member) -> Value {
    let team = service.client(owner).get(&format!("/teams/{}", owner.team)).await;
    team.body["data"]["sites_count"].clone()
}

async fn team_on(plan: Plan) -> (Service, Member) {
    let service = Service::start().await;
    let owner = new_team(&service.test, plan).await;
    (service, owner)
}

#[tokio::test]
async fn each_site_is_created_skipped_or_failed() {
    let (service, owner) = Service::with_team().await;
    new_site(&service, &owner, "https://example.com").await;
    let sites = json!([
        { "url": "https://Example.com/#top" },
        { "url": "example.org", "name": "Without a scheme" },
        { "url": " HTTPS://www.example.org:443/ " },
        { "url": "https://www.example.org" },
    ]);
    let answer = post(&service, &owner, &json!({ "sites": sites })).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "created": [
          {
            "created_at": "2026-11-20T09:54:00+00:00",
            "domain": "www.example.org",
            "enabled_checks": ["status", "ssl", "dns", "broken-links", "performance"],
            "is_pinned": false,
            "issue_settings": "<the defaults>",
            "js_rendered": false,
            "latest_checks": { "broken-links": null, "dns": null, "performance": null, "ssl": null, "status": null },
            "monitoring": "<the defaults>",
            "name": "example.org",
            "notes": null,
            "reports": "<its own>",
            "team_uuid": "00000000-0000-4000-8000-000000000001",
            "updated_at": "2026-11-20T09:54:00+00:00",
            "url": "https://www.example.org",
            "uuid": "00000000-0000-4000-8000-000000000006"
          }
        ],
        "failed": [{ "error": "The url must start with http:// or https://.", "url": "example.org" }],
        "skipped": [
          {
            "reason": "This URL is already monitored by the team.",
            "url": "https://Example.com/#top"
          },
          {
            "reason": "This URL occurs more than once in the request.",
            "url": "https://www.example.org"
          }
        ]
      }
    }
    "#);
}

#[tokio::test]
async fn created_sites_are_as_if_each_had_been_created_alone() {
    let (service, owner) = Service::with_team().await;
    let sites = json!([
        { "url": "https://www.example.com/a", "name": "  Shop\n" },
        { "url": "https://www.example.com/b", "notes": 5, "js_rendered": true, "pinned": true },
    ]);
    let answer = post(&service, &owner, &json!({ "sites": sites, "unknown": 1 })).await;
    let created = answer.body["data"]["created"].as_array().expect("sites");
    let names: Vec<_> = created.iter().map(|site| &site["name"]).collect();
    assert_eq!(names, [&json!("Shop"), &json!("example.com")]);
    for site in created {
        let uuid = site["uuid"].as_str().expect("an id");
        let read = service.client(&owner).get(&format!("/sites/{uuid}")).await;
        assert_eq!(&read.body["data"], site);
        assert_eq!((&site["notes"], &site["js_rendered"]), (&json!(null), &json!(false)));
        assert_eq!(site["is_pinned"], false);
    }
}

#[tokio::test]
async fn the_reconciler_is_told_of_each_new_site_and_of_no_other() {
    let (service, owner) = Service::with_team().await;
    let answer =
        bulk(&service, &owner, &["https://a.test", "x", "https://a.test", "https://b.test"]).await;
    let created = answer.body["data"]["created"].as_array().expect("sites");
    let expected: Vec<_> = created
        .iter()
        .map(|site| SiteId::parse(site["uuid"].as_str().expect("an id")).expect("an id"))
        .map(|site| {
            (Message::Reconcile(ReconcileMessage::Sync { team: owner.team, site }), Duration::ZERO)
        })
        .collect();
    assert_eq!(expected.len(), 2);
    assert_eq!(service.waiting(), expected);
}

#[tokio::test]
async fn a_request_names_1_to_100_sites() {
    let (service, owner) = Service::with_team().await;
    let many = |count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({ "url": format!("https://example.com/{n}") })).collect()
    };
    for (body, message) in [
        (json!({}), "The sites field is required."),
        (json!({ "sites": null }), "The sites field is required."),
        (json!({ "sites": "" }), "The sites field is required."),
        (json!({ "sites": [] }), "The sites field must have at least 1 item."),
        (json!({ "sites": many(101) }), "The sites field must not have more than 100 items."),
        (json!({ "sites": {} }), "The sites field must be an array."),
        (json!({ "sites": "https://example.com" }), "The sites field must be an array."),
        (json!({ "url": "https://example.com" }), "The sites field is required."),
    ] {
        assert_invalid(&post(&service, &owner, &body).await, "sites", message);
    }
    assert_eq!(sites_count(&service, &owner).await, 0);
    let all = post(&service, &owner, &json!({ "sites": many(100) })).await;
    let expected: Vec<_> = (0..100).map(|n| format!("https://example.com/{n}")).collect();
    assert_eq!((all.status, urls(&all, "created")), (200, expected));
    assert_eq!(sites_count(&service, &owner).await, 100);
}

#[tokio::test]
async fn what_is_no_site_at_all_is_refused_with_everything_else() {
    let (service, owner) = Service::with_team().await;
    for (item, field, message) in [
        (json!({}), "sites.1.url", "The sites.1.url field is required."),
        (json!({ "url": null }), "sites.1.url", "The sites.1.url field is required."),
        (json!({ "url": 5 }), "sites.1.url", "The sites.1.url field must be a string."),
        (json!({ "url": ["x"] }), "sites.1.url", "The sites.1.url field must be a string."),
        (
            json!({ "url": "https://b.test", "name": 5 }),
            "sites.1.name",
            "The sites.1.name field must be a string.",
        ),
        (
            json!({ "url": "https://b.test", "name": null }),
            "sites.1.name",
            "The sites.1.name field must not be empty.",
        ),
        (json!("https://b.test"), "sites.1", "The sites.1 field must be an object."),
        (json!(["https://b.test"]), "sites.1", "The sites.1 field must be an object."),
        (json!(null), "sites.1", "The sites.1 field must not be empty."),
    ] {
        let body = json!({ "sites": [{ "url": "https://a.test" }, item, { "url": "x" }] });
        assert_invalid(&post(&service, &owner, &body).await, field, message);
    }
    let body = json!({ "sites": [{ "name": 5 }, 5, { "url": "https://a.test" }, { "url": {} }] });
    let answer = post(&service, &owner, &body).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    422 {
      "errors": {
        "sites.0.name": ["The sites.0.name field must be a string."],
        "sites.0.url": ["The sites.0.url field is required."],
        "sites.1": ["The sites.1 field must be an object."],
        "sites.3.url": ["The sites.3.url field must be a string."]
      },
      "message": "The sites.0.url field is required. (and 3 more errors)"
    }
    "#);
    assert_eq!(sites_count(&service, &owner).await, 0);
    assert_eq!(service.waiting(), []);
}

#[tokio::test]
async fn strings_that_are_of_no_use_fail_alone_and_are_told_as_sent() {
    let (service, owner) = Service::with_team().await;
    let long = format!("https://example.com/{}", "a".repeat(2048));
    let name = "n".repeat(256);
    let cases = [
        (json!({ "url": "" }), "The url field is required."),
        (json!({ "url": " \t" }), "The url field is required."),
        (json!({ "url": "example.com" }), "The url must start with http:// or https://."),
        (json!({ "url": " ftp://a.test " }), "The url must start with http:// or https://."),
        (
            json!({ "url": "https://ada:secret@example.com" }),
            "The url must not contain a user name or password.",
        ),
        (json!({ "url": long }), "The url must not be longer than 2048 characters."),
        (
            json!({ "url": "https://a.test", "name": name }),
            "The name field must not be longer than 255 characters.",
        ),
        (json!({ "url": "https://a.test", "name": " " }), "The name field must not be empty."),
        (
            json!({ "url": "x", "name": "" }),
            "The url must start with http:// or https://. (and 1 more error)",
        ),
    ];
    let mut sites: Vec<_> = cases.iter().map(|(item, _)| item.clone()).collect();
    // The same URL with a name that can be used.
    sites.push(json!({ "url": "https://a.test", "name": "n".repeat(255) }));
    let answer = post(&service, &owner, &json!({ "sites": sites })).await;
    // A text that is too long for a URL is cut in the response.
    let notified = |item: &Value| match item["url"].as_str() {
        Some(url) if url == long => format!("{}…", &url[..2048]),
        url => url.expect("a string").to_owned(),
    };
    let expected: Vec<_> = cases
        .iter()
        .map(|(item, error)| json!({ "url": notified(item), "error": error }))
        .collect();
    assert_eq!(answer.body["data"]["failed"], json!(expected));
    assert_eq!(urls(&answer, "created"), ["https://a.test"]);
    assert_eq!(answer.body["data"]["skipped"], json!([]));
}

#[tokio::test]
async fn a_url_is_watched_once_in_a_team() {
    let (service, owner) = Service::with_team().await;
    new_site(&service, &owner, "https://a.test").await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    new_site(&service, &stranger, "https://b.test").await;
    let sent = [
        "https://A.test/",
        "https://b.test",
        "https://b.test#x",
        "http://b.test",
        "https://www.b.test",
        "https://a.test",
        "https://b.test:443",
    ];
    let answer = bulk(&service, &owner, &sent).await;
    let created = ["https://b.test", "http://b.test", "https://www.b.test"];
    assert_eq!(urls(&answer, "created"), created);
    let skipped = json!([
        { "url": "https://A.test/", "reason": MONITORED },
        { "url": "https://b.test#x", "reason": REPEATED },
        { "url": "https://a.test", "reason": REPEATED },
        { "url": "https://b.test:443", "reason": REPEATED },
    ]);
    assert_eq!(answer.body["data"]["skipped"], skipped);

    let again = bulk(&service, &owner, &created).await;
    assert_eq!(urls(&again, "created"), Vec::<String>::new());
    assert_eq!(urls(&again, "skipped"), created);
    assert_eq!(sites_count(&service, &owner).await, 4);
}

#[tokio::test]
async fn the_first_that_fit_the_plan_are_created() {
    let (service, owner) = team_on(Plan::Starter).await;
    new_site(&service, &owner, "https://example.com/0").await;
    new_site(&service, &owner, "https://example.com/1").await;
    let sent = [
        "https://example.com/2",
        "https://example.com/1",
        "x",
        "https://example.com/3",
        "https://example.com/4",
        "https://example.com/5",
        // The team already has this site, so it does not matter that there is no room.
        "https://example.com/0",
        "https://example.com/6",
        "https://example.com/5",
    ];
    let answer = bulk(&service, &owner, &sent).await;
    let created = ["https://example.com/2", "https://example.com/3", "https://example.com/4"];
    assert_eq!(urls(&answer, "created"), created);
    let failed = json!([
        { "url": "x", "error": "The url must start with http:// or https://." },
        { "url": "https://example.com/5", "error": LIMIT },
        { "url": "https://example.com/6", "error": LIMIT },
    ]);
    assert_eq!(answer.body["data"]["failed"], failed);
    let skipped = ["https://example.com/1", "https://example.com/0", "https://example.com/5"];
    assert_eq!(urls(&answer, "skipped"), skipped);
    assert_eq!(sites_count(&service, &owner).await, 5);

    let nothing = bulk(&service, &owner, &["https://example.com/7"]).await;
    let expected = json!({
        "created": [],
        "skipped": [],
        "failed": [{ "url": "https://example.com/7", "error": LIMIT }],
    });
    assert_eq!(nothing.body["data"], expected);
}

#[tokio::test]
async fn of_many_requests_at_once_as_many_sites_are_created_as_the_plan_allows() {
    let (service, owner) = team_on(Plan::Starter).await;
    let client = service.client(&owner);
    let single = format!("/teams/{}/sites", owner.team);
    let many = join_all((0..50).map(async |n| {
        if n % 2 == 0 {
            let body = json!({ "url": format!("https://example.com/{n}") });
            return u64::from(client.post(&single, &body).await.status == 201);
        }
        let sent = [format!("https://example.com/{n}/a"), format!("https://example.com/{n}/b")];
        let sent: Vec<_> = sent.iter().map(String::as_str).collect();
        let answer = bulk(&service, &owner, &sent).await;
        let failed = answer.body["data"]["failed"].as_array().expect("a list");
        assert!(failed.iter().all(|entry| entry["error"] == LIMIT), "{failed:?}");
        let created = urls(&answer, "created").len();
        assert_eq!(created + failed.len(), 2);
        created as u64
    }));
    assert_eq!(many.await.into_iter().sum::<u64>(), 5);
    assert_eq!(sites_count(&service, &owner).await, 5);
    let listed = client.get(&single).await;
    assert_eq!(listed.body["meta"]["total"], 5);
    assert_eq!(service.waiting().len(), 5);
}

#[tokio::test]
async fn of_many_requests_for_the_same_urls_at_once_each_url_is_created_once() {
    let (service, owner) = Service::with_team().await;
    let sent = ["https://a.test", "https://b.test", "https://c.test"];
    let answers = join_all((0..50).map(|_| bulk(&service, &owner, &sent))).await;
    let mut created: Vec<_> = answers.iter().flat_map(|answer| urls(answer, "created")).collect();
    created.sort();
    assert_eq!(created, sent);
    let skipped: usize = answers.iter().map(|answer| urls(answer, "skipped").len()).sum();
    assert_eq!(skipped, 147);
    assert_eq!(sites_count(&service, &owner).await, 3);
}

#[tokio::test]
async fn what_is_not_begun_in_time_fails_and_can_be_sent_again() {
    let (mut service, owner) = Service::with_team().await;
    // Each reading of the clock takes ten seconds: one when the request arrives, and one for each site.
    let seconds = AtomicI64::new(service.test.now().as_second());
    let clock = std::mem::replace(
        &mut service.test.app.clock,
        Clock::from_fn(move || {
            let now = seconds.fetch_add(10, Ordering::SeqCst);
            jiff::Timestamp::from_second(now).expect("an instant")
        }),
    );
    let sent = ["https://a.test", "https://b.test", "https://c.test", "x", "https://a.test"];
    let answer = bulk(&service, &owner, &sent).await;
    assert_eq!(urls(&answer, "created"), ["https://a.test", "https://b.test"]);
    let late = "The request ran out of time before this site was created. Please send it again.";
    let failed = json!([
        { "url": "https://c.test", "error": late },
        { "url": "x", "error": "The url must start with http:// or https://." },
    ]);
    assert_eq!(answer.body["data"]["failed"], failed);
    assert_eq!(urls(&answer, "skipped"), ["https://a.test"]);

    service.test.app.clock = clock;
    let again = bulk(
        &service,
        &owner,
        &urls(&answer, "failed")[..1].iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .await;
    assert_eq!(urls(&again, "created"), ["https://c.test"]);
}

#[tokio::test]
async fn a_site_survives_what_goes_wrong_on_the_way_to_the_table() {
    let (service, owner) = Service::with_team().await;
    // Records the use of the token.
    service.client(&owner).get("/me").await;
    for (n, fault) in [Fault::Throttle, Fault::Conflict, Fault::LoseAnswer].into_iter().enumerate()
    {
        service.test.faults().on_write(2, fault);
        let sent = ["a", "b", "c"].map(|path| format!("https://example.com/{n}/{path}"));
        let answer = bulk(&service, &owner, &sent.each_ref().map(String::as_str)).await;
        assert_eq!(urls(&answer, "created"), sent, "{fault:?}: {answer:?}");
    }
    assert_eq!(sites_count(&service, &owner).await, 9);
}

#[tokio::test]
async fn a_site_that_the_table_does_not_take_fails_alone_and_says_no_more_than_that() {
    let (service, owner) = Service::with_team().await;
    service.client(&owner).get("/me").await;
    // The write of the second site, and the SDK's retries.
    for n in 2..=9 {
        service.test.faults().on_write(n, Fault::Throttle);
    }
    let answer =
        bulk(&service, &owner, &["https://a.test", "https://b.test", "https://c.test"]).await;
    assert_eq!(urls(&answer, "created"), ["https://a.test", "https://c.test"]);
    let failed = json!([{
        "url": "https://b.test",
        "error": "The service is unavailable. Please try again.",
    }]);
    assert_eq!(answer.body["data"]["failed"], failed);
}
