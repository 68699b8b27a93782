//! A site's whole story with one failing write: any write, and any kind of failure. In the end, the table contains the
//! same as without the failure.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use vedette_domain::checks::history::Kind;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{SiteId, Trigger};
use vedette_domain::message::{CheckMessage, Message, RunOrder};
use vedette_runtime::{Destination, Entropy, LocalScheduler, Scheduler};
use vedette_testkit::Fault;

use crate::census::{self, Dump, comparable};
use crate::scene::{Scene, URL};

/// A step of the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A client adds the site.
    Create,
    /// The reconciler creates its schedules.
    Sync,
    /// Its schedule fires, and the site answers like this.
    Scheduled(u16),
    /// The first run, a retry or a follow-up comes at its time, and the site answers like this.
    Run(u16),
    /// A client requests a check.
    Order,
    /// The requested check runs.
    OnDemand,
}

const STORY: [Step; 13] = [
    Step::Create,
    Step::Sync,
    Step::Run(200),
    Step::Scheduled(503),
    // Confirmed: the issue opens.
    Step::Run(503),
    // A follow-up finds a recovery that does not last.
    Step::Run(200),
    Step::Run(503),
    // Resolved.
    Step::Run(200),
    Step::Run(200),
    Step::Order,
    Step::OnDemand,
    // The issue opens again.
    Step::Scheduled(503),
    Step::Run(503),
];

impl Step {
    fn is_begun_by(self, message: &Message) -> bool {
        match message {
            Message::Reconcile(_) => self == Self::Sync,
            Message::Alert(_) | Message::Mail(_) => false,
            Message::Check(CheckMessage { order: RunOrder::OnDemand { .. }, .. }) => {
                self == Self::OnDemand
            }
            Message::Check(CheckMessage { tool, .. }) => {
                *tool == Tool::Status && matches!(self, Self::Run(_))
            }
        }
    }
}

/// How a crashed service recovers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    /// The queue delivers the current message again, the client repeats its request, and everything else that is
    /// outstanding is sent again at once.
    Redelivery,
    /// All messages are lost, including the current one: only the reconciler remains.
    Reconciler,
    /// All messages and all schedules are lost: a service on one machine starts again.
    Restart,
}

/// The story, without faults.
struct Telling {
    scene: Scene,
    site: SiteId,
    /// Messages in queues.
    inbox: Vec<Message>,
    /// The message that is being handled.
    in_hand: Option<Message>,
    /// How many messages came back that only the table still contained.
    recovered: usize,
}

impl Telling {
    async fn start() -> Self {
        let mut scene = Scene::start().await;
        // A request that is repeated draws the same ids as the first one.
        scene.service.test.app.entropy = Entropy::from_fn(|bytes| bytes.fill(0x77));
        let site = scene.service.test.app.entropy.site_id().expect("an id");
        // The token's use is written once an hour, and is no part of the story.
        scene.client().get("/me").await;
        Self { scene, site, inbox: Vec::new(), in_hand: None, recovered: 0 }
    }

    /// Plays the story with at most one crash.
    async fn notify(&mut self, recovery: Recovery) {
        for (number, step) in STORY.into_iter().enumerate() {
            if recovery == Recovery::Redelivery {
                assert!(self.begin(step), "{step:?} at {number}: no message");
                if self.deliver_until_crash(step).await {
                    self.deliver(step).await;
                    self.resend().await;
                }
                continue;
            }
            while !self.has_happened(number).await {
                if !self.begin(step) {
                    self.redeliver(step).await;
                } else if self.deliver_until_crash(step).await {
                    self.inbox.clear();
                    self.in_hand = None;
                    if recovery == Recovery::Restart {
                        self.restart().await;
                    }
                }
            }
        }
        let (next, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.inbox)
            .into_iter()
            .partition(|message| Step::Run(503).is_begun_by(message));
        assert!(next.len() <= 1, "one follow-up is to come: {next:?}");
        // The remaining messages, such as first runs of tools that are off, change nothing.
        for message in rest {
            self.scene.service.deliver(&message).await;
        }
        self.receive();
        assert_eq!(self.inbox, []);
    }

