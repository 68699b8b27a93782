//! The pages that emails link to, as a reader and a mail program request them.

use std::future::ready;

use futures::future::join;
use lambda_http::Body;
use vedette_dashboard::{Dashboard, PAGES};
use vedette_domain::accounts::audit::By;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::{Channel, Filter, LinkKey, SecretUrl, Target};
use vedette_domain::alerts::delivery::Content;
use vedette_domain::alerts::link;
use vedette_domain::id::{ChannelId, IssueId, SiteId, TeamId};
use vedette_domain::issues::Fingerprint;
use vedette_routing::{find, serve};
use vedette_store::{Audit, ChannelRef, Grant};
use vedette_testkit::{TestApp, granted};

use crate::support::{ask, body, head, said, text, whole};

const TEAM: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
const CHANNEL: &str = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
const KEY: &str = "07070707070707070707070707070707";

async fn start(name: &str) -> TestApp {
    let test = TestApp::start().await;
    let target = Target::email("ada@example.com").expect("an address");
    add(&test, CHANNEL, name, target).await;
    test
}

async fn add(test: &TestApp, id: &str, name: &str, target: Target) {
    let id = ChannelId::parse(id).expect("an id");
    let key = LinkKey::from_random([7; LinkKey::BYTES]);
    let filter = Filter::default();
    let channel = Channel::new(id, team(), name, target, filter, key, test.now());
    test.app.store.put_channel(&channel, Audit::None).await.expect("saved");
}

fn team() -> TeamId {
    TeamId::parse(TEAM).expect("an id")
}

async fn stored(test: &TestApp) -> Channel {
    let place = ChannelRef { team: team(), id: ChannelId::parse(CHANNEL).expect("an id") };
    test.app.store.channel(place).await.expect("read").expect("a channel")
}

fn path(page: &str) -> String {
    format!("/channels/{TEAM}/{CHANNEL}/{page}?key={KEY}")
}

