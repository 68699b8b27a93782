//! `GET /teams/{team}/time-zone`: UTC until somebody chooses another zone.

use vedette_tests::Service;

use super::get;

#[tokio::test]
async fn the_time_zone_of_a_new_team_is_utc() {
    let (service, owner) = Service::with_team().await;
    let answer = get(&service, &owner, owner.team).await;
    insta::assert_snapshot!(answer.shown(), @r#"200 { "data": { "time_zone": "UTC" } }"#);
}
