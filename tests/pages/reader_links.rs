//! The links in messages with which their readers respond to an issue without signing in.

use jiff::SignedDuration;
use lambda_http::http::HeaderValue;
use lambda_http::http::header::ORIGIN;
use serde_json::json;
use vedette_domain::accounts::audit::{Actor, AuditEvent};
use vedette_domain::alerts::channel::{Channel, Filter};
use vedette_domain::id::IssueId;
use vedette_domain::issues::record::Issue;
use vedette_testkit::channels::{add_channel, chat};
use vedette_testkit::{Member, WebServer};
use vedette_tests::Service;
use vedette_tests::receivers::Message;

use crate::issues::broken;
use crate::support::{Browser, ask, head, main_part, said, send, text};

/// The address of the dashboard in links.
const BASE: &str = "https://monitor.test";

/// An outage that a chat was notified of, and the path of the link in its message.
struct Outage {
    service: Service,
    owner: Member,
    channel: Channel,
    target: WebServer,
    issue: IssueId,
    link: String,
}

impl Outage {
    async fn announced() -> Self {
        let (mut service, owner) = Service::with_team().await;
        service.test.app.service.base_url = Some(BASE.to_owned());
        let channel =
            add_channel(&service.test.app, owner.team, ("Ops", chat()), Filter::default()).await;
        let (target, issue) = broken(&service, &owner).await;
        let link = link_in_message(&service).await;
        Self { service, owner, channel, target, issue, link }
    }

    async fn issue(&self) -> Issue {
        let store = &self.service.test.app.store;
        let found = store.issue(self.issue.partition(), self.issue.fingerprint()).await;
        found.expect("read").expect("an issue")
    }

    async fn get(&self) -> lambda_http::http::Response<lambda_http::Body> {
        ask(&self.service.test, "GET", &self.link).await
    }

    async fn respond(&self, how: &str) -> lambda_http::http::Response<lambda_http::Body> {
        ask(&self.service.test, "POST", &format!("{}&respond={how}", self.link)).await
    }
}

async fn link_in_message(service: &Service) -> String {
    service.deliver_alerts().await;
    let [received] = &service.receivers.take()[..] else { panic!("one message") };
    let Message::Alert(alert) = &received.message else { panic!("an alert") };
    let link = alert.respond.as_ref().expect("a link");
    link.url.strip_prefix(BASE).expect("the address").to_owned()
}

