//! The pages, requested as a browser does.

use std::time::Duration;

use tokio::time::sleep;
use vedette_local::{Options, Service};

use crate::client::{Client, HttpResponse};
use crate::{config, mail, options, start};

/// Sends a request of a browser on our own page, over plain HTTP to another machine.
pub(crate) async fn browse(
    client: &Client,
    method: &str,
    path: &str,
    cookie: &str,
    form: &str,
) -> HttpResponse {
    let length = form.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: vedette.localhost\r\nOrigin: http://vedette.localhost\r\nCookie: {cookie}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{form}"
    );
    client.send_raw(request.as_bytes()).await.expect("an answer")
}

/// The path of the link with which the person who started the service signs in.
fn sign_in_path(service: &Service) -> String {
    let link = service.sign_in_link().expect("a link");
    let (_, path) = link.split_once("/sign-in/").expect("a page");
    format!("/sign-in/{path}")
}

/// Signs in with that link, and returns the session's cookie.
pub(crate) async fn sign_in(service: &Service, client: &Client) -> String {
    let signed_in = browse(client, "POST", &sign_in_path(service), "", "").await;
    assert_eq!((signed_in.status, signed_in.headers["location"].as_str()), (303, "/"));
    let cookie = &signed_in.headers["set-cookie"];
    assert!(cookie.starts_with("vedette-") && !cookie.contains("Secure"), "{cookie}");
    cookie.split(';').next().expect("a cookie").to_owned()
}

#[tokio::test]
async fn who_started_the_service_signs_in_by_its_link_and_adds_a_site() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let path = sign_in_path(&service);
    let link = service.sign_in_link().expect("a link");
    let pages = format!("http://vedette.localhost:{}/sign-in/", service.listen().port());
    assert!(
        link.starts_with(&pages),
        "a cookie for the address would go to each of its ports: {link}"
    );
    assert_eq!(browse(&client, "GET", "/", "", "").await.headers["location"], "/sign-in");
    assert!(
        browse(&client, "GET", &path, "", "").await.text.contains("<button class=\"main\">Sign in")
    );
    let cookie = &sign_in(&service, &client).await;

    let home = browse(&client, "GET", "/", cookie, "").await;
    assert!(home.text.contains("Add your first site"), "{}", home.text);
    let team = client.sites_path().await;
    let team = team.strip_prefix("/api/v1").expect("a path");
    // The body is read by the gateway, after the session.
    let form = "urls=http%3A%2F%2F127.0.0.1%3A9%2F";
    assert_eq!(browse(&client, "POST", team, "", form).await.headers["location"], "/sign-in");
    let added = browse(&client, "POST", team, cookie, form).await;
    assert_eq!(added.status, 303, "{}", added.text);
    let list = browse(&client, "GET", &added.headers["location"], cookie, "").await;
    assert!(list.text.contains("Monitoring has started."), "{}", list.text);
    assert_eq!(browse(&client, "GET", &path, "", "").await.status, 404, "used up");
    service.stop().await;
}

#[tokio::test]
async fn the_first_start_creates_no_user_and_its_link_creates_the_first_account() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { token: false, ..options(folder.path()) };
    let started = Service::start(options.clone(), config(), mail(folder.path()), None).await;
    let service = started.expect("started");
    assert!(!service.token_file().exists() && service.sign_in_link().is_none());
    let link = service.setup_link().expect("a link");
    let (_, secret) = link.split_once("/setup/").expect("a page");
    let path = format!("/setup/{secret}");
    let client = Client::without_token(service.listen());
    assert!(browse(&client, "GET", &path, "", "").await.text.contains("Welcome to Vedette"));
    let form = "name=Ada&email=ada%40example.com";
    let made = browse(&client, "POST", &path, "", form).await;
    assert_eq!(made.status, 303, "{}", made.text);
    let cookie = made.headers["set-cookie"].split(';').next().expect("a cookie").to_owned();
    let home = browse(&client, "GET", &made.headers["location"], &cookie, "").await;
    assert!(home.text.contains("Add your first site"), "{}", home.text);
    // Scripts get a token on the page.
    let token = "name=Deploy&days=30&scopes=teams%3Aread";
    let made = browse(&client, "POST", "/tokens", &cookie, token).await;
    assert!(made.text.contains("<code>vdt_"), "{}", made.text);
    service.stop().await;

    let started = Service::start(options, config(), mail(folder.path()), None).await;
    let service = started.expect("started");
    assert!(service.setup_link().is_none() && service.sign_in_link().is_some());
    service.stop().await;
}

#[tokio::test]
async fn a_demo_says_so_on_each_page_and_its_sites_are_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { demo: true, ..options(folder.path()) };
    let started = Service::start(options.clone(), config(), mail(folder.path()), None).await;
    let service = started.expect("started");
    let client = Client::with_token_file(service.listen(), &service.token_file());
    let cookie = &sign_in(&service, &client).await;
    for path in ["/", "/tokens", "/sign-in"] {
        let page = browse(&client, "GET", path, cookie, "").await;
        assert!(page.text.contains("This is a demo."), "{path}: {}", page.text);
    }
    while !client.get("/status/demo").await.text.contains("This is a demo.") {
        sleep(Duration::from_millis(20)).await;
    }
    // The newest checks are made after the history was written.
    for (name, code) in [("Docs", 200), ("Checkout", 503)] {
        let sites = client.get(&format!("{}?search={name}", client.sites_path().await)).await;
        let site = sites.body["data"][0]["uuid"].as_str().expect("a site").to_owned();
        let before = client.ended_checks(&site, 1).await.swap_remove(0);
        let newest = loop {
            let newest = client.ended_checks(&site, 1).await.swap_remove(0);
            if newest["uuid"] != before["uuid"] {
                break newest;
            }
            sleep(Duration::from_millis(20)).await;
        };
        assert_eq!(newest["result"]["code"], code, "{newest:?}");
        let uptime = client.get(&format!("/api/v1/sites/{site}/reports/uptime")).await;
        assert_eq!(uptime.status, 200);
    }
    service.stop().await;
    let wrong = Options { demo: false, ..options };
    let refused = Service::start(wrong, config(), mail(folder.path()), None).await;
    assert!(matches!(refused, Err(vedette_local::StartError::Demo(_))));
}
