//! Lighthouse in a process of its own: Node, with a Chromium behind the guard's proxy.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, SemaphorePermit};
use url::Url;
use vedette_domain::check::{CheckError, SpeedMetrics, lighthouse};

use super::{bounded_json, unavailable};
use crate::browser::{self, Bounds, Chromium, GuardProxy, Process};
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
#[derive(Debug, Clone)]
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
        let proxy = GuardProxy::bind(url, Bounds::AUDIT).await;
        let proxy = proxy.map_err(|error| cannot_start(&error))?;
        let home = tempfile::tempdir().map_err(|error| cannot_start(&error))?;
        let chromium = self.chromium.command(proxy.address(), &home.path().join("profile")).await?;
        let request = json!({
            "url": url.as_str(),
            "header": header.map(|(name, value)| json!({ "name": name, "value": value })),
            "chromium": chromium,
            "proxy": { "url": format!("http://{}/", proxy.address()), "credentials": proxy.credentials().to_json() },
        });
        let process = Process::start(&self.node, [&self.script], home)
            .map_err(|error| cannot_start(&error))?;
        let report =
            proxy.serve_during(guard, finish(process, self.chromium.memory, &request)).await?;
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

/// Asks Node for `request`, and gives the report.
async fn finish(mut process: Process, memory: u64, request: &Value) -> Result<Value, CheckError> {
    let node = process.leader();
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (node.stdin.take(), node.stdout.take(), node.stderr.take())
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
    let mut complaints = Vec::new();
    let told = async {
        let mut conversation = std::pin::pin!(conversation);
        tokio::select! {
            report = &mut conversation => report,
            () = keep(stderr, &mut complaints) => conversation.await,
        }
    };
    let report = tokio::select! {
        report = told => report,
        () = process.outgrown(memory) => {
            process.end().await;
            return Err(lighthouse::failed("the page takes too much memory to audit", "TOO_LARGE"));
        }
    };
    process.end().await;
    let report = report.ok().and_then(|report| bounded_json::parse(&report));
    report.ok_or_else(|| {
        tracing::warn!(
            complaints = %String::from_utf8_lossy(&complaints).trim(),
            "an audit ended without a report"
        );
        lighthouse::failed("the audit ended without a report", "NO_REPORT")
    })
}

/// Reads to the end, and keeps the first bytes.
async fn keep(mut stream: impl AsyncRead + Unpin, kept: &mut Vec<u8>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let room = COMPLAINTS - kept.len();
        kept.extend_from_slice(&buffer[..read.min(room)]);
    }
}
