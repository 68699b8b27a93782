//! The first runs of a new site are free. Its crawl and its audit are counted, and deleting the site does not give them
//! back. The directory records the first run that completes.

use jiff::SignedDuration;
use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::{CheckMessage, Message};

use crate::scene::{Scene, URL};

/// All tools except these.
const SHORT: [Tool; 3] = [Tool::Status, Tool::Ssl, Tool::Dns];

/// A team on a plan, in a service with all tools.
async fn start(plan: Plan) -> Scene {
    let mut scene = Scene::on_plan(plan).await;
    scene.service.test.app.service.tools = Tool::ALL.to_vec();
    scene
}

impl Scene {
    /// Adds a site, with the settings of the team.
    async fn add(&self, url: &str) -> SiteId {
        let path = format!("/teams/{}/sites", self.owner.team);
        let created = self.client().post(&path, &json!({ "url": url })).await;
        assert_eq!(created.status, 201, "{created:?}");
        SiteId::parse(&created.data("uuid")).expect("an id")
    }

    async fn remove(&self, site: SiteId) {
        assert_eq!(self.client().delete(&format!("/sites/{site}")).await.status, 204);
    }

    /// Runs the reconciler, which starts the first runs of new sites without waiting for them. Returns them by tool, in
    /// the order of the sites.
    async fn first_runs(&self) -> Vec<(SiteId, Tool)> {
        for (message, _) in self.service.waiting() {
            self.service.deliver(&message).await;
        }
        let sent = self.service.waiting().into_iter().filter_map(|(message, _)| match message {
            Message::Check(CheckMessage { site, tool, .. }) => Some((site, tool)),
            Message::Reconcile(_) | Message::Alert(_) | Message::Mail(_) => None,
        });
        sent.collect()
    }

    /// The tools that run at once on a new site, which is deleted afterwards.
    async fn first_runs_at(&self, url: &str) -> Vec<Tool> {
        let site = self.add(url).await;
        let runs = self.first_runs().await;
        self.remove(site).await;
        runs.into_iter().map(|(_, tool)| tool).collect()
    }

    /// Crawls and audits pages of a host at once.
    async fn use_up(&self, host: &str, times: usize) {
        for number in 1..=times {
            let url = format!("{host}/{number}");
            assert_eq!(self.first_runs_at(&url).await, Tool::ALL, "{url}");
        }
    }

    /// Adds sites at once, and returns how many of them are crawled at once.
    async fn crawled_of_many(&self, urls: &[&str]) -> usize {
        let sites: Vec<Value> = urls.iter().map(|url| json!({ "url": url })).collect();
        let path = format!("/teams/{}/sites/bulk", self.owner.team);
        let answer = self.client().post(&path, &json!({ "sites": sites })).await;
        let created = answer.body["data"]["created"].as_array().expect("sites").clone();
        assert_eq!(created.len(), urls.len(), "{answer:?}");
        let runs = self.first_runs().await;
        for site in created {
            self.remove(SiteId::parse(site["uuid"].as_str().expect("an id")).expect("an id")).await;
        }
        runs.into_iter().filter(|(_, tool)| *tool == Tool::BrokenLinks).count()
    }
}

#[tokio::test]
async fn the_eleventh_site_of_a_starters_day_has_no_first_crawl_and_audit() {
    let scene = start(Plan::Starter).await;
    for number in 0..10 {
        let runs = scene.first_runs_at(&format!("http://{number}.test")).await;
        assert_eq!(runs, Tool::ALL, "{number}");
    }
    assert_eq!(scene.first_runs_at("http://10.test").await, SHORT);
    assert_eq!(scene.first_runs_at("http://11.test").await, SHORT);
    scene.service.advance_minutes(24 * 60);
    assert_eq!(scene.first_runs_at("http://10.test").await, Tool::ALL, "the next day");
}

#[tokio::test]
async fn deleting_a_site_and_creating_it_again_gives_no_first_crawl_and_audit() {
    let scene = start(Plan::Starter).await;
    scene.use_up("http://site.test", 5).await;
    for url in ["http://site.test/1", "http://site.test/shop", "https://SITE.test:8443"] {
        assert_eq!(scene.first_runs_at(url).await, SHORT, "{url}");
    }
    let other = vedette_testkit::new_team(&scene.service.test, Plan::Starter).await;
    let path = format!("/teams/{}/sites", other.team);
    scene.service.client(&other).post(&path, &json!({ "url": "http://site.test" })).await;
    assert_eq!(scene.first_runs().await.len(), Tool::ALL.len(), "another team's");
    scene.service.advance_minutes(24 * 60);
    assert_eq!(scene.first_runs_at("http://site.test/shop").await, Tool::ALL, "the next day");
}

