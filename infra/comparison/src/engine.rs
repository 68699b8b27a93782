//! Runs one of Vedette's engines in a process of its own, on one thread: a crawl once, any other engine as often as
//! possible for a while.

use std::cell::Cell;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use futures::future::join_all;
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tokio::process::Command;
use url::Url;
use vedette_domain::expectations::CheckMethod;
use vedette_domain::sites::settings::{DnsRecordType, LinksSettings};
use vedette_probe::dns::{self, DnsProbe, DohServers, Resolvers};
use vedette_probe::links::{self, CrawlBounds, CrawlLimiter, LinksProbe};
use vedette_probe::ssl::{self, SslProbe};
use vedette_probe::ssrf_guard::{ConnectTo, Outbound, SsrfGuard};
use vedette_probe::status::{self, StatusProbe};

use crate::report::line;
use crate::usage;

/// What to run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The engine
    engine: Engine,
    /// The URL to check
    url: Url,
    /// A file with the certificate authority to trust
    #[arg(long)]
    authority: PathBuf,
    /// Concurrent checks
    #[arg(long, default_value_t = 16)]
    concurrency: usize,
    /// Seconds to run
    #[arg(long, default_value_t = 2)]
    seconds: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Engine {
    Status,
    Ssl,
    /// The URL is that of a resolver.
    Dns,
    BrokenLinks,
}

/// The result.
pub(crate) struct Ran {
    /// Checks with the expected result.
    pub(crate) checks: f64,
    /// Processor seconds of the checks.
    pub(crate) cpu_seconds: f64,
    /// Peak memory, in megabytes.
    pub(crate) megabytes: f64,
}

/// Runs the engine in this process and prints the result.
pub(crate) async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let url = &options.url;
    let guard = SsrfGuard::new(Outbound {
        allow: vec!["127.0.0.0/8".parse()?],
        // The ssl check always connects to this port.
        connect_to: vec![ConnectTo {
            host: url.host().ok_or("no host")?.to_owned(),
            port: 443,
            address: url.socket_addrs(|| None)?.first().copied().ok_or("no address")?,
        }],
        extra_roots: vec![CertificateDer::from_pem_file(&options.authority)?],
        ..Outbound::default()
    })?;
    let resolvers = match options.engine {
        // As many resolvers as the service asks.
        Engine::Dns => format!("first={url},second={url},third={url}").parse()?,
        _ => DohServers::default(),
    };
    let resolvers = Resolvers::new(&resolvers, None);
    match options.engine {
        Engine::Status => repeat(options, || status(&guard, url)).await,
        Engine::Ssl => repeat(options, || ssl(&guard, url)).await,
        Engine::Dns => repeat(options, || dns(&guard, &resolvers)).await,
        Engine::BrokenLinks => crawl(&guard, url).await,
    }
}

async fn repeat(options: &Options, check: impl AsyncFn() -> bool) -> Result<(), Box<dyn Error>> {
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let cpu_before = usage::own_cpu_seconds()?;
    let checks = Cell::new(0_u32);
    let failed = Cell::new(0_u32);
    let worker = || async {
        while Instant::now() < until {
            let count = if check().await { &checks } else { &failed };
            count.set(count.get() + 1);
        }
    };
    join_all((0..options.concurrency).map(|_| worker())).await;
    let cpu = usage::own_cpu_seconds()? - cpu_before;
    if failed.get() > 0 {
        return Err(format!("{} checks went wrong", failed.get()).into());
    }
    let memory = usage::peak_megabytes("self");
    Ok(line(&json!({ "checks": checks.get(), "cpu": cpu, "memory": memory }).to_string())?)
}

async fn status(guard: &SsrfGuard, url: &Url) -> bool {
    let probe = StatusProbe {
        url,
        method: CheckMethod::Get,
        post: None,
        header: None,
        deadline: status::DEADLINE,
        connectivity: None,
        expected: None,
    };
    status::probe(guard, &probe).await.is_ok_and(|result| result.up)
}

async fn ssl(guard: &SsrfGuard, url: &Url) -> bool {
    let probe = SslProbe {
        url,
        port: ssl::HTTPS_PORT,
        deadline: ssl::DEADLINE,
        now: now(),
        connectivity: None,
    };
    ssl::probe(guard, &probe).await.is_ok_and(|result| result.is_valid)
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock itself")]
fn now() -> Timestamp {
    Timestamp::now()
}

async fn dns(guard: &SsrfGuard, resolvers: &Resolvers) -> bool {
    let Ok(url) = Url::parse("http://www.example.com/") else { return false };
    let probe = DnsProbe { url: &url, deadline: dns::DEADLINE, now: now() };
    dns::probe(guard, resolvers, &probe).await.is_ok_and(|result| {
        result.lookup_failure.is_none()
            && result.unanswered_types.is_empty()
            && !result.records.of(DnsRecordType::A).is_empty()
    })
}

/// Crawls once, and prints which links are broken. The cost is measured from outside, as for the other crawlers.
async fn crawl(guard: &SsrfGuard, url: &Url) -> Result<(), Box<dyn Error>> {
    let settings = LinksSettings::default();
    let probe = LinksProbe {
        url,
        header: None,
        settings: &settings,
        browser: None,
        limits: CrawlBounds::default(),
        deadline: links::DEADLINE,
        connectivity: None,
        now: now(),
    };
    let result = links::probe(guard, &CrawlLimiter::default(), &probe, |_| {})
        .await
        .map_err(|error| error.message)?;
    let broken: Vec<_> = result.urls.iter().map(|link| &link.url).collect();
    Ok(line(&json!({ "found": result.found, "broken": broken }).to_string())?)
}

/// Runs an engine in a process of its own.
pub(crate) async fn measure(
    engine: &str,
    url: &str,
    authority: &Path,
    seconds: u64,
) -> Result<Ran, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?)
        .args(["engine", engine, url, "--seconds", &seconds.to_string(), "--authority"])
        .arg(authority)
        .stderr(Stdio::inherit())
        .output()
        .await?;
    let ran: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| ran[name].as_f64().ok_or("a number is missing");
    Ok(Ran { checks: number("checks")?, cpu_seconds: number("cpu")?, megabytes: number("memory")? })
}
