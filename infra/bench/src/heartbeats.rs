//! What pings and deadlines of heartbeats cost: units of the table and processor time; and how soon an issue opens after
//! a ping is missed.

use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::SignedDuration;
use lambda_http::http::Request;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use vedette_api::answer_ping;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_reconciler::handle;
use vedette_runtime::Destination;

use crate::inside::{Ask, Inside};
use crate::process::{Service, Setup, Usage};
use crate::report::{line, median_ms, table};

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service's binary
    #[arg(long, default_value = "target/release/vedette")]
    binary: PathBuf,
    /// Heartbeats, each pinged every minute
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..))]
    heartbeats: u32,
    /// Minutes in which the running service is measured
    #[arg(long, default_value_t = 5)]
    minutes: u32,
}

const MINUTE: Duration = Duration::from_mins(1);
/// The heartbeats whose units are counted. The others are timed, because counting takes time.
const COUNTED: usize = 50;
/// The heartbeats that are not pinged any more in the end.
const STOPPED: usize = 25;
/// The id that a job gives its run.
const RUN: &str = "rid=f7f4f5b4-cf3c-4a0a-9b2c-7dd5b9b0f1a2";

/// Measures each kind of ping and deadline in this process, and then a running service.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    in_this_process(options.heartbeats).await?;
    line("")?;
    of_a_service(options).await
}

/// A job that is expected every minute, and may be a minute late.
fn new_heartbeat(number: u32) -> Value {
    json!({ "name": format!("Job {number}"), "period_minutes": 1, "grace_minutes": 1 })
}

/// The path at which a heartbeat is pinged.
fn ping_path(heartbeat: &Value) -> Option<String> {
    let (_, key) = heartbeat["data"]["ping_url"].as_str()?.rsplit_once('/')?;
    Some(format!("/ping/{key}"))
}

async fn in_this_process(heartbeats: u32) -> Result<(), Box<dyn Error>> {
    let inside = Inside::start().await?;
    let owner = inside.team().await;
    let mut paths = Vec::new();
    for number in 0..heartbeats {
        let ask = Ask::of("heartbeats.create").at("team", owner.team).body(new_heartbeat(number));
        let (added, _) = inside.ask(&owner, &ask).await?;
        paths.push(ping_path(&added).ok_or("no address")?);
    }
    let app = &inside.test.app;
    let ping = async |name: &str, what: &str, output: &[u8]| {
        let send = async |path: &String| -> Result<(), Box<dyn Error>> {
            let request = Request::post(format!("{path}{what}")).body(())?;
            let answer = answer_ping(app, &request.into_parts().0, output).await;
            if answer.status() == 200 { Ok(()) } else { Err(answer.status().as_str().into()) }
        };
        each(&inside, name, &paths, send).await
    };
    let look = async |name: &str, due: &[ReconcileMessage]| {
        let look = async |message: &ReconcileMessage| -> Result<(), Box<dyn Error>> {
            Ok(handle(app, message).await?)
        };
        each(&inside, name, due, look).await
    };
    let deadlines = || {
        let sent = inside.test.queue.drain(Destination::Reconcile).into_iter();
        let deadlines = sent.filter_map(|(message, _)| match message {
            Message::Reconcile(deadline) => Some(deadline),
            _ => None,
        });
        deadlines.collect::<Vec<_>>()
    };
    let pass = |seconds| inside.test.advance(SignedDuration::from_secs(seconds));
    let copied = |file| format!("copied /backups/{file:05}.tar in {:03} ms\n", file * 7_919 % 997);
    let log: String = (0..300).map(copied).collect();
    let output = &log.as_bytes()[..10_000];

    let mut rows = vec![ping("the first ping", "", b"").await?];
    let due = deadlines();
    pass(60);
    rows.push(ping("a ping", "", b"").await?);
    pass(60);
    rows.push(look("a deadline before which a ping has come", &due).await?);
    let due = deadlines();
    rows.push(ping("the start of a run", &format!("/start?{RUN}"), b"").await?);
    pass(10);
    rows.push(ping("its end", &format!("/0?{RUN}"), b"").await?);
    rows.push(ping("a ping with 10 kB of output", "", output).await?);
    pass(120);
    rows.push(look("a deadline that passes, so that an issue opens", &due).await?);
    rows.push(look("… the same again, which changes nothing", &due).await?);
    rows.push(ping("the ping that resolves the issue", "", b"").await?);
    let headings = ["", "read units", "write units", "round trips", "CPU ms"];
    Ok(table(headings.map(str::to_owned).to_vec(), rows)?)
}