#[tokio::test]
async fn sites_that_are_created_together_are_counted_as_well() {
    let scene = start(Plan::Starter).await;
    let pages = ["", "/cart", "/search", "/contact", "/about", "/jobs"];
    let pages = pages.map(|page| format!("http://shop.test{page}"));
    let pages: Vec<_> = pages.iter().map(String::as_str).collect();
    assert_eq!(scene.crawled_of_many(&pages[..4]).await, 4, "the pages of one shop");
    assert_eq!(scene.crawled_of_many(&pages[2..]).await, 1, "of five of a host in a day");
    let hosts = ["http://a.test", "http://b.test", "http://c.test"];
    assert_eq!(scene.crawled_of_many(&hosts).await, 3);
    let hosts = ["http://d.test", "http://e.test", "http://f.test"];
    assert_eq!(scene.crawled_of_many(&hosts).await, 2, "of ten in a day");
}

#[tokio::test]
async fn what_is_not_crawled_at_once_is_crawled_by_its_schedule() {
    let scene = start(Plan::Starter).await;
    scene.use_up("http://site.test", 5).await;
    let site = scene.add("http://site.test").await;
    scene.first_runs().await;
    let schedules = scene.service.test.app.scheduler.list().await.expect("schedules");
    assert!(schedules.contains(&(site, Tool::BrokenLinks)));
    scene.service.advance_minutes(60);
    let outstanding = scene.redeliver().await;
    let is_long = |message: &Message| matches!(message, Message::Check(run) if run.tool.is_long());
    assert!(!outstanding.iter().any(|(message, _)| is_long(message)), "{outstanding:?}");
}

#[tokio::test]
async fn sites_created_at_once_are_counted_once_each() {
    let scene = start(Plan::Starter).await;
    scene.use_up("http://site.test", 4).await;
    let sites = ["http://site.test/1", "http://site.test/2", "http://site.test/3"];
    futures::future::join_all(sites.map(|url| scene.add(url))).await;
    let runs = scene.first_runs().await;
    assert_eq!(runs.iter().filter(|(_, tool)| *tool == Tool::BrokenLinks).count(), 1);
    assert_eq!(runs.len(), SHORT.len() * 3 + 2);
}

#[tokio::test]
async fn deleting_a_site_does_not_shorten_the_wait_for_the_next_order() {
    let scene = start(Plan::Starter).await;
    let order = async |site: SiteId| {
        let asked = json!({ "tools": ["broken-links"] });
        scene.client().post(&format!("/sites/{site}/checks"), &asked).await
    };
    let site = scene.add("http://site.test/a").await;
    assert_eq!(order(site).await.status, 202);
    scene.remove(site).await;
    scene.service.advance_minutes(4);
    let again = scene.add("http://site.test/b").await;
    let refused = order(again).await;
    let message = "Broken links checks can only be run every 5 minutes for this site.";
    assert_eq!((refused.status, &refused.body["message"]), (422, &json!(message)));
    let elsewhere = scene.add("http://elsewhere.test").await;
    assert_eq!(order(elsewhere).await.status, 202);
    scene.service.advance_minutes(1);
    assert_eq!(order(again).await.status, 202);
}

#[tokio::test]
async fn a_first_run_that_ends_after_another_one_was_ordered_is_one_that_completed() {
    let scene = Scene::start().await;
    let site = scene.create(URL, &json!({})).await;
    scene.service.waiting();
    scene.service.deliver(&scene.sync(site)).await;
    let [(first, _)] = <[_; 1]>::try_from(scene.service.waiting()).expect("one message");
    scene.service.test.advance(SignedDuration::from_secs(1));
    let ordered = scene.order(site).await;
    scene.service.deliver(&first).await;
    scene.service.check(&ordered).await;
    let rows = scene.service.test.app.store.directory(scene.owner.team, 10).await.expect("rows");
    assert!(rows.iter().all(|row| row.is_checked), "{rows:?}");
}
