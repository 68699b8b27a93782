//! `PATCH /teams/{team}/channels/{channel}`: changes a channel's name, which alerts it gets, and where it leads.

use serde_json::{Value, json};
use vedette_domain::accounts::audit::{AuditEvent, ChannelChange};
use vedette_domain::alerts::channel::{AccessToken, Channel, SecretUrl, Target};
use vedette_domain::alerts::channel_state::FailedAttempt;
use vedette_domain::id::ChannelId;
use vedette_store::{Audit, ChannelRef};
use vedette_testkit::Member;
use vedette_tests::Service;

use super::slack;
use crate::support::assert_invalid;

#[tokio::test]
async fn what_is_omitted_stays_as_it_is() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    let body = json!({ "severities": ["critical"], "events": ["opened", "resolved"] });
    let changed = client.patch(&path, &body).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let renamed = client.patch(&path, &json!({ "name": "Night shift", "events": [] })).await;
    let data = &renamed.body["data"];
    assert_eq!(
        (&data["name"], &data["severities"], &data["events"]),
        (&json!("Night shift"), &json!(["critical"]), &json!([]))
    );
    let selected = client.patch(&path, &json!({ "selector": "Env:prod,!legacy" })).await;
    assert_eq!(selected.body["data"]["selector"], "env:prod, !legacy", "{selected:?}");
    for (selector, why) in [
        ("!", "must be a selector such as env:prod, team in (shop,web), !legacy"),
        ("env=prod", "must be a selector such as env:prod, team in (shop,web), !legacy"),
    ] {
        let refused = client.patch(&path, &json!({ "selector": selector })).await;
        assert_invalid(&refused, "selector", &format!("The selector field {why}."));
    }
    let renamed = client.patch(&path, &json!({ "name": "Day shift" })).await;
    assert_eq!(renamed.body["data"]["selector"], "env:prod, !legacy");
    let all = client.patch(&path, &json!({ "selector": null })).await;
    assert_eq!(all.body["data"].get("selector"), None, "{all:?}");
    let times = client.patch(&path, &json!({ "delay_minutes": 10, "repeat_minutes": 30 })).await;
    let data = &times.body["data"];
    assert_eq!((&data["delay_minutes"], &data["repeat_minutes"]), (&json!(10), &json!(30)));
    for (minutes, why) in [(0, "must be at least 1"), (1_441, "must not be greater than 1440")] {
        let refused = client.patch(&path, &json!({ "delay_minutes": minutes })).await;
        assert_invalid(&refused, "delay_minutes", &format!("The delay_minutes field {why}."));
    }
    let at_once = client.patch(&path, &json!({ "delay_minutes": null })).await;
    let data = &at_once.body["data"];
    assert_eq!((data.get("delay_minutes"), &data["repeat_minutes"]), (None, &json!(30)));
    let wrong = client.patch(&path, &json!({ "tools": ["ping"] })).await;
    assert!(wrong.status == 422 && wrong.body["errors"]["tools.0"].is_array(), "{wrong:?}");
    let unknown = client.patch(&path, &json!({ "kind": "ntfy" })).await;
    assert_invalid(&unknown, "kind", "The kind field is not known.");
}

#[tokio::test]
async fn a_program_gets_each_event_when_it_happens() {
    let (service, owner) = Service::with_team().await;
    let program = json!({ "kind": "webhook", "url": "https://ops.example.com/alerts" });
    let (path, _) = add(&service, &owner, program.clone()).await;
    for (field, value) in
        [("delay_minutes", json!(5)), ("repeat_minutes", json!(5)), ("without_links", json!(true))]
    {
        let why = format!("The {field} field is only for channels that people read.");
        let refused = service.client(&owner).patch(&path, &json!({ field: value })).await;
        assert_invalid(&refused, field, &why);
        let mut other = program.clone();
        (other["url"], other[field]) = (json!("https://ops.example.com/others"), value.clone());
        let list = format!("/teams/{}/channels", owner.team);
        assert_invalid(&service.client(&owner).post(&list, &other).await, field, &why);
        let none = if value.is_boolean() { json!(false) } else { json!(null) };
        let unset = service.client(&owner).patch(&path, &json!({ field: none })).await;
        assert_eq!(unset.status, 200, "{unset:?}");
    }
}

