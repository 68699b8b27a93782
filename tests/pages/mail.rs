//! Emailed links: to sign in, and to join a team.

use std::time::Duration;

use jiff::SignedDuration;
use lambda_http::http::HeaderValue;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::audit::By;
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::mail::{Asker, TransactionalMailKind};
use vedette_domain::message::{MailRequest, Message};
use vedette_domain::source::TrustedProxies;
use vedette_mailer::{LETTERS, MailerError, handle};
use vedette_notifier::send::SendOutcome;
use vedette_runtime::Destination;
use vedette_store::{Grant, MayConflict};
use vedette_testkit::{Member, TestApp, granted, member_of, new_team};
use vedette_tests::receivers::{Posted, Receivers};

use crate::sites::after;
use crate::support::{Browser, body, main_part, said, send, sent_to, sign_in_link};

const BASE: &str = "https://monitor.test";

pub(crate) async fn start() -> TestApp {
    let mut test = TestApp::start().await;
    test.app.service.sends_mail = true;
    test
}

/// Takes the requested transactional emails.
pub(crate) fn asked(test: &TestApp) -> Vec<MailRequest> {
    let taken = test.queue.drain(Destination::Mailer).into_iter();
    taken
        .map(|(message, _)| match message {
            Message::Mail(message) => message,
            other => panic!("{other:?}"),
        })
        .collect()
}

async fn write(
    test: &TestApp,
    receivers: &Receivers,
    message: &MailRequest,
) -> Result<(), MailerError> {
    let handled = handle(&test.app, receivers, message);
    Box::pin(granted([&LETTERS, &Grant::NONE], handled)).await
}

/// Writes the requested transactional emails.
pub(crate) async fn sent_mails(test: &TestApp) -> Vec<Posted> {
    let receivers = Receivers::default();
    for message in asked(test) {
        write(test, &receivers, &message).await.expect("done");
    }
    receivers.take_mails()
}

/// The only email, and the path of its link.
pub(crate) async fn only_mail(test: &TestApp) -> (Posted, String) {
    let [mail] = <[Posted; 1]>::try_from(sent_mails(test).await).ok().expect("one letter");
    let path = mail.mail.url.strip_prefix(BASE).expect("a page").to_owned();
    (mail, path)
}

pub(crate) async fn email_of(test: &TestApp, member: &Member) -> String {
    test.app.store.account(member.user).await.expect("read").expect("a user").user.email
}

#[tokio::test]
async fn an_account_is_sent_a_link_that_signs_in_once_and_nobody_learns_who_has_one() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let email = email_of(&test, &owner).await;
    let mut browser = Browser::new(&test);
    let shown = browser.get("/sign-in").await;
    assert!(said(&shown).contains("name=\"email\"") && !said(&shown).contains("vedette sign-in"));
    let unknown = browser.post("/sign-in", "email=nobody%40example.com").await;
    assert!(sent_mails(&test).await.is_empty());
    let stored = format!("{:?}", test.table.dump().await);
    assert!(!stored.contains("nobody"), "of strangers only a hash is kept, for a while");
    let known = browser.post("/sign-in", &format!("email={email}")).await;
    let alike = |page: &str, email: &str| page.replace(email, "ADDRESS");
    assert_eq!(alike(said(&known), &email), alike(said(&unknown), "nobody@example.com"));
    assert_eq!(known.headers(), unknown.headers());

    let (sent, path) = only_mail(&test).await;
    assert_eq!(
        (sent.to.as_str(), &sent.mail.kind),
        (email.as_str(), &TransactionalMailKind::SignIn)
    );
    let stored = format!("{:?}", test.table.dump().await);
    assert!(!stored.contains(path.trim_start_matches("/sign-in/")), "only its hash is kept");
    assert!(said(&browser.get(&path).await).contains("<button class=\"main\">Sign in"));
    assert_eq!(sent_to(&browser.post(&path, "").await), "/");
    assert!(said(&browser.get("/").await).contains("Add your first site"));
    assert_eq!(Browser::new(&test).post(&path, "").await.status(), 404);
    for wrong in ["", "email=ada"] {
        let refused = Browser::new(&test).post("/sign-in", wrong).await;
        assert_eq!(refused.status(), 422, "{wrong}");
        let problem = "id=\"email-problem\" role=\"alert\">Expected an address";
        assert!(main_part(&refused).contains(problem), "{}", main_part(&refused));
    }
    assert!(asked(&test).is_empty());
}