/// The row about what is done with each of these.
async fn each<T>(
    inside: &Inside,
    name: &str,
    all: &[T],
    act: impl AsyncFn(&T) -> Result<(), Box<dyn Error>>,
) -> Result<Vec<String>, Box<dyn Error>> {
    let (counted, timed) = all.split_at_checked(COUNTED).ok_or("deadlines are missing")?;
    inside.test.meter().start();
    for one in counted {
        act(one).await?;
    }
    let spent = inside.test.meter().stop();
    let used = Usage::own().cpu_seconds()?;
    for one in timed {
        act(one).await?;
    }
    let cpu = (Usage::own().cpu_seconds()? - used) * 1_000.0 / timed.len() as f64;
    let counts = [spent.reads, spent.writes, f64::from(spent.round_trips)];
    let means = counts.map(|count| (count / COUNTED as f64).to_string());
    Ok([name.to_owned()].into_iter().chain(means).chain([format!("{cpu:.2}")]).collect())
}

async fn of_a_service(options: &Options) -> Result<(), Box<dyn Error>> {
    let data = tempfile::tempdir()?;
    let (binary, fsync) = (&options.binary, "everysec");
    let setup = Setup { binary, data: data.path(), minute: "60s", fsync };
    let service = Service::start(setup).await?;
    let teams = service.get("/teams").await?;
    let team = teams["data"][0]["uuid"].as_str().ok_or("no team")?;
    let list = format!("/teams/{team}/heartbeats");
    let add = |number| {
        let request = service.request(Method::POST, &list).json(&new_heartbeat(number));
        async move { request.send().await?.error_for_status()?.json().await }
    };
    let added: Vec<Value> =
        stream::iter(0..options.heartbeats).map(add).buffered(8).try_collect().await?;
    let urls = added.iter().map(|heartbeat| Some(service.page(&ping_path(heartbeat)?)));
    let urls: Vec<String> = urls.collect::<Option<_>>().ok_or("no address")?;

    // The first minute is that of the first pings.
    ping_all(&urls, 1).await?;
    let used = service.usage().cpu_seconds()?;
    let took = ping_all(&urls, options.minutes).await?;
    let cpu = (service.usage().cpu_seconds()? - used) / f64::from(options.minutes);

    let mut due = HashMap::new();
    for (heartbeat, url) in added.iter().zip(&urls).take(STOPPED) {
        let uuid = heartbeat["data"]["uuid"].as_str().ok_or("no heartbeat")?;
        // The period and the grace.
        due.insert(uuid, Instant::now() + 2 * MINUTE);
        ping_all(std::slice::from_ref(url), 1).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let others = ping_all(&urls[STOPPED..], 3);
    let (_, late) = tokio::try_join!(others, openings(&service, due))?;
    let ms = |time: Option<&Duration>| time.map_or(f64::NAN, |time| time.as_secs_f64() * 1_000.0);
    let row = vec![
        options.heartbeats.to_string(),
        took.len().to_string(),
        format!("{:.1}", median_ms(&took)),
        format!("{:.0}", ms(took.iter().max())),
        format!("{cpu:.1}"),
        format!("{:.0}", service.usage().megabytes()?.0),
        late.len().to_string(),
        format!("{:.0}", median_ms(&late)),
        format!("{:.0}", ms(late.iter().max())),
    ];
    let headings = [
        "heartbeats",
        "pings",
        "ms for a ping, median",
        "worst",
        "CPU s a minute",
        "MB",
        "missed",
        "ms from the deadline until the issue is listed, median",
        "worst",
    ];
    table(headings.map(str::to_owned).to_vec(), vec![row])?;
    service.stop().await
}

/// Pings all of these in each minute, one after the other, each over a new connection as a job does. Returns how long
/// each ping took.
async fn ping_all(urls: &[String], minutes: u32) -> Result<Vec<Duration>, Box<dyn Error>> {
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).build()?;
    let mut ticks = tokio::time::interval(MINUTE / u32::try_from(urls.len())?);
    let mut pings = JoinSet::new();
    for url in (0..minutes).flat_map(|_| urls) {
        ticks.tick().await;
        let (request, began) = (client.post(url), Instant::now());
        pings.spawn(async move {
            request.send().await?.error_for_status()?;
            Ok::<_, reqwest::Error>(began.elapsed())
        });
    }
    Ok(pings.join_all().await.into_iter().collect::<Result<_, _>>()?)
}

/// Waits until all of these heartbeats have an issue. Returns how long after their deadlines the issues were listed.
async fn openings(
    service: &Service,
    mut due: HashMap<&str, Instant>,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut late = Vec::new();
    while !due.is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let listed = service.get("/issues?include=heartbeats").await?;
        for issue in listed["data"].as_array().ok_or("no list")? {
            let uuid = issue["heartbeat"]["uuid"].as_str().unwrap_or_default();
            if let Some(due) = due.remove(uuid) {
                late.push(
                    Instant::now().checked_duration_since(due).ok_or("an issue opens early")?,
                );
            }
        }
    }
    Ok(late)
}