/// Adds a channel. Returns its path, and the channel as it is stored.
async fn add(service: &Service, owner: &Member, body: Value) -> (String, Channel) {
    let list = format!("/teams/{}/channels", owner.team);
    let added = service.client(owner).post(&list, &body).await;
    assert_eq!(added.status, 201, "{added:?}");
    let id = added.data("uuid");
    let place = ChannelRef { team: owner.team, id: ChannelId::parse(&id).expect("an id") };
    let stored = service.test.app.store.channel(place).await.expect("read").expect("a channel");
    (format!("{list}/{id}"), stored)
}

async fn target_of(service: &Service, channel: &Channel) -> Target {
    service.test.app.store.target_of(channel).await.expect("read")
}

/// What was done with channels, oldest first.
async fn changes(service: &Service, owner: &Member) -> Vec<ChannelChange> {
    let log = service.test.app.store.audit_log(owner.team, None, 100).await.expect("read");
    let of_channel = |event: &AuditEvent| match event {
        AuditEvent::Channel { change, .. } => Some(*change),
        _ => None,
    };
    log.entries.iter().rev().filter_map(|entry| of_channel(&entry.event)).collect()
}

#[tokio::test]
async fn a_channel_leads_elsewhere_and_begins_again() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let (store, path) = (&service.test.app.store, slack(&client, owner.team).await);
    let [channel] = &store.channels(owner.team).await.expect("read")[..] else { panic!("one") };
    let mut state = store.channel_state(channel.into()).await.expect("read");
    let attempt = FailedAttempt {
        at: service.test.now(),
        what: "test".to_owned(),
        why: "HTTP 404".to_owned(),
    };
    state.rev += 1;
    state.tested("a", Some("HTTP 404".to_owned()), service.test.now());
    state.disable(attempt);
    store.put_channel_state(channel.into(), &state, Audit::None).await.expect("saved");
    assert_eq!(client.get(&path).await.body["data"]["state"], "disabled");

    service.advance_minutes(1);
    let url = "https://hooks.slack.com/services/T0/B0/m0ved";
    let moved = client.patch(&path, &json!({ "url": url, "name": "Night" })).await;
    assert_eq!(moved.status, 200, "{moved:?}");
    let data = &moved.body["data"];
    assert_eq!(
        [&data["state"], &data["name"], &data["to"]],
        [&json!("on"), &json!("Night"), &json!("https://hooks.slack.com/…")]
    );
    assert_eq!(
        [&data["failures"], &data["last_test"], &data["delivered_at"]],
        [&json!([]), &Value::Null, &Value::Null]
    );
    assert!(path.ends_with(&moved.data("uuid")));
    assert_eq!(target_of(&service, channel).await.url().map(SecretUrl::reveal), Some(url));
    assert_eq!(changes(&service, &owner).await, [ChannelChange::Added, ChannelChange::Moved]);
    let log = client.get(&format!("/teams/{}/audit-log", owner.team)).await;
    assert!(log.shown().contains("moved") && !log.shown().contains("m0ved"), "{log:?}");

    // The same URL again is no change, and the URL before is free.
    let again = client.patch(&path, &json!({ "url": url })).await;
    assert_eq!(again.body["data"], moved.body["data"]);
    let body = json!({ "kind": "slack", "url": "https://hooks.slack.com/services/T0/B0/s3cret" });
    let (other, _) = add(&service, &owner, body).await;
    let taken = client.patch(&other, &json!({ "url": url })).await;
    assert_invalid(&taken, "url", "The team's channel Night already sends to this URL.");
}

#[tokio::test]
async fn what_waits_is_sent_to_the_new_url() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    client.post(&format!("{path}/test"), &json!({})).await;
    let url = "https://hooks.slack.com/services/T0/B0/m0ved";
    let moved = client.patch(&path, &json!({ "url": url })).await;
    assert_eq!(moved.body["data"]["waiting"].as_array().map(Vec::len), Some(1), "{moved:?}");
    service.deliver_alerts().await;
    let tested = client.get(&path).await;
    assert_eq!(tested.body["data"]["last_test"]["failed"], Value::Null, "{tested:?}");
    assert_eq!(tested.body["data"]["waiting"], json!([]));
}

