//! The members of a team, and its invitations.

use jiff::SignedDuration;
use vedette_domain::accounts::account::{Membership, Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::session::SessionSecret;
use vedette_domain::id::UserId;
use vedette_testkit::{Client, Member, TestApp, member_of, new_team};

use crate::sites::after;
use crate::support::{Browser, body, main_part, said, sent_to};
use vedette_store::Audit;

pub(crate) fn page(owner: &Member) -> String {
    format!("/teams/{}/members", owner.team)
}

pub(crate) async fn role_of(test: &TestApp, owner: &Member, user: UserId) -> Option<Role> {
    let members = test.app.store.members(owner.team).await.expect("read");
    members.into_iter().find(|row| row.user == user).map(|row| row.role)
}

async fn email_of(test: &TestApp, user: UserId) -> String {
    test.app.store.account(user).await.expect("read").expect("a user").user.email
}

/// Seats as the API shows them: for members, for invitations, and all that are used.
pub(crate) async fn seats(test: &TestApp, owner: &Member) -> [u64; 3] {
    let team = Client::new(&test.app, owner).get(&format!("/teams/{}", owner.team)).await;
    let seats = &team.body["data"]["limits"]["seats"];
    ["members", "pending_invitations", "used"].map(|name| seats[name].as_u64().expect("a number"))
}

#[tokio::test]
async fn members_get_roles_and_go_and_a_team_keeps_an_owner() {
    let (test, owner) = TestApp::with_team().await;
    let grace = member_of(&test, owner.team, Role::Viewer, &Scope::ALL).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let mut theirs = Browser::of(&test, grace.user).await;
    let page = page(&owner);
    let listed = browser.get(&page).await;
    for text in [
        "2 members",
        "<bdi>Ada</bdi>",
        "<bdi>Grace</bdi>",
        "selected>Owner</option>",
        "selected>Viewer</option>",
    ] {
        assert!(said(&listed).contains(text), "{text}: {}", said(&listed));
    }
    let of = |user: UserId, verb: &str| format!("{page}/{user}/{verb}");
    let changed = browser.post(&of(grace.user, "role"), "role=admin").await;
    assert_eq!(sent_to(&changed), format!("{page}?notice=changed"));
    assert_eq!(role_of(&test, &owner, grace.user).await, Some(Role::Admin));

    // An admin manages members, but can neither make owners nor change them.
    for (path, form) in [
        (of(owner.user, "role"), "role=viewer"),
        (of(owner.user, "remove"), ""),
        (of(grace.user, "role"), "role=owner"),
    ] {
        assert_eq!(theirs.post(&path, form).await.status(), 403, "{path} {form}");
    }
    let shown = theirs.get(&page).await;
    assert!(
        !said(&shown).contains("value=\"owner\"") && !said(&shown).contains(&of(owner.user, ""))
    );

    for (verb, form) in [("role", "role=admin"), ("remove", "")] {
        let refused = browser.post(&of(owner.user, verb), form).await;
        assert_eq!(refused.status(), 422);
        let why = "is the team's last owner; make another member an owner first.";
        assert!(main_part(&refused).contains(why), "{}", main_part(&refused));
    }
    sent_to(&browser.post(&of(grace.user, "role"), "role=owner").await);
    sent_to(&browser.post(&of(owner.user, "role"), "role=admin").await);
    assert_eq!(role_of(&test, &owner, owner.user).await, Some(Role::Admin));
    sent_to(&theirs.post(&of(owner.user, "remove"), "").await);
    assert_eq!(role_of(&test, &owner, owner.user).await, None);
    for (response, path) in [
        (browser.get(&page).await, page.as_str()),
        (browser.post(&of(grace.user, "remove"), "").await, "remove"),
    ] {
        assert_eq!(response.status(), 404, "removed, and refused at the next click: {path}");
    }
    assert_eq!(theirs.post(&of(owner.user, "remove"), "").await.status(), 404);
    assert_eq!(theirs.post(&of(grace.user, "role"), "role=king").await.status(), 400);
}

#[tokio::test]
async fn anybody_may_leave_but_the_last_owner() {
    let (test, owner) = TestApp::with_team().await;
    let page = page(&owner);
    for role in [Role::Viewer, Role::Member, Role::Admin, Role::Owner] {
        let member = member_of(&test, owner.team, role, &Scope::ALL).await;
        let mut browser = Browser::of(&test, member.user).await;
        let leave = format!("{page}/{}/remove", member.user);
        assert!(said(&browser.get(&page).await).contains(&leave), "{role:?}");
        assert_eq!(sent_to(&browser.post(&leave, "").await), "/");
        assert_eq!(role_of(&test, &owner, member.user).await, None);
        assert_eq!(browser.get(&page).await.status(), 404);
    }
    let mut browser = Browser::of(&test, owner.user).await;
    let refused = browser.post(&format!("{page}/{}/remove", owner.user), "").await;
    assert_eq!(refused.status(), 422);
    // A team whose plan has ended can be left, too.
    let member = member_of(&test, owner.team, Role::Viewer, &Scope::ALL).await;
    let store = &test.app.store;
    store.set_plan(owner.team, Plan::Agency, false, test.now()).await.expect("set");
    let mut theirs = Browser::of(&test, member.user).await;
    sent_to(&theirs.post(&format!("{page}/{}/remove", member.user), "").await);
    assert_eq!(role_of(&test, &owner, member.user).await, None);
    assert_eq!(role_of(&test, &owner, owner.user).await, Some(Role::Owner));
}

#[tokio::test]
async fn two_owners_who_leave_at_once_do_not_leave_the_team_alone() {
    let (test, owner) = TestApp::with_team().await;
    let other = member_of(&test, owner.team, Role::Owner, &Scope::ALL).await;
    let store = &test.app.store;
    // Both changes were decided on while both people were owners.
    store.remove_owner(owner.team, owner.user, other.user, Audit::None).await.expect("removed");
    let late = store.remove_owner(owner.team, other.user, owner.user, Audit::None).await;
    assert!(late.is_err_and(|error| error.is_conflict()));
    let viewer = Membership { team: owner.team, user: other.user, role: Role::Viewer };
    let late = store.demote_owner(&viewer, owner.user, Audit::None).await;
    assert!(late.is_err_and(|error| error.is_conflict()));
    assert_eq!(role_of(&test, &owner, other.user).await, Some(Role::Owner));
    // Somebody who has become an owner in the meantime is treated as an owner.
    let late = store.change_role(&viewer, Role::Member, Audit::None).await;
    assert!(late.is_err_and(|error| error.is_conflict()));
    let late = store.remove_member(owner.team, other.user, Role::Member, Audit::None).await;
    assert!(late.is_err_and(|error| error.is_conflict()));
    assert_eq!(role_of(&test, &owner, other.user).await, Some(Role::Owner));
}

#[tokio::test]
async fn people_are_invited_within_the_seats_that_are_left() {
    let test = TestApp::start().await;
    let owner = new_team(&test, Plan::Starter).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    let stranger = new_team(&test, Plan::Agency).await;
    let email = email_of(&test, stranger.user).await;
    said(&browser.post(&page, &format!("email={email}&role=member")).await);
    assert_eq!(role_of(&test, &owner, stranger.user).await, None, "they are asked first");
    said(&browser.post(&page, "email=grace%40example.com&role=viewer").await);
    assert_eq!(seats(&test, &owner).await, [1, 2, 3], "an invitation takes a seat");
    let own = email_of(&test, owner.user).await;
    let third = email_of(&test, new_team(&test, Plan::Agency).await.user).await;
    let full = "The starter plan has 3 seats, and all are taken; remove a member or withdraw an invitation first.";
    for (email, role, field, why) in [
        (own.as_str(), "member", "email", "is already a member, with the role owner."),
        (email.as_str(), "member", "email", "is already invited."),
        ("ada", "member", "email", "Must be an address such as ada@example.com."),
        ("Grace@example.com", "viewer", "email", "is already invited."),
        (third.as_str(), "viewer", "email", full),
        ("bob@example.com", "viewer", "email", full),
        ("bob@example.com", "owner", "role", "Must be one of viewer, member, admin."),
    ] {
        let refused = browser.post(&page, &format!("email={email}&role={role}")).await;
        assert_eq!(refused.status(), 422, "{email}");
        let shown = main_part(&refused);
        let (_, beside) = shown
            .split_once(&format!("id=\"{field}-problem\" role=\"alert\">"))
            .expect("a problem");
        assert!(beside.split('<').next().unwrap_or_default().ends_with(why), "{why}: {beside}");
        assert!(shown.contains(&format!("value=\"{email}\"")), "what was typed is kept: {shown}");
    }
    assert_eq!(seats(&test, &owner).await, [1, 2, 3]);
}

/// The link of an invitation, as the response shows it.
pub(crate) fn link(page: &str) -> String {
    let secret = page.split("/join/").nth(1).and_then(|rest| rest.split('<').next());
    format!("/join/{}", secret.expect("a link"))
}

#[tokio::test]
async fn who_is_invited_comes_by_a_link_once() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    let form = "email=Grace%40example.com&name=Grace&role=member";
    let invited = browser.post(&page, form).await;
    assert!(said(&invited).contains("<code>https://monitor.test/join/"), "{}", said(&invited));
    assert!(!body(&invited).contains("data-live"), "the script does not ask for it again");
    let path = link(said(&invited));
    let stored = format!("{:?}", test.table.dump().await);
    assert!(!stored.contains(path.trim_start_matches("/join/")), "only its hash is kept");
    let listed = browser.get(&page).await;
    assert!(said(&listed).contains("Grace@example.com") && !body(&listed).contains("/join/"));
    assert_eq!(seats(&test, &owner).await, [1, 1, 2]);
    assert!(
        said(&browser.get(&format!("/teams/{}/plan", owner.team)).await)
            .contains("2 (no limit): 1 member, 1 pending invitation")
    );

    let mut guest = Browser::new(&test);
    let before = test.table.dump().await;
    for _ in 0..2 {
        let asked = guest.get(&path).await;
        assert!(said(&asked).contains("<button class=\"main\">Join"), "{}", said(&asked));
        assert!(said(&asked).contains("<bdi>Observers</bdi>"));
    }
    assert_eq!(test.table.dump().await, before, "a scanner that follows links uses none up");
    let joined = guest.post(&path, "").await;
    assert!(said(&joined).contains("vedette user verify Grace@example.com"), "{}", said(&joined));
    assert_eq!(guest.cookie, None);
    assert_eq!(seats(&test, &owner).await, [2, 0, 2]);
    let user = test.app.store.user_by_email("grace@example.com").await.expect("read");
    let user = user.expect("a user");
    assert_eq!((user.name.as_str(), user.email.as_str()), ("Grace", "Grace@example.com"));
    assert_eq!(role_of(&test, &owner, user.id).await, Some(Role::Member));
    assert_eq!(user.email_verified_at, None, "who invited has the link as well");
    let mut other = Browser::new(&test);
    for response in [other.get(&path).await, other.post(&path, "").await] {
        assert_eq!(response.status(), 404);
        assert!(main_part(&response).contains("can invite you again"));
    }
    assert_eq!(other.cookie, None);
}

