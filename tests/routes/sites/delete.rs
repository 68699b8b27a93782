//! `DELETE /sites/{site}`: a site is gone at once, with everything that belongs to it.

use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use vedette_checker::{Dropped, Handled};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_testkit::{ApiResponse, Fault, Member, WebServer};
use vedette_tests::{Service, scheduled};

use crate::support::{assert_not_found, new_site, new_site_with};

async fn delete(service: &Service, caller: &Member, site: SiteId) -> ApiResponse {
    service.client(caller).delete(&format!("/sites/{site}")).await
}

#[tokio::test]
async fn a_site_goes_with_its_checks_and_issues() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let target = WebServer::start().await;
    target.answer(503);
    let at_once = json!({ "tools": { "status": { "settings": { "failures_to_open": 1 } } } });
    let site = new_site_with(&service, &owner, &target.url, &at_once).await;
    service.consume().await;
    let check = client.get(&format!("/sites/{site}/checks")).await.body["data"][0]["uuid"].clone();
    let issue = client.get("/issues").await.body["data"][0]["uuid"].clone();
    let paths = [
        format!("/sites/{site}"),
        format!("/sites/{site}/checks"),
        format!("/checks/{}", check.as_str().expect("a check")),
        format!("/issues/{}", issue.as_str().expect("an issue")),
        format!("/issues?site={site}"),
    ];
    for path in &paths {
        assert_eq!(client.get(path).await.status, 200, "{path}");
    }

    let answer = delete(&service, &owner, site).await;
    assert_eq!((answer.shown().as_str(), answer.header("content-type")), ("204 null", ""));
    for path in &paths {
        assert_not_found(&client.get(path).await);
    }
    for status in ["active", "resolved"] {
        let issues = client.get(&format!("/issues?status={status}")).await;
        assert_eq!(issues.body["meta"]["total"], 0);
    }
    assert_not_found(&client.post(&format!("/sites/{site}/checks"), &json!({})).await);
    assert_not_found(&delete(&service, &owner, site).await);
}

#[tokio::test]
async fn nothing_of_a_deleted_site_stays_in_the_table() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let keys = async || -> Vec<_> {
        // What requests leave behind: their counts, the month's quota, the cooldowns of new sites, and the audit log.
        let fleeting = |pk: &str, sk: &str| {
            pk.starts_with("R#") || pk.starts_with("A#") || sk.starts_with("Q#") || sk == "C"
        };
        let items = service.test.table.dump().await;
        items.into_keys().filter(|(pk, sk)| !fleeting(pk, sk)).collect()
    };
    // The use of the token is recorded once an hour.
    service.client(&owner).get("/me").await;
    let before = keys().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    service.client(&owner).post(&format!("/sites/{site}/checks"), &json!({})).await;
    service.waiting();
    assert_ne!(keys().await, before);

    delete(&service, &owner, site).await;
    let waiting = service.waiting();
    assert_eq!(
        waiting,
        [(Message::Reconcile(ReconcileMessage::Purge { team: owner.team, site }), Duration::ZERO)]
    );
    service.deliver(&waiting[0].0).await;
    assert_eq!(keys().await, before);
}

#[tokio::test]
async fn runs_that_come_too_late_bring_nothing_back() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    let run = json!({ "tools": ["status"] });
    client.post(&format!("/sites/{site}/checks"), &run).await;
    let waiting = service.waiting();
    let [(Message::Check(pending), _)] = waiting.as_slice() else { panic!("{waiting:?}") };

    delete(&service, &owner, site).await;
    let requests = target.requests();
    let late = service.check(pending).await;
    assert!(matches!(late, Handled::Dropped(Dropped::Gone)), "{late:?}");
    service.advance_minutes(5);
    let scheduled = scheduled(owner.team, site, Tool::Status, service.test.now());
    let late = service.check(&scheduled).await;
    assert!(matches!(late, Handled::Dropped(Dropped::Gone)), "{late:?}");
    assert_eq!(target.requests(), requests, "a deleted site is left alone");
    assert_not_found(&client.get(&format!("/sites/{site}")).await);
}

#[tokio::test]
async fn a_url_is_free_again() {
    let (service, owner) = Service::with_team().await;
    let first = new_site(&service, &owner, "https://example.com").await;
    delete(&service, &owner, first).await;
    let second = new_site(&service, &owner, "https://example.com").await;
    assert_ne!(first, second);
    assert_not_found(&service.client(&owner).get(&format!("/sites/{first}")).await);
}

#[tokio::test]
async fn of_many_deletions_at_once_one_succeeds() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    new_site(&service, &owner, "https://example.org").await;
    let answers = join_all((0..10).map(|_| delete(&service, &owner, site))).await;
    let (deleted, missed): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 204);
    assert_eq!(deleted.len(), 1);
    missed.iter().for_each(assert_not_found);
    let team = service.client(&owner).get(&format!("/teams/{}", owner.team)).await;
    assert_eq!(team.body["data"]["sites_count"], 1);
}

#[tokio::test]
async fn a_deletion_survives_what_goes_wrong_on_the_way_to_the_table() {
    let (service, owner) = Service::with_team().await;
    for (n, fault) in [Fault::Throttle, Fault::Conflict, Fault::LoseAnswer].into_iter().enumerate()
    {
        let site = new_site(&service, &owner, &format!("https://example.com/{n}")).await;
        service.test.faults().on_write(1, fault);
        let answer = delete(&service, &owner, site).await;
        assert_eq!(answer.status, 204, "{fault:?}: {answer:?}");
    }
    let team = service.client(&owner).get(&format!("/teams/{}", owner.team)).await;
    assert_eq!(team.body["data"]["sites_count"], 0);
}

#[tokio::test]
async fn deleting_a_site_leaves_other_sites() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let other = new_site(&service, &owner, "https://example.org").await;
    service.waiting();
    delete(&service, &owner, site).await;
    service.consume().await;
    let answer = service.client(&owner).get(&format!("/sites/{other}")).await;
    assert_eq!(answer.status, 200);
}
