//! Many sites checked every minute by one process: how late do checks start, and at what cost?

use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::extract::Path;
use clap::Args;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde_json::json;
use vedette_domain::id::SiteId;
use vedette_domain::schedule::Pace;
use vedette_domain::tool::Tool;

use crate::process::Service;
use crate::report::{line, percentile};

/// How much to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service's binary.
    #[arg(long, default_value = "target/release/vedette-local")]
    binary: PathBuf,
    /// Sites that answer.
    #[arg(long, default_value_t = 1_000)]
    sites: usize,
    /// Sites that take the request and never answer.
    #[arg(long, default_value_t = 20)]
    hanging: usize,
    /// Minutes to measure.
    #[arg(long, default_value_t = 3)]
    minutes: u64,
}

/// Requests that came in: which site's, and when.
type Arrivals = Arc<Mutex<Vec<(usize, Timestamp)>>>;

/// Puts sites under watch, waits, and compares when requests came in with their slots.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let arrivals = Arrivals::default();
    let target = serve(&arrivals).await?;
    let service = Service::start(&options.binary).await?;
    let teams = service.get("/teams").await?;
    let team = teams["data"][0]["uuid"].as_str().ok_or("no team")?.to_owned();

    let total = options.sites + options.hanging;
    let began = Instant::now();
    let (service_ref, team, target) = (&service, &team, &target);
    let created = stream::iter(0..total).map(|number| async move {
        let kind = if number < options.sites { "answer" } else { "hang" };
        let off = json!({ "enabled": false });
        let body = json!({
            "url": format!("{target}/{kind}/{number}"),
            "monitoring_settings": { "tools": {
                "status": { "cadence_minutes": 1 },
                "ssl": off, "dns": off, "broken-links": off, "performance": off,
            } },
        });
        let created = service_ref.post(&format!("/teams/{team}/sites"), &body).await?;
        let id = created["data"]["uuid"].as_str().and_then(SiteId::parse);
        id.map(|id| (number, id)).ok_or_else(|| Box::<dyn Error>::from("no id"))
    });
    let mut sites: Vec<(usize, SiteId)> = created.buffer_unordered(8).try_collect().await?;
    sites.sort_unstable();
    line(&format!("{total} sites created in {:.1} s", began.elapsed().as_secs_f64()))?;

    // First runs and schedules settle for a minute.
    tokio::time::sleep(Duration::from_mins(1)).await;
    let (from, cpu_from) = (now()?, service.cpu_seconds()?);
    tokio::time::sleep(Duration::from_mins(options.minutes)).await;
    let (to, cpu_to) = (now()?, service.cpu_seconds()?);
    // What was due by then may be on its way.
    tokio::time::sleep(Duration::from_secs(2)).await;

    let seen = arrivals.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut lags = Vec::new();
    let mut missed = 0;
    for &(number, site) in sites.iter().take(options.sites) {
        let mut slot = Pace::default().next_after(site, Tool::Status, 1, from);
        while slot < to {
            let next = Pace::default().next_after(site, Tool::Status, 1, slot);
            let arrival = seen
                .iter()
                .filter(|(other, at)| *other == number && slot <= *at && *at < next)
                .map(|(_, at)| at.duration_since(slot).as_secs_f64() * 1_000.0)
                .min_by(f64::total_cmp);
            match arrival {
                Some(lag) => lags.push(lag),
                None => missed += 1,
            }
            slot = next;
        }
    }
    lags.sort_unstable_by(f64::total_cmp);
    let minutes = options.minutes as f64;
    line(&format!("runs measured              {:>10}", lags.len()))?;
    line(&format!("runs missed                {missed:>10}"))?;
    for (name, share) in [("median", 0.5), ("95 %", 0.95), ("99 %", 0.99), ("worst", 1.0)] {
        line(&format!("slot to request, {name:<9} {:>10.0} ms", percentile(&lags, share)))?;
    }
    line(&format!(
        "processor                  {:>10.1} s a minute",
        (cpu_to - cpu_from) / minutes
    ))?;
    line(&format!("memory, at most            {:>10.0} MB", service.peak_megabytes()?))?;
    service.stop().await
}

fn now() -> Result<Timestamp, jiff::Error> {
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock itself")]
    Timestamp::try_from(SystemTime::now())
}

/// A server that notes each request, and answers or not.
async fn serve(arrivals: &Arrivals) -> Result<String, Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    let arrivals = Arc::clone(arrivals);
    let handler = move |Path((kind, number)): Path<(String, usize)>| {
        let arrivals = Arc::clone(&arrivals);
        async move {
            if let Ok(now) = now() {
                arrivals.lock().unwrap_or_else(PoisonError::into_inner).push((number, now));
            }
            if kind == "hang" {
                std::future::pending::<()>().await;
            }
        }
    };
    let router = Router::new().route("/{kind}/{number}", axum::routing::get(handler));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}