#[tokio::test]
async fn invitations_are_withdrawn_and_end_by_themselves() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    let first = link(said(&browser.post(&page, "email=a%40example.com&role=viewer").await));
    let second = link(said(&browser.post(&page, "email=b%40example.com&role=viewer").await));
    assert_eq!(seats(&test, &owner).await, [1, 2, 3]);
    let listed = browser.get(&page).await;
    let own = said(&listed).split("<bdi>a@example.com</bdi>").nth(1).expect("listed");
    let withdraw = after(own, "action=\"").to_owned();
    let mut stranger = Browser::of(&test, new_team(&test, Plan::Agency).await.user).await;
    assert_eq!(stranger.post(&withdraw, "").await.status(), 404);
    assert_eq!(sent_to(&browser.post(&withdraw, "").await), format!("{page}?notice=withdrawn"));
    assert_eq!(browser.post(&withdraw, "").await.status(), 404);
    assert_eq!(Browser::new(&test).post(&first, "").await.status(), 404);
    assert_eq!(seats(&test, &owner).await, [1, 1, 2]);

    test.advance(SignedDuration::from_hours(7 * 24) - SignedDuration::from_millis(1));
    assert_eq!(Browser::new(&test).get(&second).await.status(), 200);
    test.advance(SignedDuration::from_millis(1));
    for path in [second.as_str(), "/join/x", &second[..second.len() - 1]] {
        assert_eq!(Browser::new(&test).get(path).await.status(), 404, "{path}");
        assert_eq!(Browser::new(&test).post(path, "").await.status(), 404, "{path}");
    }
    assert_eq!(seats(&test, &owner).await, [1, 0, 1]);
    assert!(!said(&browser.get(&page).await).contains("b@example.com"));
}

