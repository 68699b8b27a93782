//! Jobs that report, or fail to: what opens an issue and when, what resolves it, and what does not count.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use vedette_actions::{ActionError, edit_heartbeat};
use vedette_domain::accounts::audit::By;
use vedette_domain::alerts::channel::Filter;
use vedette_domain::checks::tool::Tool;
use vedette_domain::clock::Pause;
use vedette_domain::heartbeats::input::HeartbeatEdit;
use vedette_domain::id::HeartbeatId;
use vedette_domain::input::Input as _;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::sites::selector::Selector;
use vedette_reconciler::rebuild_all;
use vedette_testkit::Fault;
use vedette_testkit::channels::{chat, webhook};

use crate::scene::Scene;

const RUN: &str = "f7f4f5b4-cf3c-4a0a-9b2c-7dd5b9b0f1a2";

/// A job, and what waits in the queues.
struct Job {
    scene: Scene,
    path: String,
    key: String,
    waiting: Vec<(Timestamp, Message)>,
    redelivery: Timestamp,
}

impl Job {
    async fn start(settings: Value) -> Self {
        let scene = Scene::start().await;
        scene.add_channel("Ops", chat()).await;
        let (path, key) = scene.add_heartbeat("Backup", settings).await;
        let redelivery = scene.service.test.now();
        Self { scene, path, key, waiting: Vec::new(), redelivery }
    }

    /// A job that runs every five minutes and may be a minute late.
    async fn frequent() -> Self {
        Self::start(json!({ "period_minutes": 5, "grace_minutes": 1 })).await
    }

    async fn ping(&self, what: &str) {
        self.scene.ping(&format!("{}{what}", self.key)).await;
    }

    /// Lets time pass. Each message is delivered when it is due, and redelivery runs every minute.
    async fn pass(&mut self, seconds: i64) {
        let (service, test) = (&self.scene.service, &self.scene.service.test);
        let end = test.now() + SignedDuration::from_secs(seconds);
        loop {
            let now = test.now();
            self.waiting.extend(service.waiting().into_iter().map(|(message, delay)| {
                let due = match &message {
                    Message::Reconcile(ReconcileMessage::Deadline { due, .. }) if *due > now => {
                        *due
                    }
                    _ => now + SignedDuration::try_from(delay).expect("a delay"),
                };
                (due, message)
            }));
            let first = (0..self.waiting.len()).min_by_key(|place| self.waiting[*place].0);
            let due =
                first.map(|place| self.waiting[place].0).filter(|due| *due <= self.redelivery);
            let next = due.unwrap_or(self.redelivery);
            if next > end {
                break test.set_clock(end);
            }
            test.set_clock(next.max(now));
            match first.filter(|_| due.is_some()) {
                Some(place) => service.deliver(&self.waiting.swap_remove(place).1).await,
                None => {
                    self.redelivery = next + SignedDuration::from_mins(1);
                    service.redeliver().await;
                }
            }
            service.deliver_alerts().await;
        }
    }

    async fn patch(&self, body: Value) {
        let answer = self.scene.client().patch(&self.path, &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        self.scene.service.deliver_alerts().await;
    }

    async fn shown(&self, field: &str) -> Value {
        self.scene.client().get(&self.path).await.body["data"][field].clone()
    }

    async fn state(&self) -> String {
        self.shown("state").await.as_str().expect("a state").to_owned()
    }

    /// The outcomes of the runs, the newest first.
    async fn outcomes(&self) -> Vec<Value> {
        let listed = self.scene.client().get(&format!("{}/runs", self.path)).await;
        let runs = listed.body["data"].as_array().expect("runs").clone();
        assert_eq!(listed.body["meta"]["total"], runs.len());
        runs.into_iter().map(|run| run["outcome"].clone()).collect()
    }

    /// The summaries of the active issues.
    async fn issues(&self) -> Vec<String> {
        self.scene.issues_with_heartbeats("active").await
    }

    /// Asserts that the job is late in so many seconds, and not a second earlier.
    async fn assert_late_in(&mut self, seconds: i64) {
        self.pass(seconds - 1).await;
        assert_eq!((self.state().await.as_str(), self.issues().await.len()), ("on_time", 0));
        self.pass(1).await;
        assert_eq!((self.state().await.as_str(), self.issues().await.len()), ("late", 1));
    }
}

impl Scene {
    pub(crate) async fn add_heartbeat(&self, name: &str, mut body: Value) -> (String, String) {
        body["name"] = name.into();
        let path = format!("/teams/{}/heartbeats", self.owner.team);
        let added = self.client().post(&path, &body).await;
        assert_eq!(added.status, 201, "{added:?}");
        let key = added.data("ping_url").replace("https://monitor.test/ping/", "");
        (format!("{path}/{}", added.data("uuid")), key)
    }

