//! Tests of the whole service, started as a user starts it.

mod client;

mod backup;
mod checks;
mod connections;
mod files;
mod full_disk;
mod gateway;
mod guides;
mod hanging;
mod healthchecks;
mod metrics;
mod operator;
mod over_http;
mod pages;
mod process;
mod secrets;
mod sequences;
mod socket;
mod tools;
mod tutorial;
mod unread;
mod upgrade;

use std::path::Path;

use client::Client;
use vedette_checker::Config;
use vedette_local::{Options, Service};
use vedette_notifier::send::{MailTransport, SendConfig};

/// Options for a service on free ports.
fn options(data: &Path) -> Options {
    Options {
        data: data.to_owned(),
        hosts: Vec::new(),
        listen: Some(([127, 0, 0, 1], 0).into()),
        minute: vedette_domain::checks::schedule::TimeScale::new(std::time::Duration::from_millis(
            100,
        ))
        .expect("a time scale"),
        fsync: vedette_embedded::Fsync::EverySecond,
        operator_url: None,
        metrics: None,
        token: true,
        demo: false,
        quiet: true,
    }
}

/// Writes emails to a folder in the data folder.
fn mail(data: &Path) -> SendConfig {
    SendConfig::read(&|_| None, MailTransport::Folder(data.join("mail"))).expect("a folder")
}

/// A configuration that lets checks reach this machine, and allows as many requests as tests make.
fn config() -> Config {
    Config::read(&|name| match name {
        "VEDETTE_ALLOW_TARGETS" => Some("127.0.0.0/8".to_owned()),
        "VEDETTE_THROTTLE" => Some("100000".to_owned()),
        // Vedette asks no resolver or registry outside this machine, and audits nothing.
        "VEDETTE_DOH" => Some("nobody=https://127.0.0.1:1/dns-query".to_owned()),
        "VEDETTE_RDAP" | "VEDETTE_AUDITOR" => Some("none".to_owned()),
        _ => None,
    })
    .expect("a configuration")
}

/// A service on a folder, and a client with the owner's token.
async fn start(data: &Path) -> (Service, Client) {
    let service = Service::start(options(data), config(), mail(data), None).await.expect("started");
    let client = Client::with_token_file(service.listen(), &service.token_file());
    (service, client)
}
