//! Crawls and audits in deployments with many processes that share a limit: no team ever uses all of it.

use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use vedette_checker::{Dropped, Handled};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::Discard;
use vedette_domain::id::SiteId;
use vedette_domain::message::{CheckMessage, Message};
use vedette_testkit::{Member, WebServer, new_team};
use vedette_tests::{Service, scheduled};

use crate::scene::{Scene, dropped, engines, is_finished};

/// A limit of four, of which a team may have three.
const PLACES: usize = 4;
const HOSTS: [&str; 4] = ["one.test", "two.test", "three.test", "four.test"];

/// A service that crawls, and web servers at [`HOSTS`] that do not answer.
async fn hanging() -> (Scene, Vec<WebServer>) {
    let mut scene = Scene::start().await;
    let targets = join_all(HOSTS.map(|_| WebServer::start())).await;
    for target in &targets {
        target.hang();
    }
    let hosts = HOSTS.into_iter().zip(&targets).chain([("site.test", &scene.target)]);
    let hosts: Vec<_> = hosts.collect();
    let service = &mut scene.service;
    service.engines = engines(&hosts);
    service.test.app.service.tools = vec![Tool::BrokenLinks];
    service.test.app.service.concurrency = Some(PLACES);
    (scene, targets)
}

/// The message for the crawl of a member's new site that is due now.
async fn crawl(service: &Service, member: &Member, host: &str) -> CheckMessage {
    let body = json!({ "url": format!("http://{host}") });
    let path = format!("/teams/{}/sites", member.team);
    let created = service.client(member).post(&path, &body).await;
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    service.waiting();
    scheduled(member.team, site, Tool::BrokenLinks, service.test.now())
}

#[tokio::test]
async fn a_team_has_three_of_four_crawls_and_another_team_the_fourth() {
    let (scene, targets) = hanging().await;
    let service = &scene.service;
    let other = new_team(&service.test, Plan::Starter).await;
    let mut crawls = Vec::new();
    for host in HOSTS {
        crawls.push(crawl(service, &scene.owner, host).await);
    }
    let of_other = crawl(service, &other, "site.test").await;

    let (hung, ()) =
        tokio::join!(join_all(crawls[..3].iter().map(|message| service.check(message))), async {
            join_all(targets[..3].iter().map(|target| target.asked(1))).await;
            // Redelivery sends a first run again.
            let handled = service.check(&crawls[3]).await;
            assert!(matches!(handled, Handled::Postponed), "{handled:?}");
            assert_eq!(service.waiting(), []);
            // Only its message contains the slot.
            let now = service.test.now() + Duration::from_millis(1);
            let slot = scheduled(scene.owner.team, crawls[3].site, Tool::BrokenLinks, now);
            let handled = service.check(&slot).await;
            assert!(matches!(handled, Handled::Postponed), "{handled:?}");
            let [(message, delay)] = <[_; 1]>::try_from(service.waiting()).expect("sent once more");
            assert_eq!(message, Message::Check(slot));
            assert!(delay > Duration::ZERO);
            assert!(is_finished(&service.check(&of_other).await));
            for target in &targets {
                target.answer(200);
            }
        });
    assert!(hung.iter().all(is_finished), "{hung:?}");
    // Their leases have expired.
    assert!(is_finished(&service.check(&crawls[3]).await));
}

#[tokio::test]
async fn the_lease_of_a_crawl_that_died_expires() {
    let (scene, targets) = hanging().await;
    let service = &scene.service;
    let mut crawls = Vec::new();
    for host in HOSTS {
        crawls.push(crawl(service, &scene.owner, host).await);
    }
    for (message, target) in crawls.iter().zip(&targets).take(3) {
        tokio::select! {
            handled = service.check(message) => panic!("{handled:?}"),
            () = target.asked(1) => {}
        }
    }
    for target in &targets {
        target.answer(200);
    }
    assert!(matches!(service.check(&crawls[3]).await, Handled::Postponed));
    service.test.advance(Tool::BrokenLinks.limits().run);
    let crawls = join_all(crawls.iter().skip(1).map(|message| service.check(message))).await;
    assert!(crawls.iter().all(is_finished), "{crawls:?}");
}

#[tokio::test]
async fn a_crawl_under_way_is_not_begun_again() {
    let (scene, targets) = hanging().await;
    let service = &scene.service;
    let message = crawl(service, &scene.owner, HOSTS[0]).await;
    let (first, ()) = tokio::join!(service.check(&message), async {
        targets[0].asked(1).await;
        let again = service.check(&message).await;
        assert!(matches!(again, Handled::Postponed), "{again:?}");
        targets[0].answer(200);
    });
    assert!(is_finished(&first), "{first:?}");
    let again = service.check(&message).await;
    assert_eq!(dropped(&again), Dropped::Discarded(Discard::Stale));
}

#[tokio::test]
async fn short_checks_take_no_lease() {
    let mut scene = Scene::start().await;
    scene.service.test.app.service.concurrency = Some(PLACES);
    let site = scene.watch().await;
    scene.service.advance_minutes(5);
    let message = scene.scheduled(site, Tool::Status, scene.service.test.now());
    let writes = scene.service.test.faults().writes();
    assert!(is_finished(&scene.service.check(&message).await));
    assert_eq!(scene.service.test.faults().writes() - writes, 1);
}
