//! What status checks cost on AWS: measured units at list prices. `docs/explanation/costs.md` shows the same figures.

use std::fs;

use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::load::BUCKETS_SAVE_PER_MILLION;
use vedette_domain::checks::tool::Tool;
use vedette_domain::locations::QUESTION_TIMEOUT;
use vedette_runtime::BATCH;

use crate::scene::{Scene, URL, is_finished};

// List prices in dollars, us-east-1, on-demand, without the free tier, November 2026.
const MILLION_WRITE_UNITS: f64 = 0.625;
const MILLION_READ_UNITS: f64 = 0.125;
const MILLION_SCHEDULES: f64 = 1.00;
const MILLION_SQS_REQUESTS: f64 = 0.40;
const MILLION_LAMBDA_REQUESTS: f64 = 0.20;
/// For an arm64 processor.
const MILLION_GB_SECONDS: f64 = 13.333;
const LOG_GB: f64 = 0.50;

/// A GB in the table for a month, and its copy for point-in-time recovery.
const STORED_GB: f64 = 0.25 + 0.20;
/// What fair queues add to each request that sends messages of teams. The figure comes from a third party.
const MILLION_FAIR_SENDS: f64 = 0.10;
const EGRESS_GB: f64 = 0.09;

const DAYS_PER_MONTH: f64 = 365.0 / 12.0;
/// The duration of a batch in which no target is slow: for each check a connection and two calls to the table, all
/// concurrent. A conservative assumption.
const BATCH_SECONDS: f64 = 0.3;
/// As in `template.yaml`.
const MEMORY_GB: f64 = 0.5;
/// Messages per batch if a function is called as soon as there is a message, as measured.
const SMALL_BATCH: f64 = 4.1;
/// As measured: a check logs 540 bytes in a batch of ten and 1,560 alone. So this is its own share, …
const CHECK_LOG_BYTES: f64 = 427.0;
/// … and this is the share of the batch, with its metrics and Lambda's own lines.
const BATCH_LOG_BYTES: f64 = 1_133.0;
/// The size of a check in the history: its share of its block, including what DynamoDB adds to each item. It is smaller
/// if all response times are equal, as in this test.
const CHECK_BYTES: f64 = 20.0;
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

/// Units of a check, averaged over a day.
#[derive(Debug, Clone, Copy)]
struct Units {
    reads: f64,
    writes: f64,
}

