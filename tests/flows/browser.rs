//! A deployment with a separate browser function: the function does the work, and a checker saves the result.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::{Value, json};
use tokio::sync::Notify;
use vedette_checker::{BrowserFunction, BrowserUnavailable, CheckerError, Dropped, Handled};
use vedette_domain::checks::browser_job::{BrowserAnswer, BrowserJob, BrowserWork, JobHeader};
use vedette_domain::checks::check::{
    BrokenLink, Crawl, CrawlLimits, FinishReason, LinksResult, MAX_URLS, PerformanceResult,
    SkippedLinks, SpeedMetrics,
};
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::checks::tool_state::Discard;
use vedette_domain::id::SiteId;
use vedette_domain::message::{CheckMessage, Message};
use vedette_testkit::aws::Aws;

use crate::scene::{Scene, URL, dropped, engines, is_finished};

/// A service whose checker passes work that needs a browser to the function.
struct Deployed {
    scene: Scene,
    aws: Aws,
}

impl Deployed {
    async fn start() -> Self {
        let (mut scene, aws) = (Scene::start().await, Aws::default());
        let sdk = aws.sdk(scene.service.test.table.database.http_client());
        let function = BrowserFunction::new(&sdk, "vedette-browser".to_owned());
        let engines = engines(&[("site.test", &scene.target)]).with_browser_function(function);
        scene.service.engines = engines;
        scene.service.test.app.service.tools = vec![Tool::BrokenLinks, Tool::Performance];
        scene.service.test.app.service.concurrency = Some(4);
        Self { scene, aws }
    }

    /// A site whose pages are rendered or not, and which has a request header.
    async fn watch(&self, js_rendered: bool) -> SiteId {
        let header = json!({ "name": "Authorization", "value": "Bearer of the site" });
        let body = json!({
            "url": URL,
            "js_rendered": js_rendered,
            "monitoring_settings": { "request_header": header },
        });
        let path = format!("/teams/{}/sites", self.scene.owner.team);
        let created = self.scene.client().post(&path, &body).await;
        self.scene.service.waiting();
        self.scene.service.advance_minutes(1);
        SiteId::parse(&created.data("uuid")).expect("an id")
    }

    fn due(&self, site: SiteId, tool: Tool) -> CheckMessage {
        self.scene.scheduled(site, tool, self.scene.service.test.now())
    }

    /// Makes the function return these statuses and answers in order, and repeat the last one.
    fn answer(&self, answers: impl IntoIterator<Item = (u16, String)>) {
        let answers: Vec<_> = answers.into_iter().collect();
        let next = Arc::new(AtomicU16::new(0));
        self.aws.account().play_browser(move |_| {
            let number = usize::from(next.fetch_add(1, Ordering::Relaxed));
            let answer = answers[number.min(answers.len() - 1)].clone();
            async { answer }
        });
    }

    fn calls(&self) -> u64 {
        self.aws.account().calls_of("Invoke")
    }

    async fn checks(&self, site: SiteId, tool: Tool) -> Vec<Value> {
        let listed = self.scene.client().get(&format!("/sites/{site}/checks?type={tool}")).await;
        listed.body["data"].as_array().expect("a list").clone()
    }
}

fn audited() -> (u16, String) {
    let url = format!("{URL}/");
    let speed_metrics = SpeedMetrics { performance_score: Some(93), ..SpeedMetrics::default() };
    let result = PerformanceResult { response_time: 41.25, url, speed_metrics };
    written(&BrowserAnswer::Audited(Box::new(result)))
}

fn crawled(broken: usize) -> (u16, String) {
    let link = BrokenLink { url: format!("{URL}/gone"), source: URL.to_owned(), status: 404 };
    let limits =
        CrawlLimits { pages: 5_000, links: 75_000, depth: 20, links_per_domain: 500, seconds: 240 };
    let crawl = Crawl {
        finish_reason: FinishReason::Completed,
        limits,
        duration_ms: 2_000,
        js_rendered: true,
        pages: 3,
        links: 9,
        skipped: SkippedLinks::default(),
        traps: 0,
        robots_txt: false,
        sitemap_urls: 0,
        truncated: false,
    };
    let found = u32::try_from(broken).expect("few");
    let result = LinksResult { found, crawled: 3, urls: vec![link; broken], crawl };
    written(&BrowserAnswer::Crawled(result))
}

fn written(answer: &BrowserAnswer) -> (u16, String) {
    (200, serde_json::to_string(answer).expect("JSON"))
}

