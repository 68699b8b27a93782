//! Recurring runs from buckets: the same runs as with schedules. None is lost or duplicated when a deployment changes
//! from one to the other.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use vedette_domain::checks::schedule::second;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::SiteId;
use vedette_domain::message::{CheckMessage, Message, RunOrder};
use vedette_reconciler::{DISPATCH, dispatch, reconcile};
use vedette_runtime::config::Schedules;
use vedette_store::Grant;
use vedette_testkit::aws::Aws;
use vedette_testkit::{Fault, granted};

use crate::census::assert_balanced;
use crate::reconciliation::partition;
use crate::scene::{Scene, URL};

/// A run: the site, the tool and the instant.
type Slot = (SiteId, Tool, Timestamp);

struct Story {
    scene: Scene,
    aws: Aws,
}

impl Story {
    async fn begin(schedules: Schedules) -> Self {
        let mut story = Self { scene: Scene::start().await, aws: Aws::default() };
        story.scene.service.test.app.service.tools = vec![Tool::Status, Tool::Ssl];
        story.change_to(schedules);
        story
    }

    /// Deploys with the other value of `VEDETTE_SCHEDULES`.
    fn change_to(&mut self, schedules: Schedules) {
        let deployed = self.scene.on_aws(&self.aws, schedules);
        self.scene.service.test.app.scheduler = deployed.scheduler;
    }

    async fn create(&self, path: &str, status: u32, ssl: u32) -> SiteId {
        let tools = json!({
            "status": { "cadence_minutes": status },
            "ssl": { "cadence_minutes": ssl },
        });
        let url = format!("{URL}/{path}");
        let body = json!({ "url": url, "monitoring_settings": { "tools": tools } });
        let path = format!("/teams/{}/sites", self.scene.owner.team);
        let created = self.scene.client().post(&path, &body).await;
        let site = SiteId::parse(&created.data("uuid")).expect("an id");
        Box::pin(self.scene.service.consume()).await;
        site
    }

    /// The messages that the function sends each minute.
    async fn dispatch(&self) -> Vec<CheckMessage> {
        let sent =
            granted([&DISPATCH, &Grant::NONE], Box::pin(dispatch(&self.scene.service.test.app)));
        let count = sent.await.expect("dispatched");
        let messages: Vec<_> = self.scene.service.waiting().into_iter().map(scheduled).collect();
        assert_eq!(messages.len() as u64, count);
        messages
    }

    /// The slots of a tool on a site in the next minutes.
    fn slots(&self, site: SiteId, tool: Tool, cadence: u32, minutes: i64) -> BTreeSet<Slot> {
        let test = &self.scene.service.test;
        let (scale, until) =
            (test.app.service.time_scale, test.now() + SignedDuration::from_mins(minutes));
        let next = |at: &Timestamp| Some(scale.next_after(site, tool, cadence, *at));
        let slots = std::iter::successors(next(&test.now()), next);
        slots.take_while(|slot| *slot <= until).map(|slot| (site, tool, slot)).collect()
    }

    async fn reconcile(&self) -> vedette_reconciler::Reconciled {
        Box::pin(reconcile(&self.scene.service.test.app, &|_| {})).await.expect("reconciled")
    }
}

fn scheduled((message, _): (Message, std::time::Duration)) -> CheckMessage {
    match message {
        Message::Check(message) => message,
        other => panic!("{other:?}"),
    }
}

fn slot(message: &CheckMessage) -> Slot {
    match message.order {
        RunOrder::Automatic { reason: RunReason::Scheduled, slot } => {
            (message.site, message.tool, slot)
        }
        other => panic!("{other:?}"),
    }
}

/// Sends the runs of several minutes, one after another.
async fn minutes(story: &Story, minutes: i64) -> Vec<Slot> {
    let mut sent = Vec::new();
    for _ in 0..minutes {
        story.scene.service.advance_minutes(1);
        sent.extend(Box::pin(story.dispatch()).await.iter().map(slot));
    }
    sent
}

