//! `PUT /sites/{site}/expectations`: what can be expected, who may say so, and what follows.

use serde_json::{Value, json};
use vedette_domain::accounts::audit::AuditEvent;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::expectations::{OwnershipRecord, PostRequest};
use vedette_domain::id::SiteId;
use vedette_testkit::{Member, NameServices, new_team};
use vedette_tests::Service;

use super::{get, put, record, without_record};
use crate::support::{assert_invalid, new_site};

async fn scene() -> (Service, Member, SiteId) {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    service.waiting();
    (service, owner, site)
}

fn only(expected: &Value) -> Value {
    json!({ "expectations": [expected] })
}

#[tokio::test]
async fn everything_that_can_be_expected_is_kept() {
    let (service, owner, site) = scene().await;
    let sent = json!({
        "method": "GET",
        "expectations": [
            { "kind": "body_contains", "text": " Welcome " },
            { "kind": "body_lacks", "text": "Fatal error" },
            { "kind": "header_equals", "name": "X-Cache", "value": "HIT" },
            { "kind": "header_contains", "name": "content-type", "value": "json" },
            { "kind": "json_equals", "pointer": "/status", "value": " ok" },
            { "kind": "json_equals", "pointer": "", "value": null },
            { "kind": "json_equals", "pointer": "/n", "value": -1.5 },
            { "kind": "response_time", "max_ms": 30_000 },
        ],
        "issues": {
            "expectation": { "severity": "warning", "failures_to_open": 1 },
            "slow": { "successes_to_resolve": 100 },
        },
    });
    let answer = put(&service, &owner, site, &sent).await;
    let mut kept = sent.clone();
    kept["expectations"][0]["text"] = json!("Welcome");
    kept["expectations"][2]["name"] = json!("x-cache");
    kept["issues"] = json!({
        "expectation": { "severity": "warning", "failures_to_open": 1, "successes_to_resolve": 1 },
        "slow": { "severity": "warning", "failures_to_open": 2, "successes_to_resolve": 100 },
    });
    assert_eq!((answer.status, without_record(&answer)), (200, json!({ "data": kept })));
    assert_eq!(get(&service, &owner, site).await.body, answer.body);

    let head = json!({ "method": "HEAD", "expectations": [] });
    let replaced = put(&service, &owner, site, &head).await;
    assert_eq!(replaced.body["data"]["method"], "HEAD");
    assert_eq!(replaced.body["data"]["issues"]["expectation"]["severity"], "critical");
}

#[tokio::test]
async fn invalid_expectations_are_refused_and_change_nothing() {
    let (service, owner, site) = scene().await;
    let kept = only(&json!({ "kind": "body_contains", "text": "Welcome" }));
    let before = put(&service, &owner, site, &kept).await;
    let long = "x".repeat(201);
    let text = json!({ "kind": "body_contains", "text": "x" });
    let of = "expectations.0";
    for (body, field, message) in [
        (json!({}), "expectations", "is required"),
        (json!({ "expectations": null }), "expectations", "is required"),
        (json!({ "expectations": {} }), "expectations", "must be an array"),
        (
            json!({ "expectations": vec![&text; 11] }),
            "expectations",
            "must not have more than 10 items",
        ),
        (
            json!({ "method": "PATCH", "expectations": [] }),
            "method",
            "must be one of GET, HEAD, POST",
        ),
        (json!({ "expectations": [], "body": "x" }), "body", "is not known"),
        (
            json!({ "method": "HEAD", "expectations": [text] }),
            "expectations.0.kind",
            "needs the method GET or POST, because a response to HEAD has no body",
        ),
        (only(&json!("x")), of, "must be an object"),
        (only(&json!({ "text": "x" })), "expectations.0.kind", "is required"),
        (
            only(&json!({ "kind": "body_matches", "text": "x" })),
            "expectations.0.kind",
            "must be one of body_contains, body_lacks, header_equals, header_contains, json_equals, response_time",
        ),
        (only(&json!({ "kind": "body_lacks" })), "expectations.0.text", "is required"),
        (only(&json!({ "kind": "body_lacks", "text": " " })), "expectations.0.text", "is required"),
        (
            only(&json!({ "kind": "body_lacks", "text": long })),
            "expectations.0.text",
            "must not be longer than 200 characters",
        ),
        (
            only(&json!({ "kind": "body_lacks", "text": "x", "case": false })),
            "expectations.0.case",
            "is not known",
        ),
        (
            only(&json!({ "kind": "header_equals", "name": "a b", "value": "x" })),
            "expectations.0.name",
            "must be the name of a header",
        ),
        (
            only(&json!({ "kind": "header_contains", "name": "server" })),
            "expectations.0.value",
            "is required",
        ),
        (
            only(&json!({ "kind": "json_equals", "pointer": "status", "value": 1 })),
            "expectations.0.pointer",
            "must be a JSON pointer, such as /status or /checks/0/state",
        ),
        (
            only(&json!({ "kind": "json_equals", "value": 1 })),
            "expectations.0.pointer",
            "is required",
        ),
        (
            only(&json!({ "kind": "json_equals", "pointer": 1, "value": 1 })),
            "expectations.0.pointer",
            "must be a string",
        ),
        (
            only(&json!({ "kind": "json_equals", "pointer": "/a" })),
            "expectations.0.value",
            "is required",
        ),
        (
            only(&json!({ "kind": "json_equals", "pointer": "/a", "value": [] })),
            "expectations.0.value",
            "must be a string, a number, true, false or null",
        ),
        (
            only(&json!({ "kind": "json_equals", "pointer": "/a", "value": long })),
            "expectations.0.value",
            "must not be longer than 200 characters",
        ),
        (
            only(&json!({ "kind": "response_time", "max_ms": 0 })),
            "expectations.0.max_ms",
            "must be at least 1",
        ),
        (
            only(&json!({ "kind": "response_time", "max_ms": 30_001 })),
            "expectations.0.max_ms",
            "must not be greater than 30000",
        ),
        (
            json!({ "expectations": [
                { "kind": "response_time", "max_ms": 1 },
                { "kind": "response_time", "max_ms": 2 },
            ] }),
            "expectations.1.kind",
            "must not be a second response_time; one is enough",
        ),
        (json!({ "expectations": [], "issues": [] }), "issues", "must be an object"),
        (json!({ "expectations": [], "issues": { "down": {} } }), "issues.down", "is not known"),
        (
            json!({ "expectations": [], "issues": { "slow": { "severity": "info" } } }),
            "issues.slow.severity",
            "must be one of critical, warning",
        ),
        (
            json!({ "expectations": [], "issues": { "slow": { "failures_to_open": 101 } } }),
            "issues.slow.failures_to_open",
            "must not be greater than 100",
        ),
    ] {
        let answer = put(&service, &owner, site, &body).await;
        assert_invalid(&answer, field, &format!("The {field} field {message}."));
    }
    assert_eq!(get(&service, &owner, site).await.body, before.body);
}

