//! Signing in with a link, staying signed in, and signing out.

use jiff::SignedDuration;
use lambda_http::http::HeaderValue;
use lambda_http::http::header::{COOKIE, SET_COOKIE};
use vedette_domain::accounts::account::{Role, Scope, User};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::session::{Session, SessionSecret, SignInLink};
use vedette_domain::accounts::team::Team;
use vedette_domain::id::{TeamId, UserId};
use vedette_testkit::{TestApp, member_of, new_team, store_team};

use crate::support::{Browser, ask, main_part, said, send, sent_to, sign_in_link};
use vedette_store::Audit;

#[tokio::test]
async fn a_link_signs_in_once_and_only_by_its_button() {
    let (test, owner) = TestApp::with_team().await;
    let path = sign_in_link(&test, owner.user).await;
    let mut browser = Browser::new(&test);
    let before = test.table.dump().await;
    for _ in 0..2 {
        assert!(said(&browser.get(&path).await).contains("<button class=\"main\">Sign in"));
    }
    assert_eq!(test.table.dump().await, before, "a scanner that follows links uses none up");

    let signed_in = browser.post(&path, "").await;
    assert_eq!(sent_to(&signed_in), "/");
    let cookie = signed_in.headers()[SET_COOKIE].to_str().expect("text");
    let (name, rest) = cookie.split_once('=').expect("a cookie");
    let (_, flags) = rest.split_once(';').expect("attributes");
    assert_eq!(name, "__Host-vedette");
    assert_eq!(flags, " Max-Age=1209600; Path=/; HttpOnly; SameSite=Lax; Secure");
    let secret = rest.split(['.', ';']).nth(1).expect("a secret");
    let stored = format!("{:?}", test.table.dump().await);
    assert!(!stored.contains(secret) && !stored.contains(path.trim_start_matches("/sign-in/")));
    assert!(said(&browser.get("/").await).contains("Add your first site"));

    let mut other = Browser::new(&test);
    for response in [other.get(&path).await, other.post(&path, "").await] {
        assert_eq!(response.status(), 404);
        assert!(main_part(&response).contains("vedette sign-in"), "{response:?}");
    }
    assert_eq!(sent_to(&other.get("/").await), "/sign-in");
}

#[tokio::test]
async fn links_and_sessions_end_by_themselves() {
    let (test, owner) = TestApp::with_team().await;
    let (late, path) = (sign_in_link(&test, owner.user).await, "/sign-in/x");
    let mut browser = Browser::of(&test, owner.user).await;
    test.advance(SignedDuration::from_mins(15));
    for path in [late.as_str(), path, &format!("{late}A"), &late[..late.len() - 1]] {
        assert_eq!(Browser::new(&test).post(path, "").await.status(), 404, "{path}");
        assert_eq!(Browser::new(&test).get(path).await.status(), 404, "{path}");
    }
    assert_eq!(browser.get("/").await.status(), 200);
    test.advance(SignedDuration::from_hours(14 * 24) - SignedDuration::from_mins(16));
    assert_eq!(browser.get("/").await.status(), 200);
    test.advance(SignedDuration::from_mins(1));
    for response in [browser.get("/").await, browser.post("/sign-out", "").await] {
        assert_eq!(sent_to(&response), "/sign-in");
    }
    assert!(said(&ask(&test, "GET", "/sign-in").await).contains("vedette sign-in"));
}

