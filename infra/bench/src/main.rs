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
    // The HTTP client asks for a provider even where it speaks no TLS.
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().map_err(|_| "TLS is set up twice")?;
    match Measure::parse() {
        Measure::Cadence(options) => cadence::measure(&options).await,
    }
}
