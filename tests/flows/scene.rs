//! What the stories share: a team that monitors a web server.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use vedette_checker::{EngineConfig, Engines, Handled};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::timer::Timer;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{IssueId, SiteId};
use vedette_domain::message::{CheckMessage, Message, ReconcileMessage, RunOrder};
use vedette_domain::sites::site::Site;
use vedette_runtime::App;
use vedette_runtime::aws::app;
use vedette_runtime::config::Schedules;
use vedette_testkit::aws::{Aws, deployment};
use vedette_testkit::{ApiResponse, Client, Member, TestApp, WebServer, loopback, new_team};
use vedette_tests::receivers::Receivers;
use vedette_tests::{Service, scheduled};

/// The address of the monitored web server, the same in every story.
pub(crate) const URL: &str = "http://site.test";

/// A team, its service and the web server that it monitors.
pub(crate) struct Scene {
    pub(crate) service: Service,
    pub(crate) owner: Member,
    pub(crate) target: WebServer,
}

impl Scene {
    pub(crate) async fn start() -> Self {
        Self::on_plan(Plan::Agency).await
    }

    pub(crate) async fn on_plan(plan: Plan) -> Self {
        let target = WebServer::start().await;
        let engines = engines(&[("site.test", &target)]);
        let receivers = Receivers::default();
        let service = Service { test: TestApp::start().await, engines, receivers };
        let owner = new_team(&service.test, plan).await;
        Self { service, owner, target }
    }

    /// The service as deployed to an account, on the table of the test.
    pub(crate) fn on_aws(&self, aws: &Aws, schedules: Schedules) -> App {
        let test = &self.service.test;
        let sdk = aws.sdk(test.table.database.http_client());
        app(test.app.service.clone(), deployment(schedules), &sdk)
    }

