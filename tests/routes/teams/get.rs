//! `GET /teams/{team}`: a team, its limits, and who may see it.

use serde_json::json;
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::TeamId;
use vedette_testkit::{ApiResponse, Member, new_team};
use vedette_tests::Service;

use crate::support::{colleague, new_site, set_plan};

async fn get(service: &Service, caller: &Member, team: TeamId) -> ApiResponse {
    service.client(caller).get(&format!("/teams/{team}")).await
}

#[tokio::test]
async fn unlimited_sites_and_seats_are_null() {
    let (service, owner) = Service::with_team().await;
    let answer = get(&service, &owner, owner.team).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "limits": {
          "enabled_checks": { "allowed": ["status", "ssl", "dns", "broken-links", "performance"] },
          "history_retention_days": 365,
          "manual_checks": { "limit": 5000, "remaining": 5000, "used": 0 },
          "minimum_check_cadence_minutes": 1,
          "plan": "agency",
          "seats": { "limit": null, "members": 1, "pending_invitations": 0, "remaining": null, "used": 1 },
          "sites": { "limit": null, "remaining": null, "used": 0 }
        },
        "members_count": 1,
        "name": "Observers",
        "sites_count": 0,
        "updated_at": "2026-11-20T09:54:00+00:00",
        "uuid": "00000000-0000-4000-8000-000000000001"
      }
    }
    "#);
}

#[tokio::test]
async fn limits_follow_the_plan_and_say_what_is_used() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    colleague(&service, &owner, Role::Viewer).await;
    let site = new_site(&service, &owner, "https://example.com").await;
    new_site(&service, &owner, "https://example.org").await;
    let run = json!({ "tools": ["status", "ssl", "dns"] });
    let ran = service.client(&owner).post(&format!("/sites/{site}/checks"), &run).await;
    assert_eq!(ran.status, 202, "{ran:?}");

    let answer = get(&service, &owner, owner.team).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "limits": {
          "enabled_checks": { "allowed": ["status", "ssl", "dns", "broken-links", "performance"] },
          "history_retention_days": 30,
          "manual_checks": { "limit": 50, "remaining": 47, "used": 3 },
          "minimum_check_cadence_minutes": 30,
          "plan": "starter",
          "seats": { "limit": 3, "members": 2, "pending_invitations": 0, "remaining": 1, "used": 2 },
          "sites": { "limit": 5, "remaining": 3, "used": 2 }
        },
        "members_count": 2,
        "name": "Observers",
        "sites_count": 2,
        "updated_at": "2026-11-20T09:54:00+00:00",
        "uuid": "00000000-0000-4000-8000-000000000001"
      }
    }
    "#);
}

#[tokio::test]
async fn the_limits_of_the_growth_plan_are_shown() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Growth).await;
    let limits = &get(&service, &owner, owner.team).await.body["data"]["limits"];
    assert_eq!(limits["plan"], "growth");
    assert_eq!(limits["sites"]["limit"], 25);
    assert_eq!(limits["seats"]["limit"], 10);
    assert_eq!(limits["manual_checks"]["limit"], 250);
    assert_eq!(limits["minimum_check_cadence_minutes"], 5);
    assert_eq!(limits["history_retention_days"], 90);
}

#[tokio::test]
async fn usage_above_the_limits_of_a_smaller_plan_leaves_zero_remaining() {
    let (service, owner) = Service::with_team().await;
    for number in 1..=6 {
        new_site(&service, &owner, &format!("https://example.com/{number}")).await;
        colleague(&service, &owner, Role::Viewer).await;
    }
    set_plan(&service, owner.team, Plan::Starter, true).await;

    let limits = &get(&service, &owner, owner.team).await.body["data"]["limits"];
    assert_eq!(limits["sites"], json!({ "used": 6, "limit": 5, "remaining": 0 }));
    assert_eq!(limits["seats"]["used"], 7);
    assert_eq!(limits["seats"]["remaining"], 0);
}

#[tokio::test]
async fn deleted_sites_are_not_counted() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    service.client(&owner).delete(&format!("/sites/{site}")).await;
    let answer = get(&service, &owner, owner.team).await;
    assert_eq!(answer.body["data"]["sites_count"], 0);
    assert_eq!(answer.body["data"]["limits"]["sites"]["used"], 0);
}

#[tokio::test]
async fn a_uuid_is_read_in_any_case_and_shown_in_lower_case() {
    let service = Service::start().await;
    // Ids are numbered, and the tenth contains a letter.
    for _ in 1..10 {
        service.test.app.entropy.team_id().expect("an id");
    }
    let owner = new_team(&service.test, Plan::Agency).await;
    assert!(owner.team.to_string().ends_with('a'), "{}", owner.team);
    let upper = owner.team.to_string().to_uppercase();
    let answer = service.client(&owner).get(&format!("/teams/{upper}")).await;
    assert_eq!((answer.status, answer.data("uuid")), (200, owner.team.to_string()));
}
