//! Sign-in with an OpenID provider: who may sign in, who may not, and what the page says then.

use jiff::SignedDuration;
use lambda_http::Body;
use lambda_http::http::header::{COOKIE, LOCATION, SET_COOKIE};
use lambda_http::http::{HeaderValue, Response};
use serde_json::{Value, json};
use vedette_dashboard::{Dashboard, Provider, ProviderConfig};
use vedette_domain::accounts::account::User;
use vedette_domain::id::UserId;
use vedette_http::source::Peer;
use vedette_probe::ssrf_guard::Outbound;
use vedette_testkit::TestApp;
use vedette_testkit::open_id::{
    CLIENT_ID, CLIENT_SECRET, Lies, OpenIdProvider, ProviderAnswer, Signature,
};

use crate::support::{ask, body, head, main_part, said, send_with, sent_to};

/// A service with an OpenID provider; its only user is Ada.
struct Scene {
    test: TestApp,
    op: OpenIdProvider,
    dashboard: Dashboard,
    owner: UserId,
}

const ADA: &str = "Ada@Example.com";

impl Scene {
    async fn start() -> Self {
        let mut test = TestApp::start().await;
        test.app.service.sign_in_with = Some("Keycloak <b>".to_owned());
        let op = OpenIdProvider::start().await;
        let dashboard = dashboard(&op.issuer);
        let owner = user(&test, "ada@example.com", true).await;
        Self { test, op, dashboard, owner }
    }

    async fn get(&self, path: &str, cookies: &str) -> Response<Body> {
        self.get_from(path, cookies, "203.0.113.1").await
    }

    async fn get_from(&self, path: &str, cookies: &str, address: &str) -> Response<Body> {
        let mut head = head("GET", path);
        head.extensions.insert(Peer(address.parse().expect("an address")));
        head.headers.insert(COOKIE, HeaderValue::try_from(cookies).expect("cookies"));
        send_with(&self.test, &self.dashboard, &head, "").await
    }

    /// Starts a sign-in, and signs in at the provider. Returns the cookie, and the address to which the browser
    /// returns.
    async fn at_provider(&self, email: &str) -> (String, String) {
        let begun = self.get("/oidc", "theme=x").await;
        let back = self.op.sign_in(sent_to(&begun), email, self.test.now());
        let path = back.as_str().strip_prefix("https://monitor.test").expect("our pages");
        (cookies(&begun).remove(0), path.to_owned())
    }

    /// Signs in with this address.
    async fn sign_in(&self, email: &str) -> Response<Body> {
        let (cookie, path) = self.at_provider(email).await;
        self.get(&path, &cookie).await
    }

    /// Asserts that nobody can sign in with these lies: nothing is written, and the page shows this text.
    async fn refuses(&self, lies: Lies, status: u16, why: &str) {
        self.op.lie(lies.clone());
        // By then, a provider that failed is asked again, and the source can make requests again.
        self.test.advance(SignedDuration::from_secs(10));
        let before = self.test.table.dump().await;
        let refused = self.sign_in(ADA).await;
        assert_eq!(refused.status(), status, "{lies:?}: {refused:?}");
        assert!(main_part(&refused).contains(why), "{lies:?}: {refused:?}");
        assert!(main_part(&refused).contains("href=\"/oidc\""), "a way to begin again");
        assert_eq!(cookies(&refused), ["__Host-vedette-sign-in="], "{lies:?}");
        assert_eq!(self.test.table.dump().await, before, "{lies:?}");
    }
}

/// Pages that offer sign-in with this provider.
fn dashboard(issuer: &str) -> Dashboard {
    let read = |name: &str| {
        let value = match name {
            "VEDETTE_OIDC_ISSUER" => issuer,
            "VEDETTE_OIDC_CLIENT_ID" => CLIENT_ID,
            "VEDETTE_OIDC_CLIENT_SECRET" => CLIENT_SECRET,
            _ => "Keycloak",
        };
        Some(value.to_owned())
    };
    let config = ProviderConfig::read(&read).expect("a configuration").expect("a provider");
    Dashboard::new(Some(Provider::new(config, Outbound::default()).expect("a provider")))
}

async fn user(test: &TestApp, email: &str, is_verified: bool) -> UserId {
    let id = test.app.entropy.user_id().expect("an id");
    let now = test.now();
    let user = User {
        id,
        name: "Ada".to_owned(),
        email: email.to_owned(),
        email_verified_at: is_verified.then_some(now),
        zone: None,
        created_at: now,
    };
    test.app.store.create_user(&user).await.expect("a user");
    id
}