#[tokio::test]
async fn an_access_token_stays_on_its_server() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let body = json!({ "kind": "ntfy", "url": "https://ntfy.test/one", "token": "tk_one" });
    let (path, channel) = add(&service, &owner, body).await;
    for (change, url, token) in [
        (json!({ "url": "https://ntfy.test/two" }), "https://ntfy.test/two", Some("tk_one")),
        // Other ports and hosts are other servers, even if their names begin the same.
        (json!({ "url": "https://ntfy.test:8443/two" }), "https://ntfy.test:8443/two", None),
        (json!({ "token": "tk_two" }), "https://ntfy.test:8443/two", Some("tk_two")),
        (json!({ "url": "https://ntfy.test:844/two" }), "https://ntfy.test:844/two", None),
        (
            json!({ "url": "https://ntfy.test/two", "token": "tk_three" }),
            "https://ntfy.test/two",
            Some("tk_three"),
        ),
        (json!({ "url": "https://ntfy.test.example/two" }), "https://ntfy.test.example/two", None),
        (
            json!({ "url": "https://ntfy.test.example/one", "token": "tk_four" }),
            "https://ntfy.test.example/one",
            Some("tk_four"),
        ),
        (json!({ "token": null }), "https://ntfy.test.example/one", None),
        (json!({ "url": "topic" }), "https://ntfy.sh/topic", None),
    ] {
        let changed = client.patch(&path, &change).await;
        assert_eq!(changed.status, 200, "{change}: {changed:?}");
        let Target::Ntfy(ntfy) = target_of(&service, &channel).await else { panic!("ntfy") };
        let found = (ntfy.url.reveal(), ntfy.token.as_ref().map(AccessToken::reveal));
        assert_eq!(found, (url, token), "{change}");
    }
}

#[tokio::test]
async fn a_webhook_keeps_its_signing_key() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let body = json!({ "kind": "webhook", "url": "https://one.example.com/hook" });
    let (path, channel) = add(&service, &owner, body).await;
    let before = target_of(&service, &channel).await;
    let moved = client.patch(&path, &json!({ "url": "https://two.example.com/hook" })).await;
    assert!(moved.status == 200 && !moved.shown().contains("signing_key"), "{moved:?}");
    let after = target_of(&service, &channel).await;
    assert_eq!(after.keys(), before.keys());
    assert_eq!(after.url().map(SecretUrl::reveal), Some("https://two.example.com/hook"));
}

#[tokio::test]
async fn a_channel_that_somebody_disabled_stays_disabled() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    client.post(&format!("{path}/disable"), &json!({})).await;
    let url = "https://hooks.slack.com/services/T0/B0/m0ved";
    let moved = client.patch(&path, &json!({ "url": url })).await;
    assert_eq!((moved.status, &moved.body["data"]["state"]), (200, &json!("disabled")));
}

#[tokio::test]
async fn a_url_of_another_kind_is_refused_and_so_is_one_for_an_address() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    let body = json!({ "kind": "email", "address": "ops@example.com" });
    let (mail, _) = add(&service, &owner, body).await;
    for (path, body, field, why) in [
        (
            &path,
            json!({ "url": "https://discord.com/api/webhooks/1/s3cret" }),
            "url",
            "The url field belongs to Discord; add a channel of that type.",
        ),
        (
            &path,
            json!({ "url": "http://hooks.slack.com/x" }),
            "url",
            "The url field must start with https://.",
        ),
        (&path, json!({ "token": "tk_x" }), "token", "The token field is not known."),
        (&mail, json!({ "url": "https://ntfy.sh/x" }), "url", "The url field is not known."),
        (
            &mail,
            json!({ "address": "a@example.com" }),
            "address",
            "The address field is not known.",
        ),
    ] {
        assert_invalid(&client.patch(path, &body).await, field, why);
    }
}
