//! The whole service beside Uptime Kuma: the same monitors of the same target.

use std::error::Error;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use tokio::process::{Child, Command};

use crate::process::{Service, Setup, Usage};
use crate::recording_server::RecordingServer;
use crate::report::{line, table};

/// How much to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service's binary.
    #[arg(long, default_value = "target/release/vedette")]
    binary: PathBuf,
    /// The peer's folder, with its `server/server.js`.
    #[arg(long, env = "UPTIME_KUMA")]
    kuma: PathBuf,
    /// The peer's Node.
    #[arg(long, env = "NODE", default_value = "node")]
    node: PathBuf,
    /// Monitors, each asked every twenty seconds.
    #[arg(long, default_value_t = 500)]
    monitors: usize,
    /// Seconds to measure, with monitors and without.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// As often as the peer can ask.
const EVERY: &str = "20s";
/// In how many times [`SETTLES`] all monitors have begun, or it is measured as it is.
const STARTS_WITHIN: u32 = 20;
/// Until what starts with a process has ended; longer than all monitors take for one check.
const SETTLES: Duration = Duration::from_secs(30);

/// Lets each ask the same target as often, one after the other.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let time = Duration::from_secs(options.seconds);
    let mut rows = vec![ours(options, time).await?];
    match theirs(options, time).await {
        Ok(row) => rows.push(row),
        Err(error) => line(&format!("Uptime Kuma is left out: {error}"))?,
    }
    let headings = ["", "checks a second", "checks a CPU second", "idle CPU %", "MB"];
    Ok(table(headings.map(str::to_owned).to_vec(), rows)?)
}

async fn ours(options: &Options, time: Duration) -> Result<Vec<String>, Box<dyn Error>> {
    let (target, data) = (RecordingServer::start()?, tempfile::tempdir()?);
    let setup =
        Setup { binary: &options.binary, data: data.path(), minute: EVERY, fsync: "everysec" };
    let service = Service::start(setup).await?;
    tokio::time::sleep(SETTLES).await;
    let idle = cpu_during(service.usage(), time).await?;
    let pages = (0..options.monitors).map(|number| ("answer", number));
    service.watch(&target.address, pages).await?;
    let row = row("Vedette", service.usage(), &target, options.monitors, idle, time).await?;
    service.stop().await?;
    Ok(row)
}

async fn theirs(options: &Options, time: Duration) -> Result<Vec<String>, Box<dyn Error>> {
    let (target, data) = (RecordingServer::start()?, tempfile::tempdir()?);
    fs::write(data.path().join("db-config.json"), r#"{"type":"sqlite"}"#)?;
    let mut kuma = start(options, data.path()).await?;
    tokio::time::sleep(SETTLES).await;
    let idle = cpu_during(&Usage::of(&kuma)?, time).await?;
    kuma.kill().await?;
    // There is no API: monitors are made as its page makes them, in its table.
    let made = Command::new(&options.node)
        .args(["-e", include_str!("monitors.js")])
        .arg(data.path().join("kuma.db"))
        .args([&target.address, &options.monitors.to_string()])
        .current_dir(&options.kuma)
        .status()
        .await?;
    if !made.success() {
        return Err("its monitors cannot be made".into());
    }
    let mut kuma = start(options, data.path()).await?;
    let row = row("Uptime Kuma", &Usage::of(&kuma)?, &target, options.monitors, idle, time).await?;
    kuma.kill().await?;
    Ok(row)
}

async fn start(options: &Options, data: &Path) -> Result<Child, Box<dyn Error>> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let child = Command::new(&options.node)
        .args(["server/server.js".to_owned(), format!("--data-dir={}/", data.display())])
        .env("UPTIME_KUMA_HOST", address.ip().to_string())
        .env("UPTIME_KUMA_PORT", address.port().to_string())
        .current_dir(&options.kuma)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    for _ in 0..600 {
        if std::net::TcpStream::connect(address).is_ok() {
            return Ok(child);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("it does not start".into())
}

/// Processor seconds that a process uses in a while.
async fn cpu_during(usage: &Usage, time: Duration) -> Result<f64, Box<dyn Error>> {
    let before = usage.cpu_seconds()?;
    tokio::time::sleep(time).await;
    Ok(usage.cpu_seconds()? - before)
}

async fn row(
    name: &str,
    usage: &Usage,
    target: &RecordingServer,
    monitors: usize,
    idle: f64,
    time: Duration,
) -> Result<Vec<String>, Box<dyn Error>> {
    // The peer begins its monitors one after the other, which takes minutes.
    for _ in 0..STARTS_WITHIN {
        target.take();
        tokio::time::sleep(SETTLES).await;
        if target.take().len() >= monitors {
            break;
        }
    }
    let cpu = cpu_during(usage, time).await?;
    let checks = target.take().len() as f64;
    let seconds = time.as_secs_f64();
    Ok(vec![
        name.to_owned(),
        format!("{:.1}", checks / seconds),
        format!("{:.0}", checks / cpu),
        format!("{:.1}", 100.0 * idle / seconds),
        format!("{:.0}", usage.megabytes()?.1),
    ])
}
