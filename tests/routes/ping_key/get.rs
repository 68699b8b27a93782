//! `GET /teams/{team}/ping-key`.

use serde_json::json;
use vedette_tests::Service;

use super::{path, put};

#[tokio::test]
async fn a_team_has_no_key_until_it_gets_one() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let none = client.get(&path(&owner)).await;
    insta::assert_snapshot!(none.shown(), @r#"200 { "data": { "ping_key": null, "ping_url": null } }"#);
    let given = put(&service, &owner, &json!({})).await;
    let read = client.get(&path(&owner)).await;
    assert_eq!((read.status, read.body), (200, given.body));
}