    /// Prepares a step; false if its message is missing.
    fn begin(&mut self, step: Step) -> bool {
        let Self { scene, site, .. } = self;
        if let Step::Scheduled(status) | Step::Run(status) = step {
            scene.target.answer(status);
        }
        let message = match step {
            Step::Create => return true,
            Step::Order => {
                scene.service.advance_minutes(1);
                return true;
            }
            Step::Scheduled(_) => {
                scene.service.advance_minutes(5);
                Message::Check(scene.scheduled(*site, Tool::Status, scene.service.test.now()))
            }
            Step::Sync | Step::Run(_) | Step::OnDemand => {
                let wanted = |message: &Message| step.is_begun_by(message);
                let Some(place) = self.inbox.iter().position(wanted) else { return false };
                self.inbox.remove(place)
            }
        };
        if let Message::Check(CheckMessage { order: RunOrder::Automatic { slot, .. }, .. }) =
            message
        {
            self.not_before(slot);
        }
        self.in_hand = Some(message);
        true
    }

    fn not_before(&self, instant: Timestamp) {
        let test = &self.scene.service.test;
        test.set_clock(test.now().max(instant));
    }

    /// Performs a step, possibly again.
    async fn deliver(&mut self, step: Step) {
        match (step, &self.in_hand) {
            (Step::Create, _) => {
                let answer = self.scene.post_site(URL, &json!({ "successes_to_resolve": 2 })).await;
                // The response to a repeated request says that the site already exists.
                assert!([201, 422].contains(&answer.status), "{answer:?}");
            }
            (Step::Order, _) => {
                let path = format!("/sites/{}/checks", self.site);
                let answer = self.scene.client().post(&path, &json!({})).await;
                assert!([202, 422].contains(&answer.status), "{answer:?}");
            }
            (_, Some(message)) => self.scene.service.deliver(message).await,
            (_, None) => panic!("{step:?} needs a message"),
        }
        self.receive();
    }

    /// Whether the process crashed in the meantime.
    async fn deliver_until_crash(&mut self, step: Step) -> bool {
        let faults = self.scene.service.test.faults().clone();
        let has_crashed = faults.until_crash(self.deliver(step)).await.is_none();
        self.receive();
        has_crashed
    }

    /// Takes the sent messages; a message that is in the queue twice is delivered once.
    fn receive(&mut self) {
        for (message, _) in self.scene.service.waiting() {
            if !self.inbox.contains(&message) {
                self.inbox.push(message);
            }
        }
    }

    async fn resend(&mut self) {
        let app = &self.scene.service.test.app;
        Box::pin(vedette_reconciler::redeliver_all(app)).await.expect("resent");
        self.receive();
    }

    /// Starts a service on one machine again, with only its table.
    async fn restart(&mut self) {
        let app = &mut self.scene.service.test.app;
        let empty = LocalScheduler::new(app.clock.clone(), app.service.time_scale);
        app.scheduler = Scheduler::Local(empty);
        Box::pin(vedette_reconciler::reconcile(app, &|_| {})).await.expect("reconciled");
        self.resend().await;
        self.recovered += self.inbox.len();
    }

    /// Runs the reconciler when lost messages are due to be found.
    async fn redeliver(&mut self, step: Step) {
        let dump = self.scene.service.test.table.dump().await;
        let due = dump.values().filter_map(|item| item["due"].as_i64()).min();
        let due = due.unwrap_or_else(|| panic!("{step:?} is nowhere outstanding"));
        self.not_before(Timestamp::from_millisecond(due).expect("an instant"));
        Box::pin(vedette_reconciler::redeliver(&self.scene.service.test.app))
            .await
            .expect("redelivered");
        let alerts = self.scene.service.test.queue.drain(Destination::Alerts);
        for (message, _) in &alerts {
            self.scene.service.deliver(message).await;
        }
        self.receive();
        self.recovered += self.inbox.len();
        let sent = alerts.len() + self.inbox.len();
        assert!(sent > 0, "{step:?} was due at {due} and was not sent");
    }

