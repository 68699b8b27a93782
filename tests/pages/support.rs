//! A browser. It keeps its cookie, and checks that every page is valid.

use std::fmt::Write as _;
use std::future::ready;

use lambda_http::Body;
use lambda_http::http::header::{COOKIE, LOCATION, SET_COOKIE};
use lambda_http::http::request::Parts;
use lambda_http::http::{HeaderValue, Request, Response, Uri};
use vedette_dashboard::{Dashboard, PAGES, SETUP_PAGES, find_page};
use vedette_domain::accounts::session::{SessionSecret, SignInLink};
use vedette_domain::alerts::link;
use vedette_domain::id::UserId;
use vedette_http::source::Peer;
use vedette_routing::serve;
use vedette_store::Grant;
use vedette_testkit::{TestApp, granted};

pub(crate) fn head(method: &str, path: &str) -> Parts {
    let uri = Uri::builder().scheme("https").authority("monitor.test").path_and_query(path);
    let request = Request::builder().method(method).uri(uri.build().expect("a path"));
    request.header("host", "monitor.test").body(()).expect("a request").into_parts().0
}

/// Sends a request without a cookie, and without the headers with which browsers say where a form comes from.
pub(crate) async fn ask(test: &TestApp, method: &str, path: &str) -> Response<Body> {
    send(test, &head(method, path), "").await
}

pub(crate) async fn send(test: &TestApp, head: &Parts, form: &str) -> Response<Body> {
    send_with(test, &Dashboard::default(), head, form).await
}

/// Like `send`, but possibly with an OpenID provider.
pub(crate) async fn send_with(
    test: &TestApp,
    dashboard: &Dashboard,
    head: &Parts,
    form: &str,
) -> Response<Body> {
    let form = Body::Text(form.to_owned());
    let response = match find_page(PAGES, head) {
        Some(page) if test.app.service.own_pages.is_none() => {
            let grant = page.route.function.grant();
            let served = serve(dashboard, &test.app, page, head, |_| ready(Ok(form)));
            Box::pin(granted([grant, &Grant::NONE], served)).await
        }
        // On one machine, there are no grants.
        page => {
            let page = page.or_else(|| find_page(SETUP_PAGES, head));
            let page = page.unwrap_or_else(|| panic!("no page is at {} {}", head.method, head.uri));
            Box::pin(serve(dashboard, &test.app, page, head, |_| ready(Ok(form)))).await
        }
    };
    if matches!(response.body(), Body::Text(text) if text.starts_with("<!DOCTYPE")) {
        assert_sound(body(&response));
    }
    response
}

/// Status, headers and body, unchanged except for the hashes in file names.
pub(crate) fn whole(response: &Response<Body>) -> String {
    let mut text = format!("{}\n", response.status());
    for (name, value) in response.headers() {
        writeln!(text, "{name}: {}", value.to_str().expect("text")).expect("written");
    }
    let mut parts = body(response).split("/assets/");
    text = text + "\n" + parts.next().unwrap_or_default();
    for part in parts {
        let (name, rest) = part.split_once('.').expect("an ending");
        let (stem, _) = name.rsplit_once('-').expect("a hash");
        write!(text, "/assets/{stem}-HASH.{rest}").expect("written");
    }
    text
}

pub(crate) fn body(response: &Response<Body>) -> &str {
    let Body::Text(body) = response.body() else { panic!("{response:?}") };
    body
}

/// The main part of a page.
pub(crate) fn said(response: &Response<Body>) -> &str {
    assert_eq!(response.status(), 200, "{response:?}");
    main_part(response)
}

pub(crate) fn main_part(response: &Response<Body>) -> &str {
    let (_, main) = body(response).split_once("<main").expect("the main part");
    let (_, main) = main.split_once('>').expect("the end of its tag");
    main.split_once("</main>").expect("its end").0
}

/// The text of a part of a page, without tags; texts of different elements are separated by a space.
pub(crate) fn text(part: &str) -> String {
    let texts = part.split('<').map(|rest| rest.split_once('>').map_or(rest, |(_, text)| text));
    let words: Vec<&str> = texts.flat_map(str::split_whitespace).collect();
    unescaped(&words.join(" "))
}

/// Where a browser is redirected.
pub(crate) fn sent_to(response: &Response<Body>) -> &str {
    assert_eq!(response.status(), 303, "{response:?}");
    response.headers()[LOCATION].to_str().expect("text")
}

