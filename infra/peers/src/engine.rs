//! One of our engines in a process of its own, on one thread: as often as it can for a while.

use std::cell::Cell;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use futures::future::join_all;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tokio::process::Command;
use url::Url;
use vedette_probe::guard::{Guard, Outbound};
use vedette_probe::status::{self, StatusProbe};

use crate::report::line;
use crate::usage;

/// What to run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The engine.
    engine: Engine,
    /// What it looks at.
    url: Url,
    /// File of the certificate authority to trust.
    #[arg(long)]
    authority: PathBuf,
    /// Checks at the same time.
    #[arg(long, default_value_t = 16)]
    concurrency: usize,
    /// Seconds to go on for.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Engine {
    Status,
}

/// What came of it.
pub(crate) struct Ran {
    /// Checks that found what is there.
    pub(crate) checks: f64,
    /// Processor seconds of the checks.
    pub(crate) cpu_seconds: f64,
    /// Most memory, in megabytes.
    pub(crate) megabytes: f64,
}

/// Runs the engine here and prints what came of it.
pub(crate) async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let guard = Guard::new(Outbound {
        allow: vec!["127.0.0.0/8".parse()?],
        extra_roots: vec![CertificateDer::from_pem_file(&options.authority)?],
        ..Outbound::default()
    })?;
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let cpu_before = usage::own_cpu_seconds()?;
    let checks = Cell::new(0_u32);
    let failed = Cell::new(0_u32);
    let worker = || async {
        while Instant::now() < until {
            let is_right = match options.engine {
                Engine::Status => status(&guard, &options.url).await,
            };
            let count = if is_right { &checks } else { &failed };
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

async fn status(guard: &Guard, url: &Url) -> bool {
    let probe = StatusProbe { url, header: None, deadline: status::DEADLINE };
    status::probe(guard, &probe).await.is_ok_and(|result| result.up)
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
