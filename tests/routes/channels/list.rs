//! `GET /teams/{team}/channels`: a team's channels with their deliveries.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::slack;
use crate::support::{assert_invalid, new_site};

#[tokio::test]
async fn channels_are_listed_as_each_is_shown() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let first = slack(&client, owner.team).await;
    service.advance_minutes(1);
    let path = format!("/teams/{}/channels", owner.team);
    let email = json!({ "kind": "email", "address": "ops@example.com" });
    let second = client.post(&path, &email).await;
    assert_eq!(second.body["data"]["state"], "unconfirmed");
    let each = [
        client.get(&first).await.body["data"].clone(),
        client.get(&format!("{path}/{}", second.data("uuid"))).await.body["data"].clone(),
    ];
    assert_eq!(client.get(&path).await.body["data"], json!(each));
}

#[tokio::test]
async fn channels_say_when_they_would_be_notified_of_an_issue() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let (path, sites) =
        (format!("/teams/{}/channels", owner.team), format!("/teams/{}/sites", owner.team));
    let site = json!({ "url": "https://shop.example.com", "tags": ["env:prod"] });
    let site = client.post(&sites, &site).await.data("uuid");
    let add = async |name: &str, rule: Value| {
        let mut body = json!({ "kind": "slack", "name": name });
        body["url"] = format!("https://hooks.slack.com/services/{name}").into();
        body.as_object_mut().expect("an object").extend(rule.as_object().cloned().expect("a rule"));
        assert_eq!(client.post(&path, &body).await.status, 201);
    };
    add("all", json!({})).await;
    add("later", json!({ "delay_minutes": 10 })).await;
    add("tests", json!({ "selector": "env:test" })).await;
    add("minor", json!({ "severities": ["info"], "tools": ["ssl"] })).await;
    let asked = async |query: &str| {
        let listed = client.get(&format!("{path}?{query}")).await;
        let channels = listed.body["data"].as_array().cloned().expect("channels");
        let answer = |channel: &Value| {
            let at = channel
                .get("would_be_notified_at")
                .map_or("-", |at| at.as_str().unwrap_or("never"));
            format!("{} {at}", channel["name"].as_str().expect("a name"))
        };
        channels.iter().map(answer).collect::<Vec<_>>()
    };
    assert_eq!(asked("").await, ["all -", "later -", "tests -", "minor -"]);
    assert_eq!(
        asked(&format!("site={site}&at=2026-11-24T02:46:00%2B01:00")).await,
        [
            "all 2026-11-24T01:46:00+00:00",
            "later 2026-11-24T01:56:00+00:00",
            "tests never",
            "minor never",
        ]
    );
    assert_eq!(
        asked(&format!("site={site}&tool=ssl&severity=info&at=2026-11-24T02:46")).await,
        [
            "all 2026-11-24T02:46:00+00:00",
            "later 2026-11-24T02:56:00+00:00",
            "tests never",
            "minor 2026-11-24T02:46:00+00:00",
        ]
    );
    let stranger = new_team(&service.test, Plan::Agency).await;
    let theirs = new_site(&service, &stranger, "https://shop.example.com").await;
    for (query, field, why) in [
        ("site=1".to_owned(), "site", "The site field must be a valid UUID."),
        (format!("site={theirs}"), "site", "The selected site is invalid."),
        (format!("site={site}&tool=ping"), "tool", "The selected tool is invalid."),
        (format!("site={site}&severity=bad"), "severity", "The selected severity is invalid."),
        (
            format!("site={site}&at=noon"),
            "at",
            "The at field must be a date and time, such as 2026-11-24T02:46:00+01:00.",
        ),
    ] {
        assert_invalid(&client.get(&format!("{path}?{query}")).await, field, why);
    }
}