    /// Whether the table contains the results of the story up to this step.
    async fn has_happened(&self, number: usize) -> bool {
        let partition = self.site.partition();
        let store = &self.scene.service.test.app.store;
        let Some(stored) = store.site(partition).await.expect("read") else { return false };
        let state = stored.tool(Tool::Status).expect("a tool");
        let so_far = |wanted: fn(&Step) -> bool| {
            STORY[..=number].iter().filter(|step| wanted(step)).count() as u64
        };
        let runs = so_far(|step| matches!(step, Step::Scheduled(_) | Step::Run(_)));
        (so_far(|step| *step == Step::Sync) == 0 || stored.site.synced == stored.site.cfg)
            && automatic(state) >= runs
            && on_demand(state, &CheckStatus::ALL) >= so_far(|step| *step == Step::Order)
            && on_demand(state, &[CheckStatus::Completed]) >= so_far(|step| *step == Step::OnDemand)
    }
}

fn automatic(state: &ToolState) -> u64 {
    state.day.as_ref().map_or(0, vedette_domain::checks::history::Day::completed_automatic)
}

fn on_demand(state: &ToolState, statuses: &[CheckStatus]) -> u64 {
    let kinds = statuses.iter().map(|&status| Kind { trigger: Trigger::OnDemand, status });
    state.day.as_ref().map_or(0, |day| kinds.map(|kind| day.counters.count(kind)).sum())
}

/// How a run of the story ended.
struct Ending {
    table: Dump,
    schedules: Vec<(SiteId, Tool)>,
    requests: usize,
    writes: u64,
    recovered: usize,
}

/// Plays the story with faults at these writes.
async fn notify(at: &[u64], fault: Fault, recovery: Recovery) -> Ending {
    let notifying = Telling::start().await;
    let faults = notifying.scene.service.test.faults();
    for &n in at {
        faults.on_write(n, fault);
    }
    notify_to_its_end(notifying, recovery).await
}

async fn notify_to_its_end(mut notifying: Telling, recovery: Recovery) -> Ending {
    let faults = notifying.scene.service.test.faults().clone();
    let before = faults.writes();
    Box::pin(notifying.notify(recovery)).await;
    let writes = faults.writes() - before;
    // The news for channels was lost, too.
    faults.forget();
    notifying.resend().await;
    notifying.scene.service.deliver_alerts().await;
    let Telling { scene, recovered, .. } = notifying;
    census::assert_balanced(&scene.service).await;
    Ending {
        table: comparable(scene.service.test.table.dump().await),
        schedules: scene.service.test.app.scheduler.list().await.expect("schedules"),
        requests: scene.target.requests(),
        writes,
        recovered,
    }
}

/// Plays the story without faults; once for all tests.
async fn notify_well() -> &'static Ending {
    static WELL: OnceCell<Ending> = OnceCell::const_new();
    let well = WELL.get_or_init(|| notify(&[], Fault::CrashBefore, Recovery::Reconciler)).await;
    assert_eq!(well.recovered, 0, "nothing is lost where nothing fails");
    well
}

/// Plays the story once per fault, or set of faults.
async fn notify_all(
    faults: impl IntoIterator<Item = (Vec<u64>, Fault)>,
    recovery: Recovery,
) -> Vec<(String, Ending)> {
    let mut tellings = JoinSet::new();
    for (at, fault) in faults {
        tellings.spawn(async move {
            let ending = notify(&at, fault, recovery).await;
            (format!("{fault:?} at write {at:?}"), ending)
        });
    }
    tellings.join_all().await
}

/// A sync drops the first runs of four tools that are off, each in its own write; the first of these writes stands for
/// all of them.
const ALIKE: RangeInclusive<u64> = 3..=5;

/// The writes of the story, one by one.
fn every_write(well: &Ending) -> impl Iterator<Item = u64> + use<> {
    (1..=well.writes).filter(|n| !ALIKE.contains(n))
}

