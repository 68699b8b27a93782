//! Status probes a processor second, compared with blackbox_exporter.

use std::error::Error;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use futures::future::try_join_all;
use tokio::process::{Child, Command};

use crate::report::{goal, line, median};
use crate::target::TargetProcess;
use crate::{engine, usage};

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The binary of blackbox_exporter
    #[arg(long, env = "BLACKBOX_EXPORTER", default_value = "blackbox_exporter")]
    blackbox: PathBuf,
    /// Rounds, of which the median counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of each tool in a round
    #[arg(long, default_value_t = 2)]
    seconds: u64,
}

/// Concurrent probes of each tool.
const CONCURRENCY: usize = 16;

/// Has both tools probe the same page in turn. Neither keeps connections open: each probe opens a new connection with a
/// full handshake.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let authority = folder.path().join("authority.pem");
    let target = TargetProcess::start(&authority).await?;
    let config = folder.path().join("blackbox.yml");
    fs::write(
        &config,
        format!(
            "modules:\n  page:\n    prober: http\n    timeout: 30s\n    http:\n      \
             preferred_ip_protocol: ip4\n      tls_config:\n        ca_file: {}\n",
            authority.display()
        ),
    )?;
    let peer = match Blackbox::start(options, &config).await {
        Ok(peer) => peer,
        Err(error) => return Ok(line(&format!("blackbox_exporter is left out: {error}"))?),
    };

    line("status probes a processor second, median of the rounds")?;
    let urls = [
        (format!("http://{}/probe", target.plain), 5.0),
        (format!("https://{}/probe", target.secure), 3.0),
    ];
    for (url, wanted) in urls {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut memory: f64 = 0.0;
        for _ in 0..options.rounds {
            let ran = engine::measure("status", &url, &authority, options.seconds).await?;
            ours.push(ran.checks / ran.cpu_seconds);
            memory = memory.max(ran.megabytes);
            theirs.push(peer.probe(&url, Duration::from_secs(options.seconds)).await?);
        }
        let (ours, theirs) = (median(&ours), median(&theirs));
        let scheme = url.split(':').next().unwrap_or_default();
        line(&format!(
            "{scheme:<6} vedette {ours:>8.0} ({memory:.0} MB)   blackbox_exporter {theirs:>8.0} ({:.0} MB)   ratio {:.1}",
            usage::peak_megabytes(&peer.pid.to_string()).unwrap_or(f64::NAN),
            ours / theirs
        ))?;
        goal(&format!("more {scheme} probes than blackbox_exporter"), ours / theirs, wanted)?;
    }
    Ok(())
}

/// A blackbox_exporter, on one thread like Vedette's engine.
struct Blackbox {
    address: String,
    pid: u32,
    client: reqwest::Client,
    _child: Child,
}

impl Blackbox {
    async fn start(options: &Options, config: &std::path::Path) -> Result<Self, Box<dyn Error>> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let child = Command::new(&options.blackbox)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=error")
            .env("GOMAXPROCS", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().ok_or("blackbox_exporter ended at once")?;
        for _ in 0..100 {
            if std::net::TcpStream::connect(&address).is_ok() {
                let client = reqwest::Client::new();
                return Ok(Self { address, pid, client, _child: child });
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err("blackbox_exporter does not start".into())
    }

    /// Measures its probes a processor second.
    async fn probe(&self, url: &str, time: Duration) -> Result<f64, Box<dyn Error>> {
        let until = Instant::now() + time;
        let cpu_before = usage::cpu_seconds(self.pid)?;
        let workers = (0..CONCURRENCY).map(|_| async move {
            let mut probes = 0_u32;
            while Instant::now() < until {
                let request = self.client.get(format!("http://{}/probe", self.address));
                let answer = request.query(&[("target", url), ("module", "page")]).send().await?;
                if !answer.text().await?.contains("\nprobe_success 1") {
                    return Err(Box::<dyn Error>::from("blackbox_exporter finds the page down"));
                }
                probes += 1;
            }
            Ok(probes)
        });
        let probes: u32 = try_join_all(workers).await?.into_iter().sum();
        Ok(f64::from(probes) / (usage::cpu_seconds(self.pid)? - cpu_before))
    }
}