#[tokio::test]
async fn a_change_is_audited_and_applies_to_checks_that_begin_afterwards() {
    let (service, owner, site) = scene().await;
    let store = &service.test.app.store;
    let (before, _) =
        store.site_tool(site.partition(), Tool::Status).await.expect("read").expect("a site");
    let body = only(&json!({ "kind": "json_equals", "pointer": "/status", "value": "ok" }));
    put(&service, &owner, site, &body).await;
    put(&service, &owner, site, &body).await;
    let (after, state) =
        store.site_tool(site.partition(), Tool::Status).await.expect("read").expect("a site");
    // The second request changed nothing.
    assert_eq!((after.rev, after.cfg), (before.rev + 1, before.cfg + 1));
    assert_eq!(state.cfg, after.cfg, "a run in progress no longer counts");
    let log = store.audit_log(owner.team, None, 10).await.expect("read");
    let changes = log.entries.iter().filter_map(|entry| match &entry.event {
        AuditEvent::SiteChanged { differences, .. } => Some(differences),
        _ => None,
    });
    let [differences] = <[_; 1]>::try_from(changes.collect::<Vec<_>>()).expect("one change");
    let changed: Vec<_> =
        differences.iter().map(|of| (of.setting.as_str(), of.after.as_deref())).collect();
    assert_eq!(changed, [("expectations.expectation", Some("\"ok\" at /status"))]);
}

fn post(post: &Value) -> Value {
    json!({ "method": "POST", "post": post, "expectations": [] })
}

/// The scene of a site whose host has its record.
async fn proven() -> (Service, Member, SiteId, NameServices) {
    let (mut service, owner, site) = scene().await;
    let names = NameServices::start().await;
    service.test.app.txt_records = names.txt_records();
    names.publish(&record(&service, site).await);
    (service, owner, site, names)
}

async fn stored(service: &Service, site: SiteId) -> Option<PostRequest> {
    let found = service.test.app.store.site(site.partition()).await.expect("read");
    found.expect("a site").site.expectations.post
}

