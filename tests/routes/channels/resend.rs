//! `POST /teams/{team}/channels/{channel}/resend`: sends what waits for a channel.

use serde_json::json;
use vedette_domain::accounts::audit::{Actor, AuditEvent, ChannelChange};
use vedette_domain::alerts::channel_state::FailedAttempt;
use vedette_store::Audit;
use vedette_tests::Service;

use super::slack;

#[tokio::test]
async fn what_waits_is_sent_unless_the_channel_is_disabled() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    assert_eq!(client.post(&format!("{path}/resend"), &json!({})).await.status, 200);
    client.post(&format!("{path}/disable"), &json!({})).await;
    let refused = client.post(&format!("{path}/resend"), &json!({})).await;
    let why = &refused.body["errors"]["channel"][0];
    let why = why.as_str().unwrap_or_default();
    assert!(refused.status == 422 && why.contains("disabled by"), "{refused:?}");
}

#[tokio::test]
async fn a_channel_that_its_receiver_disabled_is_enabled_and_the_audit_log_says_so() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    let store = &service.test.app.store;
    let [channel] = &store.channels(owner.team).await.expect("read")[..] else { panic!("one") };
    let mut state = store.channel_state(channel.into()).await.expect("read");
    state.rev += 1;
    state.disable(FailedAttempt {
        at: service.test.now(),
        what: "an alert".to_owned(),
        why: "HTTP 404".to_owned(),
    });
    store.put_channel_state(channel.into(), &state, Audit::None).await.expect("saved");
    assert_eq!(client.get(&path).await.body["data"]["state"], "disabled");
    // The second time, there is nothing to enable. Nothing has arrived yet.
    for _ in 0..2 {
        service.advance_minutes(1);
        let resent = client.post(&format!("{path}/resend"), &json!({})).await;
        assert_eq!((resent.status, &resent.body["data"]["state"]), (200, &json!("failing")));
    }
    let log = store.audit_log(owner.team, None, 10).await.expect("read").entries;
    let [entry, _added] = &log[..] else { panic!("{log:?}") };
    assert_eq!(entry.actor, Actor::User(owner.user));
    let (name, change) = (channel.name.clone(), ChannelChange::Enabled);
    assert_eq!(entry.event, AuditEvent::Channel { name, change });
}
