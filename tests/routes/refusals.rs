//! Which clients are accepted, in which order requests are refused, and the headers of refusals.

use std::time::Duration;

use jiff::SignedDuration;
use lambda_http::Body;
use serde_json::json;
use vedette_api::{BODY_MAX, ROUTES};
use vedette_domain::accounts::account::{Membership, Role, Scope, User};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_testkit::{ApiResponse, Fault, Member, WebServer, member_of, new_team, store_team};
use vedette_tests::Service;

use crate::support::{
    assert_invalid, assert_not_found, assert_plan_required, assert_refused, assert_role_required,
    bearer, colleague, join, new_site, new_token, some_path, suspend,
};
use vedette_store::Audit;

#[track_caller]
fn assert_unauthenticated(answer: &ApiResponse, message: &str) {
    assert_refused(answer, 401, message);
    assert_eq!(answer.header("www-authenticate"), "Bearer");
    assert_eq!(answer.header("x-ratelimit-limit"), "", "nobody's requests are counted");
}

const UNKNOWN_TOKEN: &str = "The access token is missing or invalid.";

#[tokio::test]
async fn every_route_asks_for_a_token() {
    let service = Service::start().await;
    for route in ROUTES {
        let path = some_path(route.path);
        let answer = service.client_with(None).send(route.method, &path, "{".into()).await;
        assert_unauthenticated(&answer, UNKNOWN_TOKEN);
        assert_eq!(answer.header("content-type"), "application/json");
    }
}

#[tokio::test]
async fn only_a_whole_token_after_bearer_counts() {
    let (service, owner) = Service::with_team().await;
    let secret = &owner.secret;
    let mut altered = secret.clone();
    let last = altered.pop().expect("a character");
    altered.push(if last == '0' { '1' } else { '0' });
    for header in [
        secret.clone(),
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {secret}"),
        format!("Token {secret}"),
        format!("Bearer{secret}"),
        format!("Bearer {}", &secret[4..]),
        format!("Bearer {}", &secret[..secret.len() - 1]),
        format!("Bearer {secret}0"),
        format!("Bearer {secret} {secret}"),
        format!("Bearer {altered}"),
        "Bearer vdt_0000000000000000000000000000000000000000".to_owned(),
    ] {
        let answer = service.client_with(Some(&header)).get("/me").await;
        assert_unauthenticated(&answer, UNKNOWN_TOKEN);
    }
    for header in [format!("bearer {secret}"), format!("BEARER  {secret} ")] {
        let answer = service.client_with(Some(&header)).get("/me").await;
        assert_eq!(answer.status, 200, "{header}");
    }
}

#[tokio::test]
async fn a_token_that_was_never_given_out_is_unknown() {
    let (service, _owner) = Service::with_team().await;
    let secret = service.test.app.entropy.secret().expect("a secret");
    let answer = service.client_with(Some(&bearer(secret.reveal()))).get("/me").await;
    assert_unauthenticated(&answer, UNKNOWN_TOKEN);
}

