//! Tests only: see `routes`, `flows` and `tidy`. Here is what they share: a whole service whose
//! queues are worked off when a test says so.

use std::sync::LazyLock;
use std::time::Duration;

use flate2::read::GzDecoder;
use jiff::{SignedDuration, Timestamp};
use lambda_http::http::HeaderMap;
use lambda_http::{Body, Request};
use serde_json::{Value, json};
use vedette_api::{answer_within, dispatch};
use vedette_checker::{EngineConfig, Engines, Handled, grants, handle};
use vedette_domain::check::Finish;
use vedette_domain::id::{CheckId, SiteId, TeamId};
use vedette_domain::message::{CheckMessage, Message, RunOrder};
use vedette_domain::plan::Plan;
use vedette_domain::settings::{ExpectedRecords, IssueSettings, Settings};
use vedette_domain::tool::{RunReason, Tool};
use vedette_reconciler::{MAINTENANCE, REDELIVERY};
use vedette_runs::{Recorded, record_run};
use vedette_runtime::Destination;
use vedette_store::Grant;
use vedette_testkit::{Member, TestApp, granted, loopback, new_team};

/// A whole service for one test.
pub struct Service {
    /// Its app, clock, queues and table.
    pub test: TestApp,
    /// Its check engines, which may reach this machine.
    pub engines: Engines,
}

/// What a client got.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The body, null where there is none.
    pub body: Value,
}

impl Answer {
    /// Status and body as one document, for snapshots. Of a site whose settings are those of a new
    /// team on the agency plan, these are left out.
    pub fn shown(&self) -> String {
        let mut answer = self.clone();
        elide_defaults(&mut answer.body);
        answer.shown_whole()
    }

    /// The same with everything.
    pub fn shown_whole(&self) -> String {
        let body = serde_json::to_string_pretty(&self.body).expect("json");
        format!("{} {body}", self.status)
    }

    /// A header's text, empty where it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The text of a field of `data`.
    pub fn data(&self, field: &str) -> String {
        self.body["data"][field].as_str().unwrap_or_default().to_owned()
    }
}