#[tokio::test]
async fn an_invitation_opens_nobodys_account_and_none_is_made_by_who_writes_teams() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    let path = link(said(&browser.post(&page, "email=late%40example.com&role=admin").await));
    let late = member_of(&test, new_team(&test, Plan::Agency).await.team, Role::Viewer, &[]).await;
    let mut user = test.app.store.account(late.user).await.expect("read").expect("a user").user;
    user.id = test.app.entropy.user_id().expect("an id");
    user.email = "Late@example.com".to_owned();
    test.app.store.create_user(&user).await.expect("a user");
    let mut guest = Browser::new(&test);
    let refused = guest.post(&path, "").await;
    assert_eq!(refused.status(), 409);
    assert!(main_part(&refused).contains("late@example.com has an account."));
    assert_eq!(guest.cookie, None);
    assert_eq!(role_of(&test, &owner, user.id).await, None);

    // An invitation in the team's list counts, but without its own item, nobody can accept it.
    let team = test.app.store.team(owner.team, test.now()).await.expect("read").expect("a team");
    let mut forged = team.team.invitations[0].clone();
    let secret = SessionSecret::from_random([9; SessionSecret::BYTES]);
    forged.hash = secret.hash();
    let listed =
        vedette_domain::accounts::team::Team { invitations: vec![forged.clone()], ..team.team };
    test.app
        .store
        .withdraw_invitation(&listed, &team_hash(&path), Audit::None)
        .await
        .expect("written");
    assert_eq!(guest.get(&format!("/join/{}", secret.reveal())).await.status(), 404);
}