#[tokio::test]
async fn a_malformed_token_is_refused_without_reading_the_table_whose_faults_are_503() {
    let (service, owner) = Service::with_team().await;
    service.test.table.database.close().await;
    let garbage = service.client_with(Some("Bearer vdt_garbage")).get("/me").await;
    assert_unauthenticated(&garbage, UNKNOWN_TOKEN);

    let fault = service.client(&owner).get("/me").await;
    insta::assert_snapshot!(fault.shown(), @r#"503 { "message": "The service is unavailable. Please try again." }"#);
}

#[tokio::test]
async fn a_token_works_until_the_instant_at_which_it_expires() {
    let (service, owner) = Service::with_team().await;
    let lifetime = SignedDuration::from_hours(24 * 183);
    service.test.advance(lifetime - SignedDuration::from_millis(1));
    assert_eq!(service.client(&owner).get("/me").await.status, 200);
    service.test.advance(SignedDuration::from_millis(1));
    let answer = service.client(&owner).get("/me").await;
    assert_unauthenticated(&answer, "The access token has expired.");
}

#[tokio::test]
async fn a_revoked_token_stops_working_at_once() {
    let (service, owner) = Service::with_team().await;
    let store = &service.test.app.store;
    let tokens = store.tokens_of(owner.user).await.expect("tokens");
    store.revoke_token(&tokens[0].0, Audit::None).await.expect("revoked");
    assert_unauthenticated(&service.client(&owner).get("/me").await, UNKNOWN_TOKEN);
}

#[tokio::test]
async fn a_token_whose_revocation_is_cut_off_works_no_longer() {
    let (service, owner) = Service::with_team().await;
    let (store, faults) = (&service.test.app.store, service.test.faults());
    let (token, _) = store.tokens_of(owner.user).await.expect("tokens").remove(0);
    faults.on_write(1, Fault::CrashAfter);
    assert!(faults.until_crash(store.revoke_token(&token, Audit::None)).await.is_none());
    assert_unauthenticated(&service.client(&owner).get("/me").await, UNKNOWN_TOKEN);
    assert_eq!(store.tokens_of(owner.user).await.expect("tokens"), []);
}

/// A user whose address is not verified, in a team of their own, with a token.
async fn unverified(service: &Service) -> Member {
    let app = &service.test.app;
    let now = app.clock.now();
    let user = User {
        id: app.entropy.user_id().expect("an id"),
        name: "Ada".to_owned(),
        email: "unverified@example.com".to_owned(),
        email_verified_at: None,
        zone: None,
        created_at: now,
    };
    let team = Team::new(app.entropy.team_id().expect("an id"), "Observers", Plan::Agency, now);
    store_team(&service.test, &team, &user).await
}

#[tokio::test]
async fn nobody_is_let_in_before_their_address_is_verified() {
    let service = Service::start().await;
    let member = unverified(&service).await;
    for route in ROUTES {
        let path = some_path(route.path);
        let answer = service.client(&member).send(route.method, &path, Body::Empty).await;
        assert_unauthenticated(&answer, "Your email address is not verified.");
    }
    let now = service.test.now();
    service.test.app.store.verify_email(member.user, now).await.expect("a user");
    assert_eq!(service.client(&member).get("/me").await.status, 200);
}

#[tokio::test]
async fn requests_are_refused_for_the_first_of_their_faults() {
    // Everything is wrong with this request. One by one, the test fixes what the answer reports.
    let (mut service, owner) = Service::with_team().await;
    suspend(&service, &owner).await;
    let path = format!("/teams/{}/sites", owner.team);
    let member = unverified(&service).await;
    let store = service.test.app.store.clone();
    let wrong = Body::from(r#"{"name": null, "url": "x"}"#);
    service.test.app.service.throttle = 0;
    let narrow = bearer(&new_token(&service, member.user, &[Scope::SitesRead]).await);
    let wide = bearer(&new_token(&service, member.user, &[Scope::SitesWrite]).await);

    let send = async |service: &Service, token: &str| {
        service.client_with(Some(token)).send("POST", &path, wrong.clone()).await
    };
    let answer = send(&service, &narrow).await;
    assert_unauthenticated(&answer, "Your email address is not verified.");

    store.verify_email(member.user, service.test.now()).await.expect("a user");
    let answer = send(&service, &narrow).await;
    assert_refused(&answer, 429, "Too many requests. Please slow down.");

    service.test.app.service.throttle = 60;
    service.advance_minutes(1);
    let answer = send(&service, &narrow).await;
    assert_refused(&answer, 403, "The access token lacks the sites:write scope.");

    let large = vec![b'x'; BODY_MAX + 1].into();
    let answer = service.client_with(Some(&wide)).send("POST", &path, large).await;
    assert_refused(&answer, 413, "The request body is too large.");

    assert_not_found(&send(&service, &wide).await);

    join(&service, member.user, owner.team, Role::Viewer).await;
    assert_plan_required(&send(&service, &wide).await);

    store.set_plan(owner.team, Plan::Agency, true, service.test.now()).await.expect("a team");
    assert_role_required(&send(&service, &wide).await);

    let role = Membership { team: owner.team, user: member.user, role: Role::Member };
    store.change_role(&role, Role::Viewer, Audit::None).await.expect("changed");
    let answer = send(&service, &wide).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    422 {
      "errors": {
        "name": ["The name field must not be empty."],
        "url": ["The url must start with http:// or https://."]
      },
      "message": "The url must start with http:// or https://. (and 1 more error)"
    }
    "#);
}

#[tokio::test]
async fn a_missing_scope_says_nothing_about_another_teams_site() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    let narrow = member_of(&service.test, stranger.team, Role::Owner, &[Scope::TeamsRead]).await;
    let client = service.client(&narrow);
    let there = client.get(&format!("/sites/{site}")).await;
    let nowhere = client.get("/sites/0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").await;
    assert_eq!((there.status, &there.body), (403, &nowhere.body));
}

#[tokio::test]
async fn requests_of_a_token_are_limited_by_the_minute() {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.throttle = 3;
    service.test.advance(SignedDuration::from_secs(20));
    let client = service.client(&owner);
    for (path, remaining) in [("/me", "2"), ("/teams/x", "1"), ("/issues?page=0", "0")] {
        let answer = client.get(path).await;
        assert_ne!(answer.status, 429);
        assert_eq!(answer.header("x-ratelimit-limit"), "3");
        assert_eq!(answer.header("x-ratelimit-remaining"), remaining, "{path}");
        assert_eq!(answer.header("retry-after"), "");
    }
    for _ in 0..2 {
        let answer = client.get("/me").await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(answer.shown(), @r#"429 { "message": "Too many requests. Please slow down." }"#);
        }
        assert_eq!(answer.header("retry-after"), "40");
        assert_eq!(answer.header("x-ratelimit-limit"), "3");
        assert_eq!(answer.header("x-ratelimit-remaining"), "0");
    }
    service.test.advance(SignedDuration::from_millis(39_999));
    let answer = client.get("/me").await;
    assert_eq!((answer.status, answer.header("retry-after")), (429, "1"));
    service.test.advance(SignedDuration::from_millis(1));
    let answer = client.get("/me").await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, "2"));
}

