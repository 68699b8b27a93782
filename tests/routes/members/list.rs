//! `GET /teams/{team}/members`: who belongs to a team.

use vedette_domain::accounts::account::Role;
use vedette_testkit::member_of;
use vedette_tests::Service;

#[tokio::test]
async fn members_are_listed_with_their_roles_owners_first() {
    let (service, owner) = Service::with_team().await;
    let viewer = member_of(&service.test, owner.team, Role::Viewer, &[]).await;
    let admin = member_of(&service.test, owner.team, Role::Admin, &[]).await;
    let listed = service.client(&owner).get(&format!("/teams/{}/members", owner.team)).await;
    let members = listed.body["data"].as_array().expect("members");
    let roles = ["owner", "admin", "viewer"];
    for ((member, user), role) in members.iter().zip([&owner, &admin, &viewer]).zip(roles) {
        assert_eq!(
            (&member["uuid"], &member["role"]),
            (&user.user.to_string().into(), &role.into())
        );
        assert!(member["email"].as_str().is_some_and(|email| email.contains('@')), "{member}");
    }
    assert_eq!(members.len(), 3);
}
