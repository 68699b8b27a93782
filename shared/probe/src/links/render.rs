//! Pages as a browser shows them: for sites whose links are made by scripts.
//!
//! One Chromium for the crawl, a few tabs at a time. All that it asks for goes through a
//! [`GuardProxy`]; the site's request header is put on each request by itself, so that it reaches
//! the own host only. Where rendering fails, the page as it was fetched has to do.

use std::convert::Infallible;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::browser::{
    SetDownloadBehaviorBehavior, SetDownloadBehaviorParams,
};
use chromiumoxide::cdp::browser_protocol::fetch::{
    ContinueRequestParams, EnableParams, EventRequestPaused, HeaderEntry, RequestPattern,
};
use chromiumoxide::cdp::browser_protocol::network::SetUserAgentOverrideParams;
use chromiumoxide::cdp::browser_protocol::page::EventLifecycleEvent;
use chromiumoxide::error::CdpError;
use chromiumoxide::{Browser, Handler, Page, handler::HandlerConfig};
use futures::StreamExt;
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use url::Url;
use vedette_domain::check::CheckError;

use super::canonical::host_of;
use crate::browser::{Chromium, GuardProxy, unavailable};
use crate::guard::Guard;
use crate::request_header::{RequestHeader, is_at_home};

/// Tabs that are open at a time. Each takes some hundred megabytes at worst.
const TABS: usize = 4;

/// How long a browser may take to start.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// How long a page may take to load and come to rest; what it shows by then is read.
const LOAD_PATIENCE: Duration = Duration::from_secs(8);

/// How long a single command to the browser may take.
const COMMAND_PATIENCE: Duration = Duration::from_secs(5);

/// Bytes that pass between browser and web during a crawl.
const BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// What is read of a page: where it is by now, its elements (up to two million characters), and the
/// HTTP status that it came with, 0 where that is not known.
const READ: &str = "[
  location.href,
  document.documentElement ? document.documentElement.outerHTML.slice(0, 2097152) : '',
  performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0,
]";

/// Renders pages during a crawl.
pub(super) struct Renderer<'a> {
    browser: Browser,
    user_agent: String,
    tabs: Semaphore,
    /// The monitored URL, whose host gets `header`.
    home: &'a Url,
    header: Option<(String, String)>,
}

/// A page as it is shown.
pub(super) struct Rendered {
    /// Where it is, which scripts may have changed.
    pub(super) url: Url,
    pub(super) html: String,
}