#[tokio::test]
async fn the_default_throttle_counts_each_token_alone() {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.throttle = 1;
    let second = bearer(&new_token(&service, owner.user, &Scope::ALL).await);
    assert_eq!(service.client(&owner).get("/me").await.status, 200);
    assert_eq!(service.client(&owner).get("/me").await.status, 429);
    assert_eq!(service.client_with(Some(&second)).get("/me").await.status, 200);
}

#[tokio::test]
async fn the_tokens_of_a_user_have_the_requests_of_four_tokens_together() {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.throttle = 2;
    let runaway = service.client(&owner);
    for _ in 0..20 {
        runaway.get("/me").await;
    }
    // Requests beyond the limit of one token do not count against the others.
    for _ in 0..3 {
        let token = bearer(&new_token(&service, owner.user, &Scope::ALL).await);
        let client = service.client_with(Some(&token));
        for remaining in ["1", "0"] {
            let answer = client.get("/me").await;
            assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, "2"));
            assert_eq!(answer.header("x-ratelimit-remaining"), remaining);
        }
    }
    let fifth = bearer(&new_token(&service, owner.user, &Scope::ALL).await);
    let fifth = service.client_with(Some(&fifth));
    let answer = fifth.get("/me").await;
    assert_refused(&answer, 429, "Too many requests. Please slow down.");
    assert_eq!(
        (answer.header("x-ratelimit-limit"), answer.header("x-ratelimit-remaining")),
        ("8", "0")
    );
    assert_eq!(answer.header("retry-after"), "60");
    let stranger = new_team(&service.test, Plan::Agency).await;
    assert_eq!(service.client(&stranger).get("/me").await.status, 200, "another user");
    service.advance_minutes(1);
    assert_eq!(fifth.get("/me").await.status, 200);
}

#[tokio::test]
async fn a_request_is_counted_for_token_and_user_by_one_write_unit() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    client.get("/me").await;
    let meter = service.test.meter();
    meter.start();
    assert_eq!(client.get("/me").await.status, 200);
    let spent = meter.stop();
    // The token; its last use, its user and the count; the teams.
    assert_eq!((spent.writes, spent.round_trips, spent.rounds), (1.0, 5, 3), "{spent:?}");
}

