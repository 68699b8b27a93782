//! Invitations: who may create them, whom they reach, how they are accepted or declined, and limits on transactional
//! mail.

use jiff::SignedDuration;
use vedette_actions::{add_member, join_with_new_account, open_invitation};
use vedette_domain::accounts::account::{Membership, Role, Scope};
use vedette_domain::accounts::audit::By;
use vedette_domain::accounts::mail_limits::{
    CONFIRMATIONS_OF_TEAM, INVITATIONS_OF_TEAM, Limit, REQUESTS_TO_MAILBOX,
};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::session::SessionSecret;
use vedette_domain::alerts::delivery::Content;
use vedette_domain::alerts::mail::Asker;
use vedette_domain::id::UserId;
use vedette_store::{Audit, MayConflict};
use vedette_testkit::{Member, TestApp, member_of, new_team};

use crate::mail::{email_of, only_mail, sent_mails, start};
use crate::members::{link, page, role_of, seats};
use crate::support::{Browser, main_part, said, sent_to};

/// The target of the page's form whose path ends like this.
fn action(page: &str, ending: &str) -> String {
    let found = page.split("action=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut found = found.filter(|path| path.ends_with(ending));
    found.next().unwrap_or_else(|| panic!("no form leads to {ending}: {page}")).to_owned()
}

async fn give_role(test: &TestApp, member: &Member, before: Role, role: Role) {
    let membership = Membership { team: member.team, user: member.user, role };
    test.app.store.change_role(&membership, before, Audit::None).await.expect("changed");
}

#[tokio::test]
async fn an_invitation_is_valid_while_its_sender_may_give_its_role() {
    let (test, owner) = TestApp::with_team().await;
    let grace = member_of(&test, owner.team, Role::Admin, &Scope::ALL).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let mut theirs = Browser::of(&test, grace.user).await;
    let page = page(&owner);
    let form = "email=grace.again%40example.com&role=admin";
    let path = link(said(&theirs.post(&page, form).await));
    let decline = format!("{path}/decline");
    let mut guest = Browser::new(&test);
    let invalid = "No longer valid: the sender can no longer invite people";
    assert_eq!(guest.get(&path).await.status(), 200);
    assert!(!said(&browser.get(&page).await).contains(invalid));

    give_role(&test, &grace, Role::Admin, Role::Member).await;
    assert_eq!(guest.get(&path).await.status(), 404);
    give_role(&test, &grace, Role::Member, Role::Owner).await;
    assert_eq!(guest.get(&path).await.status(), 200);
    test.app
        .store
        .remove_owner(owner.team, grace.user, owner.user, Audit::None)
        .await
        .expect("removed");
    let before = test.table.dump().await;
    for refused in
        [guest.get(&path).await, guest.post(&path, "").await, guest.post(&decline, "").await]
    {
        assert_eq!(refused.status(), 404);
        assert!(main_part(&refused).contains("the person who sent it may no longer invite"));
    }
    assert_eq!(test.table.dump().await, before, "who was removed comes back by no other address");

    let listed = browser.get(&page).await;
    assert!(said(&listed).contains(invalid), "{}", said(&listed));
    let renew = action(said(&listed), "/renew");
    let renewed = link(said(&browser.post(&renew, "").await));
    assert_eq!(seats(&test, &owner).await, [1, 1, 2], "it has the same seat");
    assert_eq!(guest.get(&path).await.status(), 404, "who was removed has that link");
    assert!(said(&guest.post(&renewed, "").await).contains("is a member of the team"));
    let user = test.app.store.user_by_email("grace.again@example.com").await.expect("read");
    assert_eq!(role_of(&test, &owner, user.expect("a user").id).await, Some(Role::Admin));
    assert_eq!(browser.post(&renew, "").await.status(), 404);
}

#[tokio::test]
async fn who_loses_the_role_while_somebody_accepts_lets_nobody_in() {
    let (test, owner) = TestApp::with_team().await;
    let grace = member_of(&test, owner.team, Role::Admin, &Scope::ALL).await;
    let mut theirs = Browser::of(&test, grace.user).await;
    let form = "email=late%40example.com&role=viewer";
    let path = link(said(&theirs.post(&page(&owner), form).await));
    let secret = SessionSecret::parse(path.trim_start_matches("/join/")).expect("a secret");
    let open = open_invitation(&test.app, &secret.hash()).await.expect("read").expect("open");
    // The team itself, with its members and invitations, does not change.
    give_role(&test, &grace, Role::Admin, Role::Member).await;
    let late = join_with_new_account(&test.app, &open).await;
    assert!(late.is_err_and(|error| error.is_conflict()));
    assert!(test.app.store.user_by_email("late@example.com").await.expect("read").is_none());
}

#[tokio::test]
async fn no_letter_is_sent_for_who_may_not_invite_any_more() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let grace = member_of(&test, owner.team, Role::Admin, &Scope::ALL).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let mut theirs = Browser::of(&test, grace.user).await;
    let page = page(&owner);
    sent_to(&theirs.post(&page, "email=bob%40example.com&role=viewer").await);
    let mail = action(said(&browser.get(&page).await), "/mail");
    test.app
        .store
        .remove_member(owner.team, grace.user, Role::Admin, Audit::None)
        .await
        .expect("removed");
    assert!(sent_mails(&test).await.is_empty());
    let refused = browser.post(&mail, "").await;
    assert_eq!(refused.status(), 422);
    let why = "The invitation of bob@example.com is no longer valid; renew it.";
    assert!(main_part(&refused).contains(why), "{}", main_part(&refused));
    let renewed = browser.post(&mail.replace("/mail", "/renew"), "").await;
    assert_eq!(sent_to(&renewed), format!("{page}?notice=invited"));
    let (sent, path) = only_mail(&test).await;
    assert_eq!(sent.to, "bob@example.com");
    assert_eq!(Browser::new(&test).get(&path).await.status(), 200);
}