#[tokio::test]
async fn a_session_is_ended_by_its_owner_alone() {
    let (test, owner) = TestApp::with_team().await;
    let other = member_of(&test, owner.team, Role::Admin, &Scope::ALL).await;
    let mut here = Browser::of(&test, owner.user).await;
    test.advance(SignedDuration::from_secs(1));
    let there = Browser::of(&test, owner.user).await;
    let mut stranger = Browser::of(&test, other.user).await;
    let listed = here.get("/sessions").await;
    let ends: Vec<&str> = said(&listed)
        .split("action=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(ends.len(), 2);
    assert_eq!(stranger.post(ends[0], "").await.status(), 404);
    assert_eq!(there.get("/").await.status(), 200);
    assert_eq!(sent_to(&here.post(ends[0], "").await), "/sessions");
    assert_eq!(sent_to(&there.get("/").await), "/sign-in", "the newest is first");
    assert_eq!(here.get("/").await.status(), 200);

    let kept = here.cookie.clone();
    assert_eq!(sent_to(&here.post("/sign-out", "").await), "/sign-in");
    assert_eq!(here.cookie, None);
    here.cookie = kept;
    assert_eq!(sent_to(&here.get("/").await), "/sign-in", "over, whatever the browser keeps");
}

#[tokio::test]
async fn a_form_of_another_site_does_nothing() {
    let (test, owner) = TestApp::with_team().await;
    let path = sign_in_link(&test, owner.user).await;
    let browser = Browser::of(&test, owner.user).await;
    let before = test.table.dump().await;
    let sites = format!("/teams/{}/sites", owner.team);
    for path in [path.as_str(), "/sign-out", &sites] {
        for (name, value) in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "https://monitor.test.evil.test"),
            ("origin", "null"),
            ("accept", "*/*"),
        ] {
            let mut head = browser.head("POST", path);
            head.headers.insert(name, HeaderValue::from_static(value));
            let refused = send(&test, &head, "urls=https://evil.test").await;
            assert_eq!(refused.status(), 403, "{path} {name}: {value}");
        }
    }
    assert_eq!(test.table.dump().await, before);
    let mut head = browser.head("POST", "/sign-out");
    head.headers.insert("origin", HeaderValue::from_static("https://monitor.test"));
    assert_eq!(sent_to(&send(&test, &head, "").await), "/sign-in");
}

#[tokio::test]
async fn who_left_the_team_sees_nothing_at_the_next_click() {
    let (test, owner) = TestApp::with_team().await;
    let member = member_of(&test, owner.team, Role::Member, &Scope::ALL).await;
    let mut browser = Browser::of(&test, member.user).await;
    let team = format!("/teams/{}", owner.team);
    assert_eq!(browser.get(&team).await.status(), 200);
    test.app
        .store
        .remove_member(owner.team, member.user, Role::Member, Audit::None)
        .await
        .expect("removed");
    assert_eq!(browser.get(&team).await.status(), 404);
    assert_eq!(browser.post(&format!("{team}/sites"), "urls=a.test").await.status(), 404);
    assert!(said(&browser.get("/").await).contains("You don’t belong to a team yet."));
}

#[tokio::test]
async fn a_cookie_that_is_none_of_ours_signs_nobody_in() {
    let (test, owner) = TestApp::with_team().await;
    let other = new_team(&test, Plan::Agency).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let cookie = browser.cookie.clone().expect("a cookie");
    let stolen = cookie.replace(&owner.user.to_string(), &other.user.to_string());
    for wrong in
        ["__Host-vedette=", "__Host-vedette=x.y", &cookie[2..], &format!("{cookie}A"), &stolen]
    {
        browser.cookie = Some(wrong.to_owned());
        assert_eq!(sent_to(&browser.get("/").await), "/sign-in", "{wrong}");
    }
}

#[tokio::test]
async fn a_session_has_the_requests_of_a_minute_that_a_token_has() {
    let (mut test, owner) = TestApp::with_team().await;
    test.app.service.throttle = 2;
    let browser = Browser::of(&test, owner.user).await;
    for status in [200, 200, 429] {
        assert_eq!(browser.get("/").await.status(), status);
    }
    assert_eq!(browser.get("/").await.headers()["retry-after"], "60");
    test.advance(SignedDuration::from_mins(1));
    assert_eq!(browser.get("/").await.status(), 200);
}