#[tokio::test]
async fn check_runs_are_under_the_default_throttle_too() {
    let (mut service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    service.test.app.service.throttle = 2;
    service.advance_minutes(1);
    let client = service.client(&owner);
    let path = format!("/sites/{site}/checks");
    for remaining in ["9", "8"] {
        let answer = client.post(&path, &json!({ "tools": [] })).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (422, remaining));
    }
    let answer = client.post(&path, &json!({ "tools": [] })).await;
    assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (429, "2"));
    assert_eq!(answer.header("retry-after"), "60");
}

#[tokio::test]
async fn a_request_that_the_invocation_has_no_time_for_is_answered_all_the_same() {
    let (service, owner) = Service::with_team().await;
    service.test.faults().on_write(1, Fault::CrashBefore);
    let client = service.client(&owner).with_time(Duration::from_millis(600));
    let path = format!("/teams/{}/sites", owner.team);
    let answer = client.post(&path, &json!({ "url": "https://example.com" })).await;
    insta::assert_snapshot!(answer.shown(), @r#"503 { "message": "The service is unavailable. Please try again." }"#);
    assert_eq!(answer.header("retry-after"), "5");
}

#[tokio::test]
async fn requests_that_cannot_be_counted_are_served() {
    let (mut service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    service.test.app.service.throttle = 1;
    service.test.faults().on_counting();
    let client = service.client(&owner);
    for _ in 0..2 {
        let answer = client.get("/me").await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, "1"));
    }
    let answer = client.post(&format!("/sites/{site}/checks"), &json!({ "tools": [] })).await;
    assert_eq!(answer.status, 422, "{}", answer.shown());
}

#[tokio::test]
async fn many_requests_at_once_are_counted_one_by_one() {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.throttle = 20;
    let client = service.client(&owner);
    let answers = futures::future::join_all((0..50).map(|_| client.get("/teams"))).await;
    let served = answers.iter().filter(|answer| answer.status == 200).count();
    let refused = answers.iter().filter(|answer| answer.status == 429).count();
    assert_eq!((served, refused), (20, 30));
}

#[tokio::test]
async fn successes_and_refusals_are_json_and_say_how_far_the_minute_is_used() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/sites", owner.team);
    let answers = [
        client.get("/me").await,
        client.post(&path, &json!({ "url": "https://example.com" })).await,
        client.post(&path, &json!({})).await,
        client.get("/sites/x").await,
    ];
    assert_eq!(answers.each_ref().map(|answer| answer.status), [200, 201, 422, 404]);
    for (used, answer) in (1..).zip(&answers) {
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("x-ratelimit-limit"), "1000000");
        assert_eq!(answer.header("x-ratelimit-remaining"), (1_000_000 - used).to_string());
    }
}

#[tokio::test]
async fn a_body_may_have_a_megabyte_and_no_more() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let sized = |size: usize| {
        let head = r#"{"tools": ["uptime"], "filler": ""#;
        Body::from(format!("{head}{}\"}}", "x".repeat(size - head.len() - 2)))
    };
    let client = service.client(&owner);
    for path in [format!("/teams/{}/sites", owner.team), format!("/sites/{site}/checks")] {
        assert_eq!(client.send("POST", &path, sized(BODY_MAX)).await.status, 422);
        let refused = client.send("POST", &path, sized(BODY_MAX + 1)).await;
        assert_refused(&refused, 413, "The request body is too large.");
    }
    // A client without permission is refused first, and for a body that is too large, nothing is looked up.
    let (path, stranger) = ("/sites/x/checks", service.client_with(None));
    let answer = stranger.send("POST", path, sized(BODY_MAX + 1)).await;
    assert_unauthenticated(&answer, UNKNOWN_TOKEN);
    let answer = client.send("POST", path, sized(BODY_MAX + 1)).await;
    assert_refused(&answer, 413, "The request body is too large.");
    // If a route uses no body, the size of the body does not matter.
    assert_eq!(client.send("GET", "/me", sized(BODY_MAX + 1)).await.status, 200);
}