    pub(crate) fn client(&self) -> Client<'_> {
        self.service.client(&self.owner)
    }

    /// Adds a site, as a client. `status` are the settings of its status checks, and no other tool runs.
    pub(crate) async fn post_site(&self, url: &str, status: &Value) -> ApiResponse {
        let body = json!({ "url": url, "monitoring_settings": only_status(status) });
        self.client().post(&format!("/teams/{}/sites", self.owner.team), &body).await
    }

    /// A site whose first run is still to come.
    pub(crate) async fn create(&self, url: &str, status: &Value) -> SiteId {
        let created = self.post_site(url, status).await;
        assert_eq!(created.status, 201, "{created:?}");
        SiteId::parse(&created.data("uuid")).expect("an id")
    }

    /// A site whose first run is done. The settings say whether retries and follow-ups follow.
    pub(crate) async fn watch_with(&self, status: &Value) -> SiteId {
        let site = self.create(URL, status).await;
        self.service.consume().await;
        site
    }

    /// A site with this address whose first run is done.
    pub(crate) async fn watch_url(&self, url: &str) -> SiteId {
        let site = self.create(url, &json!({})).await;
        self.service.consume().await;
        site
    }

    /// A site whose first run is done.
    pub(crate) async fn watch(&self) -> SiteId {
        self.watch_with(&json!({})).await
    }

    /// A site that is down: its issue is active, and its first follow-up is to come.
    pub(crate) async fn watch_down(&self, status: &Value) -> SiteId {
        let site = self.watch_with(status).await;
        self.target.answer(503);
        self.service.advance_minutes(5);
        self.service.run_scheduled(site, Tool::Status).await;
        self.run_timer(site).await;
        self.service.waiting();
        assert!(self.state(site).await.timer.is_some(), "a follow-up");
        site
    }

    /// Replaces the tags of a site.
    pub(crate) async fn tag(&self, site: SiteId, tags: &[&str]) {
        let body = json!({ "url": self.stored(site).await.0.url, "tags": tags });
        let changed = self.client().patch(&format!("/sites/{site}"), &body).await;
        assert_eq!(changed.status, 200, "{changed:?}");
    }

    pub(crate) async fn stored(&self, site: SiteId) -> (Site, ToolState) {
        let store = &self.service.test.app.store;
        let found = store.site_tool(site.partition(), Tool::Status).await.expect("read");
        found.expect("a site")
    }

    pub(crate) async fn state(&self, site: SiteId) -> ToolState {
        self.stored(site).await.1
    }

    pub(crate) async fn timer(&self, site: SiteId) -> Timer {
        self.state(site).await.timer.expect("a timer")
    }

    /// Runs the outstanding retry or follow-up at its time, or now if that has passed.
    pub(crate) async fn run_timer(&self, site: SiteId) -> Handled {
        let timer = self.timer(site).await;
        self.service.test.set_clock(self.service.test.now().max(timer.due));
        self.service.check(&self.timer_message(site, timer)).await
    }

    /// The message of a retry or follow-up.
    pub(crate) fn timer_message(&self, site: SiteId, timer: Timer) -> CheckMessage {
        let order = RunOrder::Automatic { reason: timer.reason, slot: timer.due };
        CheckMessage { team: self.owner.team, site, tool: Tool::Status, order }
    }

    /// The message of a scheduled run.
    pub(crate) fn scheduled(&self, site: SiteId, tool: Tool, slot: Timestamp) -> CheckMessage {
        scheduled(self.owner.team, site, tool, slot)
    }

    /// Lets the reconciler sync a site's schedules.
    pub(crate) fn sync(&self, site: SiteId) -> Message {
        Message::Reconcile(ReconcileMessage::Sync { team: self.owner.team, site })
    }

    /// Lets the reconciler remove the remains of a site.
    pub(crate) fn purge(&self, site: SiteId) -> Message {
        Message::Reconcile(ReconcileMessage::Purge { team: self.owner.team, site })
    }

    /// Requests a status check, and takes its message out of the queue.
    pub(crate) async fn order(&self, site: SiteId) -> CheckMessage {
        let path = format!("/sites/{site}/checks");
        let ordered = self.client().post(&path, &json!({ "tools": ["status"] })).await;
        assert_eq!(ordered.status, 202, "{ordered:?}");
        let [(message, _)] = <[_; 1]>::try_from(self.service.waiting()).expect("one message");
        check_message(&message)
    }

    /// Handles all messages in the queues until a single, delayed check is left.
    pub(crate) async fn next_check(&self) -> (CheckMessage, Duration) {
        let [(message, delay)] =
            <[_; 1]>::try_from(self.service.consume().await).expect("one message");
        (check_message(&message), delay)
    }

    /// The team's issues of a status, as the API lists them.
    pub(crate) async fn issues(&self, status: &str) -> Vec<Value> {
        let listed = self.client().get(&format!("/issues?status={status}")).await;
        let issues = listed.body["data"].as_array().expect("issues").clone();
        assert_eq!(listed.body["meta"]["total"], issues.len());
        issues
    }

    /// Acknowledges an issue as the owner. The issue is given in the API's form.
    pub(crate) async fn acknowledge(&self, issue: &Value) {
        let id = IssueId::parse(issue["uuid"].as_str().expect("a uuid")).expect("an id");
        self.service.acknowledge(id, self.owner.user).await;
    }

    /// Runs the reconciler once, and returns the messages that it sent, with their delays.
    pub(crate) async fn redeliver(&self) -> Vec<(Message, Duration)> {
        self.service.redeliver().await;
        self.service.waiting()
    }
}

/// Engines that resolve hosts to web servers of the test.
pub(crate) fn engines(hosts: &[(&str, &WebServer)]) -> Engines {
    let detour = |(host, target): &(&str, &WebServer)| {
        let address = target.url.strip_prefix("http://").expect("an address");
        format!("{host}:80:{address}").parse().expect("a detour")
    };
    let mut outbound = loopback();
    outbound.connect_to = hosts.iter().map(detour).collect();
    Engines::new(outbound, EngineConfig::default()).expect("engines")
}

/// Settings of a site on which only status checks run.
fn only_status(settings: &Value) -> Value {
    let mut status = json!({ "enabled": true });
    for (name, value) in settings.as_object().expect("settings") {
        if name == "cadence_minutes" {
            status[name] = value.clone();
        } else {
            status["settings"][name] = value.clone();
        }
    }
    let off = json!({ "enabled": false });
    json!({ "tools": {
        "status": status, "ssl": off, "dns": off, "broken-links": off, "performance": off,
    } })
}

pub(crate) fn check_message(message: &Message) -> CheckMessage {
    match message {
        Message::Check(check) => *check,
        Message::Reconcile(_) | Message::Alert(_) | Message::Mail(_) => {
            panic!("no check: {message:?}")
        }
    }
}

/// Why a message was dropped.
pub(crate) fn dropped(handled: &Handled) -> vedette_checker::Dropped {
    match handled {
        Handled::Dropped(reason) => *reason,
        other => panic!("not dropped: {other:?}"),
    }
}

/// Whether a message led to a saved check.
pub(crate) fn is_finished(handled: &Handled) -> bool {
    matches!(handled, Handled::Finished(_))
}