/// An error of Lambda.
fn refused(status: u16) -> (u16, String) {
    (status, r#"{"Message":"by a test"}"#.to_owned())
}

#[tokio::test]
async fn the_function_is_handed_one_job_and_a_checker_saves_its_answer() {
    let deployed = Deployed::start().await;
    let site = deployed.watch(true).await;
    let (crawl, audit) = (BrowserWork::from(&Default::default()), BrowserWork::Audit);
    for (tool, work, answer) in
        [(Tool::BrokenLinks, crawl, crawled(1)), (Tool::Performance, audit, audited())]
    {
        let header = Some(JobHeader::from(("Authorization", "Bearer of the site")));
        let job = BrowserJob { url: URL.parse().expect("a URL"), header, work };
        // Everything that the function gets.
        let job = serde_json::to_value(&job).expect("JSON");
        deployed.aws.account().play_browser(move |handed| {
            assert_eq!(handed, job);
            let answer = answer.clone();
            async { answer }
        });
        let handled = deployed.scene.service.check(&deployed.due(site, tool)).await;
        let Handled::Finished(finished) = handled else { panic!("{tool}: {handled:?}") };
        assert_eq!(finished.check.status, CheckStatus::Completed, "{finished:?}");
        let [check] = &deployed.checks(site, tool).await[..] else { panic!("one check") };
        assert_eq!(check["status"], "completed", "{check}");
    }
    assert_eq!((deployed.calls(), deployed.scene.target.requests()), (2, 0));
}

#[tokio::test]
async fn a_crawl_that_renders_nothing_needs_no_browser() {
    let deployed = Deployed::start().await;
    let site = deployed.watch(false).await;
    let message = deployed.due(site, Tool::BrokenLinks);
    assert!(is_finished(&deployed.scene.service.check(&message).await));
    assert_eq!(deployed.calls(), 0);
    assert!(deployed.scene.target.requests() > 0);
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_and_counts_once() {
    let deployed = Deployed::start().await;
    let site = deployed.watch(true).await;
    let message = deployed.due(site, Tool::Performance);
    deployed.answer([refused(502), refused(500), audited()]);
    let Scene { service, .. } = &deployed.scene;
    for _ in 0..2 {
        let lost = vedette_checker::handle(&service.test.app, &service.engines, &message).await;
        let lost = lost.expect_err("no answer");
        assert!(
            matches!(lost, CheckerError::BrowserUnavailable(BrowserUnavailable::Unanswered(_))),
            "{lost}"
        );
        assert_eq!(deployed.checks(site, Tool::Performance).await, Vec::<Value>::new());
    }
    assert!(is_finished(&service.check(&message).await));
    let again = service.check(&message).await;
    assert_eq!(dropped(&again), Dropped::Discarded(Discard::Stale));
    assert_eq!(deployed.checks(site, Tool::Performance).await.len(), 1);
    assert_eq!(deployed.calls(), 3);
}

#[tokio::test]
async fn a_message_that_comes_twice_has_the_browser_work_once() {
    let deployed = Deployed::start().await;
    let site = deployed.watch(true).await;
    let message = deployed.due(site, Tool::Performance);
    let (called, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    deployed.aws.account().play_browser({
        let (called, go_on) = (Arc::clone(&called), Arc::clone(&go_on));
        move |_| {
            let (called, go_on) = (Arc::clone(&called), Arc::clone(&go_on));
            async move {
                called.notify_one();
                go_on.notified().await;
                audited()
            }
        }
    });
    let Scene { service, .. } = &deployed.scene;
    let (first, ()) = tokio::join!(service.check(&message), async {
        called.notified().await;
        let again = service.check(&message).await;
        assert!(matches!(again, Handled::Postponed), "{again:?}");
        go_on.notify_one();
    });
    assert!(is_finished(&first), "{first:?}");
    let again = service.check(&message).await;
    assert_eq!(dropped(&again), Dropped::Discarded(Discard::Stale));
    assert_eq!(deployed.calls(), 1);
    assert_eq!(deployed.checks(site, Tool::Performance).await.len(), 1);
}

#[tokio::test]
async fn a_busy_function_postpones_the_run_and_holds_no_lease() {
    let deployed = Deployed::start().await;
    let site = deployed.watch(true).await;
    let message = deployed.due(site, Tool::Performance);
    deployed.answer([refused(429), audited()]);
    let service = &deployed.scene.service;
    let handled = service.check(&message).await;
    assert!(matches!(handled, Handled::Postponed), "{handled:?}");
    let waiting = service.waiting();
    let [(sent, delay)] = &waiting[..] else { panic!("sent once more: {waiting:?}") };
    assert_eq!(*sent, Message::Check(message));
    assert!(!delay.is_zero());
    assert!(is_finished(&service.check(&message).await));
}

#[tokio::test]
async fn an_answer_that_no_crawl_can_have_is_no_observation() {
    let deployed = Deployed::start().await;
    let site = deployed.watch(true).await;
    for answer in [crawled(MAX_URLS + 1), audited(), (200, "null".to_owned())] {
        deployed.answer([answer]);
        deployed.scene.service.advance_minutes(1);
        let message = deployed.due(site, Tool::BrokenLinks);
        let handled = deployed.scene.service.check(&message).await;
        let Handled::Finished(finished) = handled else { panic!("{handled:?}") };
        assert_eq!(finished.check.status, CheckStatus::Failed);
        let error = finished.check.error.as_ref().expect("an error");
        assert_eq!(error.code, "browser_unavailable");
        assert!(finished.issues.is_empty());
    }
    assert!(deployed.scene.issues("open").await.is_empty());
}
