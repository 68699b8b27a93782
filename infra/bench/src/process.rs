//! The service under measurement: a process of its own, on a folder of its own.

use std::error::Error;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// A running service.
pub(crate) struct Service {
    child: Child,
    pid: u32,
    base: String,
    token: String,
    client: reqwest::Client,
    _data: TempDir,
}

/// Clock ticks a second in `/proc/<pid>/stat`: `USER_HZ`, 100 on every Linux.
const TICKS: f64 = 100.0;

impl Service {
    /// Starts the binary and waits until it answers.
    pub(crate) async fn start(binary: &Path) -> Result<Self, Box<dyn Error>> {
        let data = tempfile::tempdir()?;
        let listen = free_address()?;
        let child = Command::new(binary)
            .args(["--data".as_ref(), data.path().as_os_str()])
            .args(["--listen", &listen, "--quiet"])
            .env("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8")
            .env("VEDETTE_THROTTLE", "1000000")
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().ok_or("the service ended at once")?;
        let token_file: PathBuf = data.path().join("token");
        let mut tries = 0;
        let token = loop {
            match fs::read_to_string(&token_file) {
                Ok(token) if std::net::TcpStream::connect(&listen).is_ok() => break token,
                _ if tries > 200 => return Err("the service does not start".into()),
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
            tries += 1;
        };
        let token = token.trim().to_owned();
        let client = reqwest::Client::new();
        let base = format!("http://{listen}/api/v1");
        Ok(Self { child, pid, base, token, client, _data: data })
    }

    /// GETs a path below the base address.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Box<dyn Error>> {
        let request = self.client.get(format!("{}{path}", self.base)).bearer_auth(&self.token);
        Ok(request.send().await?.error_for_status()?.json().await?)
    }

    /// POSTs a body to a path below the base address.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Box<dyn Error>> {
        let request = self.client.post(format!("{}{path}", self.base)).bearer_auth(&self.token);
        Ok(request.json(body).send().await?.error_for_status()?.json().await?)
    }

    /// Processor seconds used so far.
    pub(crate) fn cpu_seconds(&self) -> Result<f64, Box<dyn Error>> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let ticks: f64 = after_name
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<f64>().ok())
            .sum();
        Ok(ticks / TICKS)
    }

    /// The most memory held so far, in megabytes.
    pub(crate) fn peak_megabytes(&self) -> Result<f64, Box<dyn Error>> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        let kilobytes = line.split_whitespace().nth(1).and_then(|field| field.parse::<f64>().ok());
        Ok(kilobytes.unwrap_or(f64::NAN) / 1024.0)
    }

    /// Ends the service.
    pub(crate) async fn stop(mut self) -> Result<(), Box<dyn Error>> {
        Ok(self.child.kill().await?)
    }
}

fn free_address() -> std::io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
