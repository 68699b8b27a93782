//! Jobs in the world: their pings go to the real handler, and what is then observed must be what one can believe.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use vedette_domain::clock::Pause;
use vedette_domain::id::HeartbeatId;
use vedette_domain::issues::Fingerprint;
use vedette_domain::message::ReconcileMessage;

use super::{BASE, World};
use crate::jobs::{Belief, Job, Moment, Ping, Plan, settings};
use crate::rules;

/// The issues of jobs.
pub(super) const JOB: [Fingerprint; 2] =
    [Fingerprint::HeartbeatDown, Fingerprint::HeartbeatRunningLong];
/// The longest period, in minutes.
const YEAR: u32 = 365 * 24 * 60;

impl World {
    pub(super) async fn add_job(&mut self, number: u64) {
        let mut body = settings(number, self.scale.slowness);
        body["tags"] = rules::tags(&mut self.random);
        let path = format!("/teams/{}/heartbeats", self.owner.team);
        let created = self.service.client(&self.owner).post(&path, &body).await;
        assert_eq!(created.status, 201, "{created:?}");
        let (id, url) = (created.data("uuid"), created.data("ping_url"));
        let key = url.strip_prefix(&format!("{BASE}/ping/")).expect("an address").to_owned();
        let places = (HeartbeatId::parse(&id).expect("an id"), format!("{path}/{id}"), key);
        let wakes_at = self.now() + self.scale.stretch(SignedDuration::from_secs(60));
        let job = Job::new(number, self.scale.slowness, places, wakes_at);
        self.receivers.lock().sites.insert(job.name.clone(), job.id);
        self.jobs.push(job);
    }

    /// Time passes.
    pub(super) fn pass(&mut self, time: SignedDuration) {
        self.service.test.advance(time);
        self.beat(self.is_full);
    }

    /// The process remembers that it listens, or that it did not since the last beat.
    pub(super) fn beat(&mut self, was_deaf: bool) {
        let now = self.now();
        if was_deaf {
            self.deaf.push(Pause { from: self.known_until, to: now });
            self.deaf.sort_by_key(|pause| pause.to);
        }
        self.known_until = now;
        self.service.test.app.health.record_listening(now, self.deaf.clone());
    }

    fn moment(&self) -> Moment {
        Moment {
            now: self.now(),
            known_until: self.known_until,
            deaf: self.deaf.clone(),
            windows: self.receivers.lock().windows.clone(),
        }
    }

    /// The service is stopped for a while, or its machine is suspended; jobs ping in vain. Work begins again before the
    /// first beat.
    pub(super) async fn stop(&mut self) {
        let is_suspended = self.random.happens(500);
        for _ in 0..self.random.one_of(&[1, 5, 20]) {
            self.service.test.advance(self.scale.stretch(SignedDuration::from_mins(1)));
            let now = self.steady_now();
            for job in &mut self.jobs {
                if job.act(&mut self.random, now).is_some() {
                    job.go_on(&mut self.random, false);
                }
            }
        }
        let stopped_at = self.known_until;
        if !is_suspended {
            self.send_off();
            self.under_way.clear();
            self.known_until = Timestamp::MIN;
            self.service.test.app.health.record_listening(Timestamp::MIN, Vec::new());
            self.must_rebuild = true;
            self.realign().await;
        }
        self.receive().await;
        self.known_until = stopped_at;
        self.beat(true);
        self.counts.add("stops", 1_u64);
    }

    /// Jobs run and ping.
    pub(super) async fn run_jobs(&mut self) {
        let now = self.steady_now();
        for number in 0..self.jobs.len() {
            if let Some(ping) = self.jobs[number].act(&mut self.random, now) {
                let is_answered = self.ping(number, ping).await;
                self.jobs[number].go_on(&mut self.random, is_answered);
            }
        }
    }

    async fn ping(&mut self, number: usize, ping: Ping) -> bool {
        if !self.calm && self.random.happens(60) {
            self.break_write(1);
        }
        let (job, moment) = (&self.jobs[number], self.moment());
        let query = ping.run.map(|run| format!("?rid={run}")).unwrap_or_default();
        let (path, body) = (format!("{}{}{query}", job.key, ping.word), job.sent.len().to_string());
        let faults = self.service.test.faults().clone();
        let answer = faults.until_crash(Box::pin(self.service.ping_with(&path, &body))).await;
        let status = answer.map(|answer| answer.status);
        let line = format!("{} {}: {ping:?} {body} {status:?}", moment.now, job.name);
        // After the clock was set back, too many pings may be in the same minute.
        assert!([None, Some(200), Some(429), Some(503)].contains(&status), "{line}");
        self.receivers.lock().note(line);
        let is_answered = status == Some(200);
        self.counts.add("deaths", status.is_none());
        self.counts.add("pings", is_answered);
        self.jobs[number].sent.push((ping, is_answered));
        if self.is_full && status == Some(503) {
            // It is not saved, and nobody may believe that it is.
            return false;
        }
        let pinged = |job: &Job, belief: &Belief| belief.pinged(job, ping, &moment);
        self.believe(number, is_answered, pinged).await;
        is_answered
    }

