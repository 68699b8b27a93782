//! Chromium: how it is found, started and driven, and how it is kept behind the SSRF guard.
//!
//! A page's scripts decide what a browser connects to, so the browser itself must not connect
//! anywhere: it uses a [`SsrfGuardProxy`] for everything, loopback included, and may neither resolve
//! names nor speak protocols that bypass a proxy (QUIC, WebRTC over UDP).
//!
//! It is not trusted in other ways either. Crawls and audits start it without our environment, in
//! Chromium's sandbox wherever the system allows that, driven through a pipe instead of a port, and
//! as one process group with bounded memory, which is killed however the check ends.

mod driver;
mod pipe;
mod process;
mod proxy;
mod sandbox;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fmt::Display;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use vedette_domain::checks::check::CheckError;

pub(crate) use self::driver::{Browser, Tab, with_browser};
pub(crate) use self::process::Process;
pub use self::process::adopt_orphans;
pub use self::proxy::{ProxyLimits, SsrfGuardProxy};
use self::sandbox::{Sandbox, SandboxStep};

/// [`CheckError::code`] when no browser is installed, or it does not start or crashes.
pub const BROWSER_UNAVAILABLE: &str = "browser_unavailable";

/// [`CheckError::code`] when pages take more memory, or load more, than allowed.
pub const BROWSER_EXHAUSTED: &str = "browser_exhausted";

/// Resident bytes that a browser may use, summed over its processes, so that shared memory counts several times. This
/// is twice what an audit needs, or four tabs with heavy pages.
const MAX_MEMORY: u64 = 2 * 1024 * 1024 * 1024;

/// Names of Chromium and Chrome on Linux distributions, the open one first.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// An installed Chromium.
#[derive(Debug, Clone)]
pub struct Chromium {
    pub(crate) executable: PathBuf,
    /// The sandbox that works here, once that is known.
    sandbox: Arc<OnceCell<Sandbox>>,
    /// Resident bytes that a check's processes may use.
    pub(crate) memory: u64,
    /// The folder in which each browser gets one for its files; `None` for the system's temporary folder.
    homes: Option<PathBuf>,
}

impl Chromium {
    /// The Chromium with this `executable`.
    #[must_use]
    pub fn at(executable: PathBuf) -> Self {
        Self { executable, sandbox: Arc::default(), memory: MAX_MEMORY, homes: None }
    }

    /// The same Chromium, assuming that its sandbox works.
    #[cfg(test)]
    pub(crate) fn trusted(executable: PathBuf) -> Self {
        Self { sandbox: Arc::new(OnceCell::new_with(Some(Sandbox::Own))), ..Self::at(executable) }
    }

    /// The longest path of a folder for [`with_homes`](Self::with_homes), in bytes. Chromium creates a Unix socket in a
    /// folder that it names itself, at most `/XXXXXX/org.chromium.Chromium.scoped_dir.XXXXXX/SingletonSocket`, and
    /// exits if the path is longer than the 107 bytes that the system accepts.
    pub const MAX_HOMES_PATH: usize =
        107 - "/XXXXXX/org.chromium.Chromium.scoped_dir.XXXXXX/SingletonSocket".len();

    /// The same Chromium, with its files in the folder `homes` while a check runs. A process that is killed leaves them
    /// there, and the next one removes them.
    #[must_use]
    pub fn with_homes(self, homes: PathBuf) -> Self {
        Self { homes: Some(homes), ..self }
    }

    /// Creates a folder for all files of a browser and its companions. It is removed with the value.
    pub(crate) fn home(&self) -> io::Result<TempDir> {
        match &self.homes {
            Some(homes) => tempfile::Builder::new().prefix("").tempdir_in(homes),
            None => tempfile::tempdir(),
        }
    }

    /// Finds the `configured` executable; or the one that `make lighthouse` has installed in the
    /// folder `installed`; or one on `path`, as in the `PATH` variable.
    ///
    /// # Errors
    /// With [`BROWSER_UNAVAILABLE`] when there is none.
    pub fn find(
        configured: Option<&Path>,
        installed: &Path,
        path: &OsStr,
    ) -> Result<Self, CheckError> {
        let executable = match configured {
            Some(executable) => Some(executable.to_owned()).filter(|file| file.is_file()),
            None => bundled(installed).or_else(|| on_path(path)),
        };
        executable.map(Self::at).ok_or_else(|| unavailable("no Chromium is installed"))
    }