/// The cookies that are set, without their attributes.
fn cookies(response: &Response<Body>) -> Vec<String> {
    let set = response.headers().get_all(SET_COOKIE).into_iter();
    let pairs = set.map(|cookie| cookie.to_str().expect("text").split(';').next());
    pairs.map(|pair| pair.expect("a cookie").to_owned()).collect()
}

fn with_claims(claims: Value) -> Lies {
    Lies { claims, ..Lies::default() }
}

fn with_answer(path: &'static str, answer: ProviderAnswer) -> Lies {
    Lies { answers: [(path, answer)].into(), ..Lies::default() }
}

#[tokio::test]
async fn who_has_an_account_signs_in_at_the_provider() {
    let scene = Scene::start().await;
    let page = scene.get("/sign-in", "theme=x").await;
    let way = "Sign in with Keycloak &lt;b&gt;</a>";
    assert!(said(&page).contains(way) && said(&page).contains("vedette sign-in"), "{page:?}");

    let before = scene.test.table.dump().await;
    let begun = scene.get("/oidc", "theme=x").await;
    let kept = begun.headers()[SET_COOKIE].to_str().expect("text");
    let (cookie, flags) = kept.split_once(';').expect("flags");
    assert!(cookie.starts_with("__Host-vedette-sign-in="));
    assert_eq!(flags, " Max-Age=900; Path=/; HttpOnly; SameSite=Lax; Secure");
    assert_eq!(scene.test.table.dump().await, before, "who begins writes nothing");
    let secret = cookie.rsplit('.').next().expect("a secret");
    assert!(!sent_to(&begun).contains(secret));

    let back = scene.op.sign_in(sent_to(&begun), ADA, scene.test.now());
    assert!(back.as_str().starts_with("https://monitor.test/oidc/callback?"), "{back}");
    let path = &back[url::Position::BeforePath..];
    let signed_in = scene.get(path, &format!("theme=x; {cookie}")).await;
    assert_eq!(sent_to(&signed_in), "/");
    let set = cookies(&signed_in);
    let [session, over] = &set[..] else { panic!("{set:?}") };
    assert_eq!(over, "__Host-vedette-sign-in=");
    let sessions = scene.get("/sessions", session).await;
    assert!(said(&sessions).contains("This browser"), "as by a link: {sessions:?}");
    let stored = scene.test.app.store.sessions(scene.owner).await.expect("sessions");
    assert_eq!(stored.len(), 1);
    let stored = format!("{:?}", scene.test.table.dump().await);
    let token = session.rsplit('.').next().expect("a secret");
    assert!(!stored.contains(secret) && !stored.contains(token), "no secret is stored");
}