    /// Somebody pauses a heartbeat, or resumes it.
    pub(super) async fn pause(&mut self, number: usize) {
        let (is_paused, now) = (self.random.happens(500), self.now());
        let path = self.jobs[number].path.clone();
        let is_done = self.patch(&path, &json!({ "paused": is_paused }), "paused").await;
        let paused = |_: &Job, belief: &Belief| {
            let next = belief.paused(is_paused, now);
            // Its issues are resolved one after the other.
            let later = [[true, true], [true, false], [false, true]];
            let later = later.map(|left| [0, 1].map(|issue| left[issue] && belief.issues[issue]));
            let later = later.map(|issues| {
                let mut next = next.clone();
                next.issues = issues;
                next
            });
            let later = later.into_iter().filter(|_| !is_done);
            later.chain([next.clone()]).collect()
        };
        self.believe(number, is_done, paused).await;
    }

    /// After a message to the reconciler was handled, perhaps.
    pub(super) async fn see_look(&mut self, message: &ReconcileMessage, is_done: bool) {
        let moment = self.moment();
        for number in 0..self.jobs.len() {
            let is_looked_at = match message {
                ReconcileMessage::Deadline { heartbeat, due, .. } => {
                    *heartbeat == self.jobs[number].id && *due <= moment.known_until.min(moment.now)
                }
                ReconcileMessage::Rebuild { after: None, .. } => true,
                _ => false,
            };
            if is_looked_at {
                let looked = |job: &Job, belief: &Belief| belief.looked(job, &moment);
                self.believe(number, is_done, looked).await;
            }
        }
    }

    /// Compares what one can believe after something has happened, certainly or perhaps, with the issues.
    async fn believe(
        &mut self,
        number: usize,
        is_certain: bool,
        after: impl Fn(&Job, &Belief) -> Vec<Belief>,
    ) {
        let (job, store) = (&self.jobs[number], &self.service.test.app.store);
        let mut issues = [false; 2];
        for (issue, fingerprint) in issues.iter_mut().zip(JOB) {
            let found = store.issue(job.id.partition(), fingerprint).await.expect("read");
            *issue = found.is_some_and(|found| found.lifecycle.is_active());
        }
        let before = job.beliefs.iter().filter(|_| !is_certain).cloned();
        let after = job.beliefs.iter().flat_map(|belief| after(job, belief));
        let mut possible = Vec::new();
        for belief in before.chain(after) {
            if !possible.contains(&belief) {
                possible.push(belief);
            }
        }
        let mut left = possible.clone();
        left.retain(|belief| belief.issues == issues);
        let what = match possible.iter().any(|belief| belief.issues[0]) {
            true => "a failure or a missed deadline opened no issue",
            false => "a false alarm, or a failure that was not over",
        };
        assert!(!left.is_empty(), "{}: {what}: {issues:?}, {possible:#?}", job.name);
        let id = job.id;
        self.jobs[number].beliefs = left;
        self.see(id).await;
    }

    /// Every other job stops. In the end its heartbeat is down, and nothing is awaited for a year.
    pub(super) async fn rest_jobs(&mut self) {
        for number in 0..self.jobs.len() {
            assert!(self.ping(number, Ping { word: "", run: None }).await, "not saved in calm");
            if number.is_multiple_of(2) {
                self.jobs[number].wakes_at = Timestamp::MAX;
            }
        }
        for minute in 0..90 {
            self.pass(self.scale.stretch(SignedDuration::from_mins(1)));
            self.run_jobs().await;
            if minute % 5 == 0 {
                self.redeliver().await;
            }
            self.receive().await;
        }
        for number in 0..self.jobs.len() {
            let job = &mut self.jobs[number];
            let is_down = job.beliefs.iter().all(|belief| belief.issues[0]);
            assert!(is_down || number % 2 > 0, "{}: a job that is gone was not missed", job.name);
            job.plan = Plan::Every(SignedDuration::from_mins(YEAR.into()));
            let path = job.path.clone();
            let is_done = self.patch(&path, &json!({ "period_minutes": YEAR }), "ended").await;
            assert!(is_done, "not saved in calm");
        }
    }

    /// Compares the history of a job with its pings: one that was answered is kept once, and with the id of a run, one
    /// of those that were sent again.
    pub(super) async fn assert_kept(&self, job: &Job) {
        let client = self.service.client(&self.owner);
        let mut kept: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
        for page in 1.. {
            let listed = client.get(&format!("{}/runs?per_page=100&page={page}", job.path)).await;
            let runs = listed.body["data"].as_array().expect("runs");
            for run in runs.iter().filter(|run| run["output"].is_string()) {
                let place = run["output"].as_str().and_then(|place| place.parse().ok());
                let is_success = run["outcome"] == "success";
                kept.entry(place.expect("a place")).or_default().push(is_success);
            }
            if runs.len() < 100 {
                break;
            }
        }
        let mut ends: BTreeMap<String, (usize, bool)> = BTreeMap::new();
        for (place, (ping, is_answered)) in job.sent.iter().enumerate() {
            let outcomes = kept.remove(&place).unwrap_or_default();
            let is_as_sent = outcomes.iter().all(|success| *success == ping.is_success());
            assert!(is_as_sent, "{}: {place} {ping:?}: {outcomes:?}", job.name);
            if !ping.is_start() {
                let run = ping.run.map_or(place.to_string(), |run| format!("{run}{}", ping.word));
                let (times, was_answered) = ends.entry(run).or_default();
                *times += outcomes.len();
                *was_answered |= is_answered;
            }
        }
        for (run, (times, was_answered)) in ends {
            assert!(times <= 1, "{}: {run} is kept {times} times", job.name);
            assert!(times == 1 || !was_answered, "{}: {run} was answered and lost", job.name);
        }
        assert!(kept.is_empty(), "{}: nobody sent {kept:?}", job.name);
    }
}