#[tokio::test]
async fn a_token_that_may_not_run_checks_does_not_use_up_its_owners_runs() {
    let (service, owner) = Service::with_team().await;
    let narrow = new_token(&service, owner.user, &[Scope::ChecksRead]).await;
    let narrow = service.client_with(Some(&bearer(&narrow)));
    for used in 1..=20 {
        let answer = narrow.post("/sites/x/checks", &json!({})).await;
        assert_refused(&answer, 403, "The access token lacks the checks:run scope.");
        assert_eq!(answer.header("x-ratelimit-remaining"), (1_000_000 - used).to_string());
    }
    let client = service.client(&owner);
    for _ in 0..10 {
        assert_not_found(&client.post("/sites/x/checks", &json!({})).await);
    }
    let answer = client.send("POST", "/sites/x/checks", vec![b'x'; BODY_MAX + 1].into()).await;
    assert_refused(&answer, 429, "Too many requests. Please slow down.");
}

#[tokio::test]
async fn a_request_too_many_of_a_token_is_not_one_of_its_owners_runs() {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.throttle = 1;
    let second = bearer(&new_token(&service, owner.user, &Scope::ALL).await);
    for status in [404, 429, 429] {
        let answer = service.client(&owner).post("/sites/x/checks", &json!({})).await;
        assert_eq!(answer.status, status);
    }
    let answer = service.client_with(Some(&second)).post("/sites/x/checks", &json!({})).await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (404, "8"));
}

#[tokio::test]
async fn links_lead_to_the_host_that_was_asked_unless_a_base_address_is_set() {
    let (mut service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let checks = format!("/sites/{site}/checks");
    let path = async |service: &Service, headers: &[(&'static str, &'static str)]| {
        let client = headers
            .iter()
            .fold(service.client(&owner), |client, (name, value)| client.with_header(name, value));
        let reports = client.get(&format!("/sites/{site}")).await.body["data"]["reports"].clone();
        let list = client.get(&checks).await;
        assert_eq!(
            reports["uptime"].as_str().map(|url| url.replace("/reports/uptime", "/checks")),
            list.body["meta"]["path"].as_str().map(str::to_owned)
        );
        list.body["meta"]["path"].as_str().expect("a path").replace(&checks, "")
    };
    let asked = [("host", "watch.example.com"), ("x-forwarded-proto", "https")];
    assert_eq!(path(&service, &asked).await, "https://monitor.test/api/v1");
    service.test.app.service.base_url = None;
    assert_eq!(path(&service, &asked).await, "https://watch.example.com/api/v1");
    assert_eq!(path(&service, &asked[..1]).await, "http://watch.example.com/api/v1");
    service.test.app.service.base_url = Some("https://other.test/x/api/v1/".to_owned());
    assert_eq!(path(&service, &asked).await, "https://other.test/x/api/v1");
}

#[tokio::test]
async fn the_use_of_a_token_is_noted_once_an_hour() {
    let (service, owner) = Service::with_team().await;
    let last_used = async || {
        let tokens = service.test.app.store.tokens_of(owner.user).await.expect("tokens");
        tokens[0].1.map(|time| time.to_string())
    };
    assert_eq!(last_used().await, None);
    for (minutes, noted) in
        [(0, "2026-11-20T09:54:00Z"), (59, "2026-11-20T09:54:00Z"), (1, "2026-11-20T10:54:00Z")]
    {
        service.advance_minutes(minutes);
        service.client(&owner).get("/me").await;
        assert_eq!(last_used().await.as_deref(), Some(noted));
    }
}

#[tokio::test]
async fn a_member_who_has_left_sees_nothing_of_the_team_any_more() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    let leaver = colleague(&service, &owner, Role::Admin).await;
    let client = service.client(&leaver);
    let list = client.get(&format!("/sites/{site}/checks")).await;
    let check = list.body["data"][0]["uuid"].as_str().expect("a check").to_owned();
    service
        .test
        .app
        .store
        .remove_member(owner.team, leaver.user, Role::Admin, Audit::None)
        .await
        .expect("removed");
    for path in [
        format!("/teams/{}", owner.team),
        format!("/sites/{site}"),
        format!("/sites/{site}/checks"),
        format!("/checks/{check}"),
        format!("/issues?site={site}"),
    ] {
        assert_not_found(&client.get(&path).await);
    }
    assert_invalid(
        &client.get("/issues?page=0").await,
        "page",
        "The page field must be at least 1.",
    );
}
