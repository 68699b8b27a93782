//! What a Lambda function costs apart from its work: the time from its start to its first poll for an event, its first
//! request, its memory and its size. Each is compared with a function that only says hello.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::SiteId;
use vedette_domain::message::{AlertMessage, CheckMessage, RunOrder};
use vedette_embedded::TABLE;
use vedette_runtime::Clock;
use vedette_testkit::aws::Aws;
use vedette_testkit::lambda::{Endpoint, RuntimeApi, environment};
use vedette_testkit::{Client, Member, TestApp, WebServer, new_team};

use crate::pages::sign_in;
use crate::process::Usage;
use crate::report::{line, median_ms, table};

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How often each function is started
    #[arg(long, default_value_t = 41)]
    starts: u32,
    /// Requests to each function before its memory is measured
    #[arg(long, default_value_t = 1_000)]
    requests: u32,
    /// The folder with the functions' binaries
    #[arg(long, default_value = "target/release")]
    binaries: PathBuf,
}

/// The measured functions. The first is the one that only says hello.
const FUNCTIONS: [Function; 7] = [
    Function { binary: "vedette-hello", handler: "hello", asks: Asks::Route },
    Function { binary: "api", handler: "fallback", asks: Asks::Refusal },
    Function { binary: "api", handler: "me.get", asks: Asks::Route },
    Function { binary: "checker", handler: "status", asks: Asks::Check },
    Function { binary: "notifier", handler: "alerts", asks: Asks::Alert },
    Function { binary: "reconciler", handler: "redelivery", asks: Asks::Redelivery },
    Function { binary: "dashboard", handler: "pages.read", asks: Asks::Page },
];

/// `GET /api/v1/me` as the gateway passes it.
const ME: &str = include_str!("../../../events/api/me.get.json");

/// `GET /` as the gateway passes it.
const SITES: &str = include_str!("../../../events/dashboard/sites.json");

/// The event with which the schedule invokes redelivery.
const REDELIVERY: &str = include_str!("../../../events/reconciler/redelivery.json");

/// How long a function may take to start, or for a request.
const MOMENT: Duration = Duration::from_secs(29);

#[derive(Clone, Copy)]
struct Function {
    binary: &'static str,
    handler: &'static str,
    asks: Asks,
}

/// The event that a function gets.
#[derive(Clone, Copy)]
enum Asks {
    Route,
    /// A request that is refused without the table, so the function starts without it.
    Refusal,
    Check,
    /// A message that derives a team's alerts again.
    Alert,
    Redelivery,
    Page,
}

/// What the functions work with.
struct Deployment {
    _test: TestApp,
    binaries: PathBuf,
    endpoint: Endpoint,
    owner: Member,
    cookie: String,
    site: SiteId,
    _target: WebServer,
}

/// A started function.
struct Started {
    runtime_api: RuntimeApi,
    child: Child,
    start: Duration,
    round_trip: Duration,
}

/// The measurements of one function.
#[derive(Default)]
struct Measured {
    starts: Vec<Duration>,
    round_trips: Vec<Duration>,
    without: Vec<Duration>,
    first: Vec<Duration>,
    warm: Vec<Duration>,
    resident: f64,
    size: f64,
}

/// Starts all functions in turn, and sends them events.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let deployment = Deployment::start(&options.binaries).await?;
    let mut measured = FUNCTIONS.map(|_| Measured::default());
    for _ in 0..options.starts {
        // In turn, so that other work of the machine affects all of them.
        for (function, measured) in FUNCTIONS.iter().zip(&mut measured) {
            let started = deployment.start_function(function).await?;
            measured.starts.push(started.start);
            measured.round_trips.push(started.round_trip);
            measured.without.push(started.start.saturating_sub(started.round_trip));
            measured.first.push(deployment.ask(function, &started).await?);
        }
    }
    for (function, measured) in FUNCTIONS.iter().zip(&mut measured) {
        let started = deployment.start_function(function).await?;
        for _ in 0..options.requests {
            measured.warm.push(deployment.ask(function, &started).await?);
        }
        measured.resident = Usage::of(&started.child)?.megabytes()?.0;
        measured.size = fs::metadata(deployment.binary(function))?.len() as f64 / 1e6;
    }
    report(options, &measured)
}

impl Deployment {
    async fn start(binaries: &Path) -> Result<Self, Box<dyn Error>> {
        let test = TestApp::start().await;
        // The functions use the system's clock.
        test.set_clock(Clock::system().now());
        let owner = new_team(&test, Plan::Agency).await;
        let target = WebServer::start().await;
        let sites = format!("/teams/{}/sites", owner.team);
        let client = Client::new(&test.app, &owner);
        let created = client.post(&sites, &json!({ "url": target.url })).await;
        let site = SiteId::parse(&created.data("uuid")).ok_or("no site")?;
        let cookie = sign_in(&test, &owner).await?;
        let endpoint = Endpoint::start(&Aws::deployed(TABLE), &test.table.database).await;
        let binaries = binaries.to_owned();
        Ok(Self { _test: test, binaries, endpoint, owner, cookie, site, _target: target })
    }

