//! What requests and checks read and write in the table, measured between SDK and table. ACCESS_PATTERNS.md next to the
//! store shows the same: this test writes its table of units, or compares it with the measurement.

use std::fs;
use std::path::Path;

use serde_json::json;
use vedette_actions::{confirm_subscription, subscribe};
use vedette_domain::checks::tool::Tool;
use vedette_domain::expectations::OwnershipRecord;
use vedette_domain::id::{IncidentId, SiteId, StatusPageId, SubscriptionId};
use vedette_domain::message::{CheckMessage, MailRequest, Message};
use vedette_domain::source::Source;
use vedette_domain::status_pages::MailingTopic;
use vedette_runtime::Destination;
use vedette_runtime::config::environment;
use vedette_testkit::{ApiResponse, NameServices, Spent};

use crate::scene::{Scene, URL, is_finished};

/// Where the generated part of the page begins; everything above it is written by hand.
const MARKER: &str = "<!-- `make reference` writes everything below this line. -->\n";

/// The rows of the table so far.
struct Units<'a> {
    scene: &'a Scene,
    rows: Vec<String>,
}

impl Units<'_> {
    fn add(&mut self, what: &str, spent: Spent) {
        let Spent { reads, writes, round_trips, rounds } = spent;
        self.rows.push(format!("| {what} | {reads} | {writes} | {round_trips} | {rounds} |"));
    }

    /// Measures a request, including its authentication and its limits.
    async fn request(
        &mut self,
        what: &str,
        request: impl Future<Output = ApiResponse>,
    ) -> ApiResponse {
        let meter = self.scene.service.test.meter();
        meter.start();
        let response = request.await;
        let spent = meter.stop();
        assert!((200..300).contains(&response.status), "{what}: {response:?}");
        self.add(what, spent);
        response
    }

    /// Measures anything else. What is measured already is not added again.
    async fn call<T>(&mut self, what: &str, call: impl Future<Output = T>) {
        let meter = self.scene.service.test.meter();
        meter.start();
        call.await;
        let spent = meter.stop();
        if !self.rows.iter().any(|row| row.starts_with(&format!("| {what} |"))) {
            self.add(what, spent);
        }
    }

    /// Measures the publication that is outstanding.
    async fn publication(&mut self, what: &str) {
        let meter = self.scene.service.test.meter();
        meter.start();
        let left = self.scene.service.consume().await;
        let spent = meter.stop();
        assert!(left.iter().all(|(message, _)| matches!(message, Message::Check(_))), "{left:?}");
        self.add(what, spent);
    }

    /// Measures a scheduled status check.
    async fn check(&mut self, what: &str, message: &CheckMessage) {
        let meter = self.scene.service.test.meter();
        meter.start();
        let handled = self.scene.service.check(message).await;
        let spent = meter.stop();
        assert!(is_finished(&handled), "{what}: {handled:?}");
        self.add(what, spent);
    }
}