fn elide_defaults(body: &mut Value) {
    const PLAN: Plan = Plan::Agency;
    static DEFAULTS: LazyLock<[(&str, Value); 2]> = LazyLock::new(|| {
        let settings = Settings::defaults(PLAN);
        let records = ExpectedRecords::new();
        let of_issues = json!(IssueSettings::new(&settings, &records, PLAN));
        [("monitoring", json!({ "settings": settings })), ("issue_settings", of_issues)]
    });
    match body {
        Value::Object(fields) => {
            for (name, value) in fields {
                if DEFAULTS.iter().any(|(known, default)| name == known && value == default) {
                    *value = json!("<the team's>");
                } else {
                    elide_defaults(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(elide_defaults),
        _ => {}
    }
}

/// A client with a token.
pub struct Client<'a> {
    service: &'a Service,
    authorization: Option<String>,
    headers: Vec<(&'static str, String)>,
    left: Duration,
}

impl Service {
    /// A service without users.
    pub async fn start() -> Self {
        let engines = Engines::new(loopback(), EngineConfig::default()).expect("engines");
        Self { test: TestApp::start().await, engines }
    }

    /// A service with a team on the agency plan.
    pub async fn with_team() -> (Self, Member) {
        let service = Self::start().await;
        let owner = new_team(&service.test, Plan::Agency).await;
        (service, owner)
    }

    /// A client with a member's token.
    pub fn client(&self, member: &Member) -> Client<'_> {
        self.client_with(Some(&format!("Bearer {}", member.secret)))
    }

    /// A client with this `Authorization` header, or without one.
    pub fn client_with(&self, authorization: Option<&str>) -> Client<'_> {
        let authorization = authorization.map(str::to_owned);
        Client { service: self, authorization, headers: Vec::new(), left: Duration::MAX }
    }

    /// Takes the messages that wait in all queues, and what is left of their delays.
    pub fn waiting(&self) -> Vec<(Message, Duration)> {
        Destination::ALL.into_iter().flat_map(|queue| self.test.queue.drain(queue)).collect()
    }

    /// Works off messages, and those they bring about, until only delayed ones are left; returns
    /// these.
    pub async fn work_off(&self) -> Vec<(Message, Duration)> {
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
            Message::Maintenance(maintenance) => {
                let kept = Box::pin(vedette_reconciler::maintain(&self.test.app, maintenance));
                granted([&MAINTENANCE, &Grant::NONE], kept).await.expect("kept");
            }
        }
    }

    /// One pass of redelivery; what it sent waits in the queues.
    pub async fn redeliver(&self) {
        let pass = Box::pin(vedette_reconciler::redeliver(&self.test.app));
        granted([&REDELIVERY, &Grant::NONE], pass).await.expect("redelivered");
    }

    /// Delivers one check message and says what became of it.
    pub async fn check(&self, message: &CheckMessage) -> Handled {
        // Boxed, here and below: without optimization, a test that awaits many of these futures
        // would be too large for its stack.
        let handled = Box::pin(handle(&self.test.app, &self.engines, message));
        granted(grants(message.tool), handled).await.expect("handled")
    }

    /// Ends a run of now as an engine would end it.
    pub async fn end_run(&self, site: SiteId, check: CheckId, finish: Finish) -> Recorded {
        let app = &self.test.app;
        let found = app.store.site_tool(site.partition(), check.tool()).await.expect("read");
        let team = found.expect("a site").0.team;
        let context = app.store.run_context(team, site, check.tool()).await.expect("read");
        let (run, state) = context.expect("a site").begin(check, app.service.time_scale);
        Box::pin(record_run(app, &run, state, &finish)).await.expect("recorded")
    }

    /// Runs a tool on a site as its schedule would, at a slot that is now.
    pub async fn run_scheduled(&self, site: SiteId, tool: Tool) -> Handled {
        let found = self.test.app.store.site_tool(site.partition(), tool).await.expect("read");
        let team = found.expect("a site").0.team;
        self.check(&scheduled(team, site, tool, self.test.now())).await
    }

    /// Moves the clock on by minutes.
    pub fn advance_minutes(&self, minutes: i64) {
        self.test.advance(SignedDuration::from_mins(minutes));
    }
}

/// The message of a scheduled run.
pub fn scheduled(team: TeamId, site: SiteId, tool: Tool, slot: Timestamp) -> CheckMessage {
    let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
    CheckMessage { team, site, tool, order }
}

impl Client<'_> {
    /// The same client, sending one more header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The same client, for whose requests an invocation has only so much time.
    #[must_use]
    pub const fn with_time(mut self, left: Duration) -> Self {
        self.left = left;
        self
    }

    /// GETs a path below `/api/v1`, query included.
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Body::Empty).await
    }

    /// POSTs a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Body::Text(body.to_string())).await
    }

    /// PATCHes with a JSON body.
    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, Body::Text(body.to_string())).await
    }

    /// DELETEs a path.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, Body::Empty).await
    }

    /// Sends any request, routed as the gateway does.
    pub async fn send(&self, method: &str, path: &str, body: Body) -> Answer {
        let uri = format!("https://monitor.test/api/v1{path}");
        let mut request = lambda_http::http::Request::builder().method(method).uri(&uri);
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let request: Request = request.body(body).expect("a request");
        let (head, body) = request.into_parts();
        let (route, head) = dispatch(head);
        let request = Request::from_parts(head, body);
        let answer = answer_within(&self.service.test.app, route, request, self.left);
        let response = granted(route.grants(), Box::pin(answer)).await;
        let (parts, body) = response.into_parts();
        let body = match body {
            Body::Text(text) => serde_json::from_str(&text).expect("json"),
            Body::Binary(packed) => {
                serde_json::from_reader(GzDecoder::new(&*packed)).expect("json, with gzip")
            }
            _ => Value::Null,
        };
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }
}