#[tokio::test]
async fn buckets_give_each_site_the_slots_of_its_cadence_and_no_other() {
    let story = Story::begin(Schedules::Polling).await;
    Box::pin(story.dispatch()).await;
    let mut sites = Vec::new();
    for (path, status, ssl) in [("a", 1, 60), ("b", 5, 60), ("c", 5, 720), ("d", 30, 1_440)] {
        sites.push((Box::pin(story.create(path, status, ssl)).await, status, ssl));
    }
    let expected: BTreeSet<_> = sites
        .iter()
        .flat_map(|&(site, status, ssl)| {
            let mut slots = story.slots(site, Tool::Status, status, 120);
            slots.extend(story.slots(site, Tool::Ssl, ssl, 120));
            slots
        })
        .collect();
    let sent = Box::pin(minutes(&story, 120)).await;
    assert_eq!(sent.len(), expected.len(), "each once");
    assert_eq!(sent.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[tokio::test]
async fn the_runs_of_a_minute_are_spread_over_it() {
    let mut story = Story::begin(Schedules::Polling).await;
    let mut sites = Vec::new();
    for number in 0..25 {
        sites.push(Box::pin(story.create(&number.to_string(), 1, 1_440)).await);
    }
    Box::pin(story.dispatch()).await;
    let deployed = story.scene.on_aws(&story.aws, Schedules::Polling);
    story.scene.service.test.app.queue = deployed.queue;
    story.aws.account().make_queues(["status", "ssl"]);

    // The function starts ten seconds late, and a minute was skipped.
    story.scene.service.test.advance(SignedDuration::from_secs(130));
    Box::pin(dispatch(&story.scene.service.test.app)).await.expect("dispatched");
    let now = story.scene.service.test.now();
    let account = story.aws.account();
    let mut sent: Vec<_> = account.queues["status"]
        .iter()
        .map(|sent| {
            let message: CheckMessage = serde_json::from_str(&sent.body).expect("a run");
            (slot(&message), sent.delay.as_secs())
        })
        .collect();
    sent.sort_unstable();
    let late = now - SignedDuration::from_secs(10) - SignedDuration::from_mins(1);
    let mut expected: Vec<_> = sites
        .iter()
        .flat_map(|&site| {
            let begins = u64::from(second(site, Tool::Status));
            let slots =
                [(late, 0), (late + SignedDuration::from_mins(1), begins.saturating_sub(10))];
            slots.map(|(slot, delay)| ((site, Tool::Status, slot), delay))
        })
        .collect();
    expected.sort_unstable();
    assert_eq!(sent, expected);
    assert!(sent.iter().any(|(_, delay)| *delay > 30), "{sent:?}");
    assert_eq!(account.calls_of("SendMessageBatch"), 6, "ten a call, and each minute by itself");
}

#[tokio::test]
async fn the_cadences_of_a_tool_share_calls() {
    let mut story = Story::begin(Schedules::Polling).await;
    for (number, cadence) in [1, 1, 1, 5, 5, 5, 10, 10].into_iter().enumerate() {
        Box::pin(story.create(&number.to_string(), cadence, 1_440)).await;
    }
    Box::pin(story.dispatch()).await;
    let deployed = story.scene.on_aws(&story.aws, Schedules::Polling);
    story.scene.service.test.app.queue = deployed.queue;
    story.aws.account().make_queues(["status", "ssl"]);
    story.scene.service.advance_minutes(10);
    let sent = Box::pin(dispatch(&story.scene.service.test.app)).await.expect("dispatched");
    let account = story.aws.account();
    let status = account.queues["status"].len();
    assert_eq!((status, sent), (3 * 10 + 3 * 2 + 2, (status + account.queues["ssl"].len()) as u64));
    let calls = account.calls_of("SendMessageBatch");
    assert_eq!(calls, 10 + account.queues["ssl"].len() as u64, "one a minute and tool");
}

#[tokio::test]
async fn a_site_changes_its_bucket_with_its_cadence_and_leaves_it_with_its_tool() {
    let story = Story::begin(Schedules::Polling).await;
    let site = Box::pin(story.create("shop", 5, 1_440)).await;
    let patch = async |tools: Value| {
        let body =
            json!({ "url": format!("{URL}/shop"), "monitoring_settings": { "tools": tools } });
        let client = story.scene.client();
        let patched =
            client.send("PATCH", &format!("/sites/{site}"), body.to_string().into()).await;
        assert_eq!(patched.status, 200, "{patched:?}");
        story.scene.service.consume().await;
        Box::pin(story.dispatch()).await;
    };
    patch(json!({ "status": { "cadence_minutes": 10 }, "ssl": { "enabled": false } })).await;
    let expected = story.slots(site, Tool::Status, 10, 60);
    assert_eq!(Box::pin(minutes(&story, 60)).await, expected.into_iter().collect::<Vec<_>>());
    patch(json!({ "status": { "enabled": false }, "ssl": { "enabled": false } })).await;
    assert_eq!(Box::pin(minutes(&story, 60)).await, []);
}

#[tokio::test]
async fn minutes_that_were_missed_are_made_up_for_and_those_that_were_cut_off_are_sent_again() {
    let story = Story::begin(Schedules::Polling).await;
    let site = Box::pin(story.create("shop", 5, 1_440)).await;
    Box::pin(story.dispatch()).await;
    let expected = story.slots(site, Tool::Status, 5, 11);
    story.scene.service.advance_minutes(11);
    // The messages are sent, and then the process dies.
    story.scene.service.test.faults().on_write(1, Fault::CrashBefore);
    let app = &story.scene.service.test.app;
    let done = story.scene.service.test.faults().until_crash(Box::pin(dispatch(app))).await;
    assert!(done.is_none(), "it was not cut off");
    let again: BTreeSet<_> = Box::pin(story.dispatch()).await.iter().map(slot).collect();
    assert_eq!(
        again.into_iter().filter(|(_, tool, _)| *tool == Tool::Status).collect::<BTreeSet<_>>(),
        expected
    );
    assert_eq!(Box::pin(story.dispatch()).await, [], "a minute is sent once");
    story.scene.service.advance_minutes(24 * 60);
    let late = Box::pin(story.dispatch()).await;
    let oldest = story.scene.service.test.now() - SignedDuration::from_mins(15);
    assert!(late.iter().map(slot).all(|(_, _, slot)| slot > oldest), "{late:?}");
}

#[tokio::test]
async fn no_run_is_lost_or_counted_twice_on_the_way_from_schedules_to_buckets_and_back() {
    let mut story = Story::begin(Schedules::Each).await;
    let site = Box::pin(story.create("shop", 5, 1_440)).await;
    assert_eq!(story.aws.account().schedules.len(), 2);
    assert_eq!(Box::pin(minutes(&story, 5)).await, [], "no buckets");

    story.change_to(Schedules::Polling);
    assert_eq!(
        Box::pin(minutes(&story, 5)).await,
        [],
        "the schedules go on until it is reconciled"
    );
    let reconciled = Box::pin(story.reconcile()).await;
    assert_eq!((reconciled.put, reconciled.retired), (2, 2));
    assert!(story.aws.account().schedules.is_empty());
    let expected = story.slots(site, Tool::Status, 5, 10);
    let sent = Box::pin(minutes(&story, 10)).await;
    let status: BTreeSet<_> =
        sent.into_iter().filter(|(_, tool, _)| *tool == Tool::Status).collect();
    assert_eq!(status, expected);

    // If both send a run, it counts once.
    story.scene.service.advance_minutes(5);
    for message in Box::pin(story.dispatch()).await {
        story.scene.service.check(&message).await;
        story.scene.service.check(&message).await;
    }
    assert_balanced(&story.scene.service).await;

    story.change_to(Schedules::Each);
    assert!(
        !Box::pin(minutes(&story, 5)).await.is_empty(),
        "the buckets go on until it is reconciled"
    );
    let reconciled = Box::pin(story.reconcile()).await;
    assert_eq!((reconciled.put, reconciled.retired), (2, 2));
    assert_eq!(story.aws.account().schedules.len(), 2);
    assert_eq!(Box::pin(minutes(&story, 5)).await, []);
    assert_eq!(Box::pin(story.reconcile()).await.retired, 0);
}

#[tokio::test]
async fn a_site_that_cannot_be_read_keeps_the_schedules_of_before() {
    let mut story = Story::begin(Schedules::Each).await;
    let spoilt = Box::pin(story.create("spoilt", 5, 1_440)).await;
    Box::pin(story.create("shop", 5, 1_440)).await;
    let table = &story.scene.service.test.table;
    table.set(&partition(spoilt), "A", "cfg", "spoilt").await;
    story.change_to(Schedules::Polling);
    let reconciled = Box::pin(story.reconcile()).await;
    assert_eq!((reconciled.put, reconciled.unreadable, reconciled.retired), (2, 1, 2));
    let left: Vec<_> = story.aws.account().schedules.keys().cloned().collect();
    assert_eq!(left, [Tool::Ssl, Tool::Status].map(|tool| format!("{spoilt}-{tool}")));

    // Nothing remains of a site that is gone.
    let gone = story.scene.service.test.app.entropy.site_id().expect("an id");
    story.aws.account().schedules.insert(format!("{gone}-status"), Value::Null);
    assert_eq!(Box::pin(story.reconcile()).await.retired, 1);
    assert_eq!(story.aws.account().schedules.len(), 2);
}
