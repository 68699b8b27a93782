//! `GET /teams/{team}/members`: who belongs to a team.

use vedette_domain::accounts::account::Role;
use vedette_tests::Service;

use crate::support::{colleague, rows};

#[tokio::test]
async fn members_are_listed_with_their_roles_owners_first() {
    let (service, owner) = Service::with_team().await;
    let viewer = colleague(&service, &owner, Role::Viewer).await;
    colleague(&service, &owner, Role::Admin).await;
    let listed =
        rows(&service.client(&viewer).get(&format!("/teams/{}/members", owner.team)).await);
    let roles: Vec<_> = listed.iter().map(|member| member["role"].as_str()).collect();
    assert_eq!(roles, [Some("owner"), Some("admin"), Some("viewer")]);
    insta::assert_json_snapshot!(listed[0], @r#"
    {
      "email": "ada-00000000-0000-4000-8000-000000000002@example.com",
      "name": "Ada",
      "role": "owner",
      "uuid": "00000000-0000-4000-8000-000000000002"
    }
    "#);
}
