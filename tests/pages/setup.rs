//! The first minutes: from the link that the service prints to the first results, and the first channel.

use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::session::SessionSecret;
use vedette_domain::alerts::link;
use vedette_domain::checks::tool::Tool;
use vedette_testkit::{TestApp, WebServer};
use vedette_tests::Service;

use crate::support::{Browser, ask, body, main_part, said, sent_to, text};

const ADA: &str = "name=Ada+Lovelace&email=Ada%40example.com";

/// The path of the link for the first user.
async fn setup_link(test: &TestApp) -> String {
    let secret = test.app.entropy.session_secret().expect("a secret");
    test.app.store.put_setup_link(&secret.hash()).await.expect("stored");
    link::setup("", &secret)
}

#[tokio::test]
async fn the_first_user_comes_in_adds_a_site_and_sees_its_results_come_in() {
    let mut service = Service::start().await;
    service.test.app.service.sends_mail = true;
    service.test.app.service.tools = vec![Tool::Status, Tool::Ssl];
    let path = setup_link(&service.test).await;
    let mut browser = Browser::new(&service.test);
    let asked = text(said(&browser.get(&path).await));
    assert!(asked.contains("Welcome to Vedette") && asked.contains("Your name"), "{asked}");

    let made = browser.post(&path, ADA).await;
    let home = sent_to(&made).to_owned();
    let team = service.test.app.store.all_teams().await.expect("teams")[0];
    assert_eq!(home, format!("/teams/{team}"));
    let found = service.test.app.store.team(team, service.test.now()).await.expect("read");
    assert_eq!(found.expect("a team").team.name, "Ada’s team");
    let user = service.test.app.store.user_by_email("ada@example.com").await.expect("read");
    let user = user.expect("a user");
    assert!(!user.is_unverified());
    let account = service.test.app.store.account(user.id).await.expect("read").expect("an account");
    assert_eq!(account.memberships[0].role, Role::Owner);
    assert!(said(&browser.get(&home).await).contains("Add your first site"));

    let target = WebServer::start().await;
    let added = browser.post(&format!("{home}/sites"), &format!("urls={}", target.url)).await;
    let site = sent_to(&added).to_owned();
    assert!(site.starts_with("/sites/") && site.ends_with("?first=1"), "{site}");
    let waiting = browser.get(&site).await;
    assert_eq!(waiting.headers()["refresh"], "2");
    let shown = text(said(&waiting));
    assert!(shown.contains("Monitoring has started. Still checking: Status"), "{shown}");
    assert!(shown.contains("Where should alerts go?"), "{shown}");
    assert!(said(&waiting).contains("<bdi>Ada@example.com</bdi>"), "{}", said(&waiting));

    service.consume().await;
    let done = browser.get(&site).await;
    assert!(!done.headers().contains_key("refresh"), "no check is awaited");
    assert!(text(said(&done)).contains("All first results are here."));

    let channels = format!("/teams/{team}/channels");
    sent_to(&browser.post(&channels, "kind=email&to=Ada%40example.com").await);
    assert!(!said(&browser.get(&site).await).contains("Where should alerts go?"));
    // Further sites are added without these steps.
    let more = browser.post(&format!("{home}/sites"), "urls=https://b.test").await;
    assert_eq!(sent_to(&more), format!("{home}?added=1&watched=0"));
}