#[tokio::test]
async fn a_reader_acknowledges_an_issue_without_signing_in() {
    let outage = Outage::announced().await;
    let before = outage.issue().await;
    let asked = outage.get().await;
    insta::assert_snapshot!(text(said(&asked)), @"<b onclick=x>‏ is down: HTTP 503 Service Unavailable For 0 s Acknowledge Snooze for 1 hour Snooze for 8 hours Everybody who reads the channel Ops can do this. Open the issue to see more.");
    assert_eq!(outage.issue().await, before, "a scanner that follows links changes nothing");
    assert_eq!(ask(&outage.service.test, "HEAD", &outage.link).await.status(), 200);

    let done = outage.respond("acknowledge").await;
    insta::assert_snapshot!(text(said(&done)), @"<b onclick=x>‏ is down: HTTP 503 Service Unavailable For 0 s Acknowledged by a reader of the channel Ops , 2026-11-20 09:54 UTC Snooze for 1 hour Snooze for 8 hours Everybody who reads the channel Ops can do this. Open the issue to see more.");
    let client = outage.service.client(&outage.owner);
    let shown = client.get(&format!("/issues/{}", outage.issue)).await;
    let issue = &shown.body["data"];
    assert_eq!(
        (&issue["status"], &issue["acknowledged_by"]),
        (&json!("acknowledged"), &json!(null))
    );
    let entry = &issue["timeline"][1];
    let channel = json!(outage.channel.id);
    assert_eq!((&entry["user"], &entry["channel_uuid"]), (&json!(null), &channel));
    let store = &outage.service.test.app.store;
    let log = store.audit_log(outage.owner.team, None, 10).await.expect("read");
    let by = Actor::ReaderOf(outage.channel.id);
    let entry = log.entries.iter().find(|entry| entry.actor == by).expect("an entry");
    assert!(matches!(entry.event, AuditEvent::Issue { .. }), "{entry:?}");
    let log = client.get(&format!("/teams/{}/audit-log", outage.owner.team)).await;
    let mut entries = log.body["data"].as_array().expect("entries").iter();
    let entry = entries.find(|entry| entry["actor"] == "reader").expect("an entry");
    assert_eq!(entry["channel_uuid"], channel);

    let acknowledged = outage.issue().await;
    for response in [outage.respond("acknowledge").await, outage.get().await] {
        assert_eq!(text(said(&response)), text(said(&done)));
    }
    assert_eq!(outage.issue().await, acknowledged, "and nothing changes twice");

    let browser = Browser::of(&outage.service.test, outage.owner.user).await;
    let page = text(said(&browser.get(&format!("/issues/{}", outage.issue)).await));
    assert!(page.contains("A reader of the channel Ops acknowledged it"), "{page}");
    assert!(page.contains("Acknowledged by a reader of a channel."), "{page}");
    let log = browser.get(&format!("/teams/{}/audit-log", outage.owner.team)).await;
    assert!(text(said(&log)).contains("a reader of the channel Ops"), "{}", text(said(&log)));
    let outages = browser.get(&format!("/teams/{}/outages", outage.owner.team)).await;
    assert!(text(said(&outages)).contains("A reader of a channel"), "{}", text(said(&outages)));
}

#[tokio::test]
async fn the_page_of_channels_says_how_fast_they_are() {
    let outage = Outage::announced().await;
    let browser = Browser::of(&outage.service.test, outage.owner.user).await;
    let list = browser.get(&format!("/teams/{}/channels", outage.owner.team)).await;
    let says = "Openings: half within 1 s, 99% within 1 s (1 in 30 days)";
    assert!(text(said(&list)).contains(says), "{}", text(said(&list)));
}

#[tokio::test]
async fn a_reader_pauses_the_reminders_of_an_issue() {
    let outage = Outage::announced().await;
    let now = outage.service.test.now();
    for (how, hours) in [("snooze-1h", 1), ("snooze-8h", 8), ("snooze-1h", 8)] {
        let done = outage.respond(how).await;
        let until = now + SignedDuration::from_hours(hours);
        assert_eq!(outage.issue().await.snoozed_until, Some(until), "{how}");
        assert!(text(said(&done)).contains("Reminders are paused until"), "{}", text(said(&done)));
    }
    let log = outage.service.test.app.store.audit_log(outage.owner.team, None, 10).await;
    let entries = log.expect("read").entries;
    let by_readers = entries.iter().filter(|entry| matches!(entry.actor, Actor::ReaderOf(_)));
    assert_eq!(by_readers.count(), 2);
    let browser = Browser::of(&outage.service.test, outage.owner.user).await;
    let page = text(said(&browser.get(&format!("/issues/{}", outage.issue)).await));
    assert!(page.contains("A reader of the channel Ops paused reminders until"), "{page}");
}

#[tokio::test]
async fn a_button_on_a_page_of_another_service_works() {
    let outage = Outage::announced().await;
    let mut head = head("POST", &format!("{}&respond=acknowledge", outage.link));
    head.headers.insert(ORIGIN, HeaderValue::from_static("https://ntfy.sh"));
    head.headers.insert("sec-fetch-site", HeaderValue::from_static("cross-site"));
    let response = send(&outage.service.test, &head, "").await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    assert!(outage.issue().await.lifecycle.acknowledgement().is_some());
}