#[tokio::test]
async fn who_has_an_account_is_invited_like_anybody_else_and_joins_while_signed_in() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let stranger = new_team(&test, Plan::Agency).await;
    let known = email_of(&test, &stranger).await;
    let unknown = known.replace("ada-", "bob-");
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    let mut answers = Vec::new();
    for email in [&known, &unknown] {
        test.meter().start();
        let invited = browser.post(&page, &format!("email={email}&role=member")).await;
        let spent = test.meter().stop();
        let headers = format!("{:?}", invited.headers());
        answers.push((sent_to(&invited).to_owned(), headers, spent.round_trips, spent.rounds));
    }
    assert_eq!(answers[0], answers[1], "who invites does not learn which address has an account");
    let mails = sent_mails(&test).await;
    let [to_known, to_unknown] = &mails[..] else { panic!("two letters") };
    assert_eq!(to_known.mail.kind, to_unknown.mail.kind);
    let path = |of: &str| of.trim_start_matches("https://monitor.test").to_owned();
    let [path, other] = [path(&to_known.mail.url), path(&to_unknown.mail.url)];
    let mut guest = Browser::new(&test);
    let alike = |text: &str, email: &str, path: &str| text.replace(email, "A").replace(path, "P");
    let (first, second) = (guest.get(&path).await, guest.get(&other).await);
    assert_eq!(alike(said(&first), &known, &path), alike(said(&second), &unknown, &other));

    let before = test.table.dump().await;
    let refused = guest.post(&path, "").await;
    assert_eq!(refused.status(), 409);
    let why = format!("{known} has an account.");
    assert!(main_part(&refused).contains(&why), "{}", main_part(&refused));
    assert_eq!(test.table.dump().await, before, "a link signs nobody in");
    for refused in [browser.get(&path).await, browser.post(&path, "").await] {
        assert_eq!(refused.status(), 403);
        assert!(main_part(&refused).contains("you are signed in as"), "{}", main_part(&refused));
    }
    let mut theirs = Browser::of(&test, stranger.user).await;
    assert!(said(&theirs.get(&path).await).contains("<button class=\"main\">Join"));
    assert_eq!(sent_to(&theirs.post(&path, "").await), format!("/teams/{}", owner.team));
    assert_eq!(role_of(&test, &owner, stranger.user).await, Some(Role::Member));
    assert!(said(&theirs.get(&page).await).contains("2 members"));
    assert_eq!(theirs.post(&path, "").await.status(), 404);
}

