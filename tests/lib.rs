//! What the tests in `routes`, `flows` and `tidy` share: a whole service whose queues are consumed when a test requests
//! it.

pub mod names;
pub mod reading;
pub mod receivers;

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::{SignedDuration, Timestamp};
use lambda_http::Body;
use lambda_http::http::Request;
use serde_json::Value;
use vedette_api::{PING, answer_ping};
use vedette_checker::{EngineConfig, Engines, Handled, grants, handle};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{IssueId, SiteId, TeamId, UserId};
use vedette_domain::issues::record::{self, Issue};
use vedette_domain::message::{AlertMessage, CheckMessage, MailRequest, Message, RunOrder};
use vedette_embedded::Database;
use vedette_http::response::for_method;
use vedette_mailer::LETTERS;
use vedette_notifier::NOTIFIER;
use vedette_reconciler::{RECONCILE, REDELIVERY};
use vedette_runtime::Destination;
use vedette_store::{Audit, Grant, SiteWithTools};

use vedette_testkit::{ApiResponse, Client, Member, TestApp, granted, loopback, new_team};

use crate::receivers::Receivers;

/// Compresses bytes.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// A whole service for one test.
pub struct Service {
    /// Its app, clock, queues and table.
    pub test: TestApp,
    /// Its check engines, which may reach this machine.
    pub engines: Engines,
    /// Where its channels lead.
    pub receivers: Receivers,
}

impl Service {
    /// A service without users.
    pub async fn start() -> Self {
        Self::on(Database::memory().expect("a database")).await
    }

    /// A service without users, on a database that has no table yet.
    pub async fn on(database: Database) -> Self {
        let engines = Engines::new(loopback(), EngineConfig::default()).expect("engines");
        Self { test: TestApp::on(database).await, engines, receivers: Receivers::default() }
    }

    /// A service with a team on the agency plan.
    pub async fn with_team() -> (Self, Member) {
        let service = Self::start().await;
        let owner = new_team(&service.test, Plan::Agency).await;
        (service, owner)
    }