#[tokio::test]
async fn a_link_ends_with_its_opening() {
    let outage = Outage::announced().await;
    outage.service.resolve(outage.issue, outage.owner.user).await;
    let over = outage.issue().await;
    let said_over = "This issue is over";
    for response in [outage.get().await, outage.respond("acknowledge").await] {
        assert!(text(said(&response)).starts_with(said_over), "{}", text(said(&response)));
    }
    assert_eq!(outage.issue().await, over);
    let said_earlier = "This link is about an earlier outage";
    outage.service.advance_minutes(5);
    let found = outage.service.test.app.store.issue_with_monitor(over.id).await.expect("read");
    let site = found.expect("a site").monitor.id();
    outage.service.run_scheduled(site, over.id.fingerprint().tool()).await;
    let open = outage.issue().await;
    assert!(open.lifecycle.is_active(), "{:?}", outage.target.url);
    assert!(text(said(&outage.respond("acknowledge").await)).starts_with(said_earlier));
    assert_eq!(outage.issue().await, open);
}

#[tokio::test]
async fn a_link_expires_and_can_be_turned_off_or_replaced() {
    let outage = Outage::announced().await;
    let client = outage.service.client(&outage.owner);
    let path = format!("/teams/{}/channels/{}", outage.owner.team, outage.channel.id);
    let turned_off = client.patch(&path, &json!({ "without_links": true })).await;
    assert_eq!(turned_off.body["data"]["without_links"], json!(true));
    for response in [outage.get().await, outage.respond("acknowledge").await] {
        assert_eq!(response.status(), 410);
        assert!(text(main_part(&response)).starts_with("This link no longer works"));
    }
    let turned_on = client.patch(&path, &json!({ "without_links": false })).await;
    assert_eq!(turned_on.body["data"].get("without_links"), None);
    assert_eq!(outage.get().await.status(), 200);
    outage.service.test.advance(SignedDuration::from_hours(7 * 24));
    for response in [outage.get().await, outage.respond("acknowledge").await] {
        assert_eq!(response.status(), 410);
        assert!(text(main_part(&response)).starts_with("This link has expired"));
    }
    assert!(outage.issue().await.lifecycle.acknowledgement().is_none());
    let moved = json!({ "url": "https://hooks.slack.com/services/T/B/another" });
    assert_eq!(outage.service.client(&outage.owner).patch(&path, &moved).await.status, 200);
    assert_eq!(
        outage.get().await.status(),
        404,
        "the links belong to the readers of the old place"
    );
}

#[tokio::test]
async fn who_has_no_link_learns_nothing() {
    let outage = Outage::announced().await;
    let before = outage.service.test.table.dump().await;
    let other = outage.service.test.app.entropy.channel_id().expect("an id").to_string();
    let (path, query) = outage.link.split_once('?').expect("a query");
    let unsigned = query.split("&signature").next().expect("a part");
    let other_issue = path.replace(&outage.issue.to_string(), &other);
    for link in [
        path.to_owned(),
        format!("{path}?{unsigned}"),
        format!("{path}?{unsigned}&signature=AAAAAAAAAAAAAAAAAAAAAA"),
        format!("{path}?{}", query.replace("opening=1", "opening=2")),
        format!("{path}?{}", query.replace("expires=1", "expires=2")),
        format!("{other_issue}?{query}"),
        format!("{}?{query}", path.replace(&outage.owner.team.to_string(), &other)),
        format!("{}?{query}", path.replace(&outage.channel.id.to_string(), &other)),
    ] {
        for (method, link) in
            [("GET", link.clone()), ("POST", format!("{link}&respond=acknowledge"))]
        {
            let refused = ask(&outage.service.test, method, &link).await;
            assert_eq!(refused.status(), 404, "{method} {link}");
        }
    }
    for how in ["", "resolve"] {
        assert_eq!(outage.respond(how).await.status(), 400, "{how}");
    }
    assert_eq!(outage.service.test.table.dump().await, before);
}