#[tokio::test]
async fn who_is_invited_may_decline_and_nobody_learns_whether_they_have_an_account() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let stranger = new_team(&test, Plan::Agency).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    let log = format!("/teams/{}/audit-log", owner.team);
    let known = email_of(&test, &stranger).await;
    for (email, mut invited) in [
        (known.as_str(), Browser::of(&test, stranger.user).await),
        ("bob@example.com", Browser::new(&test)),
    ] {
        sent_to(&browser.post(&page, &format!("email={email}&role=member")).await);
        let (_, path) = only_mail(&test).await;
        let decline = action(said(&invited.get(&path).await), "/decline");
        assert_eq!(decline, format!("{path}/decline"));
        assert_eq!(browser.post(&path, "").await.status(), 403, "somebody else is signed in");
        let declined = invited.post(&decline, "").await;
        assert!(said(&declined).contains("no longer works"), "{}", said(&declined));
        assert_eq!(invited.get(&path).await.status(), 404);
        assert_eq!(invited.post(&decline, "").await.status(), 404);
        assert_eq!(seats(&test, &owner).await, [1, 0, 1]);
        let entry = format!(
            "<td><em>the recipient of the address</em></td><td>Declined the invitation for \
             <b><bdi>{email}</bdi></b></td>"
        );
        let shown = browser.get(&log).await;
        assert!(said(&shown).contains(&entry), "{}", said(&shown));
        test.advance(SignedDuration::from_secs(1));
    }
}

#[tokio::test]
async fn who_became_a_member_otherwise_does_not_become_one_twice() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let stranger = new_team(&test, Plan::Agency).await;
    let user = test.app.store.user(stranger.user).await.expect("read").expect("a user");
    let form = format!("email={}&role=viewer", user.email);
    sent_to(&Browser::of(&test, owner.user).await.post(&page(&owner), &form).await);
    let (_, path) = only_mail(&test).await;
    let team = test.app.store.team(owner.team, test.now()).await.expect("read").expect("a team");
    add_member(&test.app, &team, &user, Role::Admin, By::operator(test.now()))
        .await
        .expect("added");
    let refused = Browser::of(&test, stranger.user).await.post(&path, "").await;
    assert_eq!(refused.status(), 409);
    let why = format!("{} is already a member of the team.", user.email);
    assert!(main_part(&refused).contains(&why), "{}", main_part(&refused));
    assert_eq!(role_of(&test, &owner, stranger.user).await, Some(Role::Admin));
    assert_eq!(seats(&test, &owner).await, [2, 1, 3]);
}

/// Uses up a limit.
async fn use_up(test: &TestApp, subject: &str, limit: Limit) {
    for _ in 0..limit.times {
        test.app.store.count(subject, limit.window, test.now()).await.expect("counted");
    }
}

#[tokio::test]
async fn a_team_that_has_asked_for_all_its_confirmations_can_still_invite() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let mut browser = Browser::of(&test, owner.user).await;
    use_up(&test, &format!("asked#{}", owner.team), CONFIRMATIONS_OF_TEAM).await;
    let channels = format!("/teams/{}/channels", owner.team);
    let refused = browser.post(&channels, "kind=email&to=ops%40example.com").await;
    assert_eq!(refused.status(), 422);
    let why = "The team has sent too many confirmation emails today";
    assert!(main_part(&refused).contains(why), "{}", main_part(&refused));
    sent_to(&browser.post(&page(&owner), "email=grace%40example.com&role=viewer").await);
    assert_eq!(sent_mails(&test).await.len(), 1);
}

