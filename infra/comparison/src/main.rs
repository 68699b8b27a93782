//! Vedette's engines beside their peers, in one run on this machine: `make comparison`.
//!
//! Each side is a process of its own, so that its cost can be measured: the target, the engine,
//! the peer. Rounds take turns, and medians are compared, so that whatever else the machine does
//! hits all sides alike.

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
    /// Status probes a processor second, beside blackbox_exporter.
    Status(status::Options),
    /// A crawl for broken links, beside lychee, linkinator and wget.
    Crawl(crawler::Options),
    /// Certificate and DNS checks a processor second.
    Rates(rates::Options),
    /// The web server that is measured against.
    #[command(hide = true)]
    Target(target::Options),
    /// One of our engines.
    #[command(hide = true)]
    Engine(engine::Options),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The HTTP client asks for a provider even where it speaks no TLS.
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