#[tokio::test]
async fn the_sessions_of_a_user_have_the_requests_of_four() {
    let (mut test, owner) = TestApp::with_team().await;
    test.app.service.throttle = 2;
    for session in 0..4 {
        let browser = Browser::of(&test, owner.user).await;
        // Requests beyond the limit of one session do not count against the others.
        for status in [200, 200, 429, 429] {
            assert_eq!(browser.get("/").await.status(), status, "{session}");
        }
    }
    let fifth = Browser::of(&test, owner.user).await;
    let refused = fifth.get("/").await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"].to_str().expect("text")),
        (429, &"60")
    );
    let other = new_team(&test, Plan::Agency).await;
    assert_eq!(Browser::of(&test, other.user).await.get("/").await.status(), 200);
    test.advance(SignedDuration::from_mins(1));
    assert_eq!(fifth.get("/").await.status(), 200);
}

#[tokio::test]
async fn who_is_not_signed_in_sends_no_more_than_4_kb() {
    let (test, owner) = TestApp::with_team().await;
    let long = format!("email={}", "x".repeat(4 * 1024));
    let mut stranger = crate::support::head("POST", "/sign-in");
    stranger.headers.insert("sec-fetch-site", HeaderValue::from_static("same-origin"));
    let within = send(&test, &stranger, &long[..4 * 1024]).await;
    assert_ne!(within.status(), 413);
    let before = test.table.dump().await;
    // A made-up cookie does not allow larger bodies.
    for cookie in [None, Some("__Host-vedette=forged")] {
        stranger.headers.extend(cookie.map(|cookie| (COOKIE, HeaderValue::from_static(cookie))));
        assert_eq!(send(&test, &stranger, &long).await.status(), 413, "{cookie:?}");
    }
    assert_eq!(test.table.dump().await, before);
    let mut browser = Browser::of(&test, owner.user).await;
    let signed_in = browser.post(&format!("/teams/{}/sites", owner.team), &long).await;
    assert_ne!(signed_in.status(), 413);
}

/// API Gateway removes cookies from the headers.
#[tokio::test]
async fn who_is_signed_in_is_known_behind_api_gateway() {
    let mut test = TestApp::start().await;
    test.app.service.base_url = None;
    let id = UserId::parse("9b2d4f60-1c3e-4a57-8d6f-7e8091a2b3c4").expect("an id");
    let user = User {
        id,
        name: "Ada".to_owned(),
        email: "ada@example.com".to_owned(),
        email_verified_at: Some(test.now()),
        zone: None,
        created_at: test.now(),
    };
    let team = TeamId::parse("7c9e6679-7425-40de-944b-e07fc1f90ae7").expect("an id");
    let team = Team::new(team, "Observers", Plan::Agency, test.now());
    store_team(&test, &team, &user).await;
    let secret = SessionSecret::from_random([7; SessionSecret::BYTES]);
    let link = SignInLink::new(&secret, id, test.now());
    test.app.store.create_sign_in_link(&link).await.expect("a link");
    let session = Session::new(&secret, id, "Mozilla/5.0", test.now());
    test.app.store.begin_session(&link, &session, false).await.expect("a session");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../events/dashboard/sites.json");
    let event = std::fs::read_to_string(path).expect("an event");
    let (head, _) = lambda_http::request::from_str(&event).expect("a request").into_parts();
    assert!(said(&send(&test, &head, "").await).contains("Add your first site"));
}

#[tokio::test]
async fn services_on_one_machine_keep_each_others_cookies() {
    let (mut test, owner) = TestApp::with_team().await;
    let old = Browser::of(&test, owner.user).await.cookie.expect("a cookie");
    test.app.service.id = Some("0badcafe".to_owned());
    let mut browser = Browser::of(&test, owner.user).await;
    let own = browser.cookie.clone().expect("a cookie");
    assert!(own.starts_with("__Host-vedette-0badcafe="), "{own}");
    let other = own.replace("0badcafe", "deadbeef");
    let team = format!("/teams/{}", owner.team);
    for (sent, status) in [
        (format!("{other}; {own}"), 200),
        (own.clone(), 200),
        // A session of an earlier version continues.
        (old, 200),
        (other, 303),
    ] {
        browser.cookie = Some(sent.clone());
        assert_eq!(browser.get(&team).await.status(), status, "{sent}");
    }
}