#[tokio::test]
async fn the_link_works_once_and_only_the_newest_one() {
    let test = TestApp::start().await;
    let (old, path) = (setup_link(&test).await, setup_link(&test).await);
    let secret = SessionSecret::from_random([9; SessionSecret::BYTES]);
    let mut browser = Browser::new(&test);
    let wrong = [old, link::setup("", &secret), "/setup/x".to_owned()];
    for wrong in &wrong {
        let asked = ask(&test, "GET", wrong).await;
        assert_eq!(asked.status(), 404, "{wrong}");
        let shown = text(main_part(&asked));
        assert!(shown.starts_with("This set-up link is wrong"), "{shown}");
        assert!(shown.contains("journalctl --unit vedette"), "{shown}");
        assert_eq!(browser.post(wrong, ADA).await.status(), 404, "{wrong}");
    }
    assert!(test.app.store.all_teams().await.expect("teams").is_empty());
    sent_to(&browser.post(&path, ADA).await);
    let mut late = Browser::new(&test);
    assert_eq!(late.post(&path, "name=Eve&email=eve%40example.com").await.status(), 404);
    // With an account, no set-up link works, and the page says how to sign in.
    for used in wrong.iter().chain([&path]) {
        let page = late.get(used).await;
        assert_eq!(page.status(), 404);
        assert!(main_part(&page).contains("vedette sign-in you@example.com"), "{used}");
    }
    assert_eq!(test.app.store.all_teams().await.expect("teams").len(), 1);
}

#[tokio::test]
async fn what_was_typed_wrong_stays_in_the_form() {
    let test = TestApp::start().await;
    let path = setup_link(&test).await;
    let mut browser = Browser::new(&test);
    let refused = browser.post(&path, "name=+&email=ada").await;
    assert_eq!(refused.status(), 422);
    let page = body(&refused);
    assert_eq!(page.matches("aria-invalid=\"true\"").count(), 2, "{page}");
    assert!(page.contains("value=\"ada\""), "{page}");
    assert!(test.app.store.all_teams().await.expect("teams").is_empty());
    // A page of another site sends no form of ours.
    let mut head = browser.head("POST", &path);
    head.headers
        .insert("sec-fetch-site", lambda_http::http::HeaderValue::from_static("cross-site"));
    let refused = crate::support::send(&test, &head, ADA).await;
    assert_eq!(refused.status(), 403);
    sent_to(&browser.post(&path, ADA).await);
}

#[tokio::test]
async fn before_there_is_an_account_the_first_page_says_how_to_get_the_link() {
    let mut test = TestApp::start().await;
    test.app.service.own_pages = Some("http://127.0.0.1:8787".to_owned());
    let path = setup_link(&test).await;
    let mut browser = Browser::new(&test);
    assert_eq!(sent_to(&browser.get("/").await), "/sign-in");
    let page = browser.get("/sign-in").await;
    let shown = text(said(&page));
    assert!(shown.starts_with("Set up Vedette This service has no account yet."), "{shown}");
    assert!(shown.contains("docker compose logs vedette"), "{shown}");
    sent_to(&browser.post(&path, ADA).await);
    let other = Browser::new(&test);
    assert!(text(said(&other.get("/sign-in").await)).starts_with("Sign in to Vedette"));
}

#[tokio::test]
async fn the_first_team_has_the_time_zone_that_is_chosen_with_it() {
    let test = TestApp::start().await;
    let path = setup_link(&test).await;
    let mut browser = Browser::new(&test);
    let asked = browser.get(&path).await;
    // The script chooses the browser's zone.
    assert!(said(&asked).contains("data-zone"), "{}", said(&asked));
    assert!(said(&asked).contains("<option value=\"UTC\" selected>"), "{}", said(&asked));
    let refused = browser.post(&path, "name=Ada&email=ada&time_zone=Europe%2FBerlin").await;
    let page = main_part(&refused);
    assert!(page.contains("<option value=\"Europe/Berlin\" selected>"), "{page}");
    assert!(!page.contains("data-zone"), "the choice stays");
    assert_eq!(browser.post(&path, &format!("{ADA}&time_zone=Nowhere")).await.status(), 422);
    sent_to(&browser.post(&path, &format!("{ADA}&time_zone=Europe%2FBerlin")).await);
    let team = test.app.store.all_teams().await.expect("teams")[0];
    let found = test.app.store.team(team, test.now()).await.expect("read").expect("a team");
    assert_eq!(found.team.zone.name(), "Europe/Berlin");
}
