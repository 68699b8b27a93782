//! Runs Lighthouse in Node, with a Chromium behind the SSRF guard's proxy.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, SemaphorePermit};
use url::Url;
use vedette_domain::checks::check::{CheckError, SpeedMetrics, lighthouse};

use super::{bounded_json, unavailable};
use crate::browser::{self, Chromium, Process, ProxyLimits, SsrfGuardProxy};
use crate::ssrf_guard::SsrfGuard;

/// Concurrent audits would share the processor, and distort each other's figures.
static AUDITS: Semaphore = Semaphore::const_new(1);

/// The most bytes in a report; real ones have 100 to 500 KB.
const MAX_REPORT: u64 = 8 * 1024 * 1024;

/// Bytes of stderr of Node and Chromium kept for the log.
const MAX_STDERR: usize = 2 * 1024;

/// Permission to audit on this machine.
pub(super) type AuditPermit = SemaphorePermit<'static>;

/// Waits for permission to audit.
pub(super) async fn permit() -> AuditPermit {
    // Fails only if the semaphore is closed, which it never is.
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
    /// Finds what is installed in `folder`. Node is the one in there, or one on `path`, as in the
    /// `PATH` variable; [`Chromium::find`] finds the browser.
    ///
    /// # Errors
    /// With [`AUDITOR_UNAVAILABLE`](super::AUDITOR_UNAVAILABLE) or
    /// [`BROWSER_UNAVAILABLE`](browser::BROWSER_UNAVAILABLE) when a piece is missing.
    pub fn find(folder: &Path, chrome: Option<&Path>, path: &OsStr) -> Result<Self, CheckError> {
        // Absolute, because the audit runs in another folder.
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

    /// Audits `url`. The caller sets the timeout.
    pub(super) async fn audit(
        &self,
        guard: &SsrfGuard,
        url: &Url,
        header: Option<(&str, &str)>,
    ) -> Result<SpeedMetrics, CheckError> {
        let proxy = SsrfGuardProxy::bind(url, ProxyLimits::AUDIT).await;
        let proxy = proxy.map_err(|error| cannot_start(&error))?;
        let home = self.chromium.home().map_err(|error| cannot_start(&error))?;
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
            tracing::debug!(%refusal, "the page requested addresses that it may not reach");
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

/// Sends Node the `request`, and returns the report.
async fn finish(mut process: Process, memory: u64, request: &Value) -> Result<Value, CheckError> {
    let node = process.leader();
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (node.stdin.take(), node.stdout.take(), node.stderr.take())
    else {
        return Err(unavailable("Lighthouse does not accept the request"));
    };
    let conversation = async {
        // A process that does not read may still print why.
        let _ = stdin.write_all(format!("{request}\n").as_bytes()).await;
        let mut report = Vec::new();
        stdout.take(MAX_REPORT).read_to_end(&mut report).await?;
        // Open until here, because Node exits when it closes.
        drop(stdin);
        Ok::<_, io::Error>(report)
    };
    let mut stderr_start = Vec::new();
    let report = async {
        let mut conversation = std::pin::pin!(conversation);
        tokio::select! {
            report = &mut conversation => report,
            () = keep(stderr, &mut stderr_start) => conversation.await,
        }
    };
    let report = tokio::select! {
        report = report => report,
        () = process.memory_exceeded(memory) => {
            process.end().await;
            return Err(lighthouse::failed("the page takes too much memory to audit", "TOO_LARGE"));
        }
    };
    process.end().await;
    let report = report.ok().and_then(|report| bounded_json::parse(&report));
    report.ok_or_else(|| {
        tracing::warn!(
            stderr_start = %String::from_utf8_lossy(&stderr_start).trim(),
            "a performance audit ended without a report"
        );
        lighthouse::failed("the audit ended without a report", "NO_REPORT")
    })
}

/// Reads to the end, and keeps the first bytes.
async fn keep(mut stream: impl AsyncRead + Unpin, kept: &mut Vec<u8>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let room = MAX_STDERR - kept.len();
        kept.extend_from_slice(&buffer[..read.min(room)]);
    }
}
