//! Compares Vedette's engines with other tools, in one run on this machine: `make comparison`.
//!
//! The target, the engine and the other tool are processes of their own, so that the cost of each can be measured. They
//! take turns, and their medians are compared, so that other work of the machine affects all of them alike.

mod crawl;
mod crawler;
mod engine;
mod names;
mod rates;
mod report;
mod status;
mod target;
mod usage;

use clap::Parser;

/// What to measure.
#[derive(Debug, Parser)]
enum Measure {
    /// Status probes a processor second, compared with blackbox_exporter
    Status(status::Options),
    /// A crawl for broken links, compared with lychee, linkinator and wget
    Crawl(crawler::Options),
    /// Certificate and DNS checks a processor second
    Rates(rates::Options),
    /// The web server that all tools request
    #[command(hide = true)]
    Target(target::Options),
    /// One of Vedette's engines
    #[command(hide = true)]
    Engine(engine::Options),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The HTTP client needs a crypto provider even without TLS.
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().map_err(|_| "TLS is set up twice")?;
    match Measure::parse() {
        Measure::Status(options) => status::measure(&options).await,
        Measure::Crawl(options) => crawl::measure(&options).await,
        Measure::Rates(options) => rates::measure(&options).await,
        Measure::Target(options) => target::serve(&options).await,
        Measure::Engine(options) => engine::run(&options).await,
    }
}
