//! Checks a processor second of the engines that are not compared with another tool.

use std::error::Error;

use clap::Args;

use crate::engine;
use crate::report::{line, median};
use crate::target::TargetProcess;

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Rounds, of which the median counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of each engine in a round
    #[arg(long, default_value_t = 2)]
    seconds: u64,
}

/// Runs the engines in turn.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let authority = folder.path().join("authority.pem");
    let target = TargetProcess::start(&authority).await?;
    let engines = [
        ("ssl", format!("https://{}/", target.secure), "each a full handshake"),
        (
            "dns",
            format!("https://{}/dns-query", target.names),
            "each of six types at three resolvers, whose connections are kept",
        ),
    ];
    let mut rates = [Vec::new(), Vec::new()];
    let mut memory = [0.0_f64; 2];
    for _ in 0..options.rounds {
        for (index, (engine, url, _)) in engines.iter().enumerate() {
            let ran = engine::measure(engine, url, &authority, options.seconds).await?;
            rates[index].push(ran.checks / ran.cpu_seconds);
            memory[index] = memory[index].max(ran.megabytes);
        }
    }
    line("checks a processor second, median of the rounds")?;
    for (index, (engine, _, what)) in engines.iter().enumerate() {
        let rate = median(&rates[index]);
        line(&format!("{engine:<6} vedette {rate:>8.0} ({:.0} MB)   {what}", memory[index]))?;
    }
    Ok(())
}
