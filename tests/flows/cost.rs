//! What status checks cost on AWS: measured units at list prices. `docs/explanation/costs.md` shows the same figures.
//! What pings cost: their units.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::check::{Finish, Phases, StatusResult, ToolResult};
use vedette_domain::checks::load::{BUCKETS_SAVE_PER_MILLION, Load};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::CheckId;
use vedette_domain::locations::QUESTION_TIMEOUT;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_reconciler::{dispatch, redeliver};
use vedette_runtime::metrics::Metric;
use vedette_runtime::{Destination, SQS_CALL};
use vedette_testkit::{Spent, status_evidence, status_result};

use crate::batches::Batch;
use crate::budget::different_days;
use crate::scene::{Scene, URL};

// List prices in dollars, us-east-1, without the free tier, November 2026.
const MILLION_WRITE_UNITS: f64 = 0.625;
const MILLION_READ_UNITS: f64 = 0.125;
/// A unit a second of provisioned capacity, for an hour.
const WRITE_UNIT_HOUR: f64 = 0.000_65;
const READ_UNIT_HOUR: f64 = 0.000_13;
const MILLION_SCHEDULES: f64 = 1.00;
const MILLION_SQS_REQUESTS: f64 = 0.40;
const MILLION_LAMBDA_REQUESTS: f64 = 0.20;
/// For an arm64 processor.
const MILLION_GB_SECONDS: f64 = 13.333;
const LOG_GB: f64 = 0.50;
/// A metric of CloudWatch, and a dashboard, for a month.
const METRIC: f64 = 0.30;
const DASHBOARD: f64 = 3.00;

/// A GB in the table for a month, and its copy for point-in-time recovery.
const STORED_GB: f64 = 0.25 + 0.20;
/// What fair queues add to each request that sends messages of teams. The figure comes from a third party.
const MILLION_FAIR_SENDS: f64 = 0.10;
const EGRESS_GB: f64 = 0.09;

const DAYS_PER_MONTH: f64 = 365.0 / 12.0;
const MINUTES_PER_MONTH: f64 = DAYS_PER_MONTH * 24.0 * 60.0;
/// How long the slowest of ten checks takes: a connection, a response and two calls to the table.
const SLOWEST_OF_TEN: f64 = 0.6;
/// Messages of a full batch.
const BATCH: f64 = Destination::Tool(Tool::Status).batch() as f64;
/// Checks of a batch that run at once.
const BUSY: f64 = vedette_checker::BUSY as f64;
/// As in `template.yaml` and `outpost.yaml`.
const MEMORY_GB: f64 = 0.25;
const OUTPOST_MEMORY_GB: f64 = 0.5;
/// How long an event source waits for a batch to fill, in seconds. As in `template.yaml`.
const WINDOW: f64 = 5.0;
/// Messages that SQS accepts or returns in a request.
const SQS_MESSAGES: f64 = SQS_CALL as f64;
/// Lambda reads from a queue with at least five requests at a time, each of which waits 20 s for a message.
const POLLS_A_MINUTE: f64 = 5.0 * 3.0;
/// What a batch logs: this much for each check, a lag of four digits and a duration of three, …
const CHECK_LOG_BYTES: f64 = 9.0;
/// … and one line, with what CloudWatch adds to each.
const BATCH_LOG_BYTES: f64 = 500.0;
const LINE_OVERHEAD_BYTES: f64 = 26.0;
/// A line of any other function with Lambda's own lines, as measured.
const LINE_LOG_BYTES: f64 = 1_560.0;
/// The size of a check in the history: its share of its block, including what DynamoDB adds to each item.
const CHECK_BYTES: f64 = 17.0;
const ITEM_OVERHEAD_BYTES: f64 = 100.0;
const CHECKS_PER_DAY: u32 = 24 * 60 / 5;
/// 532 bytes for a check over TLS, including packet headers.
const EGRESS_BYTES: f64 = 1_000.0;
/// What an outpost and the checker that waits for it exchange over TLS between regions, at this price.
const QUESTION_BYTES: f64 = 6_000.0;
const BETWEEN_REGIONS_GB: f64 = 0.02;
/// How long an outpost takes for a target that fails at once, with its own connection. A conservative assumption.
const QUICK_SECONDS: f64 = 1.0;
/// The share of checks that are about to open an issue in the example.
const SUSPECTED: f64 = 0.001;
/// A row of a bucket; 4 KB of rows are half a unit.
const BUCKET_ROW_BYTES: f64 = 200.0;
/// The share of provisioned capacity that is used. As in `template.yaml`.
const UTILIZATION: f64 = 0.7;
/// The least capacity of the table and of its index. As in `template.yaml`.
const CAPACITY_MIN: f64 = 5.0;
/// How long redelivery and the polling scheduler run each minute, and their memory. Conservative assumptions.
const MINUTE_SECONDS: f64 = 0.3;
const MINUTE_MEMORY_GB: f64 = 0.25;

