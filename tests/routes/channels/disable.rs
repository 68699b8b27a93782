//! `POST /teams/{team}/channels/{channel}/disable`: sends nothing more to a channel.

use serde_json::json;
use vedette_tests::Service;

use super::{at, slack};

#[tokio::test]
async fn a_disabled_channel_says_who_disabled_it() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = slack(&client, owner.team).await;
    for _ in 0..2 {
        let disabled = client.post(&format!("{path}/disable"), &json!({})).await;
        assert_eq!((disabled.status, &disabled.body["data"]["state"]), (200, &json!("disabled")));
    }
    let reason = at(&client, &path, "/disabled/reason").await;
    assert!(reason.as_str().is_some_and(|reason| reason.starts_with("disabled by ")), "{reason}");
    let log = service.test.app.store.audit_log(owner.team, None, 10).await.expect("read");
    assert_eq!(log.entries.len(), 2, "added, and disabled once");
}
