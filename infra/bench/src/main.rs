//! Measurements of Vedette on this machine: `make bench`.

mod alerts;
mod api;
mod cadence;
mod history;
mod inside;
mod lambda;
mod pages;
mod pictures;
mod process;
mod rate;
mod readers;
mod reconcile;
mod recording_server;
mod report;
mod requests;
mod scale;
mod seed;
mod service;
mod stills;
mod write;

use clap::Parser;

/// What to measure.
#[derive(Debug, Parser)]
enum Measure {
    /// How many checks a processor second stores.
    Rate(rate::Options),
    /// The whole service beside Uptime Kuma.
    Service(service::Options),
    /// Whether one process keeps the cadence of many sites.
    Cadence(cadence::Options),
    /// How long requests to the API take while one process checks many sites.
    Api(api::Options),
    /// Whether a page of a long history costs what one of a short history costs.
    History(history::Options),
    /// What requests and checks take from the table.
    Requests(requests::Options),
    /// How long a reconciliation of many teams takes.
    Reconcile(reconcile::Options),
    /// What it costs to tell channels of an opening.
    Alerts(alerts::Options),
    /// What the Lambda functions cost beside their work.
    Lambda(lambda::Options),
    /// What readers of a status page cost beside the checks of many sites.
    Readers(readers::Options),
    /// What pages cost where there is much to show.
    Pages(pages::Options),
    /// Whether a deployment on AWS would keep up with very many sites: a simulation.
    Scale(scale::Options),
    /// Measures nothing: writes a month of history, for `make pictures`.
    Pictures(pictures::Options),
    /// Measures nothing: writes pages at a fixed instant as files, for `make stills`.
    Stills(stills::Options),
    /// Measures nothing: puts the tables of a measurement, read from standard input, into the documentation.
    Write(write::Options),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The HTTP client asks for a provider even where it speaks no TLS.
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().map_err(|_| "TLS is set up twice")?;
    match Measure::parse() {
        Measure::Rate(options) => rate::measure(&options).await,
        Measure::Service(options) => service::measure(&options).await,
        Measure::Cadence(options) => cadence::measure(&options).await,
        Measure::Api(options) => api::measure(&options).await,
        Measure::History(options) => history::measure(&options).await,
        Measure::Requests(options) => requests::measure(&options).await,
        Measure::Reconcile(options) => reconcile::measure(&options).await,
        Measure::Alerts(options) => alerts::measure(&options).await,
        Measure::Lambda(options) => lambda::measure(&options).await,
        Measure::Readers(options) => readers::measure(&options).await,
        Measure::Pages(options) => pages::measure(&options).await,
        Measure::Scale(options) => scale::simulate(&options),
        Measure::Pictures(options) => pictures::write(&options).await,
        Measure::Stills(options) => stills::write(&options).await,
        Measure::Write(options) => write::write(&options),
    }
}