/// Units of a check, averaged over a day.
#[derive(Debug, Clone, Copy)]
struct Units {
    reads: f64,
    writes: f64,
}

/// How a deployment is configured: a column of the table.
#[derive(Debug, Clone, Copy)]
struct Configuration {
    /// `Schedules=buckets`.
    buckets: bool,
    /// `TableCapacity`.
    provisioned: bool,
}

/// The columns of the table. The first one is the default.
const CONFIGURATIONS: [Configuration; 4] = [
    Configuration { buckets: false, provisioned: false },
    Configuration { buckets: false, provisioned: true },
    Configuration { buckets: true, provisioned: false },
    Configuration { buckets: true, provisioned: true },
];

/// What a part costs in each configuration.
type Part = (&'static str, [f64; CONFIGURATIONS.len()]);

fn gb(bytes: f64) -> f64 {
    bytes / 1e9
}

/// How long a batch takes, of which [`BUSY`] checks run at once. The durations of checks are distributed exponentially, so
/// the slowest of the last ones takes the mean times a harmonic number.
fn batch_seconds(batch: f64) -> f64 {
    let harmonic = |count: f64| count.ln() + 0.577 + 0.5 / count;
    let busy = batch.min(BUSY);
    SLOWEST_OF_TEN / harmonic(10.0) * ((batch - busy) / busy + harmonic(busy))
}

/// What units of the table cost for a million checks.
fn units(spent: Units, configuration: Configuration) -> [f64; 2] {
    let Units { reads, writes } = spent;
    if configuration.provisioned {
        let hours = 1e6 / 3_600.0 / UTILIZATION;
        [writes * hours * WRITE_UNIT_HOUR, reads * hours * READ_UNIT_HOUR]
    } else {
        [writes * MILLION_WRITE_UNITS, reads * MILLION_READ_UNITS]
    }
}

/// What else a million checks cost with a history of this many days, and in batches of this many messages.
fn others(days: u32, batch: f64, buckets: bool) -> [(&'static str, f64); 9] {
    let stored = gb(CHECK_BYTES * 1e6) * f64::from(days) / DAYS_PER_MONTH;
    let row = BUCKET_ROW_BYTES / 4_096.0 * 0.5 * MILLION_READ_UNITS;
    let sent = if buckets { SQS_MESSAGES } else { 1.0 };
    [
        ("schedules", if buckets { row } else { MILLION_SCHEDULES }),
        ("sending", MILLION_SQS_REQUESTS / sent),
        ("… to queues that take teams in turn", MILLION_FAIR_SENDS / sent),
        ("receiving and deleting", 2.0 * MILLION_SQS_REQUESTS / batch.min(SQS_MESSAGES)),
        ("invocations", MILLION_LAMBDA_REQUESTS / batch),
        ("Lambda's time", batch_seconds(batch) * MEMORY_GB * MILLION_GB_SECONDS / batch),
        ("logs", gb(1e6 * (CHECK_LOG_BYTES + BATCH_LOG_BYTES / batch)) * LOG_GB),
        ("history and its backup", stored * STORED_GB),
        ("egress", gb(EGRESS_BYTES * 1e6) * EGRESS_GB),
    ]
}

/// All that a million checks cost.
fn parts(spent: Units, days: u32, batch: f64) -> Vec<Part> {
    let of = CONFIGURATIONS.map(|one| {
        let [writes, reads] = units(spent, one);
        let units = [("write units", writes), ("read units", reads)];
        units.into_iter().chain(others(days, batch, one.buckets)).collect::<Vec<_>>()
    });
    let names = of[0].iter().map(|(name, _)| *name).enumerate();
    names.map(|(place, name)| (name, of.each_ref().map(|parts| parts[place].1))).collect()
}

/// The total of all parts.
fn together(parts: &[Part]) -> [f64; CONFIGURATIONS.len()] {
    std::array::from_fn(|column| parts.iter().map(|(_, dollars)| dollars[column]).sum())
}

/// What a month costs with this many sites that are checked every minute.
fn month(sites: u32, spent: Units, fixed: f64, configuration: Configuration) -> f64 {
    let days = Plan::Growth.limits().history_retention_days;
    let rate = f64::from(sites) / 60.0;
    let mut load = Load::default();
    (0..sites).for_each(|_| load.add(Tool::Status, 1));
    let places = load.places(Tool::Status).max(2) as f64;
    let batch = (rate * WINDOW / places).clamp(1.0, BATCH);
    let millions = f64::from(sites) * MINUTES_PER_MONTH / 1e6;
    let others: f64 = others(days, batch, configuration.buckets).iter().map(|(_, one)| one).sum();
    let units = if configuration.provisioned {
        let hours = MINUTES_PER_MONTH / 60.0;
        // With the index.
        let capacity = |units: f64| (units * rate / UTILIZATION).max(CAPACITY_MIN) + CAPACITY_MIN;
        hours * (capacity(spent.writes) * WRITE_UNIT_HOUR + capacity(spent.reads) * READ_UNIT_HOUR)
    } else {
        millions * units(spent, configuration).iter().sum::<f64>()
    };
    fixed + units + millions * others
}

/// What a deployment costs each month even without sites. `minute` are the units that redelivery and the polling scheduler
/// take each minute.
fn fixed(minute: Units) -> Vec<(&'static str, f64)> {
    let template = text("template.yaml");
    let (utilization, memory) = (UTILIZATION * 100.0, MEMORY_GB * 1_024.0);
    let functions = format!("MemorySize: {memory}, BatchSize: {BATCH}, Window: {WINDOW}");
    for said in [format!("TargetValue: {utilization}"), functions] {
        assert!(template.contains(&said), "the template: {said}");
    }
    let alarms = template.split("which cost about $").nth(1).and_then(|rest| rest.get(..4));
    let gauged = Tool::ALL.iter().filter(|tool| !tool.is_long()).count();
    // Those of each batch, those of each gauge, and the others.
    let metrics = 4 * Tool::ALL.len() + 2 * gauged + (Metric::ALL.len() - 2);
    let polls = POLLS_A_MINUTE * Destination::ALL.len() as f64;
    let functions = 2.0
        * (MILLION_SCHEDULES
            + MILLION_LAMBDA_REQUESTS
            + MINUTE_SECONDS * MINUTE_MEMORY_GB * MILLION_GB_SECONDS
            + gb(1e6 * LINE_LOG_BYTES) * LOG_GB)
        + minute.writes * MILLION_WRITE_UNITS
        + minute.reads * MILLION_READ_UNITS;
    vec![
        ("alarms", alarms.and_then(|dollars| dollars.parse().ok()).expect("dollars")),
        ("metrics", metrics as f64 * METRIC),
        ("the dashboard", DASHBOARD),
        ("receiving from empty queues", MINUTES_PER_MONTH * polls / 1e6 * MILLION_SQS_REQUESTS),
        ("redelivery and the polling scheduler", MINUTES_PER_MONTH / 1e6 * functions),
    ]
}

/// What a million questions to an outpost cost, each of which takes this long: the outpost's time, and that of a checker
/// that does nothing else meanwhile.
fn confirmations(seconds: f64) -> f64 {
    seconds * (OUTPOST_MEMORY_GB + MEMORY_GB) * MILLION_GB_SECONDS
        + MILLION_LAMBDA_REQUESTS
        + gb(1e6 * LINE_LOG_BYTES) * LOG_GB
        + gb(1e6 * QUESTION_BYTES) * BETWEEN_REGIONS_GB
}

/// A file of the repository.
fn text(path: &str) -> String {
    let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).expect("a file")
}

fn row(name: &str, dollars: &[f64]) -> String {
    let cells: String = dollars.iter().map(|one| format!(" {one:.2} |")).collect();
    format!("| {name} |{cells}")
}

/// The read units of a status check in a full batch of one team, and how many bytes the batch logs.
async fn reads_and_log_of_a_batch() -> (f64, f64) {
    let batch = Batch::start().await;
    let service = &batch.scene.service;
    service.advance_minutes(5);
    let due = batch.due();
    // As late as usual.
    service.test.advance(SignedDuration::from_millis(2_500));
    let meter = service.test.meter();
    meter.start();
    let (failed, lines) = batch.deliver(&due).await;
    let reads = meter.stop().reads;
    assert_eq!(failed, [""; 0]);
    let bytes: usize = lines.iter().map(|line| line.to_string().len()).sum();
    (reads / BATCH, bytes as f64)
}

/// The write units of a status check of a site that has been down, and that has 90 days of history, all of which
/// differ.
async fn writes_of_a_check() -> f64 {
    let scene = Scene::start().await;
    let url = format!("{URL}/a/path/as/long/as/they/usually/are");
    let site = scene.watch_url(&url).await;
    let test = &scene.service.test;
    scene.service.advance_minutes(5);
    let (mut state, begin) = (scene.state(site).await, test.now());
    state.recent = state.day.as_ref().map(different_days);
    state.rev += 1;
    test.app.store.put_tool(site.partition(), Tool::Status, &state, begin).await.expect("written");

    let meter = test.meter();
    let mut writes = 0.0;
    // It is down for ten minutes before the day begins.
    for number in 1..=CHECKS_PER_DAY + 10 {
        let slot = begin + SignedDuration::from_mins(5) * i32::try_from(number).expect("few");
        // A real check starts seconds late, and no two response times are equal.
        let response = f64::from(10_000 + number * 7_919 % 15_000) / 100.0;
        test.set_clock(slot + SignedDuration::from_millis(i64::from(number * 7_919 % 6_000)));
        let code = if number <= 2 { 503 } else { 200 };
        let phases = Phases {
            lookup: Some(3 + number * 7 % 20),
            connect: Some(18 + number * 5 % 11),
            tls: Some(30 + number * 3 % 17),
        };
        let result = StatusResult { phases: Some(phases), ..status_result(&url, code, response) };
        let evidence = status_evidence(&result, "OK", "a page");
        let check = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, slot);
        let finish = Finish::Completed(ToolResult::Status(result));
        meter.start();
        test.end_run_with(site, check, finish, Some(&evidence)).await;
        let spent = meter.stop();
        if number > 10 {
            writes += spent.writes / f64::from(CHECKS_PER_DAY);
        }
    }
    let blocks = test.table.blocks().await;
    let sizes = test.table.sizes().await;
    let closed = sizes.into_iter().filter(|(key, _)| key.1.starts_with("H#status#b#"));
    let (mut bytes, mut checks) = (0.0, 0.0);
    for (key, size) in closed {
        bytes += size as f64 + ITEM_OVERHEAD_BYTES;
        checks += blocks[&key] as f64;
    }
    let stored = bytes / checks;
    assert!((stored - CHECK_BYTES).abs() < 1.0, "{stored} bytes of a check");
    writes
}