    pub(crate) async fn ping(&self, path: &str) {
        let answer = self.service.ping(path).await;
        assert_eq!((answer.status, &answer.body), (200, &json!("OK")), "{path}");
        self.service.deliver_alerts().await;
    }

    async fn issues_with_heartbeats(&self, status: &str) -> Vec<String> {
        let path = format!("/issues?include=heartbeats&status={status}");
        let listed = self.client().get(&path).await;
        let issues = listed.body["data"].as_array().expect("issues");
        issues
            .iter()
            .map(|issue| issue["summary"].as_str().expect("a summary").to_owned())
            .collect()
    }

    async fn start_maintenance(&self, mut body: Value, minutes: u32) {
        body["duration_minutes"] = minutes.into();
        let path = format!("/teams/{}/maintenance-windows", self.owner.team);
        assert_eq!(self.client().post(&path, &body).await.status, 201);
    }
}

#[tokio::test]
async fn every_ping_that_is_missed_counts_after_the_clock_was_set_back() {
    let mut job = Job::start(json!({ "cron": "*/5 * * * *", "grace_minutes": 1 })).await;
    job.ping("").await;
    job.pass(13 * 60).await;
    assert_eq!(job.outcomes().await, ["missed", "missed", "missed", "success"]);
    // The last three deadlines of the next half an hour are those that have passed already.
    let test = &job.scene.service.test;
    test.set_clock(test.now() - SignedDuration::from_mins(30));
    job.redelivery = test.now();
    rebuild_all(&test.app).await.expect("rebuilt");
    job.pass(30 * 60).await;
    let outcomes = job.outcomes().await;
    let missed = outcomes.iter().filter(|outcome| **outcome == "missed");
    assert_eq!((missed.count(), outcomes.len()), (9, 10), "{outcomes:?}");
}

#[tokio::test]
async fn a_job_is_late_only_after_the_grace_and_its_next_ping_resolves_the_issue() {
    let mut job = Job::frequent().await;
    job.pass(3_600).await;
    assert_eq!((job.state().await.as_str(), job.issues().await.len()), ("new", 0));
    job.ping("").await;
    job.pass(359).await;
    job.ping("").await;
    job.assert_late_in(360).await;
    assert_eq!(job.issues().await, ["the job is late: no ping by 2026-11-20 11:05 UTC"]);
    insta::assert_snapshot!(job.scene.notified().join("\n"), @"NOT REPORTING: Backup");
    job.pass(720).await;
    assert_eq!((job.issues().await.len(), job.scene.notified().len()), (1, 0), "once");
    job.ping("").await;
    assert_eq!((job.state().await.as_str(), job.issues().await.len()), ("on_time", 0));
    assert_eq!(job.scene.issues_with_heartbeats("resolved").await.len(), 1);
    let [resolved] = <[String; 1]>::try_from(job.scene.notified()).expect("one alert");
    assert!(resolved.starts_with("RESOLVED: Backup"), "{resolved}");
    job.assert_late_in(360).await;
}

#[tokio::test]
async fn redelivery_finds_deadlines_that_are_far_ahead_in_time() {
    let mut job = Job::start(json!({ "period_minutes": 60, "grace_minutes": 10 })).await;
    job.ping("").await;
    job.pass(1_800).await;
    job.ping("").await;
    job.assert_late_in(70 * 60).await;
    job.patch(json!({ "cron": "0 12 * * *", "time_zone": "Europe/Berlin" })).await;
    job.ping("").await;
    // It is 11:34 in London.
    assert_eq!(job.shown("deadline").await, "2026-11-21T11:10:00+00:00");
    job.patch(json!({ "cron": "0 13 * * *" })).await;
    job.assert_late_in((26 + 10) * 60).await;
}

#[tokio::test]
async fn a_run_that_fails_opens_an_issue_at_once() {
    for (kind, summary) in [("/fail", "the job failed"), ("/7", "the job failed: exit status 7")] {
        let mut job = Job::frequent().await;
        job.ping("").await;
        job.ping(kind).await;
        assert_eq!(job.state().await, "failed");
        assert_eq!(job.issues().await, [summary]);
        assert_eq!(job.scene.notified().len(), 1);
        // Another failure, or none at all, is the same issue.
        job.pass(60).await;
        job.ping(kind).await;
        job.pass(360).await;
        assert_eq!((job.state().await.as_str(), job.issues().await.len()), ("late", 1));
        job.ping("/log").await;
        job.ping("/start").await;
        assert_eq!(job.issues().await.len(), 1, "neither ends a run");
        job.ping("/0").await;
        assert_eq!((job.state().await.as_str(), job.issues().await.len()), ("on_time", 0));
    }
}

#[tokio::test]
async fn a_long_run_is_a_warning_if_its_owner_says_so_and_else_must_end_within_the_grace() {
    let settings = json!({ "period_minutes": 60, "grace_minutes": 5, "longest_run_minutes": 10 });
    let mut job = Job::start(settings).await;
    job.ping("/start").await;
    job.pass(599).await;
    assert_eq!((job.state().await.as_str(), job.issues().await.len()), ("on_time", 0));
    job.pass(1).await;
    assert_eq!(job.state().await, "running_long");
    assert_eq!(job.issues().await, ["the job has not ended by 2026-11-20 10:04 UTC"]);
    let listed = job.scene.client().get("/issues?include=heartbeats").await;
    let issue = &listed.body["data"][0];
    assert_eq!(
        (&issue["fingerprint"], &issue["severity"]),
        (&json!("heartbeat:running_long"), &json!("warning"))
    );
    job.ping("").await;
    assert_eq!((job.state().await.as_str(), job.issues().await.len()), ("on_time", 0));
    assert_eq!(job.outcomes().await, ["success", "running_long"]);

    job.patch(json!({ "longest_run_minutes": null })).await;
    job.ping("/start").await;
    job.assert_late_in(300).await;
    assert_eq!(job.outcomes().await[0], "missed");
}

#[tokio::test]
async fn pings_with_the_same_run_and_kind_count_once() {
    let mut job = Job::frequent().await;
    for kind in ["/start", "", "/log"] {
        for _ in 0..2 {
            job.ping(&format!("{kind}?rid={RUN}")).await;
            job.pass(10).await;
        }
    }
    assert_eq!(job.outcomes().await, ["success"]);
    assert_eq!(job.shown("last_ping_at").await, "2026-11-20T09:54:20+00:00");
    job.ping(&format!("/fail?rid={RUN}")).await;
    assert_eq!(job.outcomes().await, ["failure", "success"]);
}

#[tokio::test]
async fn nothing_is_expected_of_a_paused_heartbeat_until_it_resumes() {
    let mut job = Job::frequent().await;
    job.ping("").await;
    job.patch(json!({ "paused": true })).await;
    job.pass(3_600).await;
    assert_eq!((job.state().await.as_str(), job.issues().await.len()), ("paused", 0));
    job.patch(json!({ "paused": false })).await;
    job.assert_late_in(360).await;
    job.scene.notified();

    // Nobody waits for a ping that would resolve the issue.
    job.patch(json!({ "paused": true })).await;
    assert_eq!((job.state().await.as_str(), job.issues().await.len()), ("paused", 0));
    assert_eq!(job.scene.notified().len(), 1);
    job.ping("").await;
    assert_eq!(job.shown("paused").await, false, "a ping resumes");
    job.assert_late_in(360).await;
}

#[tokio::test]
async fn what_is_missed_in_a_maintenance_window_does_not_count() {
    let mut job = Job::frequent().await;
    job.ping("").await;
    job.scene.start_maintenance(json!({}), 30).await;
    // The window ends at 10:24. One more period and the grace pass before the job is late.
    job.assert_late_in((30 + 6) * 60).await;
    assert_eq!(job.outcomes().await, ["missed", "success"]);

    // A failure in a window is not reported, but a recovery is.
    job.scene.start_maintenance(json!({}), 30).await;
    job.ping("").await;
    assert_eq!(job.issues().await, [""; 0]);
    job.scene.notified();
    job.ping("/fail").await;
    assert_eq!((job.state().await.as_str(), job.issues().await.len()), ("failed", 0));
    assert_eq!(job.scene.notified(), [""; 0]);
}

#[tokio::test]
async fn tags_decide_which_windows_and_channels_a_heartbeat_has() {
    let mut job = Job::frequent().await;
    let tagged = json!({ "period_minutes": 5, "grace_minutes": 1, "tags": ["env:test"] });
    let (_, test) = job.scene.add_heartbeat("Test", tagged).await;
    job.patch(json!({ "tags": ["env:prod"] })).await;
    let selector = Selector::parse("env:prod").expect("a selector");
    let tools = [Tool::Heartbeat].into();
    let filter = Filter { selector: Some(selector), tools, ..Filter::default() };
    job.scene.add_filtered("Pager", webhook(), filter).await;
    let of_sites = Filter { tools: [Tool::Status].into(), ..Filter::default() };
    job.scene.add_filtered("Sites", webhook(), of_sites).await;
    job.scene.start_maintenance(json!({ "selector": "env:test" }), 30).await;
    job.ping("").await;
    job.scene.ping(&test).await;
    job.assert_late_in(360).await;
    assert_eq!(job.scene.notified().len(), 2, "both channels");
    job.pass(30 * 60).await;
    assert_eq!(job.issues().await.len(), 2);
    assert_eq!(job.scene.notified().len(), 1, "only the channel for all");
}

#[tokio::test]
async fn what_is_missed_while_the_service_does_not_listen_does_not_count() {
    let mut job = Job::frequent().await;
    job.ping("").await;
    job.pass(4 * 60).await;
    // It stops at 9:58 and starts at 10:05. Until its first beat, it does not know that it was stopped.
    let health = job.scene.service.test.app.health.clone();
    health.record_listening(Timestamp::MIN, Vec::new());
    job.scene.service.advance_minutes(7);
    let pause = Pause {
        from: "2026-11-20T09:58:00Z".parse().expect("a timestamp"),
        to: job.scene.service.test.now(),
    };
    job.pass(5).await;
    assert_eq!((job.state().await.as_str(), job.issues().await.len()), ("on_time", 0));
    assert_eq!(job.shown("listening_since").await, Value::Null);
    health.record_listening(Timestamp::MAX, vec![pause]);
    job.pass(5).await;
    assert_eq!(job.shown("listening_since").await, "2026-11-20T10:05:00+00:00");
    assert_eq!(job.shown("expected_at").await, "2026-11-20T10:10:00+00:00");
    job.assert_late_in(350).await;
    assert_eq!(job.outcomes().await, ["missed", "success"]);
    job.ping("").await;
    assert_eq!(job.shown("listening_since").await, Value::Null);
    job.assert_late_in(360).await;
}

#[tokio::test]
async fn a_stop_that_was_over_before_a_ping_was_expected_excuses_nothing() {
    let mut job = Job::frequent().await;
    let from = job.scene.service.test.now();
    let pause = Pause { from, to: from + SignedDuration::from_mins(2) };
    job.scene.service.test.app.health.record_listening(Timestamp::MAX, vec![pause]);
    job.ping("").await;
    job.assert_late_in(360).await;
}

#[tokio::test]
async fn a_deleted_heartbeat_leaves_nothing() {
    let mut job = Job::frequent().await;
    job.scene.service.ping_with(&job.key, "done").await;
    job.ping("/start").await;
    job.ping("/fail").await;
    job.scene.notified();
    assert_eq!(job.scene.client().delete(&job.path).await.status, 204);
    job.scene.service.deliver_alerts().await;
    assert_eq!(job.scene.notified().len(), 1, "the alerts of its issue end");
    job.pass(3_600).await;
    assert_eq!(job.scene.notified(), [""; 0]);
    assert_eq!(job.scene.service.ping(&job.key).await.status, 404);

    let (_, id) = job.path.rsplit_once('/').expect("a uuid");
    let partition = HeartbeatId::parse(id).expect("an id").partition();
    let dump = job.scene.service.test.table.dump().await;
    let own = format!("S#{:016x}", partition.0);
    let is_left = |(pk, sk): &&(String, String)| {
        *pk == own || pk.starts_with("HB#") || pk.contains(id) || sk.contains(id)
    };
    let left: Vec<_> = dump.keys().filter(is_left).collect();
    assert!(left.is_empty(), "{left:?}");
    let team = job.scene.service.test.app.store.team_alone(job.scene.owner.team).await;
    assert_eq!(team.expect("read").expect("a team").heartbeats, 0);
}

#[tokio::test]
async fn a_change_that_a_ping_overtakes_is_made_again() {
    let job = Job::frequent().await;
    let Scene { service, owner, .. } = &job.scene;
    let (app, now) = (&service.test.app, service.test.now());
    let (_, id) = job.path.rsplit_once('/').expect("a uuid");
    let partition = HeartbeatId::parse(id).expect("an id").partition();
    let read = app.store.heartbeat(partition).await.expect("read").expect("a heartbeat");
    let team = app.store.team_alone(owner.team).await.expect("read").expect("a team");
    job.ping("").await;
    for body in [&br#"{"paused": true}"#[..], br#"{"period_minutes": 10}"#] {
        let edit = HeartbeatEdit::from_json(body).expect("an edit");
        let made = edit_heartbeat(app, &team, &read, edit, By::user(owner.user, now)).await;
        // It is a conflict, after which the request is handled once more.
        assert!(matches!(made, Err(ActionError::Failed(_))), "{made:?}");
    }
    assert_eq!(job.state().await, "on_time", "the ping is not lost");
}

#[tokio::test]
async fn a_ping_counts_once_if_the_answer_of_the_table_is_lost() {
    let job = Job::frequent().await;
    let test = &job.scene.service.test;
    for what in ["/start", "", &format!("/start?rid={RUN}"), &format!("/0?rid={RUN}")] {
        test.advance(SignedDuration::from_secs(10));
        test.faults().on_write(1, Fault::LoseAnswer);
        job.ping(what).await;
    }
    assert_eq!(job.outcomes().await, ["success", "success"]);
    assert_eq!(job.shown("running_since").await, Value::Null);
    let runs = job.scene.client().get(&format!("{}/runs", job.path)).await;
    let lasted = |run: usize| runs.body["data"][run]["duration_seconds"].as_f64();
    assert_eq!([lasted(0), lasted(1)], [Some(10.0), Some(10.0)]);
}

#[tokio::test]
async fn a_pause_that_broke_off_is_completed_when_it_is_repeated() {
    let paused = json!({ "paused": true });
    let mut broke_off = 0;
    for write in 1..10 {
        let job = Job::frequent().await;
        job.ping("/fail").await;
        let faults = job.scene.service.test.faults().clone();
        faults.on_write(write, Fault::CrashAfter);
        faults.until_crash(job.scene.client().patch(&job.path, &paused)).await;
        faults.forget();
        broke_off += usize::from(job.state().await == "paused" && job.issues().await.len() == 1);
        job.patch(paused.clone()).await;
        assert_eq!(
            (job.state().await.as_str(), job.issues().await.len()),
            ("paused", 0),
            "{write}"
        );
    }
    assert!(broke_off > 0, "no write is between the pause and the end of the issue");
}