/// Runs `work` beside a browser that starts within `patience`, and ends the browser with it.
pub(super) async fn with_browser<T>(
    guard: &Guard,
    chromium: &Chromium,
    home: &Url,
    header: Option<&RequestHeader>,
    patience: Duration,
    work: impl AsyncFnOnce(&Renderer<'_>) -> Result<T, CheckError>,
) -> Result<T, CheckError> {
    let proxy = GuardProxy::bind_for(BYTES).await.map_err(failed)?;
    let profile = tempfile::tempdir().map_err(failed)?;
    let mut child = start(chromium, &proxy, profile.path()).map_err(failed)?;
    let crawl = async {
        let (browser, mut handler) = timeout(START_PATIENCE.min(patience), connect(profile.path()))
            .await
            .map_err(|_| unavailable("Chromium does not start"))?
            .map_err(failed)?;
        let controlled = async {
            let renderer = Renderer {
                user_agent: user_agent(&browser).await,
                browser,
                tabs: Semaphore::new(TABS),
                home,
                header: header.map(RequestHeader::to_strings),
            };
            work(&renderer).await
        };
        let control = async {
            while handler.next().await.is_some() {}
            // A browser that is gone renders no more; the crawl goes on.
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            output = controlled => output,
            never = control => match never {},
        }
    };
    let output = proxy.serve_during(guard, crawl).await;
    // Before its folder goes.
    let _ = child.kill().await;
    output
}

fn start(chromium: &Chromium, proxy: &GuardProxy, profile: &Path) -> std::io::Result<Child> {
    Command::new(&chromium.executable)
        .args(chromium.arguments(proxy.address(), profile))
        .args(["--remote-debugging-port=0", "--blink-settings=imagesEnabled=false", "about:blank"])
        // What it leaves there goes with the profile.
        .env("TMPDIR", profile)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

/// Connects to the browser once it has written where it listens.
async fn connect(profile: &Path) -> Result<(Browser, Handler), CdpError> {
    let file = profile.join("DevToolsActivePort");
    let address = loop {
        let text = tokio::fs::read_to_string(&file).await.unwrap_or_default();
        if let Some((port, path)) = text.split_once('\n')
            && path.starts_with("/devtools/")
        {
            break format!("ws://127.0.0.1:{}{}", port.trim(), path.trim());
        }
        sleep(Duration::from_millis(20)).await;
    };
    let config = HandlerConfig {
        ignore_https_errors: false,
        request_timeout: LOAD_PATIENCE + COMMAND_PATIENCE,
        ..HandlerConfig::default()
    };
    Browser::connect_with_config(address, config).await
}

/// The browser's own, and ours behind it.
async fn user_agent(browser: &Browser) -> String {
    let refuse = SetDownloadBehaviorParams::new(SetDownloadBehaviorBehavior::Deny);
    let _ = browser.execute(refuse).await;
    let own = browser.user_agent().await.unwrap_or_default();
    format!("{own} {}", crate::USER_AGENT).trim().to_owned()
}

fn failed(error: impl std::fmt::Display) -> CheckError {
    tracing::warn!(%error, "Chromium does not start");
    unavailable("Chromium does not start")
}

impl Renderer<'_> {
    /// The page at `url` as it is shown once it has come to rest; none where that fails, or scripts
    /// have left the host.
    pub(super) async fn render(&self, url: &Url) -> Option<Rendered> {
        let _tab = self.tabs.acquire().await.ok()?;
        let opened = timeout(COMMAND_PATIENCE, self.browser.new_page("about:blank")).await;
        let page = opened.ok()?.ok()?;
        let rendered = self.show(&page, url).await.ok();
        let _ = timeout(COMMAND_PATIENCE, page.close()).await;
        let at_host = |rendered: &Rendered| {
            matches!(rendered.url.scheme(), "http" | "https")
                && host_of(rendered.url.as_str()) == host_of(url.as_str())
        };
        rendered.filter(at_host)
    }

    async fn show(&self, page: &Page, url: &Url) -> Result<Rendered, CdpError> {
        page.set_user_agent(SetUserAgentOverrideParams::new(self.user_agent.clone())).await?;
        let mut life = page.event_listener::<EventLifecycleEvent>().await?;
        let mut paused = page.event_listener::<EventRequestPaused>().await?;
        if self.header.is_some() {
            let every = RequestPattern::builder().url_pattern("*").build();
            page.execute(EnableParams::builder().pattern(every).build()).await?;
        }
        let load = async {
            let _ = page.goto(url.as_str()).await;
            // No requests for half a second.
            while let Some(event) = life.next().await {
                if event.name == "networkIdle" {
                    return;
                }
            }
        };
        let add_header = async {
            while let Some(request) = paused.next().await {
                let _ = page.execute(self.continued(&request)).await;
            }
            std::future::pending::<Infallible>().await
        };
        let shown = async {
            let _ = timeout(LOAD_PATIENCE, load).await;
            let read = timeout(COMMAND_PATIENCE, page.evaluate(READ));
            let read = read.await.map_err(|_| CdpError::Timeout)??;
            let (url, html, status): (String, String, u16) = read.into_value()?;
            // The proxy's own answers, too, look like pages of the host.
            if !matches!(status, 0 | 200 | 304) {
                return Err(CdpError::NotFound);
            }
            let url = url.parse().map_err(|_| CdpError::NotFound)?;
            Ok(Rendered { url, html })
        };
        tokio::select! {
            rendered = shown => rendered,
            never = add_header => match never {},
        }
    }

    /// Lets a request go on, with the header where it goes to the own host.
    fn continued(&self, paused: &EventRequestPaused) -> ContinueRequestParams {
        let mut go_on = ContinueRequestParams::new(paused.request_id.clone());
        let own = Url::parse(&paused.request.url).is_ok_and(|url| is_at_home(self.home, &url));
        if let (true, Some((name, value))) = (own, &self.header) {
            let sent = paused.request.headers.inner().as_object().into_iter().flatten();
            let mut headers: Vec<_> = sent
                .filter(|(other, _)| !other.eq_ignore_ascii_case(name))
                .filter_map(|(name, value)| Some(HeaderEntry::new(name, value.as_str()?)))
                .collect();
            headers.push(HeaderEntry::new(name, value));
            go_on.headers = Some(headers);
        }
        go_on
    }
}