fn team_hash(path: &str) -> vedette_domain::accounts::session::SessionHash {
    SessionSecret::parse(path.trim_start_matches("/join/")).expect("a secret").hash()
}

#[tokio::test]
async fn only_who_may_manage_members_is_offered_anything() {
    let (test, owner) = TestApp::with_team().await;
    let page = page(&owner);
    let mut browser = Browser::of(&test, owner.user).await;
    said(&browser.post(&page, "email=a%40example.com&role=viewer").await);
    let listed = browser.get(&page).await;
    let withdraw = said(&listed).split("action=\"").find(|rest| rest.contains("/withdraw\""));
    let withdraw = withdraw.and_then(|rest| rest.split('"').next()).expect("a form").to_owned();
    let of = |verb: &str| format!("{page}/{}/{verb}", owner.user);
    let renew = withdraw.replace("/withdraw", "/renew");
    let posts = [page.clone(), of("role"), of("remove"), withdraw, renew];
    let form = "email=b%40example.com&role=viewer";
    let plan = format!("/teams/{}/plan", owner.team);
    for role in [Role::Viewer, Role::Member] {
        let member = member_of(&test, owner.team, role, &Scope::ALL).await;
        let mut browser = Browser::of(&test, member.user).await;
        let listed = browser.get(&page).await;
        assert!(said(&listed).contains("a@example.com"));
        let forms: Vec<&str> = said(&listed).split("<form").skip(1).collect();
        let leave = format!("action=\"{page}/{}/remove\"", member.user);
        assert!(forms.len() == 1 && forms[0].contains(&leave), "{forms:?}");
        assert!(said(&browser.get(&plan).await).contains("<dt>Seats</dt>"));
        for path in &posts {
            assert_eq!(browser.post(path, form).await.status(), 403, "{path}");
        }
        test.app
            .store
            .remove_member(owner.team, member.user, role, Audit::None)
            .await
            .expect("removed");
        for path in &posts {
            assert_eq!(browser.post(path, form).await.status(), 404, "{path}");
        }
        for path in [&page, &plan] {
            assert_eq!(browser.get(path).await.status(), 404, "{path}");
        }
    }
    assert_eq!(role_of(&test, &owner, owner.user).await, Some(Role::Owner));
    assert_eq!(seats(&test, &owner).await, [1, 1, 2]);
}
