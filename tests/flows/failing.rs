//! The list of failing sites follows the checks, whatever happens in between, and costs almost nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record;
use vedette_testkit::Spent;

use crate::census::assert_balanced;
use crate::scene::{Scene, URL};
use vedette_store::Audit;

impl Scene {
    async fn failing(&self) -> BTreeMap<SiteId, Timestamp> {
        let trouble = self.service.test.app.store.trouble(self.owner.team).await.expect("read");
        let active = trouble.issues.iter().map(|issue| issue.monitor);
        assert!(active.clone().all(|site| !trouble.failing.contains_key(&site)), "{trouble:?}");
        trouble.failing
    }

    /// Runs the next scheduled check, which finds this code, and returns its cost.
    async fn check(&self, site: SiteId, code: u16) -> Spent {
        self.target.answer(code);
        self.service.advance_minutes(5);
        let meter = self.service.test.meter();
        let message = self.scheduled(site, Tool::Status, self.service.test.now());
        meter.start();
        self.service.check(&message).await;
        meter.stop()
    }
}

#[tokio::test]
async fn a_transition_takes_two_write_units_and_what_repeats_it_none() {
    let scene = Scene::start().await;
    let site = scene.watch_with(&json!({ "failures_to_open": 9 })).await;
    let faults = scene.service.test.faults();
    let mut costs = Vec::new();
    for code in [200, 503, 503, 200, 200, 503] {
        let items = faults.transacted_items();
        let spent = scene.check(site, code).await;
        assert_eq!((spent.reads, spent.round_trips, spent.rounds), (2.0, 2, 2), "{code}");
        costs.push((faults.transacted_items() - items, spent.writes));
    }
    // The retry of a failed check adds 1 to the work index when it is set or cleared, and 2 when it is moved.
    let (calm, began, repeated, ended) = ((0, 1.0), (2, 4.0 + 1.0), (0, 1.0 + 2.0), (2, 4.0 + 1.0));
    assert_eq!(costs, [calm, began, repeated, ended, calm, began]);
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn the_list_of_sites_takes_no_call_more() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let trouble = async || {
        let meter = scene.service.test.meter();
        meter.start();
        let trouble = scene.service.test.app.store.trouble(scene.owner.team).await.expect("read");
        (trouble.issues.len(), trouble.failing.len(), meter.stop())
    };
    let spent = Spent { reads: 0.5, writes: 0.0, round_trips: 1, rounds: 1 };
    assert_eq!(trouble().await, (0, 0, spent));
    scene.check(site, 503).await;
    assert_eq!(trouble().await, (0, 1, spent));
    scene.check(site, 503).await;
    assert_eq!(trouble().await, (1, 0, spent));
    // The other pages need less of it.
    let meter = scene.service.test.meter();
    meter.start();
    let attention = scene.service.test.app.store.attention(scene.owner.team).await.expect("read");
    assert_eq!((attention.is_critical, attention.unacknowledged), (true, 1));
    assert_eq!(meter.stop(), spent);
}

#[tokio::test]
async fn a_site_is_listed_since_its_first_failure_until_an_issue_or_a_success() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let since = scene.service.test.now() + jiff::SignedDuration::from_mins(5);
    scene.check(site, 503).await;
    assert_eq!(scene.failing().await, [(site, since)].into());
    scene.check(site, 503).await;
    assert_eq!(scene.failing().await, [].into(), "an issue is open");
    let issue = scene.service.test.app.store.issue(site.partition(), Fingerprint::StatusDown).await;
    let issue = issue.expect("read").expect("an issue").id;
    scene.service.resolve(issue, scene.owner.user).await;
    assert_eq!(scene.failing().await, [(site, since)].into(), "it still fails");
    assert_balanced(&scene.service).await;
    scene.check(site, 200).await;
    assert_eq!(scene.failing().await, [].into());
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn a_resolution_that_was_decided_on_an_older_check_lists_nothing() {
    let scene = Scene::start().await;
    let site = scene.watch_down(&json!({ "successes_to_resolve": 2 })).await;
    let store = &scene.service.test.app.store;
    let (stored, read) = scene.stored(site).await;
    let next = read.resolved_by_hand(Fingerprint::StatusDown, scene.service.test.now());
    let issue = store.issue(site.partition(), Fingerprint::StatusDown).await.expect("read");
    let issue = issue.expect("an issue");
    let (id, user) = (issue.id, scene.owner.user);
    let change = record::resolve(issue, user, scene.service.test.now()).expect("active");
    // A check comes in between, and succeeds.
    scene.target.answer(200);
    scene.run_timer(site).await;
    let tool = Some((Tool::Status, &read, &next));
    let refused = store.commit_issue((&stored).into(), &change, tool, Audit::None).await;
    assert!(refused.is_err_and(|error| error.is_conflict()));
    assert_eq!(scene.failing().await, [].into());
    scene.service.resolve(id, user).await;
    assert_eq!(scene.failing().await, [].into(), "the newest check succeeded");
    assert_balanced(&scene.service).await;
}

#[tokio::test]
async fn a_site_that_moves_to_another_url_fails_until_its_next_check() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    scene.check(site, 503).await;
    let moved = json!({ "url": format!("{URL}/moved") });
    let answer = scene.client().patch(&format!("/sites/{site}"), &moved).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(scene.failing().await.contains_key(&site));
    scene.check(site, 200).await;
    assert_eq!(scene.failing().await, [].into());
    assert_balanced(&scene.service).await;
}