#[tokio::test]
async fn a_link_from_the_mailbox_verifies_its_address_and_another_does_not() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let member = member_of(&test, owner.team, Role::Viewer, &Scope::ALL).await;
    let mut user = test.app.store.account(member.user).await.expect("read").expect("a user").user;
    user.id = test.app.entropy.user_id().expect("an id");
    (user.email, user.email_verified_at) = ("new@example.com".to_owned(), None);
    test.app.store.create_user(&user).await.expect("a user");
    let verified_at = async || {
        let user = test.app.store.user_by_email("new@example.com").await.expect("read");
        user.expect("a user").email_verified_at
    };
    let mut browser = Browser::new(&test);
    let by_hand = sign_in_link(&test, user.id).await;
    sent_to(&browser.post(&by_hand, "").await);
    assert_eq!(verified_at().await, None);
    assert_eq!(sent_to(&browser.get("/").await), "/sign-in");
    said(&browser.post("/sign-in", "email=NEW%40example.com").await);
    let (_, path) = only_mail(&test).await;
    sent_to(&browser.post(&path, "").await);
    assert_eq!(verified_at().await, Some(test.now()));
    assert_eq!(browser.get("/").await.status(), 200);
}

#[tokio::test]
async fn the_same_is_done_for_any_address() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let known = email_of(&test, &owner).await;
    let mut done = Vec::new();
    for email in [
        known.as_str(),
        "nobody@example.com",
        &known,
        "nobody@example.com",
        &known,
        "nobody@example.com",
    ] {
        let meter = test.meter();
        meter.start();
        said(&Browser::new(&test).post("/sign-in", &format!("email={email}")).await);
        let spent = meter.stop();
        let messages = test.queue.drain(Destination::Mailer);
        let forms = messages.iter().map(|(message, delay)| match message {
            Message::Mail(MailRequest::SignIn { user, asked_at }) => {
                (user.as_uuid().get_version_num(), *asked_at, *delay)
            }
            other => panic!("{other:?}"),
        });
        done.push((spent, forms.collect::<Vec<_>>()));
    }
    // The first time, then with the buckets stored. The third time, there are too many requests.
    for (place, pair) in done.chunks(2).enumerate() {
        assert_eq!(pair[0], pair[1]);
        assert_eq!(pair[0].1.len(), usize::from(place < 2));
    }
    // Address, and three buckets; the transaction takes them.
    let (spent, _) = &done[0];
    assert_eq!((spent.reads, spent.writes, spent.round_trips, spent.rounds), (4.0, 6.0, 2, 2));
}

#[tokio::test]
async fn one_source_does_not_use_up_the_links_of_an_address() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let form = format!("email={}", email_of(&test, &owner).await);
    let mut stranger = Browser::at(&test, "203.0.113.7");
    let first = stranger.post("/sign-in", &form).await;
    for _ in 0..7 {
        assert_eq!(said(&stranger.post("/sign-in", &form).await), said(&first));
    }
    assert_eq!(sent_mails(&test).await.len(), 2);
    let mut owners = Browser::at(&test, "2001:db8::7");
    for _ in 0..3 {
        said(&owners.post("/sign-in", &form).await);
    }
    assert_eq!(sent_mails(&test).await.len(), 2, "as many are left to others");
    let mut third = Browser::at(&test, "198.51.100.1");
    said(&third.post("/sign-in", &form).await);
    assert_eq!(sent_mails(&test).await.len(), 0, "four for the address at once");
    test.advance(SignedDuration::from_secs(119));
    said(&third.post("/sign-in", &form).await);
    assert_eq!(sent_mails(&test).await.len(), 0);
    test.advance(SignedDuration::from_secs(1));
    for browser in [&mut stranger, &mut third] {
        said(&browser.post("/sign-in", &form).await);
    }
    assert_eq!(sent_mails(&test).await.len(), 1, "one every two minutes");
}

