//! The names of users and teams, and teams that users create.

use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_testkit::{TestApp, member_of};

use crate::support::{Browser, main_part, said, sent_to, text};

#[tokio::test]
async fn users_change_their_name() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let refused = browser.post("/name", "name=+").await;
    assert_eq!(refused.status(), 422);
    assert!(main_part(&refused).contains("Is required."));
    assert_eq!(sent_to(&browser.post("/name", "name=+Grace+Hopper+").await), "/name?notice=saved");
    let page = browser.get("/name?notice=saved").await;
    assert!(said(&page).contains("Saved.") && said(&page).contains("value=\"Grace Hopper\""));
    let user = test.app.store.user(owner.user).await.expect("read").expect("a user");
    assert_eq!(user.name, "Grace Hopper");
    let members = browser.get(&format!("/teams/{}/members", owner.team)).await;
    assert!(text(said(&members)).contains("Grace Hopper"));
}

#[tokio::test]
async fn owners_rename_the_team_and_others_read_the_name() {
    let (test, owner) = TestApp::with_team().await;
    let path = format!("/teams/{}/name", owner.team);
    let admin = member_of(&test, owner.team, Role::Admin, &Scope::ALL).await;
    let mut other = Browser::of(&test, admin.user).await;
    let page = other.get(&path).await;
    assert!(!said(&page).contains("<form") && text(said(&page)).contains("Owners can change it."));
    assert_eq!(other.post(&path, "name=Mine").await.status(), 403);

    let mut browser = Browser::of(&test, owner.user).await;
    assert_eq!(browser.post(&path, "name=").await.status(), 422);
    let saved = browser.post(&path, "name=Night+shift").await;
    assert_eq!(sent_to(&saved), format!("{path}?notice=saved"));
    let found = test.app.store.team(owner.team, test.now()).await.expect("read").expect("a team");
    assert_eq!(found.team.name, "Night shift");
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    assert!(text(said(&log)).contains("Night shift"), "{}", text(said(&log)));
}

#[tokio::test]
async fn users_create_up_to_ten_teams_where_the_operator_allows_it() {
    let (mut test, owner) = TestApp::with_team().await;
    test.app.service.creates_teams = false;
    let mut browser = Browser::of(&test, owner.user).await;
    assert!(!crate::support::body(&browser.get("/").await).contains("/new-team"));
    assert_eq!(browser.get("/new-team").await.status(), 404);
    assert_eq!(browser.post("/new-team", "name=Shop").await.status(), 404);

    test.app.service.creates_teams = true;
    let mut browser = Browser::of(&test, owner.user).await;
    assert!(crate::support::body(&browser.get("/").await).contains("href=\"/new-team\""));
    assert!(text(said(&browser.get("/new-team").await)).contains("the plan starter"));
    assert_eq!(browser.post("/new-team", "name=").await.status(), 422);
    for number in 0..Team::CREATED_MAX {
        let made = browser.post("/new-team", &format!("name=Shop+{number}")).await;
        let place = sent_to(&made).to_owned();
        assert!(place.starts_with("/teams/"), "{place}");
        assert!(said(&browser.get(&place).await).contains("Add your first site"));
    }
    let refused = browser.post("/new-team", "name=One+more").await;
    assert_eq!(refused.status(), 409);
    assert!(main_part(&refused).contains("You have already created 10 teams;"));
    let account = test.app.store.account(owner.user).await.expect("read").expect("an account");
    assert_eq!(account.memberships.len(), 11);
    let teams = account.memberships.iter().map(|place| place.team);
    let teams = test.app.store.teams(teams, test.now()).await.expect("read");
    assert_eq!(teams.values().filter(|team| team.plan() == Plan::Starter).count(), 10);
    assert!(account.memberships.iter().all(|place| place.role == Role::Owner));
    // On AWS, pages may not write a plan.
    let dump = test.table.dump().await;
    let created = dump.iter().filter(|((pk, sk), item)| {
        pk.starts_with("T#")
            && sk == "A"
            && *pk != format!("T#{}", owner.team)
            && item.get("plan").is_none()
    });
    assert_eq!(created.count(), 10);
}