#[tokio::test]
async fn a_team_sends_fifty_invitations_a_day_and_the_others_stand_until_tomorrow() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let mut browser = Browser::of(&test, owner.user).await;
    assert_eq!(INVITATIONS_OF_TEAM.times, 50);
    use_up(&test, &format!("invited#{}", owner.team), INVITATIONS_OF_TEAM).await;
    let refused = browser.post(&page(&owner), "email=grace%40example.com&role=viewer").await;
    assert_eq!(refused.status(), 422);
    let why = "grace@example.com is invited, but the team has sent all the invitations";
    assert!(main_part(&refused).contains(why), "{}", main_part(&refused));
    let mail = action(main_part(&refused), "/mail");
    assert!(sent_mails(&test).await.is_empty());
    test.advance(SignedDuration::from_hours(24));
    sent_to(&browser.post(&mail, "").await);
    assert_eq!(sent_mails(&test).await.len(), 1);
}

#[tokio::test]
async fn a_mailbox_is_asked_three_times_by_a_team_and_twelve_times_by_all_whatever_the_form() {
    let test = start().await;
    let (mut last, mut sent) = (None, 0);
    for teams in 1..=8 {
        let owner = new_team(&test, Plan::Agency).await;
        let mut browser = Browser::of(&test, owner.user).await;
        let channels = format!("/teams/{}/channels", owner.team);
        let ask = |tag: u32| {
            let name = if tag == 0 { "kate" } else { "k.ate" };
            format!("kind=email&to={name}%2B{tag}%40gmail.com")
        };
        let allowed = REQUESTS_TO_MAILBOX.share(teams);
        sent += allowed;
        for tag in 0..allowed {
            sent_to(&browser.post(&channels, &ask(tag)).await);
        }
        let refused = browser.post(&channels, &ask(allowed)).await;
        assert_eq!(refused.status(), 422, "team {teams}");
        let why = format!("+{allowed}@gmail.com was sent too many emails today");
        assert!(main_part(&refused).contains(&why), "{}", main_part(&refused));
        // An invitation counts as another email to the same mailbox.
        let invited = browser.post(&page(&owner), "email=KATE%40gmail.com&role=viewer").await;
        assert_eq!(invited.status(), 422, "team {teams}");
        last = Some((browser, channels, ask(0)));
    }
    assert_eq!(sent, 12);
    test.advance(SignedDuration::from_hours(24));
    let (mut browser, channels, form) = last.expect("a team");
    sent_to(&browser.post(&channels, &form).await);
}

#[tokio::test]
async fn a_mailbox_has_one_invitation_of_a_team() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = page(&owner);
    said(&browser.post(&page, "email=kate%2Bops%40example.com&role=viewer").await);
    for email in ["kate", "Kate%2Bother"] {
        let refused = browser.post(&page, &format!("email={email}%40example.com&role=admin")).await;
        assert_eq!(refused.status(), 422, "{email}");
        assert!(main_part(&refused).contains("is already invited."), "{}", main_part(&refused));
    }
    assert_eq!(seats(&test, &owner).await, [1, 1, 2]);
}

#[tokio::test]
async fn who_is_asked_to_confirm_an_address_is_told_who_asks() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let grace = member_of(&test, owner.team, Role::Admin, &Scope::ALL).await;
    let channels = format!("/teams/{}/channels", owner.team);
    let mut browser = Browser::of(&test, owner.user).await;
    sent_to(&browser.post(&channels, "kind=email&to=ops%40example.com").await);
    let channel = test.app.store.channels(owner.team).await.expect("read").remove(0);
    let mut theirs = Browser::of(&test, grace.user).await;
    sent_to(&theirs.post(&format!("{channels}/{}/resend", channel.id), "").await);
    let operator = By::operator(test.now());
    vedette_actions::resend_to_channel(&test.app, &channel, operator).await.expect("asked");
    let asker = async |user: UserId| {
        let user = test.app.store.user(user).await.expect("read").expect("a user");
        Some(Asker::of(&user))
    };
    let queued = test.app.store.deliveries((&channel).into()).await.expect("read").queued;
    let asked: Vec<Option<Asker>> = queued
        .into_iter()
        .map(|queued| match queued.content {
            Content::Confirmation { asked_by, .. } => asked_by,
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [asker(owner.user).await, asker(grace.user).await, None];
    assert!(!asked.is_empty() && asked.iter().all(|asked| expected.contains(asked)), "{asked:?}");
}
