//! `GET /teams/{team}/groups`: none until somebody saves some.

use vedette_tests::Service;

use super::get;

#[tokio::test]
async fn a_new_team_has_no_groups() {
    let (service, owner) = Service::with_team().await;
    let answer = get(&service, &owner, owner.team).await;
    insta::assert_snapshot!(answer.shown(), @r#"200 { "data": { "groups": [] } }"#);
}
