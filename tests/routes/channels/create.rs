//! `POST /teams/{team}/channels`: adds a channel.

use serde_json::json;
use vedette_tests::Service;

use crate::support::assert_invalid;

#[tokio::test]
async fn a_channel_of_each_kind_is_added_and_no_answer_has_its_secret() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/channels", owner.team);
    for (kind, field, value, to) in [
        ("email", "address", "ops@example.com", "ops@example.com"),
        (
            "slack",
            "url",
            "https://hooks.slack.com/services/T0/B0/s3cret",
            "https://hooks.slack.com/…",
        ),
        ("discord", "url", "https://discord.com/api/webhooks/1/s3cret", "https://discord.com/…"),
        ("teams", "url", "https://x.webhook.office.com/s3cret", "https://x.webhook.office.com/…"),
        ("ntfy", "url", "https://ntfy.sh/s3cret", "https://ntfy.sh/…"),
        ("webhook", "url", "https://ops.example.com/s3cret", "https://ops.example.com/…"),
    ] {
        let added = client.post(&path, &json!({ "kind": kind, field: value })).await;
        assert_eq!(added.status, 201, "{kind}: {added:?}");
        let data = &added.body["data"];
        assert_eq!((&data["kind"], &data["to"]), (&json!(kind), &json!(to)));
        assert_eq!(data["has_secret"], kind != "email");
        assert_eq!(data["signing_key"].is_string(), kind == "webhook", "{data}");
        let again = client.get(&format!("{path}/{}", added.data("uuid"))).await;
        assert!(!again.shown().contains("signing_key"), "{again:?}");
    }
    let log = client.get(&format!("/teams/{}/audit-log", owner.team)).await;
    for answer in [client.get(&path).await, log] {
        assert!(!answer.shown().contains("s3cret"), "{answer:?}");
        assert!(!answer.shown().contains("whsec_"), "{answer:?}");
    }
}

#[tokio::test]
async fn what_the_form_refuses_is_refused() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/channels", owner.team);
    let slack = "https://hooks.slack.com/services/T0/B0/s3cret";
    let manager = "https://alertmanager.example.com";
    client.post(&path, &json!({ "kind": "slack", "url": slack })).await;
    for (body, field, why) in [
        (json!({ "name": "Ops" }), "kind", "The kind field is required."),
        (json!({ "kind": "slack" }), "url", "The url field is required."),
        (
            json!({ "kind": "email", "address": "ops" }),
            "address",
            "The address field must be an address such as ada@example.com.",
        ),
        (
            json!({ "kind": "slack", "url": "https://discord.com/api/webhooks/1/s3cret" }),
            "url",
            "The url field belongs to Discord; add a channel of that type.",
        ),
        (
            json!({ "kind": "slack", "url": slack, "name": "Other" }),
            "url",
            "The team's channel Slack already sends to this URL.",
        ),
        (
            json!({ "kind": "slack", "url": format!("{slack}2") }),
            "name",
            "The team already has a channel Slack.",
        ),
        (
            json!({ "kind": "slack", "url": format!("{slack}3"), "events": ["acknowledged"] }),
            "events",
            "A channel of type Slack gets no acknowledged events.",
        ),
        (
            json!({ "kind": "alertmanager", "url": manager, "events": ["reminder"] }),
            "events",
            "A channel of type Prometheus Alertmanager gets no reminder events.",
        ),
        (
            json!({ "kind": "alertmanager", "url": manager, "events": ["opened"] }),
            "events",
            "A channel of type Prometheus Alertmanager always gets resolved events.",
        ),
        (
            json!({ "kind": "alertmanager", "url": manager, "delay_minutes": 5 }),
            "delay_minutes",
            "The delay_minutes field is only for channels that people read.",
        ),
        (
            json!({ "kind": "alertmanager", "url": format!("{manager}?s3cret") }),
            "url",
            "The url field must be like https://alertmanager.example.com, without a query.",
        ),
    ] {
        let refused = client.post(&path, &body).await;
        assert!(!refused.shown().contains("s3cret"), "{refused:?}");
        assert_invalid(&refused, field, why);
    }
}