/// What must be the same even if instants differ.
#[derive(Debug, PartialEq)]
struct Shape {
    kinds: BTreeMap<String, u64>,
    /// Status and timeline by fingerprint.
    issues: Vec<(String, String, Vec<&'static str>)>,
    /// Sort keys of the team's index, without ids.
    index: Vec<(String, String)>,
    phases: Vec<String>,
    outstanding: Vec<String>,
    newest: Vec<Value>,
    sites: Value,
    used: Value,
    schedules: Vec<(SiteId, Tool)>,
}

impl Shape {
    fn of(ending: &Ending) -> Self {
        let table = &ending.table;
        let of_kind = |pk: &'static str, sk: &'static str| {
            table.iter().filter(move |((p, s), _)| p.starts_with(pk) && s.starts_with(sk))
        };
        let first = |pk, sk| of_kind(pk, sk).map(|(_, item)| item.clone()).next();
        let statuses = of_kind("S#", "T#status").filter_map(|(_, item)| item["tr"].as_object());
        Self {
            kinds: census::kinds(table),
            issues: of_kind("S#", "I#")
                .map(|((_, sk), issue)| {
                    let status = census::text(&issue["lifecycle"]["status"]).to_owned();
                    (sk.clone(), status, steps(&issue["timeline"]))
                })
                .collect(),
            index: of_kind("N#", "")
                .map(|((_, sk), row)| {
                    let is_outage = sk.starts_with("O#");
                    let status = match is_outage {
                        true if row["e"].is_null() => "open",
                        true => "over",
                        false => census::text(&row["status"]),
                    };
                    (sk[..2].to_owned(), status.to_owned())
                })
                .collect(),
            phases: statuses
                .flat_map(|trackers| trackers.values())
                .map(|tracked| tracked["t"]["p"].as_object().expect("a phase"))
                .flat_map(|phase| phase.keys().cloned())
                .collect(),
            outstanding: table
                .iter()
                .filter(|(_, item)| !item["w"].is_null())
                .map(|((_, sk), _)| sk.clone())
                .collect(),
            newest: of_kind("L#", "n#").map(|(_, item)| item["status"].clone()).collect(),
            sites: first("T#", "A").expect("the team")["sites"].clone(),
            used: first("T#", "Q#").expect("the month")["n"].clone(),
            schedules: ending.schedules.clone(),
        }
    }
}

/// What checks did, according to a timeline: seven bytes per entry, of which the first is the key.
fn steps(timeline: &Value) -> Vec<&'static str> {
    let bytes = timeline.as_array().expect("bytes").chunks(7);
    let keys = bytes.map(|entry| usize::try_from(entry[0].as_u64().expect("a byte")));
    keys.map(|key| ["opened", "acknowledged", "resolved"][key.expect("a key")]).collect()
}

#[tokio::test]
async fn the_scenario_has_the_expected_result_without_faults() {
    let well = notify_well().await;
    let shape = Shape::of(well);
    let kinds = [("dc", 1), ("fc", 4), ("rc", 2), ("sc", 3)];
    assert_eq!(shape.kinds, kinds.map(|(kind, count)| (kind.to_owned(), count)).into());
    let [(_, status, timeline)] = shape.issues.as_slice() else { panic!("{shape:?}") };
    assert_eq!(status, "open");
    assert_eq!(timeline, &["opened", "resolved", "opened"]);
    let index = [("A#", "open"), ("O#", "over"), ("O#", "open")];
    assert_eq!(shape.index, index.map(|(kind, status)| (kind.to_owned(), status.to_owned())));
    assert_eq!(shape.phases, ["d"]);
    assert_eq!(shape.outstanding, ["T#status"], "a follow-up");
    // Completed, 20,777 days after the beginning of 1970, to be shown for 365.
    assert_eq!(shape.newest, [json!([1, 81, 41, 1, 109])]);
    assert_eq!((&shape.sites, &shape.used), (&json!(1), &json!(1)));
    assert_eq!(shape.schedules.len(), 1);
    assert_eq!(well.requests, 10, "one for each check");
    // One transaction for each request and each run, two that drop the first runs of tools that are off, the sync, and
    // one for each of three changes of the issue that are not news for any channel.
    assert_eq!(well.writes, 18);
}

