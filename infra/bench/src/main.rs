//! Measurements of Vedette on this machine: `make bench`.

mod alerts;
mod api;
mod cadence;
mod configuration;
mod heartbeats;
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
mod reports;
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
    /// How many checks one second of processor time runs and saves
    Rate(rate::Options),
    /// The whole service, compared with Uptime Kuma
    Service(service::Options),
    /// Whether one process checks many sites on time
    Cadence(cadence::Options),
    /// How long requests to the API take while the same process checks many sites
    Api(api::Options),
    /// Whether a page of a long history costs more than one of a short history
    History(history::Options),
    /// How many units of the table requests and checks take
    Requests(requests::Options),
    /// What it costs to apply a document of many sites
    Configuration(configuration::Options),
    /// How long a reconciliation of many teams takes
    Reconcile(reconcile::Options),
    /// What it costs to notify channels of a new issue
    Alerts(alerts::Options),
    /// What Lambda functions cost apart from their work
    Lambda(lambda::Options),
    /// What pings and deadlines of heartbeats cost, and how soon an issue opens after a ping is missed
    Heartbeats(heartbeats::Options),
    /// What it takes to make the report of a large team, and to read it
    Reports(reports::Options),
    /// What readers of a status page cost while many sites are checked
    Readers(readers::Options),
    /// What large pages of the dashboard cost
    Pages(pages::Options),
    /// Whether a deployment on AWS keeps up with very many sites: a simulation
    Scale(scale::Options),
    /// Measures nothing: writes a month of history, for `make pictures`
    Pictures(pictures::Options),
    /// Measures nothing: writes pages at a fixed instant as files, for `make stills`
    Stills(stills::Options),
    /// Measures nothing: reads the output of a measurement from standard input, and writes its tables into the
    /// documentation
    Write(write::Options),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The HTTP client needs a crypto provider even without TLS.
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().map_err(|_| "TLS is set up twice")?;
    match Measure::parse() {
        Measure::Rate(options) => rate::measure(&options).await,
        Measure::Service(options) => service::measure(&options).await,
        Measure::Cadence(options) => cadence::measure(&options).await,
        Measure::Api(options) => api::measure(&options).await,
        Measure::History(options) => history::measure(&options).await,
        Measure::Requests(options) => requests::measure(&options).await,
        Measure::Configuration(options) => configuration::measure(&options).await,
        Measure::Reconcile(options) => reconcile::measure(&options).await,
        Measure::Alerts(options) => alerts::measure(&options).await,
        Measure::Lambda(options) => lambda::measure(&options).await,
        Measure::Heartbeats(options) => heartbeats::measure(&options).await,
        Measure::Reports(options) => reports::measure(&options).await,
        Measure::Readers(options) => readers::measure(&options).await,
        Measure::Pages(options) => pages::measure(&options).await,
        Measure::Scale(options) => scale::simulate(&options),
        Measure::Pictures(options) => pictures::write(&options).await,
        Measure::Stills(options) => stills::write(&options).await,
        Measure::Write(options) => write::write(&options),
    }
}
