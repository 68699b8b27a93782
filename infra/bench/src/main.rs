//! Measurements of Vedette on this machine: `make bench`.

mod cadence;
mod process;
mod report;

use clap::Parser;

/// What to measure.
#[derive(Debug, Parser)]
enum Measure {
    /// Whether one process keeps the cadence of many sites.
    Cadence(cadence::Options),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Measure::parse() {
        Measure::Cadence(options) => cadence::measure(&options).await,
    }
}