#[tokio::test]
async fn a_link_that_comes_late_is_not_sent() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let form = format!("email={}", email_of(&test, &owner).await);
    said(&Browser::new(&test).post("/sign-in", &form).await);
    test.advance(SignedDuration::from_mins(15));
    assert_eq!(sent_mails(&test).await.len(), 0, "nobody waits for it any more");
}

#[tokio::test]
async fn a_source_asks_for_twenty_links_and_then_one_every_half_minute() {
    let mut test = start().await;
    let proxy = "10.0.0.0/8".parse().expect("a network");
    test.app.service.trusted_proxies = TrustedProxies(vec![proxy]);
    // Addresses of one IPv6 network are one source.
    let ask = async |number: u32, address: &str| {
        let form = format!("email=user{number}%40example.com");
        let response = Browser::at(&test, address).post("/sign-in", &form).await;
        let wait = response.headers().get("retry-after").cloned();
        (response.status().as_u16(), wait)
    };
    for number in 0..20 {
        assert_eq!(ask(number, &format!("2001:db8::{number}")).await, (200, None), "{number}");
    }
    let wait = |seconds| Some(HeaderValue::from_static(seconds));
    assert_eq!(ask(20, "2001:db8::1").await, (429, wait("30")));
    assert_eq!(ask(20, "2001:db8:0:1::1").await, (200, None), "another network");
    test.advance(SignedDuration::from_secs(29));
    assert_eq!(ask(21, "2001:db8::1").await, (429, wait("1")));
    test.advance(SignedDuration::from_secs(1));
    assert_eq!(ask(21, "2001:db8::1").await, (200, None));
    assert_eq!(ask(22, "2001:db8::1").await.0, 429);
    assert_eq!(sent_mails(&test).await.len(), 0);
    // A trusted proxy names the client.
    let proxied = Browser::at(&test, "10.0.0.1");
    let mut answers = Vec::new();
    for client in ["2001:db8::1", "2001:db8:2::1"] {
        let mut head = proxied.head("POST", "/sign-in");
        head.headers.insert("sec-fetch-site", HeaderValue::from_static("same-origin"));
        head.headers.insert("x-forwarded-for", HeaderValue::from_static(client));
        answers.push(send(&test, &head, "email=user%40example.com").await.status().as_u16());
    }
    assert_eq!(answers, [429, 200]);
}

#[tokio::test]
async fn an_address_with_a_kelvin_sign_is_another_one() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let mut user = test.app.store.account(owner.user).await.expect("read").expect("a user").user;
    user.id = test.app.entropy.user_id().expect("an id");
    user.email = "kate@example.com".to_owned();
    test.app.store.create_user(&user).await.expect("a user");
    for (email, sent) in [("KATE%40example.com", 1), ("%E2%84%AAate%40example.com", 0)] {
        said(&Browser::new(&test).post("/sign-in", &format!("email={email}")).await);
        assert_eq!(sent_mails(&test).await.len(), sent, "{email}");
    }
}

#[tokio::test]
async fn a_letter_that_does_not_arrive_is_written_anew_unless_it_is_refused() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    said(
        &Browser::new(&test)
            .post("/sign-in", &format!("email={}", email_of(&test, &owner).await))
            .await,
    );
    let [message] = <[MailRequest; 1]>::try_from(asked(&test)).expect("one message");
    let why = || "the server is full".to_owned();
    let retry = |after| SendOutcome::Retry { after, why: why() };
    for (outcome, waits) in [
        (retry(None), Some(120)),
        (retry(Some(Duration::from_secs(7))), Some(7)),
        (retry(Some(Duration::from_hours(1))), Some(900)),
        (
            SendOutcome::Held { after: Duration::from_hours(1), was_tried: false, why: why() },
            Some(120),
        ),
        (SendOutcome::Refused { why: why() }, None),
        (SendOutcome::Gone { why: why() }, None),
        (SendOutcome::DELIVERED, None),
    ] {
        let receivers = Receivers::default();
        receivers.answer_mails(outcome.clone());
        write(&test, &receivers, &message).await.expect("done");
        let again: Vec<_> = test.queue.drain(Destination::Mailer);
        let expected = waits.map(|waits| (Message::Mail(message.clone()), waits));
        let again =
            again.into_iter().map(|(message, delay)| (message, delay.as_secs_f64().ceil() as u64));
        assert_eq!(again.collect::<Vec<_>>(), Vec::from_iter(expected), "{outcome:?}");
    }
}

