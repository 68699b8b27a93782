//! Batches of fifty status checks, as the function of the queue gets them.

use std::time::Duration;

use serde_json::{Value, json};
use vedette_checker::{grants, handle_batch};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::CheckMessage;
use vedette_runtime::config::Schedules;
use vedette_runtime::{Consumer, Destination};
use vedette_testkit::aws::Aws;
use vedette_testkit::{Spent, WebServer, granted};

use crate::census::assert_balanced;
use crate::scene::{Scene, URL, engines};

const QUEUE: Destination = Destination::Tool(Tool::Status);

/// Sites of one team, as many as fit into a batch. The first one is at another web server.
pub(crate) struct Batch {
    pub(crate) scene: Scene,
    other: WebServer,
    consumer: Consumer,
    sites: Vec<SiteId>,
}

impl Batch {
    pub(crate) async fn start() -> Self {
        let mut scene = Scene::start().await;
        let other = WebServer::start().await;
        scene.service.engines = engines(&[("site.test", &scene.target), ("other.test", &other)]);
        let aws = Aws::default();
        aws.account().make_queues([QUEUE.name()]);
        let deployed = scene.on_aws(&aws, Schedules::Polling);
        let consumer = Consumer::new(&deployed, QUEUE).expect("a queue").with_busy(10);
        let mut sites = vec![scene.watch_url("http://other.test").await];
        for number in 1..QUEUE.batch() {
            sites.push(scene.watch_url(&format!("{URL}/{number}")).await);
        }
        Self { scene, other, consumer, sites }
    }

    /// The messages that are due now.
    pub(crate) fn due(&self) -> Vec<CheckMessage> {
        let now = self.scene.service.test.now();
        self.sites.iter().map(|site| self.scene.scheduled(*site, Tool::Status, now)).collect()
    }

    /// Waits until the checks of all sites but the first are saved, and that one waits for its web server.
    async fn until_others_are_saved(&self) {
        let now = self.scene.service.test.now();
        for site in &self.sites[1..] {
            let is_saved = async || {
                let newest = self.scene.state(*site).await.automatic;
                newest.is_some_and(|newest| newest.id().created_at() == now)
            };
            while !is_saved().await {
                tokio::task::yield_now().await;
            }
        }
        self.other.asked(2).await;
    }

    /// Delivers messages together. Returns the numbers of those that failed, and what was logged.
    pub(crate) async fn deliver(&self, messages: &[CheckMessage]) -> (Vec<String>, Vec<Value>) {
        let record = |(number, message): (usize, &CheckMessage)| {
            let body = serde_json::to_string(message).expect("JSON");
            json!({ "messageId": number.to_string(), "receiptHandle": "of-a-test", "body": body,
                "attributes": {}, "messageAttributes": {} })
        };
        let records: Vec<_> = messages.iter().enumerate().map(record).collect();
        let event = serde_json::from_value(json!({ "Records": records })).expect("an event");
        let test = &self.scene.service.test;
        let (engines, time) = (&self.scene.service.engines, Duration::from_mins(2));
        let handled = handle_batch(&test.app, engines, &self.consumer, event, time, "request-1");
        let (response, metrics) = granted(grants(Tool::Status), Box::pin(handled)).await;
        let failed = response.batch_item_failures.into_iter().map(|one| one.item_identifier);
        (failed.collect(), metrics.lines("test", Tool::Status, "request-1", test.now()))
    }
}

#[tokio::test]
async fn a_batch_reads_its_team_once_and_logs_one_line() {
    let batch = Batch::start().await;
    let (service, count) = (&batch.scene.service, QUEUE.batch());
    service.advance_minutes(5);
    let meter = service.test.meter();
    meter.start();
    let (failed, lines) = batch.deliver(&batch.due()).await;
    let Spent { reads, writes, .. } = meter.stop();
    assert_eq!(failed, [""; 0]);
    // For half a unit each: the sites with their tools, the team and its settings.
    assert!((reads - (count as f64 + 1.0)).abs() < 0.01, "{reads}");
    assert!((writes - count as f64).abs() < 0.01, "{writes}");
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&line["Checks"], &line["Failures"]), (&json!(count), &json!(0)));
    assert_eq!(line["Lag"].as_array().map(Vec::len), Some(count));
}

#[tokio::test]
async fn a_slow_check_delays_no_other_and_what_comes_again_counts_once() {
    let batch = Batch::start().await;
    let (target, service) = (&batch.scene.target, &batch.scene.service);
    service.advance_minutes(5);
    let (due, asked) = (batch.due(), target.requests());
    batch.other.hang();
    let (delivered, ()) = tokio::join!(Box::pin(batch.deliver(&due)), async {
        batch.until_others_are_saved().await;
        batch.other.answer(200);
    });
    assert_eq!(delivered.0, [""; 0]);
    assert_eq!(target.requests() - asked, due.len() - 1);

    // The function died before SQS heard of it.
    let writes = service.test.faults().writes();
    let (failed, lines) = batch.deliver(&due).await;
    assert_eq!((failed, &lines[0]["dropped"]), (vec![], &json!(due.len())));
    assert_eq!(service.test.faults().writes(), writes);
    assert_eq!(target.requests() - asked, due.len() - 1);
    assert_balanced(service).await;
}

#[tokio::test]
async fn only_the_check_that_cannot_be_saved_comes_again_and_asks_its_target_no_more() {
    let batch = Batch::start().await;
    let service = &batch.scene.service;
    service.advance_minutes(5);
    let due = batch.due();
    batch.other.hang();
    let ((failed, lines), ()) = tokio::join!(Box::pin(batch.deliver(&due)), async {
        batch.until_others_are_saved().await;
        service.test.faults().refuse_writes(true);
        batch.other.answer(200);
    });
    assert_eq!((failed, &lines[0]["Checks"]), (vec!["0".to_owned()], &json!(due.len() - 1)));

    service.test.faults().refuse_writes(false);
    let asked = batch.other.requests();
    let (failed, lines) = batch.deliver(&due[..1]).await;
    assert_eq!((failed, &lines[0]["Checks"]), (vec![], &json!(1)));
    assert_eq!(batch.other.requests(), asked);
    assert_balanced(service).await;
}

#[tokio::test]
async fn a_batch_follows_what_has_changed_since_its_messages_were_sent() {
    let batch = Batch::start().await;
    let (scene, service) = (&batch.scene, &batch.scene.service);
    service.advance_minutes(5);
    // One message is delivered twice, and the site of another one is gone.
    let mut due = batch.due();
    due.truncate(3);
    due.push(due[0]);
    let deleted =
        scene.client().send("DELETE", &format!("/sites/{}", due[1].site), "".into()).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    let (failed, lines) = batch.deliver(&due).await;
    assert_eq!(failed, [""; 0]);
    assert_eq!((&lines[0]["Checks"], &lines[0]["dropped"]), (&json!(2), &json!(2)));
}