#[tokio::test]
async fn without_a_provider_there_is_none() {
    let test = TestApp::start().await;
    let page = ask(&test, "GET", "/sign-in").await;
    assert!(!body(&page).contains("/oidc"), "{page:?}");
    for path in ["/oidc", "/oidc/callback?code=a&state=b"] {
        assert_eq!(ask(&test, "GET", path).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn nobody_gets_an_account_by_signing_in() {
    let scene = Scene::start().await;
    let before = scene.test.table.dump().await;
    let refused = scene.sign_in("grace<b>@example.com").await;
    assert_eq!(refused.status(), 403);
    let said = main_part(&refused);
    assert!(
        said.contains("<bdi>grace&lt;b&gt;@example.com</bdi></b> has no account here"),
        "{said}"
    );
    assert_eq!(scene.test.table.dump().await, before);
    // None of these is Ada.
    let long = format!("{}@example.com", "a".repeat(3_000));
    for email in ["ada@example.com.evil.test", "ada@example.co", "", "x", &long] {
        assert_eq!(scene.sign_in(email).await.status(), 403, "{email}");
    }
    assert_eq!(scene.test.table.dump().await, before);
}

#[tokio::test]
async fn an_address_is_verified_by_the_provider_alone() {
    let scene = Scene::start().await;
    let invited = user(&scene.test, "bob@example.com", false).await;
    for claims in [
        json!({ "email_verified": false }),
        json!({ "email_verified": "false" }),
        json!({ "email_verified": null }),
        json!({ "email": null }),
    ] {
        let lies = with_claims(claims);
        scene.refuses(lies, 403, "did not give a verified email address").await;
    }
    let verified_at = async || {
        let account = scene.test.app.store.account(invited).await.expect("an account");
        account.expect("an account").user.email_verified_at
    };
    assert_eq!(verified_at().await, None);

    scene.op.lie(Lies::default());
    scene.test.advance(SignedDuration::from_secs(7));
    let signed_in = scene.sign_in("BOB@example.com").await;
    assert_eq!(sent_to(&signed_in), "/");
    let at = scene.test.now();
    assert_eq!(verified_at().await, Some(at));
    assert_eq!(scene.get("/sessions", &cookies(&signed_in)[0]).await.status(), 200);
    scene.test.advance(SignedDuration::from_secs(7));
    assert_eq!(sent_to(&scene.sign_in("bob@example.com").await), "/");
    assert_eq!(verified_at().await, Some(at), "once");
}

#[tokio::test]
async fn what_the_token_leaves_out_the_provider_is_asked_for() {
    let scene = Scene::start().await;
    let subject = format!("user of {ADA}");
    let lies = |user_info| Lies {
        claims: json!({ "email": null, "email_verified": null }),
        user_info,
        ..Lies::default()
    };
    scene.op.lie(lies(json!({ "sub": subject, "email": ADA, "email_verified": "true" })));
    assert_eq!(sent_to(&scene.sign_in(ADA).await), "/", "some providers write it as a string");

    let not_verified = json!({ "sub": subject, "email": ADA, "email_verified": false });
    scene.refuses(lies(not_verified), 403, "did not give a verified email address").await;
    let another = json!({ "sub": "another", "email": ADA, "email_verified": true });
    scene.refuses(lies(another), 502, "find the reason in the log").await;
    let nobody = with_answer("/userinfo", ProviderAnswer::Status(500, "no".to_owned()));
    let asked = Lies { answers: nobody.answers, ..lies(json!({})) };
    scene.refuses(asked, 502, "find the reason in the log").await;
}

#[tokio::test]
async fn a_token_that_is_not_for_this_sign_in_signs_nobody_in() {
    let scene = Scene::start().await;
    let now = scene.test.now().as_second();
    for claims in [
        json!({ "nonce": "another" }),
        json!({ "nonce": null }),
        json!({ "aud": "another" }),
        json!({ "aud": [CLIENT_ID, "another"] }),
        json!({ "aud": null }),
        json!({ "iss": "https://id.evil.test" }),
        json!({ "iss": format!("{}/", scene.op.issuer) }),
        json!({ "exp": now - 1 }),
        json!({ "exp": now }),
        json!({ "exp": null }),
        json!({ "sub": null }),
    ] {
        scene.refuses(with_claims(claims), 502, "find the reason in the log").await;
    }
    for signature in [Signature::Forged, Signature::Secret, Signature::None] {
        let lies = Lies { signature, ..Lies::default() };
        scene.refuses(lies, 502, "find the reason in the log").await;
    }
    scene.op.lie(Lies::default());
    assert_eq!(sent_to(&scene.sign_in(ADA).await), "/", "all else was right");
}

#[tokio::test]
async fn an_answer_works_once_and_in_the_browser_that_asked() {
    let scene = Scene::start().await;
    let (cookie, path) = scene.at_provider(ADA).await;
    let (others, _) = scene.at_provider(ADA).await;
    let before = scene.test.table.dump().await;
    let tokens = scene.op.asked("/token");
    let state = path.find("&state=").expect("a state");
    for (path, cookie) in [
        (path.as_str(), "theme=x"),
        (&path, &others),
        (&path, &cookie.replace("__Host-", "")),
        (&path, &cookie[..cookie.len() - 1]),
        (&path, &cookie.replacen("sign-in=1", "sign-in=2", 1)),
        (&path[..state], &cookie),
        (&path[..path.len() - 1], &cookie),
        ("/oidc/callback", &cookie),
        ("/oidc/callback?error=access_denied", &cookie),
    ] {
        let refused = scene.get(path, cookie).await;
        assert_eq!(refused.status(), 400, "{path} {cookie}");
        assert!(main_part(&refused).contains("not started in this browser"), "{refused:?}");
        assert_eq!(cookies(&refused), [""; 0], "what the browser has begun goes on");
    }
    assert_eq!(scene.op.asked("/token"), tokens, "the provider is not bothered");
    assert_eq!(scene.test.table.dump().await, before);

    assert_eq!(sent_to(&scene.get(&path, &cookie).await), "/");
    let before = scene.test.table.dump().await;
    for takes_codes_again in [false, true] {
        scene.op.lie(Lies { takes_codes_again, ..Lies::default() });
        let replayed = scene.get(&path, &cookie).await;
        assert_eq!(replayed.status(), 400, "{replayed:?}");
        assert!(main_part(&replayed).contains("it has already ended"), "{replayed:?}");
    }
    assert_eq!(scene.test.table.dump().await, before);

    let (late, path) = scene.at_provider(ADA).await;
    scene.test.advance(SignedDuration::from_mins(15));
    assert_eq!(scene.get(&path, &late).await.status(), 400, "too late");
}

#[tokio::test]
async fn a_provider_that_declines_fails_or_is_down_signs_nobody_in() {
    let scene = Scene::start().await;
    let (cookie, path) = scene.at_provider(ADA).await;
    let (_, state) = path.split_once("&state=").expect("a state");
    for (error, status, why) in [
        ("access_denied", 403, "You declined"),
        ("server_error", 502, "find the reason"),
        ("%3Cb%3E", 502, "find the reason"),
    ] {
        let path = format!("/oidc/callback?error={error}&error_description=x%3Ci%3E&state={state}");
        let refused = scene.get(&path, &cookie).await;
        assert_eq!(refused.status(), status);
        assert!(
            main_part(&refused).contains(why) && !body(&refused).contains("x&lt;i"),
            "{refused:?}"
        );
    }
    let status = |status, body: &str| ProviderAnswer::Status(status, body.to_owned());
    let useless = [
        status(500, "no"),
        status(200, "{"),
        status(200, "{}"),
        status(200, &format!("\"{}\"", "x".repeat(300 * 1024))),
        status(400, r#"{ "error": "invalid_client" }"#),
        ProviderAnswer::Redirect(format!("{}/elsewhere", scene.op.issuer)),
    ];
    for answer in useless.clone() {
        scene.refuses(with_answer("/token", answer), 502, "find the reason in the log").await;
    }
    let unknown = status(400, r#"{ "error": "invalid_grant" }"#);
    scene.refuses(with_answer("/token", unknown), 400, "Start again").await;
    assert_eq!(scene.op.asked("/elsewhere"), 0, "no redirect is followed");

    let fails_at_once = async |dashboard: &Dashboard| {
        let begun = send_with(&scene.test, dashboard, &head("GET", "/oidc"), "").await;
        assert_eq!(begun.status(), 502, "{begun:?}");
        assert!(!begun.headers().contains_key(LOCATION) && cookies(&begun).is_empty());
        assert!(main_part(&begun).contains("find the reason in the log"), "{begun:?}");
    };
    for path in ["/.well-known/openid-configuration", "/keys"] {
        for answer in useless.clone() {
            scene.op.lie(with_answer(path, answer));
            fails_at_once(&dashboard(&scene.op.issuer)).await;
        }
    }
    for description in [
        json!({ "issuer": "https://id.evil.test" }),
        json!({ "authorization_endpoint": "http://id.evil.test/authorize" }),
        json!({ "authorization_endpoint": "javascript:alert(1)" }),
        json!({ "jwks_uri": "http://id.evil.test/keys" }),
    ] {
        scene.op.lie(Lies { description, ..Lies::default() });
        fails_at_once(&dashboard(&scene.op.issuer)).await;
    }
    scene.op.lie(Lies::default());
    let (issuer, ours) = (scene.op.issuer.clone(), dashboard(&scene.op.issuer));
    let begun = send_with(&scene.test, &ours, &head("GET", "/oidc"), "").await;
    let back = scene.op.sign_in(sent_to(&begun), ADA, scene.test.now());
    let Scene { test, op, .. } = scene;
    drop(op);
    let mut head = head("GET", &back[url::Position::BeforePath..]);
    head.headers.insert(COOKIE, HeaderValue::try_from(&cookies(&begun)[0]).expect("a cookie"));
    for dashboard in [ours, dashboard(&issuer)] {
        assert_eq!(send_with(&test, &dashboard, &head, "").await.status(), 502, "down");
    }
}

#[tokio::test]
async fn what_the_provider_says_of_itself_is_asked_for_seldom() {
    let scene = Scene::start().await;
    let asked = || ["/.well-known/openid-configuration", "/keys"].map(|path| scene.op.asked(path));
    for _ in 0..3 {
        assert_eq!(sent_to(&scene.sign_in(ADA).await), "/");
    }
    assert_eq!(asked(), [1, 1]);
    scene.test.advance(SignedDuration::from_mins(59));
    assert_eq!(sent_to(&scene.sign_in(ADA).await), "/");
    assert_eq!(asked(), [1, 1]);

    scene.op.change_key();
    assert_eq!(sent_to(&scene.sign_in(ADA).await), "/", "a key that is new");
    assert_eq!(asked(), [2, 2]);
    scene.op.lie(with_answer("/keys", ProviderAnswer::Status(200, "{\"keys\":[]}".to_owned())));
    scene.op.change_key();
    assert_eq!(scene.sign_in(ADA).await.status(), 502, "a key that the provider does not know");
    assert_eq!(asked(), [3, 3], "once");
    scene.op.lie(Lies::default());
    scene.test.advance(SignedDuration::from_hours(1));
    assert_eq!(sent_to(&scene.sign_in(ADA).await), "/");
    assert_eq!(asked(), [4, 4]);
}

#[tokio::test]
async fn an_address_with_a_kelvin_sign_is_another_one() {
    let scene = Scene::start().await;
    user(&scene.test, "kate@example.com", true).await;
    assert_eq!(sent_to(&scene.sign_in("KATE@example.com").await), "/");
    assert_eq!(scene.sign_in("\u{212a}ate@example.com").await.status(), 403);
}

#[tokio::test]
async fn strangers_have_the_provider_asked_so_often_and_no_more() {
    let scene = Scene::start().await;
    let (cookie, path) = scene.at_provider(ADA).await;
    let asked = || scene.op.asked("/token");
    for status in [303].into_iter().chain([400; 9]) {
        assert_eq!(scene.get(&path, &cookie).await.status(), status);
    }
    assert_eq!(asked(), 10);
    let before = scene.test.table.dump().await;
    let refused = scene.get(&path, &cookie).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"].to_str().expect("text")),
        (429, &"5")
    );
    assert_eq!(cookies(&refused), [""; 0], "what the browser has begun goes on");
    scene.test.advance(SignedDuration::from_secs(5));
    for status in [400, 429] {
        assert_eq!(scene.get(&path, &cookie).await.status(), status);
    }
    // After five seconds, five of the sixty requests are available again.
    for number in 0..54 {
        let address = format!("198.51.100.{}", number % 10);
        assert_eq!(scene.get_from(&path, &cookie, &address).await.status(), 400, "{number}");
    }
    assert_eq!(asked(), 65);
    let (others, path) = scene.at_provider(ADA).await;
    let refused = scene.get_from(&path, &others, "192.0.2.1").await;
    assert_eq!((refused.status().as_u16(), asked()), (429, 65));
    assert_eq!(scene.test.table.dump().await, before, "nothing is written by that");
    scene.test.advance(SignedDuration::from_secs(1));
    assert_eq!(sent_to(&scene.get_from(&path, &others, "192.0.2.1").await), "/");
}

#[tokio::test]
async fn a_provider_that_does_not_answer_is_left_alone_for_a_moment() {
    let scene = Scene::start().await;
    let (cookie, path) = scene.at_provider(ADA).await;
    let silent = ProviderAnswer::Status(200, "x".repeat(300 * 1024));
    scene.op.lie(with_answer("/token", silent));
    assert_eq!(scene.get(&path, &cookie).await.status(), 502);
    let asked = || ["/.well-known/openid-configuration", "/token"].map(|path| scene.op.asked(path));
    let before = asked();
    scene.op.lie(Lies::default());
    // Redirecting a browser does not need a request to the provider.
    let (cookie, path) = scene.at_provider(ADA).await;
    let waits = scene.get(&path, &cookie).await;
    assert_eq!(
        (waits.status().as_u16(), &waits.headers()["retry-after"].to_str().expect("text")),
        (503, &"10")
    );
    assert!(main_part(&waits).contains("did not answer a moment ago"), "{waits:?}");
    assert_eq!((asked(), cookies(&waits)), (before, Vec::new()), "the answer is still good");
    scene.test.advance(SignedDuration::from_secs(10));
    assert_eq!(sent_to(&scene.get(&path, &cookie).await), "/");

    // The same happens if the provider does not publish its endpoints.
    let ours = dashboard(&scene.op.issuer);
    scene.op.lie(with_answer(
        "/.well-known/openid-configuration",
        ProviderAnswer::Status(500, "no".to_owned()),
    ));
    let before = asked()[0];
    for status in [502, 503, 503] {
        assert_eq!(send_with(&scene.test, &ours, &head("GET", "/oidc"), "").await.status(), status);
    }
    assert_eq!(asked()[0], before + 1);
    scene.op.lie(Lies::default());
    scene.test.advance(SignedDuration::from_secs(10));
    assert_eq!(send_with(&scene.test, &ours, &head("GET", "/oidc"), "").await.status(), 303);
}
