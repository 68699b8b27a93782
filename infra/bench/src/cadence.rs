//! How late checks start, and what they cost, when one process checks many sites every minute.

use std::collections::HashMap;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;

use crate::process::{Service, Setup};
use crate::recording_server::{RecordingServer, now};
use crate::report::{line, percentile, table};
use crate::seed;

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service's binary
    #[arg(long, default_value = "target/release/vedette")]
    binary: PathBuf,
    /// Sites, including those that hang
    #[arg(long, default_value_t = 2_000)]
    sites: usize,
    /// Percentages of sites that hang: they accept the request and never answer. Each percentage is measured separately
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 30])]
    hanging: Vec<u8>,
    /// Sites hang from the beginning. Without this option, they answer at first, and all start to hang when the
    /// measurement begins
    #[arg(long)]
    from_the_beginning: bool,
    /// Sites fail with 503 instead of hanging, all from the same moment on, and this many agents are asked about them,
    /// which never answer. Needs --ip, because agents are not asked about private addresses
    #[arg(long, default_value_t = 0, requires = "ip")]
    agents: usize,
    /// The address of this machine at which the sites are
    #[arg(long)]
    ip: Option<IpAddr>,
    /// Checks that the table contains at the start. As many of them expire as there are new ones
    #[arg(long, default_value_t = 0)]
    checks: usize,
    /// Minutes to measure for each percentage
    #[arg(long, default_value_t = 3)]
    minutes: u64,
    /// Minutes in each row of the report
    #[arg(long, default_value_t = 1)]
    every: u64,
}

/// Measures each percentage of sites that hang.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    for &share in &options.hanging {
        rows.extend(of_share(options, share.min(100)).await?);
    }
    let headings = [
        "% hang",
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
    line("What is due and late are the checks of the sites that answer.")?;
    Ok(table(headings.map(str::to_owned).to_vec(), rows)?)
}

/// Adds sites, waits, and compares the times of the requests with their slots.
async fn of_share(options: &Options, share: u8) -> Result<Vec<Vec<String>>, Box<dyn Error>> {
    let ip = options.ip.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let (target, data) = (RecordingServer::start_at(ip)?, tempfile::tempdir()?);
    let (binary, fsync) = (&options.binary, "everysec");
    let setup = Setup { binary, data: data.path(), minute: "60s", fsync };
    let mut service = Service::start(setup).await?;
    if options.from_the_beginning {
        target.hang();
    }

    let total = options.sites;
    let healthy = total - total * usize::from(share) / 100;
    let unhealthy = if options.agents > 0 { "fail" } else { "hang" };
    let pages =
        (0..total).map(|number| (if number < healthy { "answer" } else { unhealthy }, number));
    let began = Instant::now();
    let sites = service.watch(&target.address, pages).await?;
    line(&format!("{total} sites created in {:.1} s", began.elapsed().as_secs_f64()))?;
    if options.checks > 0 {
        // Each site has had one check, which is copied.
        tokio::time::sleep(Duration::from_mins(1)).await;
        service.stop().await?;
        let began = Instant::now();
        seed::ballast(data.path(), &sites[..healthy], options.checks)?;
        line(&format!("{} checks in {:.0} s", options.checks, began.elapsed().as_secs_f64()))?;
        service = Service::start(setup).await?;
    }

    let mut agents = JoinSet::new();
    for number in 0..options.agents {
        let token = service.add_agent(&format!("agent-{number}")).await?;
        agents.spawn(service.silent_agent(token));
    }
    // Wait a minute for the sites' first runs.
    tokio::time::sleep(Duration::from_mins(1)).await;
    target.hang();
    target.fail();
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
        // Requests of checks that were due may still arrive.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let lags = lags(&target, &sites[..healthy], from, to);
        let started: Vec<f64> = lags.iter().copied().filter(|lag| lag.is_finite()).collect();
        let mut row = vec![share.to_string(), format!("{}", options.minutes - left)];
        row.push(format!("{}", lags.len()));
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
    service.stop().await?;
    Ok(rows)
}

/// The time from each slot to its request, in milliseconds and sorted. It is infinite if no request came.
pub(crate) fn lags(
    target: &RecordingServer,
    sites: &[SiteId],
    from: Timestamp,
    to: Timestamp,
) -> Vec<f64> {
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
