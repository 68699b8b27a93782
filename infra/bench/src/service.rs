//! The whole service compared with Uptime Kuma: their size and first start, and the same monitors of the same target.

use std::error::Error;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::process::{Child, Command};

use crate::process::{Service, Setup, Usage};
use crate::recording_server::RecordingServer;
use crate::report::{line, table};

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service's binary
    #[arg(long, default_value = "target/release/vedette")]
    binary: PathBuf,
    /// The folder of Uptime Kuma, which contains `server/server.js`
    #[arg(long, env = "UPTIME_KUMA")]
    kuma: PathBuf,
    /// The Node that runs Uptime Kuma
    #[arg(long, env = "NODE", default_value = "node")]
    node: PathBuf,
    /// Monitors, each of which sends a request every twenty seconds
    #[arg(long, default_value_t = 500)]
    monitors: usize,
    /// Seconds to measure, with monitors and without
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Measure only sizes, first starts and idle memory
    #[arg(long)]
    first_start: bool,
}

/// The shortest interval that Uptime Kuma allows.
const EVERY: &str = "20s";
/// How many times [`SETTLES`] to wait for all monitors to begin. After that, it is measured anyway.
const STARTS_WITHIN: u32 = 20;
/// How long to wait after a start; longer than all monitors take for one check.
const SETTLES: Duration = Duration::from_secs(30);

/// How many first starts to measure, each on an empty folder.
const STARTS: usize = 5;
/// How often to try whether a starting service answers.
const ASKS: Duration = Duration::from_millis(5);
/// The time limit for a first start.
const STARTS_IN: Duration = Duration::from_secs(60);

/// Starts one service after the other, each of which monitors the same target at the same interval.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    first_starts(options).await?;
    if options.first_start {
        return Ok(());
    }
    line("")?;
    let time = Duration::from_secs(options.seconds);
    let mut rows = vec![ours(options, time).await?];
    match theirs(options, time).await {
        Ok(row) => rows.push(row),
        Err(error) => line(&format!("Uptime Kuma is left out: {error}"))?,
    }
    let headings = ["", "checks a second", "checks a CPU second", "idle CPU %", "MB"];
    Ok(table(headings.map(str::to_owned).to_vec(), rows)?)
}

/// Measures the installed size, the time of a first start, and the memory when nothing is monitored.
async fn first_starts(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut ours = (Vec::new(), 0.0);
    let mut theirs = (Vec::new(), 0.0);
    for number in 1..=STARTS {
        let rest = if number == STARTS { SETTLES } else { Duration::ZERO };
        let data = tempfile::tempdir()?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(&options.binary);
        command.args(["serve", "--quiet", "--listen", &address.to_string(), "--data"]);
        first_start(command.arg(data.path()), address, rest, &mut ours).await?;
        let data = tempfile::tempdir()?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        first_start(&mut kuma(options, data.path(), address)?, address, rest, &mut theirs).await?;
    }
    // Its packages are in the same folder.
    let packages = options.kuma.parent().ok_or("it has no folder")?;
    let sizes =
        [size(&options.binary)?, size(packages)? + size(&fs::canonicalize(&options.node)?)?];
    let rows = ["Vedette", "Uptime Kuma, with its packages and Node"]
        .into_iter()
        .zip(sizes)
        .zip([ours, theirs]);
    let rows = rows.map(|((name, size), (mut seconds, memory))| {
        seconds.sort_unstable_by(f64::total_cmp);
        let median = seconds[seconds.len() / 2];
        vec![name.to_owned(), format!("{size:.0}"), format!("{median:.2}"), format!("{memory:.0}")]
    });
    let headings = ["", "MB installed", "s to first answer", "MB when idle"];
    Ok(table(headings.map(str::to_owned).to_vec(), rows.collect())?)
}

/// Starts a service for the first time. Adds the seconds until it answers, and records its memory after a while.
async fn first_start(
    command: &mut Command,
    address: SocketAddr,
    rest: Duration,
    (seconds, memory): &mut (Vec<f64>, f64),
) -> Result<(), Box<dyn Error>> {
    command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let began = Instant::now();
    let mut child = command.spawn()?;
    let client = reqwest::Client::new();
    while client.get(format!("http://{address}/")).send().await.is_err() {
        if began.elapsed() > STARTS_IN {
            return Err("it does not start".into());
        }
        tokio::time::sleep(ASKS).await;
    }
    seconds.push(began.elapsed().as_secs_f64());
    tokio::time::sleep(rest).await;
    *memory = Usage::of(&child)?.megabytes()?.0;
    child.kill().await?;
    Ok(())
}

/// The size of a file, or of all files below a folder, in megabytes.
fn size(path: &Path) -> Result<f64, Box<dyn Error>> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Ok(found.len() as f64 / 1e6);
    }
    let mut sum = 0.0;
    for entry in fs::read_dir(path)? {
        sum += size(&entry?.path())?;
    }
    Ok(sum)
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
    let mut kuma = start(options, data.path()).await?;
    tokio::time::sleep(SETTLES).await;
    let idle = cpu_during(&Usage::of(&kuma)?, time).await?;
    kuma.kill().await?;
    // Uptime Kuma has no API, so this writes monitors to its database as its page does.
    let made = Command::new(&options.node)
        .args(["-e", include_str!("monitors.js")])
        .arg(data.path().join("kuma.db"))
        .args([&target.address, &options.monitors.to_string()])
        .current_dir(&options.kuma)
        .status()
        .await?;
    if !made.success() {
        return Err("its monitors could not be created".into());
    }
    let mut kuma = start(options, data.path()).await?;
    let row = row("Uptime Kuma", &Usage::of(&kuma)?, &target, options.monitors, idle, time).await?;
    kuma.kill().await?;
    Ok(row)
}

/// Starts Uptime Kuma on a folder, with SQLite, which needs nothing else.
fn kuma(options: &Options, data: &Path, address: SocketAddr) -> Result<Command, Box<dyn Error>> {
    fs::write(data.join("db-config.json"), r#"{"type":"sqlite"}"#)?;
    let mut command = Command::new(&options.node);
    command
        .args(["server/server.js".to_owned(), format!("--data-dir={}/", data.display())])
        .env("UPTIME_KUMA_HOST", address.ip().to_string())
        .env("UPTIME_KUMA_PORT", address.port().to_string())
        .current_dir(&options.kuma);
    Ok(command)
}

async fn start(options: &Options, data: &Path) -> Result<Child, Box<dyn Error>> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let child = kuma(options, data, address)?
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

/// Processor seconds that a process uses within this time.
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
    // Uptime Kuma begins its monitors one after the other, which takes minutes.
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