/// The units that redelivery and the polling scheduler take in a minute in which nothing is due.
async fn units_of_a_minute() -> Units {
    let scene = Scene::start().await;
    let app = &scene.service.test.app;
    Box::pin(dispatch(app)).await.expect("dispatched");
    scene.service.advance_minutes(1);
    let meter = scene.service.test.meter();
    meter.start();
    Box::pin(dispatch(app)).await.expect("dispatched");
    Box::pin(redeliver(app)).await.expect("redelivered");
    let spent = meter.stop();
    Units { reads: spent.reads, writes: spent.writes }
}

#[tokio::test]
async fn a_million_status_checks_cost_what_the_page_says() {
    let (reads, logged) = Box::pin(reads_and_log_of_a_batch()).await;
    assert!(logged + LINE_OVERHEAD_BYTES <= BATCH * CHECK_LOG_BYTES + BATCH_LOG_BYTES, "{logged}");
    let spent = Units { reads, writes: Box::pin(writes_of_a_check()).await };
    let growth = Plan::Growth.limits().history_retention_days;
    let all = together(&parts(spent, growth, BATCH));
    let saved = all[0] - all[2];
    assert!((saved - BUCKETS_SAVE_PER_MILLION).abs() < 0.005, "{saved}");

    let rows = parts(spent, growth, BATCH).into_iter();
    let mut expected: Vec<_> = rows.map(|(name, dollars)| row(name, &dollars)).collect();
    expected.push(row("**together**", &all));
    for plan in [Plan::Starter, Plan::Agency] {
        let days = plan.limits().history_retention_days;
        let name = format!("… with {days} days of history");
        expected.push(row(&name, &together(&parts(spent, days, BATCH))));
    }

    let fixed = fixed(Box::pin(units_of_a_minute()).await);
    let of_a_month: f64 = fixed.iter().map(|(_, dollars)| dollars).sum();
    expected.extend(fixed.iter().map(|(name, dollars)| row(name, &[*dollars])));
    expected.push(row("**together, a month**", &[of_a_month]));
    for (sites, name) in [(100, "100"), (5_000, "5,000"), (100_000, "100,000")] {
        let dollars = CONFIGURATIONS.map(|one| month(sites, spent, of_a_month, one));
        expected.push(row(&format!("{name} sites, a month"), &dollars));
        let millions = f64::from(sites) * MINUTES_PER_MONTH / 1e6;
        expected.push(row("… a million checks", &dollars.map(|one| one / millions)));
    }

    let (quick, hanging) =
        (confirmations(QUICK_SECONDS), confirmations(QUESTION_TIMEOUT.as_secs_f64()));
    expected.push(row("a million confirmations", &[quick, hanging]));
    let name = format!("a million checks of which {:.1} % are confirmed", SUSPECTED * 100.0);
    expected.push(row(&name, &[quick * SUSPECTED, hanging * SUSPECTED]));
    let [default, each, buckets, both] = all;
    let needed = spent.writes.max(spent.reads) / UTILIZATION;
    let more = MILLION_SQS_REQUESTS * (1.0 - 1.0 / SQS_MESSAGES);
    for (page, said) in [
        ("README.md", format!("a million status checks cost ${buckets:.2} or ${default:.2}")),
        (
            "docs/guides/aws.md",
            format!(
                "cost ${both:.2} instead of ${buckets:.2} with buckets, and ${each:.2} instead of ${default:.2} with \
                 schedules"
            ),
        ),
        ("docs/guides/aws.md", format!("{needed:.1} units for each status check a second")),
        ("docs/explanation/costs.md", format!("cost ${more:.2} more. - The checks of a batch")),
    ] {
        assert!(text(page).replace('\n', " ").contains(&said), "{page}: {said}");
    }
    let page = text("docs/explanation/costs.md");
    for row in &expected {
        assert!(
            page.contains(row.as_str()),
            "costs.md lacks one of these rows:\n{spent:?}\n{}",
            expected.join("\n")
        );
    }
}