    /// The command for a headless browser that reaches nothing but `proxy`, keeps its files in the
    /// folder `profile`, and is driven through a pipe.
    ///
    /// # Errors
    /// With [`BROWSER_UNAVAILABLE`] when it does not start.
    pub(crate) async fn command(
        &self,
        proxy: SocketAddr,
        profile: &Path,
    ) -> Result<Vec<String>, CheckError> {
        let sandbox = *self.sandbox.get_or_try_init(|| self.try_sandboxes()).await?;
        Ok(self.command_in(sandbox, proxy, profile))
    }

    /// Finds out which sandbox works on this system.
    async fn try_sandboxes(&self) -> Result<Sandbox, CheckError> {
        let is_root = rustix::process::geteuid().is_root();
        let mut trials = Vec::new();
        loop {
            match sandbox::next(is_root, &trials) {
                SandboxStep::Try(sandbox) => {
                    let home = self.home().map_err(failed)?;
                    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
                    let command = self.command_in(sandbox, nowhere, &home.path().join("profile"));
                    trials.push(driver::try_start(&command, home).await);
                }
                SandboxStep::Use(sandbox) => {
                    if sandbox == Sandbox::Off {
                        let unshare_is_missing = is_root && !has_unshare();
                        tracing::warn!(
                            unshare_is_missing,
                            "this system does not let Chromium have its sandbox: a page that breaks \
                             out of the renderer has the rights of this process"
                        );
                    }
                    return Ok(sandbox);
                }
                SandboxStep::GiveUp => return Err(failed("it cannot be started")),
            }
        }
    }

    fn command_in(&self, sandbox: Sandbox, proxy: SocketAddr, profile: &Path) -> Vec<String> {
        let executable = self.executable.to_string_lossy();
        let program = sandbox.launcher().iter().copied().chain([&*executable]);
        let given = [
            format!("--proxy-server=http://{proxy}"),
            format!("--user-data-dir={}", profile.display()),
        ];
        let arguments = given.iter().map(String::as_str).chain(ARGUMENTS).chain(sandbox.argument());
        program.chain(arguments).map(str::to_owned).collect()
    }
}

/// Never add `--single-process`: the figures that it yields are far too good.
const ARGUMENTS: [&str; 29] = [
    "--headless=new",
    // No port for other users of this machine, and no tabs except those we open. Chrome does not
    // know the last argument; what it opens is closed at once.
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--block-new-web-contents",
    // Chromium bypasses a proxy for loopback unless this removes the rule.
    "--proxy-bypass-list=<-loopback>",
    // Nothing that bypasses the proxy: HTTP/3, WebRTC over UDP, DNS prefetches, its own resolver.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-features=DnsOverHttps,AsyncDns,MediaRouter,DialMediaRouteProvider,\
     OptimizationHints,Translate,InterestFeedContentSuggestions,AutofillServerCommunication,\
     CertificateTransparencyComponentUpdater",
    // No background activity, which costs time and contacts third parties.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--password-store=basic",
    "--use-mock-keychain",
    // Servers and containers have no GPU, and little shared memory.
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--mute-audio",
];

/// The Chromium that `make lighthouse` installs, started through the script that finds its libraries.
fn bundled(installed: &Path) -> Option<PathBuf> {
    let unpacked = installed.join("node_modules/.chromium/chromium");
    let script = installed.join("chromium");
    (unpacked.is_file() && script.is_file()).then_some(script)
}

/// Whether `unshare` is installed, which the sandbox needs if we are root.
fn has_unshare() -> bool {
    let launcher = Sandbox::AsNobody.launcher().first();
    let mut folders = std::env::split_paths(process::PATH);
    launcher.is_some_and(|name| folders.any(|folder| folder.join(name).is_file()))
}

fn on_path(path: &OsStr) -> Option<PathBuf> {
    let folders: Vec<_> = std::env::split_paths(path).collect();
    let candidates =
        NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.into_iter().find(|file| file.is_file())
}

/// A browser that does not start; the reason is logged.
pub(crate) fn failed(error: impl Display) -> CheckError {
    tracing::warn!(%error, "Chromium does not start");
    unavailable("Chromium does not start")
}

/// A browser that is missing, or does not start.
pub(crate) fn unavailable(message: &str) -> CheckError {
    CheckError {
        message: message.to_owned(),
        code: BROWSER_UNAVAILABLE.to_owned(),
        data: json!({}),
    }
}

/// A browser whose pages exceed a limit; `message` says which.
pub(crate) fn exhausted(message: &str) -> CheckError {
    CheckError { message: message.to_owned(), code: BROWSER_EXHAUSTED.to_owned(), data: json!({}) }
}
