//! What status checks cost on AWS: units that are counted here, at list prices. README shows the same.

use std::fs;

use vedette_domain::tool::Tool;
use vedette_runtime::BATCH;
use vedette_testkit::Spent;

use crate::scene::{Scene, is_finished};

// List prices in dollars, us-east-1, on-demand, without the free tier, November 2026.
const MILLION_WRITE_UNITS: f64 = 0.625;
const MILLION_READ_UNITS: f64 = 0.125;
const MILLION_SCHEDULES: f64 = 1.00;
const MILLION_SQS_REQUESTS: f64 = 0.40;
const MILLION_LAMBDA_REQUESTS: f64 = 0.20;
/// Of a processor of the arm64 kind.
const MILLION_GB_SECONDS: f64 = 13.333;
const LOG_GB: f64 = 0.50;

/// What a batch takes that no target holds up: a connection and two calls to the table each, side by
/// side. An assumption, on the careful side.
const BATCH_SECONDS: f64 = 0.3;
/// As `template.yaml` has it.
const MEMORY_GB: f64 = 0.5;
/// Of a check, with its share of a batch's metrics and of Lambda's own lines. An assumption, too.
const LOG_BYTES: f64 = 400.0;
/// A row of a bucket, of which 4 KB are half a unit.
const BUCKET_ROW_BYTES: f64 = 200.0;

/// A part of the price of a million checks: with a schedule for each site and tool, and with buckets.
type Part = (&'static str, f64, f64);

fn parts(spent: Spent) -> Vec<Part> {
    let batch = BATCH as f64;
    let both = |name, dollars| (name, dollars, dollars);
    vec![
        both("write units", spent.writes * MILLION_WRITE_UNITS),
        both("read units", spent.reads * MILLION_READ_UNITS),
        ("schedules", MILLION_SCHEDULES, BUCKET_ROW_BYTES / 4_096.0 * 0.5 * MILLION_READ_UNITS),
        ("sending", MILLION_SQS_REQUESTS, MILLION_SQS_REQUESTS / batch),
        both("receiving and deleting", 2.0 * MILLION_SQS_REQUESTS / batch),
        both("invocations", MILLION_LAMBDA_REQUESTS / batch),
        both("Lambda's time", BATCH_SECONDS * MEMORY_GB * MILLION_GB_SECONDS / batch),
        both("logs", LOG_BYTES * 1e6 / 1e9 * LOG_GB),
    ]
}

#[tokio::test]
async fn a_million_status_checks_cost_what_the_readme_says() {
    let scene = Scene::start().await;
    let site = scene.watch().await;
    let meter = scene.service.test.meter();
    scene.service.advance_minutes(5);
    let message = scene.scheduled(site, Tool::Status, scene.service.test.now());
    meter.start();
    assert!(is_finished(&scene.service.check(&message).await));
    let parts = parts(meter.stop());
    let total = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
    let (each, buckets) = (total(|part| part.1), total(|part| part.2));
    assert!(each <= 5.0, "{each} with a schedule for each");
    assert!(buckets <= 4.0, "{buckets} with buckets");

    let row =
        |name: &str, each: f64, buckets: f64| format!("| {name} | {each:.2} | {buckets:.2} |");
    let rows = parts.iter().map(|&(name, each, buckets)| row(name, each, buckets));
    let mut expected: Vec<_> = rows.chain([row("**together**", each, buckets)]).collect();
    // Every five minutes for thirty days.
    for sites in [10.0, 1_000.0, 100_000.0] {
        let millions = sites * 12.0 * 24.0 * 30.0 / 1e6;
        expected.push(row(
            &format!("a month of {sites} sites"),
            each * millions,
            buckets * millions,
        ));
    }
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = fs::read_to_string(readme).expect("README");
    for row in &expected {
        assert!(readme.contains(row.as_str()), "README lacks of these:\n{}", expected.join("\n"));
    }
}
