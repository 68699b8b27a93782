//! `GET /teams/{team}/maintenance-calendar`: the secret address, for those who manage sites.

use vedette_tests::Service;

use super::path;

#[tokio::test]
async fn a_new_team_has_no_address() {
    let (service, owner) = Service::with_team().await;
    let answer = service.client(&owner).get(&path(&owner)).await;
    insta::assert_snapshot!(answer.shown(), @r#"200 { "data": { "url": null } }"#);
}
