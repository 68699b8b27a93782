//! The machine that runs checks has no connection: targets that it cannot reach are not down.

use std::time::Duration;

use serde_json::{Value, json};
use vedette_checker::{EngineConfig, Engines, Handled};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::timer::Timer;
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::id::SiteId;
use vedette_domain::message::{CheckMessage, RunOrder};
use vedette_probe::connectivity::NO_CONNECTIVITY;
use vedette_testkit::{Member, NameServices, advance_timers, loopback, new_team};
use vedette_tests::Service;

/// After this time, the resolvers are asked again.
const PAUSE: Duration = Duration::from_secs(10);

/// A team that monitors a site whose name this machine's name server does not find, and the resolvers that tell whether
/// the machine has a connection.
struct Scene {
    service: Service,
    owner: Member,
    names: NameServices,
    site: SiteId,
}

impl Scene {
    async fn start(tool: Tool) -> Self {
        let names = NameServices::start().await;
        let mut outbound = loopback();
        outbound.extra_roots.push(names.certificate());
        let doh = Some(names.doh().parse().expect("a resolver"));
        let config = EngineConfig { doh, ..EngineConfig::default() };
        let mut service = Service::start().await;
        service.test.app.service.tools = vec![tool];
        service.engines = Engines::behind(names.guard(outbound), config);
        let owner = new_team(&service.test, Plan::Agency).await;
        let path = format!("/teams/{}/sites", owner.team);
        let body = json!({ "url": "https://shop.example" });
        let created = service.client(&owner).post(&path, &body).await;
        let site = SiteId::parse(&created.data("uuid")).expect("an id");
        service.waiting();
        Self { service, owner, names, site }
    }

    /// Runs the tool a cadence later, when the resolvers may be asked again.
    async fn scheduled(&self, tool: Tool) -> Check {
        advance_timers(PAUSE).await;
        self.service.advance_minutes(7 * 24 * 60);
        finished(self.service.run_scheduled(self.site, tool).await)
    }

    /// Runs the outstanding retry or follow-up.
    async fn run_timer(&self) -> Check {
        advance_timers(PAUSE).await;
        let Timer { reason, due } = self.timer().await.expect("a timer");
        self.service.test.set_clock(due);
        let order = RunOrder::Automatic { reason, slot: due };
        let (team, site) = (self.owner.team, self.site);
        let message = CheckMessage { team, site, tool: Tool::Status, order };
        finished(self.service.check(&message).await)
    }

    async fn timer(&self) -> Option<Timer> {
        let store = &self.service.test.app.store;
        let found = store.site_tool(self.site.partition(), Tool::Status).await.expect("read");
        found.expect("a site").1.timer
    }

    /// The fingerprints of active issues.
    async fn issues(&self) -> Vec<Value> {
        let listed = self.service.client(&self.owner).get("/issues").await;
        let issues = listed.body["data"].as_array().expect("issues");
        issues.iter().map(|issue| issue["fingerprint"].clone()).collect()
    }
}

fn finished(handled: Handled) -> Check {
    let Handled::Finished(finished) = handled else { panic!("{handled}") };
    finished.check
}

/// Asserts that a check failed because there is no connection.
fn assert_not_connected(check: &Check) {
    assert_eq!(check.status, CheckStatus::Failed, "{check:?}");
    let error = check.error.as_ref().expect("an error");
    assert_eq!(error.code, NO_CONNECTIVITY);
    assert!(error.message.starts_with("this machine has no connection"), "{}", error.message);
}

#[tokio::test]
async fn failures_without_an_own_connection_open_no_issue() {
    for (tool, runs_to_open, fingerprint) in [
        (Tool::Status, 2, Some("status:down")),
        (Tool::Ssl, 2, Some("ssl:invalid")),
        // The start page is one broken link, and an issue needs more.
        (Tool::BrokenLinks, 2, None),
    ] {
        let scene = Scene::start(tool).await;
        scene.names.set_up(false);
        for _ in 0..3 {
            assert_not_connected(&scene.scheduled(tool).await);
        }
        assert!(scene.issues().await.is_empty(), "{tool}");
        scene.names.set_up(true);
        for _ in 0..runs_to_open {
            assert!(scene.issues().await.is_empty(), "{tool}");
            let check = scene.scheduled(tool).await;
            assert_eq!(check.status, CheckStatus::Completed, "{check:?}");
        }
        assert_eq!(scene.issues().await, Vec::from_iter(fingerprint), "{tool}");
    }
}

#[tokio::test]
async fn a_retry_and_a_follow_up_without_a_connection_stay_outstanding() {
    let scene = Scene::start(Tool::Status).await;
    assert_eq!(scene.scheduled(Tool::Status).await.status, CheckStatus::Completed);
    for reason in [RunReason::ConfirmationRetry, RunReason::IncidentFollowUp] {
        let before = scene.timer().await.expect("a timer");
        assert_eq!(before.reason, reason);
        scene.names.set_up(false);
        assert_not_connected(&scene.run_timer().await);
        let after = scene.timer().await.expect("still to come");
        assert!(after.reason == reason && after.due > before.due, "{after:?}");
        scene.names.set_up(true);
        let check = scene.run_timer().await;
        assert_eq!(check.status, CheckStatus::Completed, "{check:?}");
        assert_eq!(scene.issues().await, ["status:down"]);
    }
}

#[tokio::test]
async fn checks_at_the_same_time_share_one_question() {
    let scene = Scene::start(Tool::Status).await;
    scene.names.set_up(false);
    scene.scheduled(Tool::Status).await;
    let asked = scene.names.connections();
    assert!(asked > 0);
    for _ in 0..5 {
        scene.service.advance_minutes(5);
        let handled = scene.service.run_scheduled(scene.site, Tool::Status).await;
        assert_not_connected(&finished(handled));
    }
    assert_eq!(scene.names.connections(), asked, "not within ten seconds");
    scene.scheduled(Tool::Status).await;
    assert!(scene.names.connections() > asked);
}