#[tokio::test]
async fn an_address_is_confirmed_by_its_reader() {
    let test = start("Ops").await;
    let asked = ask(&test, "GET", &path("confirm")).await;
    insta::assert_snapshot!(whole(&asked), @r##"
    200 OK
    content-type: text/html; charset=utf-8
    cache-control: no-store
    x-content-type-options: nosniff
    referrer-policy: same-origin
    content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
    vary: accept-encoding
    cross-origin-opener-policy: same-origin
    cross-origin-resource-policy: same-origin
    strict-transport-security: max-age=31536000

    <!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><meta name="color-scheme" content="light dark"><title>Confirm this address · Vedette</title><link rel="icon" href="/assets/icon-unknown-HASH.svg"><link rel="stylesheet" href="/assets/app-HASH.css"><script src="/assets/app-HASH.js" defer></script></head><body><a class="skip" href="#main">Skip to the content</a><div id="band"></div><main class="lone" id="main"><div class="stack"><svg class="mark up" width="40" height="40" viewBox="0 0 28 28" aria-hidden="true"><rect width="28" height="28" rx="7.5"></rect><path d="M7 11.5 12.5 20.5 19 11.8"></path><circle cx="20.75" cy="7.75" r="2.6"></circle><rect class="sq" x="17.5" y="4.5" width="6.5" height="6.5" rx="1.5"></rect></svg><h1>Confirm this address</h1></div><p>Send alerts from the channel <b><bdi>Ops</bdi></b> to <b><bdi>ada@example.com</bdi></b>?</p><form class="stack lg" method="post"><button class="main">Confirm</button></form></main></body></html>
    "##);
    assert_eq!(stored(&test).await.since, None, "a scanner that follows links confirms nothing");
    let confirmed = ask(&test, "POST", &path("confirm")).await;
    insta::assert_snapshot!(text(said(&confirmed)), @r#"This address is confirmed Alerts from the channel Ops are sent to ada@example.com . Each of them has a link to unsubscribe."#);
    let channel = stored(&test).await;
    assert_eq!((channel.since, channel.rev), (Some(test.now()), 2));
    for method in ["GET", "POST"] {
        assert_eq!(said(&ask(&test, method, &path("confirm")).await), said(&confirmed));
    }
    assert_eq!(stored(&test).await, channel);
}

#[tokio::test]
async fn an_address_is_unsubscribed_by_its_reader() {
    let test = start("Ops").await;
    ask(&test, "POST", &path("confirm")).await;
    let asked = ask(&test, "GET", &path("unsubscribe")).await;
    insta::assert_snapshot!(text(said(&asked)), @r#"Unsubscribe this address Send no more alerts from the channel Ops to ada@example.com ? Unsubscribe"#);
    assert!(stored(&test).await.is_on());
    let done = ask(&test, "POST", &path("unsubscribe")).await;
    insta::assert_snapshot!(text(said(&done)), @r#"This address is unsubscribed No alerts from the channel Ops are sent to ada@example.com . To get them again, ask the team that monitors these websites to enable the channel."#);
    let channel = stored(&test).await;
    let disabled = channel.disabled.as_ref().expect("disabled");
    assert_eq!((disabled.at, &*disabled.reason), (test.now(), "unsubscribed by its recipient"));
    // Neither a second time nor an older mail changes anything.
    for (method, page) in
        [("POST", "unsubscribe"), ("GET", "unsubscribe"), ("GET", "confirm"), ("POST", "confirm")]
    {
        assert_eq!(said(&ask(&test, method, &path(page)).await), said(&done), "{method} {page}");
    }
    assert_eq!(stored(&test).await, channel);
    // Nobody else can agree in the reader's place.
    vedette_actions::enable_channel(&test.app, &channel, By::operator(test.now()))
        .await
        .expect("enabled");
    assert!(!stored(&test).await.is_on());
    let queued = test.app.store.deliveries((&channel).into()).await.expect("read").queued;
    assert!(
        queued.iter().any(|queued| matches!(queued.content, Content::Confirmation { .. })),
        "{queued:?}"
    );
    ask(&test, "POST", &path("confirm")).await;
    assert!(stored(&test).await.is_on());
}

#[tokio::test]
async fn who_has_no_key_learns_nothing() {
    let test = start("Ops").await;
    let chat = "3f2504e0-4f89-41d3-9a0c-0305e82c3302";
    let url = SecretUrl::new("https://hooks.slack.com/services/T/B/x");
    add(&test, chat, "Chat", Target::Slack(Slack { url })).await;
    let before = test.table.dump().await;
    let other = ask(&test, "GET", &format!("/channels/{TEAM}/{TEAM}/confirm?key={KEY}")).await;
    insta::assert_snapshot!(whole(&other), @r##"
404 Not Found
content-type: text/html; charset=utf-8
cache-control: no-store
x-content-type-options: nosniff
referrer-policy: same-origin
content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
cross-origin-opener-policy: same-origin
cross-origin-resource-policy: same-origin
strict-transport-security: max-age=31536000

<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><meta name="color-scheme" content="light dark"><title>Page not found · Vedette</title><link rel="icon" href="/assets/icon-unknown-HASH.svg"><link rel="stylesheet" href="/assets/app-HASH.css"><script src="/assets/app-HASH.js" defer></script></head><body><a class="skip" href="#main">Skip to the content</a><div id="band"></div><main class="lone" id="main"><div class="stack"><svg class="mark up" width="40" height="40" viewBox="0 0 28 28" aria-hidden="true"><rect width="28" height="28" rx="7.5"></rect><path d="M7 11.5 12.5 20.5 19 11.8"></path><circle cx="20.75" cy="7.75" r="2.6"></circle><rect class="sq" x="17.5" y="4.5" width="6.5" height="6.5" rx="1.5"></rect></svg><h1>Page not found</h1></div><p>The link is incomplete, or the page it led to has been deleted.</p></main></body></html>
    "##);
    for place in [
        format!("{TEAM}/{CHANNEL}/PAGE"),
        format!("{TEAM}/{CHANNEL}/PAGE?key="),
        format!("{TEAM}/{CHANNEL}/PAGE?key={}8", &KEY[1..]),
        format!("{TEAM}/{CHANNEL}/PAGE?key={KEY}0"),
        format!("{TEAM}/{chat}/PAGE?key={KEY}"),
        format!("{CHANNEL}/{CHANNEL}/PAGE?key={KEY}"),
        format!("{TEAM}/x/PAGE?key={KEY}"),
        format!("{TEAM}/%00/PAGE?key={KEY}"),
    ] {
        for page in ["confirm", "unsubscribe"] {
            for method in ["GET", "POST"] {
                let path = format!("/channels/{}", place.replace("PAGE", page));
                let refused = ask(&test, method, &path).await;
                assert_eq!(whole(&refused), whole(&other), "{method} {path}");
            }
        }
    }
    assert_eq!(test.table.dump().await, before);
}

#[tokio::test]
async fn a_name_stays_text() {
    let test = start("<script>alert(1)</script>\"'&amp;\u{202e}").await;
    for (method, page) in
        [("GET", "confirm"), ("GET", "unsubscribe"), ("POST", "confirm"), ("POST", "unsubscribe")]
    {
        let response = ask(&test, method, &path(page)).await;
        let name = "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&amp;amp;\u{202e}</bdi>";
        assert!(said(&response).contains(name), "{}", said(&response));
    }
}

#[tokio::test]
async fn an_issue_is_named_and_nothing_of_it_is_shown() {
    let test = start("Ops").await;
    let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("an id");
    let issue = IssueId::new(site, Fingerprint::StatusDown, test.now());
    let shown = ask(&test, "GET", &link::issue("", issue)).await;
    insta::assert_snapshot!(text(said(&shown)), @r#"Sign in to see this issue Members of the team see this issue here after they sign in . You can also read it with the API or the command line: GET /api/v1/issues/01a1f860-8ec0-8100-8a55-6c1f3b7d9e01 vedette issue show 01a1f860-8ec0-8100-8a55-6c1f3b7d9e01"#);
    for wrong in [TEAM, "x", "%3Cscript%3E"] {
        assert_eq!(ask(&test, "GET", &format!("/issues/{wrong}")).await.status(), 404, "{wrong}");
    }
}

#[tokio::test]
async fn two_who_act_at_once_are_both_heard() {
    let test = start("Ops").await;
    let (confirm, unsubscribe) = (path("confirm"), path("unsubscribe"));
    let both = join(ask(&test, "POST", &confirm), ask(&test, "POST", &unsubscribe));
    let (confirmed, unsubscribed) = Box::pin(both).await;
    assert_eq!((confirmed.status().as_u16(), unsubscribed.status().as_u16()), (200, 200));
    assert!(stored(&test).await.disabled.is_some());
}

#[tokio::test]
async fn where_the_table_fails_a_page_says_so_and_no_more() {
    let test = start("Ops").await;
    test.table.database.close().await;
    let failed = ask(&test, "POST", &path("confirm")).await;
    assert_eq!(failed.status(), 503);
    assert_eq!(failed.headers()["retry-after"], "5");
    assert!(body(&failed).contains("<p>The service is unavailable. Please try again.</p>"));
}

#[tokio::test]
async fn a_mail_program_unsubscribes_in_its_readers_place() {
    let test = start("Ops").await;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../events/dashboard/unsubscribe.json");
    let event = std::fs::read_to_string(path).expect("an event");
    let (head, _) = lambda_http::request::from_str(&event).expect("a request").into_parts();
    let page = find(PAGES, &head).expect("a page");
    assert_eq!((page.route.method, page.route.path), ("POST", link::UNSUBSCRIBE));
    let done = granted(
        [page.route.function.grant(), &Grant::NONE],
        serve(&Dashboard::default(), &test.app, page, &head, |_| ready(Ok(Body::Empty))),
    )
    .await;
    assert_eq!(done.status(), 200);
    assert!(stored(&test).await.disabled.is_some());
}

/// The links in emails lead to existing pages.
#[test]
fn every_link_has_a_page() {
    let target = Target::email("ada@example.com").expect("an address");
    let id = ChannelId::parse(CHANNEL).expect("an id");
    let key = LinkKey::from_random([7; LinkKey::BYTES]);
    let now = vedette_testkit::START.parse().expect("a timestamp");
    let channel = Channel::new(id, team(), "Ops", target, Filter::default(), key, now);
    for (link, page) in [
        (link::confirm("", &channel), link::CONFIRM),
        (link::unsubscribe("", &channel), link::UNSUBSCRIBE),
    ] {
        for method in ["GET", "POST"] {
            assert_eq!(
                find(PAGES, &head(method, &link)).map(|found| found.route.path),
                Some(page),
                "{link}"
            );
        }
    }
}
