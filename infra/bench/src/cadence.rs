//! Many sites checked every minute by one process: how late do checks start, and at what cost?

use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use vedette_domain::id::SiteId;
use vedette_domain::schedule::TimeScale;
use vedette_domain::tool::Tool;

use crate::process::{Service, Setup};
use crate::recording_server::{RecordingServer, now};
use crate::report::{line, percentile, table};
use crate::seed;

/// How much to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service's binary.
    #[arg(long, default_value = "target/release/vedette-local")]
    binary: PathBuf,
    /// Sites that answer.
    #[arg(long, default_value_t = 1_000)]
    sites: usize,
    /// Sites that take the request and never answer.
    #[arg(long, default_value_t = 20)]
    hanging: usize,
    /// Checks that the table holds before; as many of them expire as there are new ones.
    #[arg(long, default_value_t = 0)]
    checks: usize,
    /// Minutes to measure.
    #[arg(long, default_value_t = 3)]
    minutes: u64,
    /// Minutes of each row of the report.
    #[arg(long, default_value_t = 5)]
    every: u64,
}

/// Puts sites under watch, waits, and compares when requests came in with their slots.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let (target, data) = (RecordingServer::start()?, tempfile::tempdir()?);
    let (binary, fsync) = (&options.binary, "everysec");
    let setup = Setup { binary, data: data.path(), minute: "60s", fsync };
    let mut service = Service::start(setup).await?;

    let total = options.sites + options.hanging;
    let pages =
        (0..total).map(|number| (if number < options.sites { "answer" } else { "hang" }, number));
    let began = Instant::now();
    let sites = service.watch(&target.address, pages).await?;
    line(&format!("{total} sites created in {:.1} s", began.elapsed().as_secs_f64()))?;
    if options.checks > 0 {
        // Each site has had a check, which is copied.
        tokio::time::sleep(Duration::from_mins(1)).await;
        service.stop().await?;
        let began = Instant::now();
        seed::ballast(data.path(), &sites[..options.sites], options.checks)?;
        line(&format!("{} checks in {:.0} s", options.checks, began.elapsed().as_secs_f64()))?;
        service = Service::start(setup).await?;
    }

    // First runs and schedules settle for a minute.
    tokio::time::sleep(Duration::from_mins(1)).await;
    target.take();
    let mut rows = Vec::new();
    let mut left = options.minutes;
    while left > 0 {
        let minutes = left.min(options.every);
        left -= minutes;
        let (from, cpu, written) =
            (now()?, service.usage().cpu_seconds()?, service.usage().written_megabytes()?);
        tokio::time::sleep(Duration::from_mins(minutes)).await;
        let (to, cpu) = (now()?, service.usage().cpu_seconds()? - cpu);
        let written = service.usage().written_megabytes()? - written;
        let (memory, disk) = (service.usage().megabytes()?.0, service.disk_megabytes()?);
        // What was due by then may be on its way.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let lags = lags(&target, &sites[..options.sites], from, to);
        let started: Vec<f64> = lags.iter().copied().filter(|lag| lag.is_finite()).collect();
        let mut row = vec![format!("{}", options.minutes - left), format!("{}", lags.len())];
        row.push(format!("{}", lags.len() - started.len()));
        let at = [0.5, 0.95, 0.99, 1.0].map(|share| percentile(&started, share));
        row.extend(at.iter().map(|lag| format!("{lag:.0}")));
        let a_minute = |amount: f64| amount / minutes as f64;
        row.push(format!("{:.1}", a_minute(cpu)));
        row.push(format!("{memory:.0}"));
        row.push(format!("{disk:.0}"));
        row.push(format!("{:.0}", a_minute(written)));
        rows.push(row);
    }
    let headings = [
        "minute",
        "due",
        "missed",
        "ms late, median",
        "95 %",
        "99 %",
        "worst",
        "CPU s a minute",
        "MB",
        "MB on disk",
        "MB written a minute",
    ];
    table(headings.map(str::to_owned).to_vec(), rows)?;
    service.stop().await
}

/// From each slot to its request, in milliseconds and sorted; infinite where none came.
fn lags(target: &RecordingServer, sites: &[SiteId], from: Timestamp, to: Timestamp) -> Vec<f64> {
    let mut seen: HashMap<usize, Vec<Timestamp>> = HashMap::new();
    for (number, at) in target.take() {
        seen.entry(number).or_default().push(at);
    }
    // A site's slots are a minute apart, and a request belongs to the last slot before it.
    const MINUTE: SignedDuration = SignedDuration::from_mins(1);
    let time_scale = TimeScale::new(Duration::from_mins(1)).unwrap_or_default();
    let mut lags = Vec::new();
    for (number, site) in sites.iter().enumerate() {
        let mut slot = time_scale.next_after(*site, Tool::Status, 1, from);
        while slot < to {
            let after = seen.get(&number).into_iter().flatten().map(|at| at.duration_since(slot));
            let lag = after.filter(|lag| !lag.is_negative() && *lag < MINUTE).min();
            lags.push(lag.map_or(f64::INFINITY, |lag| lag.as_secs_f64() * 1_000.0));
            slot += MINUTE;
        }
    }
    lags.sort_unstable_by(f64::total_cmp);
    lags
}