/// A job that is expected every minute, and may be a minute late.
struct Job {
    scene: Scene,
    key: String,
    /// Deadlines that must still be looked at, and when.
    deadlines: Vec<(Timestamp, Message)>,
}

impl Job {
    async fn start() -> Self {
        let scene = Scene::start().await;
        let settings = json!({ "period_minutes": 1, "grace_minutes": 1 });
        let (_, key) = scene.add_heartbeat("Backup", settings).await;
        Self { scene, key, deadlines: Vec::new() }
    }

    /// What a ping costs.
    async fn ping(&mut self, what: &str, output: &str) -> Spent {
        let service = &self.scene.service;
        service.test.meter().start();
        let answer = service.ping_with(&format!("{}{what}", self.key), output).await;
        let spent = service.test.meter().stop();
        assert_eq!(answer.status, 200, "{answer:?}");
        self.note_deadlines();
        spent
    }

    /// What it costs to look at the first deadline that is due.
    async fn look(&mut self) -> Option<Spent> {
        let service = &self.scene.service;
        let now = service.test.now();
        let place = self.deadlines.iter().position(|(due, _)| *due <= now)?;
        let (_, message) = self.deadlines.remove(place);
        service.test.meter().start();
        service.deliver(&message).await;
        let spent = service.test.meter().stop();
        self.note_deadlines();
        Some(spent)
    }