    /// A client with a member's token.
    pub fn client(&self, member: &Member) -> Client<'_> {
        Client::new(&self.test.app, member)
    }

    /// A client with this `Authorization` header, or without one.
    pub fn client_with(&self, authorization: Option<&str>) -> Client<'_> {
        Client::with_authorization(&self.test.app, authorization)
    }

    /// POSTs a ping without a body. The path is what follows `/ping/`.
    pub async fn ping(&self, path: &str) -> ApiResponse {
        self.ping_with(path, "").await
    }

    /// POSTs a ping.
    pub async fn ping_with(&self, path: &str, body: &str) -> ApiResponse {
        let request = Request::post(format!("https://monitor.test/ping/{path}"));
        self.send_ping(request.body(body.into()).expect("a request")).await
    }

    /// Sends a ping. Its function has only its AWS grants.
    pub async fn send_ping(&self, request: Request<Vec<u8>>) -> ApiResponse {
        let (head, body) = request.into_parts();
        let answered = Box::pin(answer_ping(&self.test.app, &head, &body));
        let answer = granted([&PING, &Grant::NONE], answered).await;
        let (parts, body) = for_method(&head.method, answer).into_parts();
        let body = match body {
            Body::Text(text) => Value::String(text),
            _ => Value::Null,
        };
        let (status, took) = (parts.status.as_u16(), Duration::ZERO);
        ApiResponse { status, headers: parts.headers, body, took }
    }

    /// Takes the messages that wait in all queues except those of alerts and transactional emails, with what is left of
    /// their delays.
    pub fn waiting(&self) -> Vec<(Message, Duration)> {
        let others = [Destination::Alerts, Destination::Mailer];
        let queues = Destination::ALL.into_iter().filter(|queue| !others.contains(queue));
        queues.flat_map(|queue| self.test.queue.drain(queue)).collect()
    }

    /// Consumes messages, and those that they cause, until only delayed ones are left. Returns these.
    pub async fn consume(&self) -> Vec<(Message, Duration)> {
        let mut delayed = Vec::new();
        loop {
            let (later, now): (Vec<_>, Vec<_>) =
                self.waiting().into_iter().partition(|(_, delay)| *delay > Duration::ZERO);
            delayed.extend(later);
            if now.is_empty() {
                return delayed;
            }
            for (message, _) in now {
                self.deliver(&message).await;
            }
        }
    }

    /// Delivers one message.
    pub async fn deliver(&self, message: &Message) {
        match message {
            Message::Check(check) => {
                self.check(check).await;
            }
            Message::Reconcile(maintenance) => {
                let kept = Box::pin(vedette_reconciler::handle(&self.test.app, maintenance));
                granted([&RECONCILE, &Grant::NONE], kept).await.expect("kept");
            }
            Message::Alert(alert) => self.notify(alert).await,
            Message::Mail(mail) => self.write(mail).await,
        }
    }

    /// Delivers one message to the mailer.
    pub async fn write(&self, message: &MailRequest) {
        let written = Box::pin(vedette_mailer::handle(&self.test.app, &self.receivers, message));
        granted([&LETTERS, &Grant::NONE], written).await.expect("written");
    }

    /// Delivers one message to the notifier.
    pub async fn notify(&self, message: &AlertMessage) {
        let notified = Box::pin(vedette_notifier::handle(&self.test.app, &self.receivers, message));
        granted([&NOTIFIER, &Grant::NONE], notified).await.expect("told");
    }

    /// Notifies channels of what can be sent at once. Returns the messages that are delayed.
    pub async fn deliver_alerts(&self) -> Vec<(Message, Duration)> {
        let mut delayed = Vec::new();
        loop {
            let (later, now): (Vec<_>, Vec<_>) = self
                .test
                .queue
                .drain(Destination::Alerts)
                .into_iter()
                .partition(|(_, delay)| *delay > Duration::ZERO);
            delayed.extend(later);
            if now.is_empty() {
                return delayed;
            }
            for (message, _) in now {
                let Message::Alert(message) = message else { panic!("{message:?}") };
                self.notify(&message).await;
            }
        }
    }

    /// Runs redelivery once. The messages that it sends wait in the queues.
    pub async fn redeliver(&self) {
        let pass = Box::pin(vedette_reconciler::redeliver(&self.test.app));
        granted([&REDELIVERY, &Grant::NONE], pass).await.expect("redelivered");
        self.deliver_alerts().await;
    }

    /// Delivers one message of a check, and returns the outcome.
    pub async fn check(&self, message: &CheckMessage) -> Handled {
        // Boxed, here and below: without optimization, a test that awaits many of these futures
        // would be too large for its stack.
        let handled = Box::pin(handle(&self.test.app, &self.engines, message));
        let handled = granted(grants(message.tool), handled).await.expect("handled");
        self.deliver_alerts().await;
        handled
    }

    /// Runs a tool on a site as its schedule would, at a slot that is now.
    pub async fn run_scheduled(&self, site: SiteId, tool: Tool) -> Handled {
        let found = self.test.app.store.site_tool(site.partition(), tool).await.expect("read");
        let team = found.expect("a site").0.team;
        self.check(&scheduled(team, site, tool, self.test.now())).await
    }

    /// Has a member acknowledge an issue.
    pub async fn acknowledge(&self, issue: IssueId, by: UserId) {
        let (found, stored) = self.stored_issue(issue).await;
        let change = record::acknowledge(stored, by, self.test.now()).expect("open");
        self.test
            .app
            .store
            .commit_issue((&found.site).into(), &change, None, Audit::None)
            .await
            .expect("saved");
        vedette_runs::enqueue_alert(&self.test.app, found.site.team, &change).await;
        self.deliver_alerts().await;
    }

    /// Has a member resolve an issue. Its tracker then starts from the beginning.
    pub async fn resolve(&self, issue: IssueId, by: UserId) {
        let (found, stored) = self.stored_issue(issue).await;
        let change = record::resolve(stored, by, self.test.now()).expect("active");
        let (fingerprint, tool) = (issue.fingerprint(), issue.fingerprint().tool());
        let read = &found.tools[&tool];
        let next = read.resolved_by_hand(fingerprint, self.test.now());
        let tool = Some((tool, read, &next));
        self.test
            .app
            .store
            .commit_issue((&found.site).into(), &change, tool, Audit::None)
            .await
            .expect("saved");
        vedette_runs::enqueue_alert(&self.test.app, found.site.team, &change).await;
        self.deliver_alerts().await;
    }

    async fn stored_issue(&self, issue: IssueId) -> (SiteWithTools, Issue) {
        let store = &self.test.app.store;
        let site = store.site(issue.partition()).await.expect("read").expect("a site");
        let stored = store.issue(issue.partition(), issue.fingerprint()).await.expect("read");
        (site, stored.expect("an issue"))
    }

    /// Advances the clock by this many minutes.
    pub fn advance_minutes(&self, minutes: i64) {
        self.test.advance(SignedDuration::from_mins(minutes));
    }
}

/// The message of a scheduled run.
pub fn scheduled(team: TeamId, site: SiteId, tool: Tool, slot: Timestamp) -> CheckMessage {
    let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
    CheckMessage { team, site, tool, order }
}