#[tokio::test]
async fn without_mail_there_are_no_letters() {
    let (test, owner) = TestApp::with_team().await;
    let form = format!("email={}", email_of(&test, &owner).await);
    let mut browser = Browser::new(&test);
    assert!(!said(&browser.get("/sign-in").await).contains("<form"));
    assert_eq!(browser.post("/sign-in", &form).await.status(), 404);
    let mut owners = Browser::of(&test, owner.user).await;
    let page = format!("/teams/{}/members", owner.team);
    said(&owners.post(&page, "email=grace%40example.com&role=member").await);
    let team = test.app.store.team(owner.team, test.now()).await.expect("read").expect("a team");
    let hash = &team.team.invitations[0].hash.0;
    let mail = format!("/teams/{}/invitations/{hash}/mail", owner.team);
    assert!(!said(&owners.get(&page).await).contains(&mail));
    assert_eq!(owners.post(&mail, "").await.status(), 404);
    assert!(asked(&test).is_empty());
}

#[tokio::test]
async fn who_is_invited_by_mail_comes_with_a_verified_address() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = format!("/teams/{}/members", owner.team);
    let invited = browser.post(&page, "email=Grace%40example.com&name=Grace&role=member").await;
    assert_eq!(sent_to(&invited), format!("{page}?notice=invited"), "who invites has no link");
    let (sent, path) = only_mail(&test).await;
    let email = email_of(&test, &owner).await;
    let (asked_by, team) = (Asker { name: "Ada".to_owned(), email }, "Observers".to_owned());
    assert_eq!(sent.to, "Grace@example.com");
    assert_eq!(sent.mail.kind, TransactionalMailKind::Invitation { asked_by, team });
    let listed = browser.get(&page).await;
    let again = said(&listed).split("action=\"").find(|rest| rest.contains("/mail\""));
    let again = again.and_then(|rest| rest.split('"').next()).expect("a form").to_owned();
    assert!(!body(&listed).contains("/join/"));
    assert_eq!(sent_to(&browser.post(&again, "").await), format!("{page}?notice=invited"));
    let (_, other) = only_mail(&test).await;
    assert_ne!(path, other);

    let mut guest = Browser::new(&test);
    assert!(said(&guest.get(&path).await).contains("<bdi>Observers</bdi>"));
    let joined = guest.post(&path, "").await;
    assert!(said(&joined).contains("is on its way to this address"), "{}", said(&joined));
    let user = test.app.store.user_by_email("grace@example.com").await.expect("read");
    assert_eq!(user.expect("a user").email_verified_at, Some(test.now()));
    for spent in [&path, &other] {
        assert_eq!(guest.get(spent).await.status(), 404);
        assert_eq!(guest.post(spent, "").await.status(), 404);
    }
    let (_, path) = only_mail(&test).await;
    assert_eq!(sent_to(&guest.post(&path, "").await), "/");
    assert!(said(&guest.get("/").await).contains("Add your first site"));
}

