//! `vedette heartbeat run`: runs a job, and pings for it.

use std::ffi::OsString;
use std::io::{IsTerminal as _, stderr, stdout};
use std::time::Duration;

use clap::Args;
use reqwest::{Client, StatusCode};
use tokio::time::{Instant, sleep};
use url::Url;
use uuid::Uuid;
use vedette_domain::heartbeats::ping::BODY_MAX;
use vedette_domain::id::MonitorId;
use vedette_runtime::Entropy;

use crate::wrapped::{self, say};
use crate::{Failure, https};

/// How long a ping is tried.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(10);
/// The pause after the first attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The address of the heartbeat
    #[arg(value_parser = address)]
    address: Url,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Reads a ping address.
fn address(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text.trim_end_matches('/'));
    url.ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.query().is_none())
        .ok_or("must be the address of a heartbeat, such as https://vedette.example/ping/UUID")
}

impl Run {
    /// Runs the command. Nothing that happens to the pings changes how it runs or how this program ends.
    ///
    /// # Errors
    ///
    /// The command cannot be run, or it has failed.
    pub(crate) async fn run(&self) -> Result<(), Failure> {
        let Some((program, arguments)) = self.command.split_first() else { return Ok(()) };
        let pings = Pings::new(&self.address);
        // The job does not wait until its start is known.
        let start = tokio::spawn(pings.clone().send("start".to_owned(), Vec::new()));
        // On a terminal, the output stays the command's own, with its colors.
        let keep = if stdout().is_terminal() && stderr().is_terminal() { 0 } else { BODY_MAX };
        let ran = wrapped::run(program, arguments, keep).await;
        let (end, body) = match &ran {
            Ok(ended) => (ended.code.to_string(), ended.output.clone()),
            Err(failure) => ("fail".to_owned(), failure.to_string().into_bytes()),
        };
        // An end that arrives before its start would leave the run open.
        if !start.is_finished() {
            let _ = tokio::time::timeout(ATTEMPT, start).await;
        }
        pings.send(end, body).await;
        ran?.result()
    }
}

/// Sends the pings of one run.
#[derive(Debug, Clone)]
struct Pings {
    client: Option<Client>,
    address: Url,
    run: Uuid,
}

impl Pings {
    fn new(address: &Url) -> Self {
        let client = https::client().ok().and_then(|client| client.timeout(ATTEMPT).build().ok());
        // Without randomness, runs that overlap are one.
        let run = Entropy::system().site_id().map_or_else(|_| Uuid::nil(), MonitorId::as_uuid);
        Self { client, address: address.clone(), run }
    }

    /// Sends a ping, and tries again for a while if it does not arrive.
    async fn send(self, what: String, body: Vec<u8>) {
        let Some(client) = &self.client else { return };
        let url = format!("{}/{what}?rid={}", self.address, self.run);
        let (until, mut pause) = (Instant::now() + PATIENCE, FIRST_PAUSE);
        loop {
            let sent = client.post(&url).body(body.clone()).send().await;
            let problem = match sent {
                Ok(answer) if answer.status().is_success() => return,
                Ok(answer) if is_final(answer.status()) => {
                    return say(&format!("the ping {what:?} was refused: {}", answer.status()));
                }
                Ok(answer) => answer.status().to_string(),
                // The address is a secret.
                Err(error) => error.without_url().to_string(),
            };
            if Instant::now() + pause > until {
                return say(&format!("the ping {what:?} did not arrive: {problem}"));
            }
            sleep(pause).await;
            pause *= 2;
        }
    }
}

/// Whether the same ping would be refused again.
fn is_final(status: StatusCode) -> bool {
    status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS
}
