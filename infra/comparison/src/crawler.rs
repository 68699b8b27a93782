//! The crawlers: how to run each, and how to read the broken links in its output.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;
use tokio::process::Command;

use crate::usage;

/// The time limit for a crawl.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often to read the peak memory of a crawl. The peak never shrinks, so this misses little.
const LOOK: Duration = Duration::from_millis(5);

/// The size of the measurement, and the other crawlers. Those that do not run are left out.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The binary of lychee
    #[arg(long, env = "LYCHEE", default_value = "lychee")]
    pub(crate) lychee: PathBuf,
    /// The script of linkinator
    #[arg(long, env = "LINKINATOR", default_value = "linkinator")]
    pub(crate) linkinator: PathBuf,
    /// The Node that runs linkinator
    #[arg(long, env = "NODE", default_value = "node")]
    pub(crate) node: PathBuf,
    /// Rounds, of which the median counts
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
}

/// The site, and what crawlers need to know about it.
pub(crate) struct Site {
    /// Its first page.
    pub(crate) url: String,
    /// A file with the URLs of all pages, one on each line.
    pub(crate) pages: PathBuf,
    /// The certificate authority. The crawl does not use it, but the engine process requires it.
    pub(crate) authority: PathBuf,
    /// A folder for temporary files.
    pub(crate) folder: PathBuf,
}

/// A crawler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Crawler {
    Vedette,
    Lychee,
    Linkinator,
    Wget,
}

/// What a crawl found, and what it cost, including the start of its process.
pub(crate) struct Crawled {
    pub(crate) broken: BTreeSet<String>,
    pub(crate) wall_seconds: f64,
    pub(crate) cpu_seconds: f64,
    pub(crate) megabytes: f64,
}

impl Crawler {
    /// All crawlers, Vedette first.
    pub(crate) const ALL: [Self; 4] = [Self::Vedette, Self::Lychee, Self::Linkinator, Self::Wget];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vedette => "vedette",
            Self::Lychee => "lychee",
            Self::Linkinator => "linkinator",
            Self::Wget => "wget",
        }
    }

    /// The version that it reports; `None` if it does not run.
    pub(crate) async fn version(self, options: &Options) -> Option<String> {
        if self == Self::Vedette {
            return Some(env!("CARGO_PKG_VERSION").to_owned());
        }
        let mut command = self.command(options)?;
        let output = command.arg("--version").kill_on_drop(true).output();
        let output = tokio::time::timeout(PATIENCE, output).await.ok()?.ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
    }

    fn command(self, options: &Options) -> Option<Command> {
        Some(match self {
            Self::Vedette => Command::new(std::env::current_exe().ok()?),
            Self::Lychee => Command::new(&options.lychee),
            Self::Linkinator => {
                let mut command = Command::new(&options.node);
                command.arg(&options.linkinator);
                command
            }
            Self::Wget => Command::new("wget"),
        })
    }

    /// Crawls once.
    pub(crate) async fn crawl(
        self,
        options: &Options,
        site: &Site,
    ) -> Result<Crawled, Box<dyn Error>> {
        let mut command = self.command(options).ok_or("this program cannot be found")?;
        // wget reports in the user's language.
        command.current_dir(&site.folder).env("LC_ALL", "C");
        match self {
            Self::Vedette => {
                command.args(["engine", "broken-links", &site.url, "--authority"]);
                command.arg(&site.authority);
            }
            // lychee does not follow links, and by default it limits the requests to a host.
            Self::Lychee => {
                command.arg("--files-from").arg(&site.pages);
                command.args(["--host-concurrency", "128", "--max-concurrency", "128"]);
                command.args(["--host-request-interval", "0ms", "--max-retries", "0"]);
                command.args(["--no-progress", "--format", "json"]);
            }
            Self::Linkinator => {
                command.args([&site.url, "--recurse", "--format", "json"]);
            }
            Self::Wget => {
                let how = ["--spider", "--recursive", "--level=inf", "--no-directories"];
                command.args(how).args(["--no-verbose", &site.url]);
            }
        }
        let name = self.name();
        let (output, mut crawled) = tokio::time::timeout(PATIENCE, run(command))
            .await
            .map_err(|_| format!("{name} does not come to an end"))??;
        crawled.broken = self
            .broken(&output)
            .ok_or_else(|| format!("what {name} says cannot be read: {output}"))?;
        Ok(crawled)
    }

    /// Finds the broken links in the crawler's output.
    fn broken(self, output: &str) -> Option<BTreeSet<String>> {
        let json = || serde_json::from_str::<Value>(output).ok();
        let url = |link: &Value| link["url"].as_str().map(str::to_owned);
        match self {
            Self::Vedette => {
                let json = json()?;
                json["broken"].as_array()?.iter().map(|it| it.as_str().map(str::to_owned)).collect()
            }
            Self::Lychee => {
                json()?["error_map"].as_object()?.values().flat_map(links).map(url).collect()
            }
            Self::Linkinator => {
                let json = json()?;
                let links = json["links"].as_array()?.iter();
                links.filter(|link| link["state"] == "BROKEN").map(url).collect()
            }
            // `Found 2 broken links.`, an empty line, the links, an empty line.
            Self::Wget => {
                let lines = output.lines().skip_while(|line| !line.starts_with("Found "));
                let links = lines.skip(2).take_while(|line| !line.is_empty());
                Some(links.map(str::to_owned).collect())
            }
        }
    }
}

/// The items of a list.
fn links(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Runs a crawl and returns its output. The exit code is ignored, because it says that links are broken.
async fn run(mut command: Command) -> Result<(String, Crawled), Box<dyn Error>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let cpu_before = usage::ended_children_cpu_seconds()?;
    let started = Instant::now();
    let child = command.spawn()?;
    let process = child.id().ok_or("it ended at once")?.to_string();
    let mut ended = pin!(child.wait_with_output());
    let mut megabytes: f64 = 0.0;
    let output = loop {
        tokio::select! {
            output = &mut ended => break output?,
            () = tokio::time::sleep(LOOK) => {
                megabytes = megabytes.max(usage::peak_megabytes(&process).unwrap_or(0.0));
            }
        }
    };
    let wall_seconds = started.elapsed().as_secs_f64();
    let cpu_seconds = usage::ended_children_cpu_seconds()? - cpu_before;
    // wget reports on standard error.
    let printed = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let printed = String::from_utf8_lossy(&printed).into_owned();
    Ok((printed, Crawled { broken: BTreeSet::new(), wall_seconds, cpu_seconds, megabytes }))
}
