//! The measured service, in a process and a folder of its own.

use std::error::Error;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::locations::{PROTOCOL_VERSION, QUESTIONS_PATH, VERSION_HEADER};

/// A running service.
pub(crate) struct Service {
    child: Child,
    usage: Usage,
    base: String,
    token: String,
    client: reqwest::Client,
    binary: PathBuf,
    data: PathBuf,
}

/// How to start a service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup<'a> {
    /// Its binary.
    pub(crate) binary: &'a Path,
    /// Its data folder.
    pub(crate) data: &'a Path,
    /// How long a monitoring minute lasts.
    pub(crate) minute: &'a str,
    /// When writes wait for the disk.
    pub(crate) fsync: &'a str,
}

/// Sites in one request.
const BULK: usize = 100;
/// Clock ticks a second in `/proc/<pid>/stat`. This is `USER_HZ`, which is 100 on every Linux.
const TICKS: f64 = 100.0;

impl Service {
    /// Starts the binary and waits until it answers.
    pub(crate) async fn start(setup: Setup<'_>) -> Result<Self, Box<dyn Error>> {
        let listen = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let child = Command::new(setup.binary)
            .arg("serve")
            .args(["--data".as_ref(), setup.data.as_os_str()])
            .args(["--listen", &listen, "--minute", setup.minute])
            .args(["--fsync", setup.fsync, "--token", "--quiet"])
            .env("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8")
            .env("VEDETTE_THROTTLE", "1000000")
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let usage = Usage::of(&child)?;
        let token_file: PathBuf = setup.data.join("token");
        let mut tries = 0;
        let token = loop {
            match fs::read_to_string(&token_file) {
                Ok(token) if std::net::TcpStream::connect(&listen).is_ok() => break token,
                _ if tries > 200 => return Err("the service did not start".into()),
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
            tries += 1;
        };
        let token = token.trim().to_owned();
        let base = format!("http://{listen}/api/v1");
        let (client, data) = (reqwest::Client::new(), setup.data.to_owned());
        let binary = setup.binary.to_owned();
        Ok(Self { child, usage, base, token, client, binary, data })
    }

    /// Adds the pages `<address>/<kind>/<number>` as sites with status checks only, every minute. Returns the sites in
    /// the order of their numbers.
    pub(crate) async fn watch(
        &self,
        address: &str,
        pages: impl Iterator<Item = (&'static str, usize)>,
    ) -> Result<Vec<SiteId>, Box<dyn Error>> {
        let teams = self.get("/teams").await?;
        let team = teams["data"][0]["uuid"].as_str().and_then(TeamId::parse).ok_or("no team")?;
        self.watch_for(team, address, pages).await
    }

    /// Does the same for one of the user's teams.
    pub(crate) async fn watch_for(
        &self,
        team: TeamId,
        address: &str,
        pages: impl Iterator<Item = (&'static str, usize)>,
    ) -> Result<Vec<SiteId>, Box<dyn Error>> {
        let team = format!("/teams/{team}");
        let off = json!({ "enabled": false, "cadence_minutes": 1440 });
        let tools = json!({
            "status": { "enabled": true, "cadence_minutes": 1 },
            "ssl": off, "dns": off, "broken-links": off, "performance": off,
        });
        let settings = json!({ "monitoring_settings": { "tools": tools } });
        self.send(self.client.patch(self.url(&format!("{team}/monitoring"))), &settings).await?;
        let urls =
            pages.map(|(kind, number)| json!({ "url": format!("{address}/{kind}/{number}") }));
        let urls: Vec<Value> = urls.collect();
        let mut sites = Vec::with_capacity(urls.len());
        for urls in urls.chunks(BULK) {
            let body = json!({ "sites": urls });
            let bulk = self.client.post(self.url(&format!("{team}/sites/bulk")));
            let made = self.send(bulk, &body).await?;
            let ids = made["data"]["created"].as_array().ok_or("no list")?.iter();
            sites.extend(ids.filter_map(|site| SiteId::parse(site["uuid"].as_str()?)));
        }
        if sites.len() == urls.len() { Ok(sites) } else { Err("sites were not created".into()) }
    }

    /// Adds an agent, and returns its token.
    pub(crate) async fn add_agent(&self, name: &str) -> Result<String, Box<dyn Error>> {
        let mut command = Command::new(&self.binary);
        command.args(["--json", "agent", "add", name]).env("VEDETTE_DATA", &self.data);
        let run = command.output().await?;
        let added: Value = serde_json::from_slice(&run.stdout)?;
        Ok(added["token"].as_str().ok_or("no token")?.to_owned())
    }

    /// Runs an agent that takes questions and never answers.
    pub(crate) fn silent_agent(&self, token: String) -> impl Future<Output = ()> + 'static {
        let url = self.url("").replace("/api/v1", QUESTIONS_PATH);
        let request = self.client.post(url).bearer_auth(token);
        let request = request.header(VERSION_HEADER, PROTOCOL_VERSION.to_string());
        async move {
            while let Some(request) = request.try_clone() {
                let taken = async { request.send().await?.bytes().await };
                if taken.await.is_err() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Requests a path below the base address with GET.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Box<dyn Error>> {
        let request = self.client.get(self.url(path)).bearer_auth(&self.token);
        Ok(request.send().await?.error_for_status()?.json().await?)
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        body: &Value,
    ) -> Result<Value, Box<dyn Error>> {
        let request = request.bearer_auth(&self.token).json(body);
        Ok(request.send().await?.error_for_status()?.json().await?)
    }

    /// Builds a request to a path below the base address.
    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, self.url(path)).bearer_auth(&self.token)
    }

    /// The URL of a page.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}{path}", self.base.trim_end_matches("/api/v1"))
    }

    /// Its use of resources.
    pub(crate) const fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The size of the table's files in megabytes.
    pub(crate) fn disk_megabytes(&self) -> Result<f64, Box<dyn Error>> {
        let mut bytes = 0;
        for file in fs::read_dir(&self.data)? {
            bytes += file?.metadata()?.len();
        }
        Ok(bytes as f64 / 1e6)
    }

    /// Waits until the service ends by itself.
    pub(crate) async fn stop(mut self) -> Result<(), Box<dyn Error>> {
        Command::new("kill").arg(self.usage.0.to_string()).status().await?;
        self.child.wait().await?;
        Ok(())
    }
}

/// A process's use of resources, as Linux reports it.
pub(crate) struct Usage(u32);

impl Usage {
    /// The use of a child process.
    pub(crate) fn of(child: &Child) -> Result<Self, Box<dyn Error>> {
        Ok(Self(child.id().ok_or("the process ended at once")?))
    }

    /// The use of this process.
    pub(crate) fn own() -> Self {
        Self(std::process::id())
    }

    /// Processor seconds so far.
    pub(crate) fn cpu_seconds(&self) -> Result<f64, Box<dyn Error>> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0))?;
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let ticks: f64 = after_name
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<f64>().ok())
            .sum();
        Ok(ticks / TICKS)
    }

    /// The current memory and the highest so far, in megabytes.
    pub(crate) fn megabytes(&self) -> Result<(f64, f64), Box<dyn Error>> {
        let now = self.told("status", "VmRSS:")? / 1024.0;
        Ok((now, self.told("status", "VmHWM:")? / 1024.0))
    }

    /// Megabytes written to the disk so far.
    pub(crate) fn written_megabytes(&self) -> Result<f64, Box<dyn Error>> {
        Ok(self.told("io", "write_bytes:")? / 1e6)
    }

    fn told(&self, file: &str, name: &str) -> Result<f64, Box<dyn Error>> {
        let told = fs::read_to_string(format!("/proc/{}/{file}", self.0))?;
        let line = told
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .ok_or("Linux reports nothing about the process")?;
        Ok(line
            .split_whitespace()
            .next()
            .ok_or("Linux reports nothing about the process")?
            .parse()?)
    }
}
