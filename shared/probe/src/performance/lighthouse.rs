//! Lighthouse in a process of its own: Node, with a Chromium behind the guard's proxy.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::{Semaphore, SemaphorePermit};
use url::Url;
use vedette_domain::check::{CheckError, SpeedMetrics, lighthouse};

use super::{bounded_json, unavailable};
use crate::browser::{self, Chromium, Group, GuardProxy};
use crate::guard::Guard;

/// Two audits at once would share the processor, and measure each other.
static AUDITS: Semaphore = Semaphore::const_new(1);

/// Bytes of a report; real ones have 100 to 500 KB.
const REPORT: u64 = 8 * 1024 * 1024;

/// Bytes of what Node and Chromium write to stderr that are kept for the log.
const COMPLAINTS: usize = 2 * 1024;

/// The right to audit on this machine.
pub(super) type Turn = SemaphorePermit<'static>;

/// Waits for the right to audit.
pub(super) async fn turn() -> Turn {
    // It is never closed, which is the only way to fail.
    AUDITS.acquire().await.expect("an open semaphore")
}

/// An installed Lighthouse: `infra/lighthouse` after `make lighthouse`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lighthouse {
    /// Node 22.19 or newer.
    pub node: PathBuf,
    /// `audit.mjs`, beside its `node_modules`.
    pub script: PathBuf,
    /// The browser to audit in.
    pub chromium: Chromium,
}

impl Lighthouse {
    /// What is installed in `folder`; Node is the one in there, else one on `path`, as in the `PATH`
    /// variable, and the browser as [`Chromium::find`] finds it.
    ///
    /// # Errors
    /// With [`AUDITOR_UNAVAILABLE`](super::AUDITOR_UNAVAILABLE) or
    /// [`BROWSER_UNAVAILABLE`](browser::BROWSER_UNAVAILABLE) when a piece is missing.
    pub fn find(folder: &Path, chrome: Option<&Path>, path: &OsStr) -> Result<Self, CheckError> {
        // The audit runs in a folder of its own.
        let folder = &std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let script = folder.join("audit.mjs");
        if !script.is_file() || !folder.join("node_modules/lighthouse").is_dir() {
            return Err(unavailable("Lighthouse is not installed"));
        }
        let mut nodes = vec![folder.join("node_modules/.bin/node")];
        nodes.extend(std::env::split_paths(path).map(|folder| folder.join("node")));
        let node = nodes.into_iter().find(|file| file.is_file());
        let node = node.ok_or_else(|| unavailable("Node is not installed"))?;
        Ok(Self { node, script, chromium: Chromium::find(chrome, folder, path)? })
    }

    /// Audits `url`. Bounded in time by the caller.
    pub(super) async fn audit(
        &self,
        guard: &Guard,
        url: &Url,
        header: Option<(&str, &str)>,
    ) -> Result<SpeedMetrics, CheckError> {
        let proxy = GuardProxy::bind().await.map_err(|error| cannot_start(&error))?;
        let profile = tempfile::tempdir().map_err(|error| cannot_start(&error))?;
        let request = json!({
            "url": url.as_str(),
            "header": header.map(|(name, value)| json!({ "name": name, "value": value })),
            "chromium": self.chromium.executable,
            "arguments": self.chromium.arguments(proxy.address(), &profile.path().join("profile")),
        });
        let process = Process::start(self, profile).map_err(|error| cannot_start(&error))?;
        let report = proxy.serve_during(guard, process.finish(&request)).await?;
        for refusal in proxy.refusals() {
            tracing::debug!(%refusal, "the page asked for what it may not reach");
        }
        if proxy.is_exhausted() {
            // Figures of a page that was cut off would be too good.
            return Err(lighthouse::failed("the page is too large to audit", "TOO_LARGE"));
        }
        if let Some(error) = report["browserError"].as_str() {
            tracing::warn!(error, "Chromium does not start");
            return Err(browser::unavailable("Chromium does not start"));
        }
        lighthouse::report(&report)
    }
}

fn cannot_start(error: &io::Error) -> CheckError {
    tracing::warn!(%error, "Lighthouse cannot be started");
    unavailable("Lighthouse cannot be started")
}

/// Node, and the Chromium that it starts, in a process group of their own: all of it is killed when
/// the value ends. The fields end in their order, so the processes before their folder.
struct Process {
    group: Group,
    child: Child,
    /// Their home, with all that they write.
    _home: TempDir,
}

impl Process {
    fn start(lighthouse: &Lighthouse, home: TempDir) -> io::Result<Self> {
        let child = Command::new(&lighthouse.node)
            .arg(&lighthouse.script)
            // Nothing of our environment, which holds credentials, is for a browser.
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self { group: Group::of(&child), child, _home: home })
    }

    /// Asks for `request`, and gives the report.
    async fn finish(mut self, request: &Value) -> Result<Value, CheckError> {
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
        else {
            return Err(unavailable("Lighthouse cannot be asked"));
        };
        let conversation = async {
            // Who does not listen may still say why.
            let _ = stdin.write_all(format!("{request}\n").as_bytes()).await;
            let mut report = Vec::new();
            stdout.take(REPORT).read_to_end(&mut report).await?;
            // Open until here: Node ends when it closes.
            drop(stdin);
            Ok::<_, io::Error>(report)
        };
        let (report, complaints) = {
            let mut complaints = Vec::new();
            let mut conversation = std::pin::pin!(conversation);
            let report = tokio::select! {
                report = &mut conversation => report,
                () = keep(stderr, &mut complaints) => conversation.await,
            };
            (report, complaints)
        };
        self.group.end(self.child).await;
        let report = report.ok().and_then(|report| bounded_json::parse(&report));
        report.ok_or_else(|| {
            tracing::warn!(
                complaints = %String::from_utf8_lossy(&complaints).trim(),
                "an audit ended without a report"
            );
            lighthouse::failed("the audit ended without a report", "NO_REPORT")
        })
    }
}

/// Reads to the end, and keeps the first bytes.
async fn keep(mut stream: impl AsyncRead + Unpin, kept: &mut Vec<u8>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let room = COMPLAINTS - kept.len();
        kept.extend_from_slice(&buffer[..read.min(room)]);
    }
}
