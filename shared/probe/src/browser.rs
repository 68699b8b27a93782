//! Chromium: where it is, how it is started, and how it is kept to what the guard admits.
//!
//! A page's scripts decide what a browser connects to, so the browser itself must not: it is given
//! a [`GuardProxy`] for everything, loopback included, and may neither resolve names nor speak any
//! protocol that goes past a proxy (QUIC, WebRTC over UDP).

mod group;
mod proxy;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::json;
use vedette_domain::check::CheckError;

pub(crate) use self::group::Group;
pub use self::proxy::GuardProxy;

/// [`CheckError::code`] when no browser is installed, or it does not start.
pub const BROWSER_UNAVAILABLE: &str = "browser_unavailable";

/// Names of Chromium and Chrome on Linux distributions, the open one first.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A Chromium that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chromium {
    /// What to execute.
    pub executable: PathBuf,
    /// Whether Chromium puts pages into its sandbox, which needs user namespaces: not to be had as
    /// root, nor in AWS Lambda. Without it a page that breaks the renderer has the rights of our
    /// process, so a function without it must be given none that matter.
    pub sandbox: bool,
}

impl Chromium {
    /// The `configured` executable; else the one that `make lighthouse` has installed in the folder
    /// `installed`; else one on `path`, as in the `PATH` variable. Has the sandbox where the system
    /// seems to allow it.
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
        match executable {
            Some(executable) => Ok(Self { executable, sandbox: has_user_namespaces() }),
            None => Err(unavailable("no Chromium is installed")),
        }
    }

    /// The arguments for a browser without windows that reaches nothing but `proxy`, and keeps its
    /// files in the folder `profile`. How it is controlled (pipe or port) is the caller's to add.
    ///
    /// Never add `--single-process`: figures measured with it are far too good.
    #[must_use]
    pub fn arguments(&self, proxy: SocketAddr, profile: &Path) -> Vec<String> {
        let given = [
            format!("--proxy-server=http://{proxy}"),
            format!("--user-data-dir={}", profile.display()),
        ];
        let sandbox = (!self.sandbox).then_some("--no-sandbox");
        given.into_iter().chain(ARGUMENTS.into_iter().chain(sandbox).map(str::to_owned)).collect()
    }
}

const ARGUMENTS: [&str; 26] = [
    "--headless=new",
    // Chromium bypasses a proxy for loopback, unless this takes the rule away.
    "--proxy-bypass-list=<-loopback>",
    // Nothing that goes past the proxy: HTTP/3, WebRTC's UDP, names resolved ahead or by a
    // resolver of its own.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-features=DnsOverHttps,AsyncDns,MediaRouter,DialMediaRouteProvider,\
     OptimizationHints,Translate,InterestFeedContentSuggestions,AutofillServerCommunication,\
     CertificateTransparencyComponentUpdater",
    // Nothing that the browser would do on its own, which costs time and asks strangers.
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
    // Servers and containers have no graphics, and little shared memory.
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--mute-audio",
];

/// The Chromium that `make lighthouse` unpacks, by the script that finds its libraries.
fn bundled(installed: &Path) -> Option<PathBuf> {
    let unpacked = installed.join("node_modules/.chromium/chromium");
    let script = installed.join("chromium");
    (unpacked.is_file() && script.is_file()).then_some(script)
}

fn on_path(path: &OsStr) -> Option<PathBuf> {
    let folders: Vec<_> = std::env::split_paths(path).collect();
    let candidates =
        NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.into_iter().find(|file| file.is_file())
}

/// Whether Chromium's sandbox can be expected to work: it needs user namespaces, which some kernels
/// grant to nobody, and some distributions to packaged programs only.
fn has_user_namespaces() -> bool {
    let says = |file: &str, value: &str| {
        fs::read_to_string(Path::new("/proc/sys").join(file)).is_ok_and(|text| text.trim() == value)
    };
    !rustix::process::geteuid().is_root()
        && !says("user/max_user_namespaces", "0")
        && !says("kernel/unprivileged_userns_clone", "0")
        && !says("kernel/apparmor_restrict_unprivileged_userns", "1")
}

/// A browser that is not there, or does not start.
pub(crate) fn unavailable(message: &str) -> CheckError {
    CheckError {
        message: message.to_owned(),
        code: BROWSER_UNAVAILABLE.to_owned(),
        data: json!({}),
    }
}