#[tokio::test]
async fn the_page_shows_the_units_that_are_counted() {
    let mut scene = Scene::start().await;
    let names = NameServices::start().await;
    scene.service.test.app.txt_records = names.txt_records();
    let site = scene.watch().await;
    let mut units = Units { scene: &scene, rows: Vec::new() };
    let service = &scene.service;
    let scheduled = || scene.scheduled(site, Tool::Status, service.test.now());

    service.advance_minutes(5);
    units.check("status check, uneventful", &scheduled()).await;
    scene.target.answer(503);
    service.advance_minutes(5);
    units.check("… the first that fails", &scheduled()).await;
    let timer = scene.timer(site).await;
    service.test.set_clock(timer.due);
    units.check("… that opens an issue", &scene.timer_message(site, timer)).await;
    let issue = scene.issues("active").await[0]["uuid"].as_str().expect("a uuid").to_owned();
    scene.target.answer(200);
    let timer = scene.timer(site).await;
    service.test.set_clock(timer.due);
    units.check("… that resolves it", &scene.timer_message(site, timer)).await;

    let client = scene.client();
    let (team, to_site) = (format!("/teams/{}", scene.owner.team), format!("/sites/{site}"));
    let (sites, checks) = (format!("{team}/sites"), format!("{to_site}/checks"));
    units.request("`GET /me`", client.get("/me")).await;
    units.request("`GET /teams/{team}`", client.get(&team)).await;
    units.request("`GET /me/time-zone`", client.get("/me/time-zone")).await;
    let body = json!({ "time_zone": "Europe/Berlin" });
    let change = client.patch("/me/time-zone", &body);
    units.request("`PATCH /me/time-zone`", change).await;
    units.request("`GET /teams/{team}/sites`, one site", client.get(&sites)).await;
    units.request("`GET /sites/{site}`", client.get(&to_site)).await;
    let history = units.request("`GET /sites/{site}/checks`", client.get(&checks)).await;
    let check = history.body["data"][0]["uuid"].as_str().expect("a uuid");
    units.request("`GET /checks/{check}`", client.get(&format!("/checks/{check}"))).await;
    let report = format!("{to_site}/reports/uptime");
    units.request("`GET /sites/{site}/reports/uptime`", client.get(&report)).await;
    let metrics = format!("{team}/metrics");
    units.request("`GET /teams/{team}/metrics`, one site", client.get(&metrics)).await;
    units.request("`GET /issues`, one issue", client.get("/issues?status=resolved")).await;
    units.request("`GET /issues/{issue}`", client.get(&format!("/issues/{issue}"))).await;
    let body = json!({ "url": format!("{URL}/other") });
    let created = units.request("`POST /teams/{team}/sites`", client.post(&sites, &body)).await;
    let other = SiteId::parse(&created.data("uuid")).expect("an id");
    let body = json!({ "url": URL, "name": "Shop" });
    units.request("`PATCH /sites/{site}`, its name", client.patch(&to_site, &body)).await;
    let body = json!({ "tools": ["status"] });
    units.request("`POST /sites/{site}/checks`, one tool", client.post(&checks, &body)).await;
    units.request("`DELETE /sites/{site}`, before the purge", client.delete(&to_site)).await;

    let site = scene.watch_url(&format!("{URL}/window")).await;
    let windows = format!("{team}/maintenance-windows");
    let body = json!({ "sites": [site], "duration_minutes": 60 });
    let add = client.post(&windows, &body);
    units.request("`POST /teams/{team}/maintenance-windows`", add).await;
    units.request("`GET /teams/{team}/maintenance-windows`", client.get(&windows)).await;
    service.advance_minutes(5);
    let inside = scene.scheduled(site, Tool::Status, service.test.now());
    units.check("status check in a maintenance window", &inside).await;

    let path = format!("/sites/{other}/expectations");
    units.request("`GET /sites/{site}/expectations`", client.get(&path)).await;
    let body = json!({ "expectations": [{ "kind": "body_contains", "text": "hello" }] });
    units.request("`PUT /sites/{site}/expectations`", client.put(&path, &body)).await;
    service.consume().await;
    // The first one also keeps its response as evidence.
    service.advance_minutes(5);
    service.run_scheduled(other, Tool::Status).await;
    service.advance_minutes(5);
    let scheduled = scene.scheduled(other, Tool::Status, service.test.now());
    units.check("status check that meets expectations, uneventful", &scheduled).await;
    scene.target.say("bye");
    service.advance_minutes(5);
    let scheduled = scene.scheduled(other, Tool::Status, service.test.now());
    units.check("… the first that does not meet them", &scheduled).await;

    let posting = scene.watch_url(&format!("{URL}/login")).await;
    names.publish(&OwnershipRecord::of(&scene.stored(posting).await.0).expect("a record"));
    let body = json!({ "method": "POST", "post": { "body": "{}" }, "expectations": [] });
    let path = format!("/sites/{posting}/expectations");
    units.request("`PUT /sites/{site}/expectations`, with a POST", client.put(&path, &body)).await;
    service.consume().await;
    service.advance_minutes(5);
    let scheduled = scene.scheduled(posting, Tool::Status, service.test.now());
    units.check("status check that posts, uneventful", &scheduled).await;

    let pages = format!("{team}/status-pages");
    let groups = json!([{ "components": [{ "name": "Shop", "site": other }] }]);
    let body = json!({ "slug": "meridian", "name": "Meridian", "groups": groups });
    let created = client.post(&pages, &body);
    let created = units.request("`POST /teams/{team}/status-pages`, one component", created).await;
    let page = format!("{pages}/{}", created.data("uuid"));
    units.publication("publication of a status page, one component").await;
    let body = json!({ "message": "We know." });
    units.request("`PATCH /teams/{team}/status-pages/{page}`", client.patch(&page, &body)).await;
    let incidents = format!("{page}/incidents");
    let body = json!({ "title": "Delays", "text": "We know." });
    let written = client.post(&incidents, &body);
    units.request("`POST /teams/{team}/status-pages/{page}/incidents`", written).await;
    units.publication("publication of a status page, with an incident").await;
    scene.target.answer(503);
    service.advance_minutes(5);
    let first = scene.scheduled(other, Tool::Status, service.test.now());
    assert!(is_finished(&service.check(&first).await));
    let timer = scene.timer(other).await;
    service.test.set_clock(timer.due);
    let opening = scene.timer_message(other, timer);
    units.check("… that opens an issue, for a team with a status page", &opening).await;
    units.publication("publication of a status page, after that").await;

    let body = json!({ "subscriptions": true });
    assert_eq!(client.patch(&page, &body).await.status, 200);
    service.consume().await;
    let page = StatusPageId::parse(&created.data("uuid")).expect("an id");
    for email in ["ada@example.com", "kate@example.com"] {
        let id = SubscriptionId::of(email);
        let requested =
            subscribe(&service.test.app, scene.owner.team, page, email, Source::Unknown);
        units.call("request for a subscription to a status page", requested).await;
        let pending = service.test.app.store.subscription(page, id).await.expect("read");
        let pending = pending.expect("a subscription");
        let confirmed = confirm_subscription(&service.test.app, &pending, service.test.now());
        units.call("confirmation of a subscription", confirmed).await;
    }
    service.test.queue.drain(Destination::Mailer);
    let body = json!({ "title": "Delays", "text": "We know." });
    let written = client.post(&incidents, &body);
    let incident = units
        .request("`POST /teams/{team}/status-pages/{page}/incidents`, with subscribers", written)
        .await;
    units.publication("publication of a status page with subscribers, with an update").await;
    let incident = IncidentId::parse(&incident.data("uuid")).expect("an id");
    let team = scene.owner.team;
    let topic = MailingTopic::Incident(incident);
    let mailing = MailRequest::Mailing { team, list: page.into(), topic };
    units.call("emails to two subscribers", service.write(&mailing)).await;

    let head = "| | read units | write units | round trips | one after another |\n|---|---:|---:|---:|---:|";
    let generated = format!("{MARKER}\n## Units\n\n{head}\n{}\n", units.rows.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/store/ACCESS_PATTERNS.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (written, kept) = page.split_once(MARKER).expect("a page with the marker");
    if environment("UPDATE_REFERENCE").is_some() {
        return fs::write(&path, format!("{written}{generated}")).expect("written");
    }
    let kept = format!("{MARKER}{kept}");
    assert!(kept == generated, "run `make reference`, ACCESS_PATTERNS.md is stale:\n{generated}");
}