async fn crashes_are_repaired_by_redelivery(fault: Fault, probed_again: usize) {
    let well = notify_well().await;
    let faults = every_write(well).map(|n| (vec![n], fault));
    for (notified, ending) in notify_all(faults, Recovery::Redelivery).await {
        assert_eq!(ending.table, well.table, "{notified}");
        assert_eq!(ending.schedules, well.schedules, "{notified}");
        let more = ending.requests - well.requests;
        assert!(more <= probed_again, "{notified}: {more} more requests");
    }
}

#[tokio::test]
async fn a_crash_before_any_write_is_repaired_by_redelivery() {
    crashes_are_repaired_by_redelivery(Fault::CrashBefore, 1).await;
}

#[tokio::test]
async fn a_crash_after_any_write_is_repaired_by_redelivery_and_nothing_is_probed_again() {
    crashes_are_repaired_by_redelivery(Fault::CrashAfter, 0).await;
}

async fn crashes_are_repaired(fault: impl Fn(u64) -> Fault, recovery: Recovery) {
    let well = notify_well().await;
    let shape = Shape::of(well);
    let faults = every_write(well).map(|n| (vec![n], fault(n)));
    let endings = notify_all(faults, recovery).await;
    for (notified, ending) in &endings {
        assert_eq!(Shape::of(ending), shape, "{notified}");
    }
    let recovered = endings.iter().filter(|(_, ending)| ending.recovered > 0).count();
    assert!(recovered > 5, "messages were lost and came back: {recovered}");
}

#[tokio::test]
async fn a_crash_before_any_write_is_repaired_by_redelivery_alone() {
    crashes_are_repaired(|_| Fault::CrashBefore, Recovery::Reconciler).await;
}

#[tokio::test]
async fn a_crash_after_any_write_is_repaired_by_redelivery_alone() {
    crashes_are_repaired(|_| Fault::CrashAfter, Recovery::Reconciler).await;
}

#[tokio::test]
async fn a_crash_at_any_write_is_repaired_by_a_restart() {
    let alternately = |n| if n % 2 == 0 { Fault::CrashAfter } else { Fault::CrashBefore };
    crashes_are_repaired(alternately, Recovery::Restart).await;
}

/// A few runs of the story, each with a fault at every nth write, so that together they cover every write. A failed
/// write is repeated, so each fault comes one write later than the previous one suggests.
async fn steps_succeed_by_themselves(fault: Fault) {
    const APART: usize = 4;
    let well = notify_well().await;
    let faults = (1..).take(APART).map(|first| {
        let writes = (first..=well.writes).step_by(APART);
        (writes.zip(0..).map(|(n, tried_again)| n + tried_again).collect(), fault)
    });
    for (notified, ending) in notify_all(faults, Recovery::Redelivery).await {
        assert_eq!(ending.table, well.table, "{notified}");
        assert_eq!(ending.schedules, well.schedules, "{notified}");
        assert_eq!(ending.requests, well.requests, "{notified}: something was probed again");
        assert!(ending.writes > well.writes, "{notified}: no write was tried again");
    }
}

#[tokio::test]
async fn a_throttled_write_is_tried_again() {
    steps_succeed_by_themselves(Fault::Throttle).await;
}

#[tokio::test]
async fn a_conflicting_write_is_decided_again_without_probing_again() {
    steps_succeed_by_themselves(Fault::Conflict).await;
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_counts_once() {
    steps_succeed_by_themselves(Fault::LoseAnswer).await;
}

#[tokio::test]
async fn a_scenario_with_eventually_consistent_reads_has_the_same_result() {
    let notifying = Telling::start().await;
    notifying.scene.service.test.faults().lag_relaxed_reads();
    let ending = notify_to_its_end(notifying, Recovery::Reconciler).await;
    let well = notify_well().await;
    assert_eq!(ending.table, well.table);
    assert_eq!(ending.schedules, well.schedules);
    assert_eq!(ending.requests, well.requests, "no run is repeated, and none is dropped");
    assert!(
        ending.writes > well.writes,
        "runs that began on an old state are saved on the current one"
    );
}