    fn note_deadlines(&mut self) {
        let waiting = self.scene.service.waiting().into_iter();
        self.deadlines.extend(waiting.filter_map(|(message, _)| match message {
            Message::Reconcile(ReconcileMessage::Deadline { due, .. }) => Some((due, message)),
            _ => None,
        }));
    }

    fn pass(&self, seconds: i64) {
        self.scene.service.test.advance(SignedDuration::from_secs(seconds));
    }
}

#[tokio::test]
async fn a_ping_takes_at_most_two_write_units() {
    const RUN: &str = "rid=f7f4f5b4-cf3c-4a0a-9b2c-7dd5b9b0f1a2";
    let log = |number| format!("copied /var/backups/{number}.tar in {} ms\n", number * 7_919 % 997);
    let output: String = (0..300).map(log).collect();
    let mut job = Job::start().await;
    let mut rows = Vec::new();
    let mut add = |what: &str, spent: Option<Spent>| {
        let Spent { reads, writes, .. } = spent.expect(what);
        rows.push(format!("{what}: {reads} read, {writes} written"));
    };
    add("the first ping", Some(job.ping("", "").await));
    job.pass(60);
    add("a ping", Some(job.ping("", "").await));
    job.pass(60);
    add("a deadline that finds it", job.look().await);
    add("a start", Some(job.ping(&format!("/start?{RUN}"), "").await));
    job.pass(10);
    add("the end of the run", Some(job.ping(&format!("/0?{RUN}"), "").await));
    add("… repeated", Some(job.ping(&format!("/0?{RUN}"), "").await));
    add("a word for the log, without output", Some(job.ping("/log", "").await));
    add("a ping with output", Some(job.ping("", &output[output.len() - 10_000..]).await));
    job.pass(120);
    let passed = job.deadlines[0].clone();
    add("a deadline that passes", job.look().await);
    job.deadlines.insert(0, passed);
    add("… looked at again", job.look().await);
    add("the ping that resolves its issue", Some(job.ping("", "").await));
    add("a ping that fails", Some(job.ping("/1", "").await));
    insta::assert_snapshot!(rows.join("\n"), @"
    the first ping: 1.5 read, 2 written
    a ping: 1.5 read, 1 written
    a deadline that finds it: 2.5 read, 3 written
    a start: 1.5 read, 1 written
    the end of the run: 1.5 read, 1 written
    … repeated: 1.5 read, 0 written
    a word for the log, without output: 1.5 read, 1 written
    a ping with output: 1.5 read, 6 written
    a deadline that passes: 3.5 read, 15 written
    … looked at again: 2.5 read, 0 written
    the ping that resolves its issue: 2.5 read, 13 written
    a ping that fails: 2.5 read, 15 written
    ");
}

#[tokio::test]
async fn a_day_of_pings_takes_little_more_than_a_write_unit_each() {
    const MINUTES: u32 = 24 * 60;
    let mut job = Job::start().await;
    job.ping("", "").await;
    let (mut pings, mut deadlines, mut looks) = (0.0, 0.0, 0);
    for _ in 0..MINUTES {
        job.pass(60);
        if let Some(spent) = job.look().await {
            deadlines += spent.writes;
            looks += 1;
        }
        pings += job.ping("", "").await.writes;
    }
    let each = pings / f64::from(MINUTES);
    insta::assert_snapshot!(
        format!("{each:.3}, {looks} deadlines: {deadlines}"),
        @"1.010, 1439 deadlines: 4317"
    );
}
