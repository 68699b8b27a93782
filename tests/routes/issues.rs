//! Issues, and the sites and decisions that their tests share.

mod acknowledge;
mod evidence;
mod get;
mod heartbeats;
mod list;
mod note;
mod resolve;
mod snooze;
mod unacknowledge;

use serde_json::{Value, json};
use vedette_domain::accounts::audit::{AuditEvent, IssueDecision};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{IssueId, SiteId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record::{Issue, IssueChange};
use vedette_store::{Audit, SiteWithTools};
use vedette_testkit::{Member, WebServer};
use vedette_tests::Service;

use crate::support::{new_site_with, rows};

/// A site whose first failure opens an issue, and which has failed once.
async fn broken(service: &Service, owner: &Member) -> (SiteId, WebServer) {
    let target = WebServer::start().await;
    target.answer(503);
    let at_once: Value =
        json!({ "tools": { "status": { "settings": { "failures_to_open": 1 } } } });
    let site = new_site_with(service, owner, &target.url, &at_once).await;
    service.consume().await;
    (site, target)
}

/// Runs the status tool five minutes later.
async fn next_run(service: &Service, site: SiteId) {
    service.advance_minutes(5);
    service.run_scheduled(site, Tool::Status).await;
}

async fn stored_site(service: &Service, site: SiteId) -> SiteWithTools {
    service.test.app.store.site(site.partition()).await.expect("read").expect("a site")
}

/// Opens an issue as if a check of its tool had found something.
async fn open(service: &Service, site: SiteId, fingerprint: Fingerprint) -> IssueId {
    let now = service.test.now();
    let after = Issue {
        summary: format!("{fingerprint} on example.com"),
        context: json!({ "measured": null }),
        ..Issue::opened(site, fingerprint, now)
    };
    let id = after.id;
    let change = IssueChange { before: None, after, opening: None, publishes: false };
    let stored = stored_site(service, site).await;
    service
        .test
        .app
        .store
        .commit_issue((&stored.site).into(), &change, None, Audit::None)
        .await
        .expect("saved");
    id
}

/// The only issue.
async fn only(service: &Service, owner: &Member) -> IssueId {
    let list = service.client(owner).get("/issues").await;
    let [issue] = &rows(&list)[..] else { panic!("{list:?}") };
    IssueId::parse(issue["uuid"].as_str().expect("a uuid")).expect("an id")
}

/// The issue of a site that has failed once.
async fn opened(service: &Service, owner: &Member) -> (IssueId, WebServer) {
    let (_site, target) = broken(service, owner).await;
    (only(service, owner).await, target)
}

/// What the audit log of a team says about its issues, oldest first.
async fn decisions(service: &Service, owner: &Member) -> Vec<IssueDecision> {
    let log = service.test.app.store.audit_log(owner.team, None, 50).await.expect("read");
    let decisions = log.entries.into_iter().rev().filter_map(|entry| match entry.event {
        AuditEvent::Issue { decision, .. } => Some(decision),
        _ => None,
    });
    decisions.collect()
}
