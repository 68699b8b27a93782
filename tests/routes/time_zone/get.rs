//! `GET /teams/{team}/time-zone`: UTC until somebody chooses another zone.

use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::get;
use crate::support::{assert_not_found, assert_plan_required, colleague, odd_spellings, suspend};

#[tokio::test]
async fn a_new_team_lives_in_utc_and_every_role_may_know() {
    let (service, owner) = Service::with_team().await;
    let answer = get(&service, &owner, owner.team).await;
    insta::assert_snapshot!(answer.shown(), @r#"200 { "data": { "time_zone": "UTC" } }"#);
    for role in Role::ALL {
        let member = colleague(&service, &owner, role).await;
        assert_eq!(get(&service, &member, owner.team).await.body, answer.body);
    }
}

#[tokio::test]
async fn strangers_learn_nothing() {
    let (service, owner) = Service::with_team().await;
    let other = new_team(&service.test, Plan::Agency).await;
    assert_not_found(&get(&service, &other, owner.team).await);
    for uuid in odd_spellings(&owner.team) {
        let path = format!("/teams/{uuid}/time-zone");
        assert_not_found(&service.client(&owner).get(&path).await);
    }
    suspend(&service, &owner).await;
    assert_plan_required(&get(&service, &owner, owner.team).await);
}
