//! How many checks one second of processor time runs and saves, and how long it takes to add many sites.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use crate::process::{Service, Setup};
use crate::recording_server::RecordingServer;
use crate::report::table;

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service's binary
    #[arg(long, default_value = "target/release/vedette")]
    binary: PathBuf,
    /// Sites, each checked every five seconds
    #[arg(long, default_value_t = 1_000)]
    sites: usize,
    /// Half-minutes to measure with each value of --fsync
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// Sites whose creation is timed, while the first checks of the sites before them run.
const TIMED: usize = 500;
/// How long a round lasts.
const ROUND: Duration = Duration::from_secs(30);

/// Has many sites checked far more often than usual, and counts the checks.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    for fsync in ["everysec", "always"] {
        let (target, data) = (RecordingServer::start()?, tempfile::tempdir()?);
        let setup = Setup { binary: &options.binary, data: data.path(), minute: "5s", fsync };
        let service = Service::start(setup).await?;
        let began = Instant::now();
        service.watch(&target.address, (0..TIMED).map(|number| ("answer", number))).await?;
        let created = began.elapsed();
        let rest = (TIMED..options.sites).map(|number| ("answer", number));
        service.watch(&target.address, rest).await?;
        // Wait for the sites' first runs.
        tokio::time::sleep(Duration::from_secs(10)).await;
        let mut row = vec![fsync.to_owned(), format!("{:.1}", created.as_secs_f64())];
        for _ in 0..options.rounds {
            target.take();
            let (cpu, began) = (service.usage().cpu_seconds()?, Instant::now());
            tokio::time::sleep(ROUND).await;
            let (checks, cpu) = (target.take().len() as f64, service.usage().cpu_seconds()? - cpu);
            let seconds = began.elapsed().as_secs_f64();
            row.push(format!("{:.0} ({:.0} a second)", checks / cpu, checks / seconds));
        }
        row.push(format!("{:.0}", service.usage().megabytes()?.1));
        rows.push(row);
        service.stop().await?;
    }
    let mut headings =
        vec!["writes wait for the disk".to_owned(), format!("s to create {TIMED} sites")];
    headings.extend((1..=options.rounds).map(|n| format!("checks a CPU second, half-minute {n}")));
    headings.push("MB".to_owned());
    Ok(table(headings, rows)?)
}