    /// The path of a function's binary.
    fn binary(&self, function: &Function) -> PathBuf {
        self.binaries.join(function.binary)
    }

    async fn start_function(&self, function: &Function) -> Result<Started, Box<dyn Error>> {
        let runtime_api = RuntimeApi::start().await;
        let environment = environment(function.handler, &runtime_api, &self.endpoint);
        self.endpoint.take_times();
        let began = Instant::now();
        let child = start(&self.binary(function), environment)?;
        let polled = timeout(MOMENT, runtime_api.first_poll()).await??;
        let times = self.endpoint.take_times();
        let round_trip = times.iter().map(|(asked, answered)| *answered - *asked).sum();
        Ok(Started { runtime_api, child, start: polled - began, round_trip })
    }

    async fn ask(&self, function: &Function, of: &Started) -> Result<Duration, Box<dyn Error>> {
        let event = self.event(function.asks)?;
        let invoked = timeout(MOMENT, of.runtime_api.invoke(&event, MOMENT)).await?;
        let response = invoked.response?;
        let is_done = match function.asks {
            Asks::Route | Asks::Page => response["statusCode"] == 200,
            Asks::Refusal => response["statusCode"] == 405,
            Asks::Check | Asks::Alert => response["batchItemFailures"] == json!([]),
            Asks::Redelivery => response.is_null(),
        };
        if is_done {
            Ok(invoked.took)
        } else {
            Err(format!("{}: {response}", function.binary).into())
        }
    }

    fn event(&self, asks: Asks) -> Result<Value, Box<dyn Error>> {
        Ok(match asks {
            Asks::Route | Asks::Refusal => {
                let mut event: Value = serde_json::from_str(ME)?;
                event["headers"]["authorization"] = format!("Bearer {}", self.owner.secret).into();
                event
            }
            Asks::Check => {
                let slot = Clock::system().now();
                let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
                let Self { owner: Member { team, .. }, site, .. } = *self;
                queued(&CheckMessage { team, site, tool: Tool::Status, order })?
            }
            Asks::Alert => queued(&AlertMessage::Team(self.owner.team))?,
            Asks::Page => {
                let mut event: Value = serde_json::from_str(SITES)?;
                event["cookies"] = json!([self.cookie]);
                event
            }
            Asks::Redelivery => serde_json::from_str(REDELIVERY)?,
        })
    }
}

/// A message as the event source of a queue passes it.
fn queued(message: &impl Serialize) -> Result<Value, serde_json::Error> {
    Ok(json!({ "Records": [{
        "messageId": "6b01f32b-21b8-4c9a-8027-c6f92baed9b1",
        "receiptHandle": "of-a-measurement",
        "body": serde_json::to_string(message)?,
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": Clock::system().now().as_millisecond().to_string(),
        },
        "messageAttributes": {},
        "eventSource": "aws:sqs",
    }] }))
}

fn start(binary: &Path, environment: Vec<(&'static str, String)>) -> Result<Child, Box<dyn Error>> {
    let mut command = Command::new(binary);
    command.env_clear().envs(environment).stdin(Stdio::null()).stdout(Stdio::null());
    let child = command.stderr(Stdio::null()).kill_on_drop(true).spawn();
    child.map_err(|error| format!("{}: {error}", binary.display()).into())
}

fn report(options: &Options, measured: &[Measured]) -> Result<(), Box<dyn Error>> {
    let [hello, ..] = measured else { return Err("nothing was measured".into()) };
    let beside = |value: f64, of_hello: f64| format!("{value:.1} ({:.2})", value / of_hello);
    let of =
        |times: &[Duration], of_hello: &[Duration]| beside(median_ms(times), median_ms(of_hello));
    let rows = FUNCTIONS.iter().zip(measured).map(|(function, measured)| {
        vec![
            format!("{} {}", function.binary, function.handler),
            of(&measured.starts, &hello.starts),
            format!("{:.1}", median_ms(&measured.round_trips)),
            of(&measured.without, &hello.without),
            of(&measured.first, &hello.first),
            of(&measured.warm, &hello.warm),
            beside(measured.resident, hello.resident),
            beside(measured.size, hello.size),
        ]
    });
    let Options { starts, requests, .. } = options;
    line(&format!(
        "medians of {starts} starts and {requests} requests; in parentheses, as multiples of hello's"
    ))?;
    let memory = format!("MB resident after {requests}");
    let headings = [
        "",
        "ms to the first poll",
        "of which the table's answer",
        "ms without it",
        "ms of the first request",
        "ms of later ones",
        &memory,
        "MB of the binary",
    ];
    Ok(table(headings.map(str::to_owned).to_vec(), rows.collect())?)
}