#[tokio::test]
async fn a_body_is_kept_and_never_shown() {
    let (service, owner, site, _names) = proven().await;
    let secret = " {\"password\": \"correct horse\"}\n";
    let sent = post(&json!({ "content_type": "text/plain; charset=utf-8", "body": secret }));
    let answer = put(&service, &owner, site, &sent).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let shown = json!({ "content_type": "text/plain; charset=utf-8", "body_bytes": 31 });
    assert_eq!(answer.body["data"]["method"], "POST");
    assert_eq!(answer.body["data"]["post"], shown);
    assert_eq!(get(&service, &owner, site).await.body, answer.body);
    assert!(!answer.body.to_string().contains("horse"));
    assert_eq!(stored(&service, site).await.expect("a POST").body, secret);

    // What is omitted stays as it is.
    for sent in [post(&json!({})), json!({ "method": "POST", "expectations": [] })] {
        assert_eq!(put(&service, &owner, site, &sent).await.body, answer.body);
    }
    put(&service, &owner, site, &post(&json!({ "content_type": "text/csv" }))).await;
    let changed = stored(&service, site).await.expect("a POST");
    assert_eq!((&*changed.content_type, &*changed.body), ("text/csv", secret));
    put(&service, &owner, site, &post(&json!({ "body": "a=b" }))).await;
    let changed = stored(&service, site).await.expect("a POST");
    assert_eq!((&*changed.content_type, &*changed.body), ("text/csv", "a=b"));

    let get_again = put(&service, &owner, site, &json!({ "expectations": [] })).await;
    assert_eq!(get_again.body["data"].get("post"), None);
    assert_eq!(stored(&service, site).await, None);
    let sent = post(&json!({ "body": "x" }));
    put(&service, &owner, site, &sent).await;
    assert_eq!(stored(&service, site).await.expect("a POST").content_type, "application/json");

    let log = service.test.app.store.audit_log(owner.team, None, 10).await.expect("read");
    let logged = format!("{:?}", log.entries);
    assert!(!logged.contains("horse") && !logged.contains("a=b"), "{logged}");
    let changes = log.entries.iter().filter_map(|entry| match &entry.event {
        AuditEvent::SiteChanged { differences, .. } => Some(differences),
        _ => None,
    });
    let changed: Vec<Vec<_>> = changes
        .map(|differences| differences.iter().map(|of| of.setting.as_str()).collect())
        .collect();
    let settings =
        ["expectations.method", "expectations.post.body", "expectations.post.content_type"];
    assert!(changed.contains(&settings.to_vec()), "{changed:?}");
    assert!(changed.contains(&settings[1..2].to_vec()), "{changed:?}");
}

#[tokio::test]
async fn what_cannot_be_posted_is_refused() {
    let (service, owner, site, _names) = proven().await;
    let body = |body: Value| post(&json!({ "body": body }));
    let of_type = |kind: Value| post(&json!({ "content_type": kind, "body": "x" }));
    for (sent, field, message) in [
        (
            json!({ "method": "POST", "expectations": [] }),
            "post",
            "is required with the method POST",
        ),
        (json!({ "post": { "body": "x" }, "expectations": [] }), "post", "needs the method POST"),
        (
            json!({ "method": "HEAD", "post": null, "expectations": [] }),
            "post",
            "needs the method POST",
        ),
        (post(&json!("x")), "post", "must be an object"),
        (post(&json!({})), "post.body", "is required"),
        (post(&json!({ "body": "x", "headers": {} })), "post.headers", "is not known"),
        (body(json!("")), "post.body", "is required"),
        (body(json!(null)), "post.body", "is required"),
        (body(json!({})), "post.body", "must be a string"),
        (body(json!("é".repeat(2_049))), "post.body", "must not be longer than 4096 bytes"),
        (of_type(json!(1)), "post.content_type", "must be a string"),
        (
            of_type(json!("json")),
            "post.content_type",
            "must be a content type, such as application/json",
        ),
        (
            of_type(json!("text/plain\r\nX-Other: 1")),
            "post.content_type",
            "must be a content type, such as application/json",
        ),
        (
            of_type(json!(format!("text/{}", "x".repeat(96)))),
            "post.content_type",
            "must not be longer than 100 characters",
        ),
    ] {
        let answer = put(&service, &owner, site, &sent).await;
        assert_invalid(&answer, field, &format!("The {field} field {message}."));
    }
    assert_eq!(stored(&service, site).await, None);
    assert_eq!(put(&service, &owner, site, &body(json!("é".repeat(2_048)))).await.status, 200);
}

#[tokio::test]
async fn a_post_needs_the_record_of_its_own_team() {
    let (service, owner, site, names) = proven().await;
    let record = record(&service, site).await;
    let refused = |record: &OwnershipRecord| {
        let OwnershipRecord { name, value } = record;
        format!(
            "The method field must not be POST: the DNS TXT record {name} with the value {value} is missing."
        )
    };
    let other = new_team(&service.test, Plan::Agency).await;
    let theirs = new_site(&service, &other, "https://example.com").await;
    let body = post(&json!({ "body": "x" }));
    let answer = put(&service, &other, theirs, &body).await;
    assert_invalid(&answer, "method", &refused(&super::record(&service, theirs).await));
    assert_eq!(put(&service, &owner, site, &body).await.status, 200);
    names.withdraw(&record);
    let other_body = post(&json!({ "body": "y" }));
    let answer = put(&service, &owner, site, &other_body).await;
    assert_invalid(&answer, "method", &refused(&record));
    // What is posted does not change, so nothing needs to be proven.
    let more = json!({
        "method": "POST",
        "expectations": [{ "kind": "response_time", "max_ms": 900 }],
    });
    assert_eq!(put(&service, &owner, site, &more).await.status, 200);

    let address = new_site(&service, &owner, "http://192.0.2.1").await;
    let answer = put(&service, &owner, address, &body).await;
    let why = "the host is an IP address or too long a name, so it cannot have the DNS TXT record that proves ownership";
    assert_invalid(&answer, "method", &format!("The method field must not be POST: {why}."));
}