/// What must hold for every page: one heading, no inline scripts or styles, names for form fields and tables, and a
/// link that skips the navigation.
fn assert_sound(page: &str) {
    assert_eq!(page.matches("<h1>").count(), 1, "{page}");
    assert!(page.contains("<html lang=\"en\">") && page.contains("href=\"#main\""), "{page}");
    assert!(page.contains("<script src=\"/assets/app-"), "the own script: {page}");
    let scripts: Vec<&str> = page.split("<script").skip(1).collect();
    assert_eq!(scripts.len(), if page.contains("data-step=") { 3 } else { 1 }, "{page}");
    for script in scripts {
        let is_file = script.starts_with(" src=\"/assets/");
        assert!(is_file && script.contains(".js\" defer></script>"), "another script: {script}");
    }
    for wrong in ["<style", " style=", "=\"javascript:", "http-equiv"] {
        assert!(!page.contains(wrong), "{wrong}: {page}");
    }
    for tag in page.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
        // Values are in double quotes.
        let mut names = tag.split('"').step_by(2).flat_map(|part| part.split(' '));
        assert!(!names.any(|name| name.starts_with("on") && name.contains('=')), "{tag}");
        let name = tag.split(' ').next().unwrap_or_default();
        assert!(tag.matches(" class=\"").count() < 2, "of two classes one counts: {tag}");
        if ["input", "select", "textarea"].contains(&name) && !tag.contains("type=\"hidden\"") {
            let id = tag.split("id=\"").nth(1).and_then(|rest| rest.split('"').next());
            let id = id.unwrap_or_else(|| panic!("{tag} has no id"));
            assert!(page.contains(&format!(" for=\"{id}\">")), "{id} has no label");
        }
        if name == "a" && tag.contains("href=\"http") {
            assert!(tag.contains("rel=\"noreferrer noopener\""), "{tag}");
        }
    }
    assert_eq!(page.matches("<table").count(), page.matches("<caption").count(), "{page}");
    for nav in page.split("<nav").skip(1).filter_map(|rest| rest.split('>').next()) {
        assert!(nav.contains("aria-label=\""), "a nav without a name: {page}");
    }
}

/// The browser of a person.
pub(crate) struct Browser<'a> {
    pub(crate) test: &'a TestApp,
    pub(crate) cookie: Option<String>,
    peer: Option<Peer>,
}

impl<'a> Browser<'a> {
    pub(crate) const fn new(test: &'a TestApp) -> Self {
        Self { test, cookie: None, peer: None }
    }

    /// A browser with an address.
    pub(crate) fn at(test: &'a TestApp, address: &str) -> Self {
        let peer = Some(Peer(address.parse().expect("an address")));
        Self { peer, ..Self::new(test) }
    }

    /// A browser in which a user is signed in.
    pub(crate) async fn of(test: &'a TestApp, user: UserId) -> Self {
        let mut browser = Self::new(test);
        let path = sign_in_link(test, user).await;
        assert_eq!(sent_to(&browser.post(&path, "").await), "/");
        browser
    }

    pub(crate) async fn get(&self, path: &str) -> Response<Body> {
        send(self.test, &self.head("GET", path), "").await
    }

    /// Sends a form of one of our pages.
    pub(crate) async fn post(&mut self, path: &str, form: &str) -> Response<Body> {
        let mut head = self.head("POST", path);
        head.headers.insert("sec-fetch-site", HeaderValue::from_static("same-origin"));
        let response = send(self.test, &head, form).await;
        if let Some(cookie) = response.headers().get(SET_COOKIE) {
            let cookie = cookie.to_str().expect("text").split(';').next().expect("a cookie");
            self.cookie = Some(cookie.to_owned()).filter(|cookie| !cookie.ends_with('='));
        }
        response
    }

    pub(crate) fn head(&self, method: &str, path: &str) -> Parts {
        let mut head = head(method, path);
        self.peer.map(|peer| head.extensions.insert(peer));
        let cookie = self.cookie.as_deref().map(|cookie| format!("theme=x; {cookie}"));
        let cookie = cookie.map(|cookie| HeaderValue::try_from(cookie).expect("a cookie"));
        head.headers.extend(cookie.map(|cookie| (COOKIE, cookie)));
        head
    }
}

/// The path of a new sign-in link for a user.
pub(crate) async fn sign_in_link(test: &TestApp, user: UserId) -> String {
    // Ids in tests are numbered, so each secret is different.
    let secret = test.app.entropy.session_secret().expect("a secret");
    let link = SignInLink::new(&secret, user, test.now());
    test.app.store.create_sign_in_link(&link).await.expect("a link");
    assert!(SessionSecret::parse(&secret.reveal()).is_some());
    link::sign_in("", &secret)
}

/// What a browser would send for a page's forms as they are filled in.
pub(crate) fn fields_of(page: &str) -> Vec<(String, String)> {
    let attribute = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
        Some(unescaped(rest.split('"').next()?))
    };
    let mut fields = Vec::new();
    let mut chosen_in = None;
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a whole tag");
        let name = attribute(tag, "name");
        match (tag.split(' ').next().unwrap_or_default(), name) {
            ("select", name) => chosen_in = name.map(|name| (name, None)),
            ("option", _) => {
                let Some((_, value)) = &mut chosen_in else { continue };
                // If no option is selected, the first one is.
                if value.is_none() || tag.ends_with(" selected") {
                    *value = attribute(tag, "value");
                }
            }
            ("/select", _) => {
                fields.extend(
                    chosen_in.take().map(|(name, value)| (name, value.unwrap_or_default())),
                );
            }
            ("textarea", Some(name)) => {
                let text = unescaped(text);
                fields.push((name, text.strip_prefix('\n').unwrap_or(&text).to_owned()));
            }
            ("input", Some(name)) => {
                let kind = attribute(tag, "type");
                let is_box = matches!(kind.as_deref(), Some("checkbox" | "radio"));
                if !is_box || tag.ends_with(" checked") {
                    fields.push((name, attribute(tag, "value").unwrap_or_default()));
                }
            }
            _ => {}
        }
    }
    fields
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&amp;", "&")
}
