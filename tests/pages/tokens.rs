//! The API tokens of the signed-in user.

use jiff::SignedDuration;
use vedette_domain::accounts::account::{Role, Scope, Secret, TOKENS_MAX, Token};
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::{Client, TestApp, member_of, new_team};

use crate::sites::after;
use crate::support::{Browser, body, main_part, said, sent_to};
use vedette_store::Audit;

const FORM: &str = "name=ci&days=7&scopes=teams%3Aread&scopes=sites%3Aread";

#[tokio::test]
async fn a_token_is_shown_once_works_and_is_revoked() {
    let (test, owner) = TestApp::with_team().await;
    let viewer = member_of(&test, owner.team, Role::Viewer, &[]).await;
    for (user, others) in [(owner.user, 1), (viewer.user, 1)] {
        let mut browser = Browser::of(&test, user).await;
        let created = browser.post("/tokens", FORM).await;
        assert_eq!(created.headers()["cache-control"], "no-store");
        assert!(!body(&created).contains("data-live"), "the script does not ask for it again");
        let (_, rest) = said(&created).split_once("<code>").expect("a secret");
        let (secret, _) = rest.split_once("</code>").expect("its end");
        let stored = format!("{:?}", test.table.dump().await);
        assert!(!stored.contains(secret), "only its hash is kept");
        let client = Client::with_authorization(&test.app, Some(&format!("Bearer {secret}")));
        assert_eq!(client.get("/teams").await.status, 200);
        assert_eq!(client.get("/issues").await.status, 403, "not one of its scopes");

        test.advance(SignedDuration::from_hours(24));
        let listed = browser.get("/tokens").await;
        let list = said(&listed);
        assert!(!list.contains("vdt_"), "{list}");
        for text in ["<bdi>ci</bdi>", ">teams:read, sites:read</p>"] {
            assert!(body(&listed).contains(text), "{text}: {list}");
        }
        let own = list.split("<bdi>ci</bdi>").nth(1).expect("listed");
        assert!(own.contains("<time"), "it was used: {own}");
        let revoke = after(own, "action=\"").to_owned();
        let mut stranger = Browser::of(&test, new_team(&test, Plan::Agency).await.user).await;
        assert_eq!(stranger.post(&revoke, "").await.status(), 404);
        assert_eq!(client.get("/teams").await.status, 200);
        assert_eq!(sent_to(&browser.post(&revoke, "").await), "/tokens?notice=revoked");
        assert_eq!(client.get("/teams").await.status, 401);
        assert_eq!(browser.post(&revoke, "").await.status(), 404);
        let left = said(&browser.get("/tokens").await).matches("/revoke\"").count();
        assert_eq!(left, others, "the one that tests make");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_token_stands_beside_its_field() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let before = test.app.store.tokens_of(owner.user).await.expect("read").len();
    for (form, field, why) in [
        ("name=+&days=7&scopes=teams%3Aread", "name", "Is required."),
        ("name=ci&days=7", "scopes", "Choose what the token may be used for."),
        ("name=ci&days=7&scopes=all", "scopes", "Line 1: must be one of teams:read, "),
        ("name=%3Ci%3E&days=3651&scopes=teams%3Aread", "days", "Must not be greater than 3650."),
        ("name=ci&days=x&scopes=teams%3Aread", "days", "Must be an integer."),
        ("name=ci&days=0&scopes=teams%3Aread", "days", "Must be at least 1."),
    ] {
        let refused = browser.post("/tokens", form).await;
        assert_eq!(refused.status(), 422, "{form}");
        let page = main_part(&refused);
        let problem = format!("id=\"{field}-problem\" role=\"alert\">{why}");
        assert!(page.contains(&problem), "{problem}: {page}");
        assert_eq!(page.contains("value=\"&lt;i&gt;\""), form.contains("%3Ci"), "{page}");
        let is_ticked = page.contains("value=\"teams:read\" checked");
        assert_eq!(is_ticked, form.contains("teams"), "{page}");
        assert!(!page.contains("value=\"issues:read\" checked"), "what was typed is kept");
    }
    assert_eq!(test.app.store.tokens_of(owner.user).await.expect("read").len(), before);

    let now = test.now();
    for number in before..TOKENS_MAX {
        let [tens, ones] = [number / 10, number % 10].map(|digit| digit.try_into().expect("small"));
        let mut random = [7; Secret::RANDOM_BYTES];
        (random[0], random[1]) = (tens, ones);
        let token = Token {
            hash: Secret::from_random(random).hash(),
            user: owner.user,
            name: "ci".to_owned(),
            scopes: vec![Scope::TeamsRead],
            expires_at: now + SignedDuration::from_hours(24),
            created_at: now,
        };
        test.app.store.create_token(&token, Audit::None).await.expect("made");
    }
    let refused = browser.post("/tokens", "name=ci&days=7&scopes=teams%3Aread").await;
    assert_eq!(refused.status(), 422);
    let page = main_part(&refused);
    assert!(page.contains("You have 100 tokens, the most that a user can have;"), "{page}");

    let scopes = Scope::DEFAULT.len();
    let form = browser.get("/tokens").await;
    assert_eq!(said(&form).matches("checked").count(), scopes, "others must be chosen");
}