/// A part of the price of a million checks: with one schedule per site and tool, and with buckets.
type Part = (&'static str, f64, f64);

/// The costs with a history of this many days, and in batches of this many messages.
fn parts(spent: Units, days: u32, batch: f64) -> Vec<Part> {
    let both = |name, dollars| (name, dollars, dollars);
    let gb = |bytes: f64| bytes * 1e6 / 1e9;
    // Messages from buckets are sent in batches of ten, whatever the batch size of the function is.
    let sending = |dollars| (dollars, dollars / BATCH as f64);
    let ((send, send_buckets), (fair, fair_buckets)) =
        (sending(MILLION_SQS_REQUESTS), sending(MILLION_FAIR_SENDS));
    let stored = gb(CHECK_BYTES) * f64::from(days) / DAYS_PER_MONTH;
    vec![
        both("write units", spent.writes * MILLION_WRITE_UNITS),
        both("read units", spent.reads * MILLION_READ_UNITS),
        ("schedules", MILLION_SCHEDULES, BUCKET_ROW_BYTES / 4_096.0 * 0.5 * MILLION_READ_UNITS),
        ("sending", send, send_buckets),
        ("… to queues that take teams in turn", fair, fair_buckets),
        both("receiving and deleting", 2.0 * MILLION_SQS_REQUESTS / batch),
        both("invocations", MILLION_LAMBDA_REQUESTS / batch),
        both("Lambda's time", BATCH_SECONDS * MEMORY_GB * MILLION_GB_SECONDS / batch),
        both("logs", gb(CHECK_LOG_BYTES + BATCH_LOG_BYTES / batch) * LOG_GB),
        both("history and its backup", stored * STORED_GB),
        both("egress", gb(EGRESS_BYTES) * EGRESS_GB),
    ]
}

/// What a million questions to an outpost cost, each of which takes this long: the outpost's time, and that of a checker
/// that does nothing else meanwhile.
fn confirmations(seconds: f64) -> f64 {
    let gb = |bytes: f64| bytes * 1e6 / 1e9;
    2.0 * seconds * MEMORY_GB * MILLION_GB_SECONDS
        + MILLION_LAMBDA_REQUESTS
        + gb(BATCH_LOG_BYTES) * LOG_GB
        + gb(QUESTION_BYTES) * BETWEEN_REGIONS_GB
}

/// The total of all parts.
fn together(parts: &[Part]) -> (f64, f64) {
    let total = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
    (total(|part| part.1), total(|part| part.2))
}

#[tokio::test]
async fn a_million_status_checks_cost_what_the_readme_says() {
    let scene = Scene::start().await;
    let site = scene.watch_url(&format!("{URL}/a/path/as/long/as/they/usually/are")).await;
    let (meter, table) = (scene.service.test.meter(), &scene.service.test.table);
    let (mut reads, mut writes) = (0.0, 0.0);
    for _ in 0..CHECKS_PER_DAY {
        scene.service.advance_minutes(5);
        let message = scene.scheduled(site, Tool::Status, scene.service.test.now());
        meter.start();
        assert!(is_finished(&scene.service.check(&message).await));
        let spent = meter.stop();
        reads += spent.reads / f64::from(CHECKS_PER_DAY);
        writes += spent.writes / f64::from(CHECKS_PER_DAY);
    }
    let spent = Units { reads, writes };
    let blocks = table.blocks().await;
    let closed = table.sizes().await.into_iter().filter(|((_, sk), _)| sk.starts_with("H#"));
    let (mut bytes, mut checks) = (0.0, 0.0);
    for (key, size) in closed {
        bytes += size as f64 + ITEM_OVERHEAD_BYTES;
        checks += blocks[&key] as f64;
    }
    let stored = bytes / checks;
    assert!(stored <= CHECK_BYTES, "{stored} bytes of a check");

    let growth = Plan::Growth.limits().history_retention_days;
    let batch = BATCH as f64;
    let parts = |days, batch| parts(spent, days, batch);
    let (each, buckets) = together(&parts(growth, batch));
    assert!(each <= 3.10, "{each} with a schedule for each");
    assert!(buckets <= 1.75, "{buckets} with buckets");

    let saved = (each * 100.0).round() - (buckets * 100.0).round();
    assert!((saved / 100.0 - BUCKETS_SAVE_PER_MILLION).abs() < 0.001, "{saved} cents");

    let row =
        |name: &str, each: f64, buckets: f64| format!("| {name} | {each:.2} | {buckets:.2} |");
    let rows = parts(growth, batch).into_iter();
    let rows = rows.map(|(name, each, buckets)| row(name, each, buckets));
    let mut expected: Vec<_> = rows.chain([row("**together**", each, buckets)]).collect();
    for plan in [Plan::Starter, Plan::Agency] {
        let days = plan.limits().history_retention_days;
        let (each, buckets) = together(&parts(days, batch));
        expected.push(row(&format!("… with {days} days of history"), each, buckets));
    }
    let (small_each, small_buckets) = together(&parts(growth, SMALL_BATCH));
    let name = format!("… in batches of {SMALL_BATCH}");
    expected.push(row(&name, small_each, small_buckets));
    // Every five minutes for thirty days.
    for sites in [10.0, 1_000.0, 100_000.0] {
        let millions = sites * 12.0 * 24.0 * 30.0 / 1e6;
        expected.push(row(
            &format!("a month of {sites} sites"),
            each * millions,
            buckets * millions,
        ));
    }
    let (quick, hanging) =
        (confirmations(QUICK_SECONDS), confirmations(QUESTION_TIMEOUT.as_secs_f64()));
    expected.push(row("a million confirmations", quick, hanging));
    let name = format!("a million checks of which {:.1} % are confirmed", SUSPECTED * 100.0);
    expected.push(row(&name, quick * SUSPECTED, hanging * SUSPECTED));
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/explanation/costs.md");
    let page = fs::read_to_string(page).expect("the page of costs");
    for row in &expected {
        assert!(
            page.contains(row.as_str()),
            "costs.md lacks one of these rows:\n{}",
            expected.join("\n")
        );
    }
}