#[tokio::test]
async fn an_invitation_by_mail_is_withdrawn_with_all_its_links_and_not_sent_often() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = format!("/teams/{}/members", owner.team);
    let form = "email=grace%40example.com&role=member";
    sent_to(&browser.post(&page, form).await);
    let (_, path) = only_mail(&test).await;
    let listed = browser.get(&page).await;
    let own = said(&listed).split("<bdi>grace@example.com</bdi>").nth(1).expect("listed");
    let mail = after(own, "action=\"").to_owned();
    let withdraw = mail.replace("/mail", "/withdraw");
    sent_to(&browser.post(&mail, "").await);
    sent_to(&browser.post(&withdraw, "").await);
    assert!(sent_mails(&test).await.is_empty(), "it was withdrawn before it was sent");
    for response in [browser.get(&path).await, Browser::new(&test).post(&path, "").await] {
        assert_eq!(response.status(), 404);
    }
    // Withdrawing the invitation and inviting again sends no more emails.
    sent_to(&browser.post(&page, form).await);
    assert_eq!(sent_mails(&test).await.len(), 1);
    let listed = browser.get(&page).await;
    let own = said(&listed).split("<bdi>grace@example.com</bdi>").nth(1).expect("listed");
    let refused = browser.post(after(own, "action=\""), "").await;
    assert_eq!(refused.status(), 422);
    let why = "grace@example.com was sent too many emails today; try again tomorrow.";
    assert!(main_part(&refused).contains(why), "{}", main_part(&refused));
    assert!(asked(&test).is_empty());
    test.advance(SignedDuration::from_hours(24));
    sent_to(&browser.post(after(own, "action=\""), "").await);
    assert_eq!(sent_mails(&test).await.len(), 1);
}

#[tokio::test]
async fn seats_are_counted_as_they_are_when_they_are_taken() {
    let test = start().await;
    let owner = new_team(&test, Plan::Starter).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = format!("/teams/{}/members", owner.team);
    let read =
        async || test.app.store.team(owner.team, test.now()).await.expect("read").expect("a team");
    let before = read().await;
    sent_to(&browser.post(&page, "email=a%40example.com&role=member").await);
    let (_, path) = only_mail(&test).await;
    // Somebody is added, based on a state from before the invitation.
    let stranger = new_team(&test, Plan::Agency).await;
    let user = test.app.store.account(stranger.user).await.expect("read").expect("a user").user;
    let late = vedette_actions::add_member(
        &test.app,
        &before,
        &user,
        Role::Member,
        By::operator(test.now()),
    )
    .await;
    assert!(late.is_err_and(|error| error.is_conflict()));
    vedette_actions::add_member(
        &test.app,
        &read().await,
        &user,
        Role::Member,
        By::operator(test.now()),
    )
    .await
    .expect("added");
    // The plan has three seats; the team, by hand, five members.
    for _ in 0..2 {
        member_of(&test, owner.team, Role::Viewer, &Scope::ALL).await;
    }
    let refused = Browser::new(&test).post(&path, "").await;
    assert_eq!(refused.status(), 409);
    let why = "The starter plan has 3 seats, and all are taken; remove a member or withdraw an invitation first.";
    assert!(main_part(&refused).contains(why), "{}", main_part(&refused));
    assert_eq!(Browser::new(&test).get(&path).await.status(), 200, "it still works");
}

#[tokio::test]
async fn a_link_admits_to_nothing_but_what_its_team_lists() {
    let test = start().await;
    let owner = new_team(&test, Plan::Agency).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let page = format!("/teams/{}/members", owner.team);
    sent_to(&browser.post(&page, "email=grace%40example.com&role=viewer").await);
    let (_, path) = only_mail(&test).await;
    let team = test.app.store.team(owner.team, test.now()).await.expect("read").expect("a team");
    let listed = team.team.invitations[0].clone();
    for forged in [
        Invitation { role: Role::Owner, ..listed.clone() },
        Invitation { email: "boss@example.com".to_owned(), ..listed.clone() },
    ] {
        let secret = test.app.entropy.session_secret().expect("a secret");
        test.app.store.put_invitation_link(&secret.hash(), &forged).await.expect("written");
        let path = format!("/join/{}", secret.reveal());
        assert_eq!(Browser::new(&test).get(&path).await.status(), 404, "{forged:?}");
        assert_eq!(Browser::new(&test).post(&path, "").await.status(), 404, "{forged:?}");
    }
    assert_eq!(Browser::new(&test).get(&path).await.status(), 200);
}
