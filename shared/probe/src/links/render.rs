//! Renders pages, for sites whose links are made by scripts.
//!
//! One Chromium per crawl, with a few tabs at a time. All its traffic goes through a
//! [`SsrfGuardProxy`]. The site's request header is added to each request separately, so that it is
//! sent to the site's own host only. If a page cannot be rendered, its HTML as fetched is used; if
//! the browser is gone, the crawl fails.

use std::time::Duration;

use futures::future::join_all;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use url::Url;
use vedette_domain::checks::check::CheckError;

use super::canonical::host_of;
use crate::browser::{self, Browser, Chromium, ProxyLimits, SsrfGuardProxy, Tab};
use crate::request_header::{RequestHeader, is_at_home};
use crate::ssrf_guard::SsrfGuard;

/// How long a page may take to load and settle; then it is read as it is.
const LOAD_TIMEOUT: Duration = Duration::from_secs(8);

/// How far a page's own clock runs after it has loaded. It jumps from timer to timer, which takes
/// no time, and stands still while requests are pending.
const VIRTUAL_TIME_BUDGET: Duration = Duration::from_secs(1);

/// How long to wait for a page to be painted.
const DRAW_TIMEOUT: Duration = Duration::from_millis(250);

/// How long a page with WebSockets or workers may go on.
const LISTEN_TIME: Duration = Duration::from_millis(500);

/// Timeout of reading a page.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Resolves once the page has been painted, which runs what waits for that or for becoming visible.
const DRAWN: &str =
    "new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))";

/// What is read from a page: its current URL, its elements (one character more than the limit of a page, which shows
/// that it is longer), and the HTTP status that it came with, 0 if unknown. Evaluated in an isolated world, where the
/// page's scripts cannot have replaced these functions.
const READ: &str = "[
  location.href,
  document.documentElement ? document.documentElement.outerHTML.slice(0, 2097153).toWellFormed() : '',
  performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0,
]";

/// Renders pages during a crawl.
pub(super) struct Renderer<'a> {
    browser: &'a Browser,
    user_agent: String,
    /// The monitored URL.
    home: &'a Url,
    /// Headers of requests to its host.
    headers: Vec<(String, String)>,
}

/// A rendered page.
pub(super) struct Rendered {
    /// Its URL, which scripts may have changed.
    pub(super) url: Url,
    pub(super) html: String,
}

/// Runs `work` with a browser that must start within `time_limit`, and ends the browser afterwards.
pub(super) async fn with_browser<T>(
    guard: &SsrfGuard,
    chromium: &Chromium,
    home: &Url,
    header: Option<&RequestHeader>,
    time_limit: Duration,
    work: impl AsyncFnOnce(&Renderer<'_>) -> Result<T, CheckError>,
) -> Result<T, CheckError> {
    let proxy = SsrfGuardProxy::bind(home, ProxyLimits::CRAWL).await.map_err(browser::failed)?;
    let pictureless = ["--blink-settings=imagesEnabled=false"];
    let crawl = async |browser: &Browser| {
        // The browser's own, followed by ours.
        let user_agent = format!("{} {}", browser.user_agent(), crate::USER_AGENT);
        let headers = header.map(RequestHeader::to_strings).unwrap_or_default();
        work(&Renderer { browser, user_agent, home, headers }).await
    };
    let output =
        browser::with_browser(guard, chromium, &proxy, &pictureless, time_limit, crawl).await?;
    if proxy.is_exhausted() {
        // Links that were cut off would be missing silently.
        return Err(browser::exhausted("the pages load more than a crawl may take"));
    }
    Ok(output)
}

impl Renderer<'_> {
    /// The page at `url` once it has settled; `None` if that fails, or if scripts have left the
    /// host. `clock` is called when the page starts to wait for a tab, and when it has one.
    pub(super) async fn render(
        &self,
        url: &Url,
        clock: impl Fn(Option<Instant>),
    ) -> Option<Rendered> {
        clock(None);
        let (tab, requests) = self.browser.open().await?;
        clock(Some(Instant::now()));
        let shown = async {
            let loaded = async {
                self.prepare(&tab).await;
                load(&tab, url).await
            };
            // After the timeout, the page is read as it is.
            let _ = timeout(LOAD_TIMEOUT, loaded).await;
            read(&tab).await
        };
        let rendered = tokio::select! {
            rendered = shown => rendered?,
            never = requests.resume(|request| self.headers(request)) => match never {},
        };
        let is_at_host = matches!(rendered.url.scheme(), "http" | "https")
            && host_of(rendered.url.as_str()) == host_of(url.as_str());
        is_at_host.then_some(rendered)
    }

    /// Sets the tab up, and lets it run. Chromium takes what it has acknowledged over to the renderer
    /// of the next page, and loses the rest: events of that page would never come.
    async fn prepare(&self, tab: &Tab<'_>) {
        let mut commands = vec![
            ("Page.enable", json!({})),
            // These two report WebSockets and workers.
            ("Network.enable", json!({})),
            (
                "Target.setAutoAttach",
                json!({
                    "autoAttach": true,
                    "waitForDebuggerOnStart": false,
                    "flatten": true,
                    "filter": [{ "type": "worker" }],
                }),
            ),
            ("Network.setUserAgentOverride", json!({ "userAgent": self.user_agent })),
        ];
        if !self.headers.is_empty() {
            commands.push(("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*" }] })));
        }
        commands.push(("Runtime.runIfWaitingForDebugger", json!({})));
        let acknowledged =
            commands.into_iter().map(|(method, params)| tab.call::<IgnoredAny>(method, params));
        join_all(acknowledged).await;
    }

    /// The headers of a request to the site's own host, with ours added; `None` for other requests.
    fn headers(&self, request: &Value) -> Option<Value> {
        let url = Url::parse(request["url"].as_str()?).ok()?;
        if !is_at_home(self.home, &url) {
            return None;
        }
        let sent = request["headers"].as_object()?.iter();
        let is_ours =
            |sent: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(sent));
        let others = sent.filter(|(name, _)| !is_ours(name));
        let others = others.map(|(name, value)| json!({ "name": name, "value": value }));
        let ours = self.headers.iter();
        let ours = ours.map(|(name, value)| json!({ "name": name, "value": value }));
        Some(others.chain(ours).collect())
    }
}

/// Navigates to `url`, and waits until the page has nothing left to do on its own.
async fn load(tab: &Tab<'_>, url: &Url) -> Option<()> {
    let navigated: Value = tab.call("Page.navigate", json!({ "url": url.as_str() })).await?;
    if navigated["errorText"].is_string() {
        return None;
    }
    tab.wait_for(|state| state.loads > 0).await;
    let drawn = json!({ "expression": DRAWN, "awaitPromise": true });
    let drawn = timeout(DRAW_TIMEOUT, tab.call::<IgnoredAny>("Runtime.evaluate", drawn));
    let (_, _) = tokio::join!(run_virtual_time(tab, VIRTUAL_TIME_BUDGET), drawn);
    if tab.state().listens {
        sleep(LISTEN_TIME).await;
    }
    // Whatever the waiting above has triggered.
    run_virtual_time(tab, VIRTUAL_TIME_BUDGET).await;
    Some(())
}

/// Lets the page's clock run by `span`, as fast as the page can follow. The clock stands still
/// while requests are pending, and afterwards.
async fn run_virtual_time(tab: &Tab<'_>, span: Duration) {
    let before = tab.state().spans;
    let policy = json!({
        "policy": "pauseIfNetworkFetchesPending",
        "budget": span.as_millis() as u64,
    });
    tab.post("Emulation.setVirtualTimePolicy", policy);
    tab.wait_for(|state| state.spans > before).await;
}

/// The main frame of a tab; everything else in the tree is skipped.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frames {
    frame_tree: FrameTree,
}

#[derive(Deserialize)]
struct FrameTree {
    frame: Frame,
}

#[derive(Deserialize)]
struct Frame {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct World {
    execution_context_id: u64,
}

/// The result of [`READ`]. A value of another shape is rejected at its first wrong element.
#[derive(Deserialize)]
struct Evaluated {
    result: Remote,
}

#[derive(Deserialize)]
struct Remote {
    value: (String, String, u16),
}

async fn read(tab: &Tab<'_>) -> Option<Rendered> {
    let answer = async {
        let Frames { frame_tree } = tab.call("Page.getFrameTree", json!({})).await?;
        let frame = json!({ "frameId": frame_tree.frame.id });
        let world: World = tab.call("Page.createIsolatedWorld", frame).await?;
        let expression = json!({
            "expression": READ,
            "returnByValue": true,
            "contextId": world.execution_context_id,
        });
        tab.call("Runtime.evaluate", expression).await
    };
    let Evaluated { result } = timeout(READ_TIMEOUT, answer).await.ok()??;
    let (url, html, status) = result.value;
    // The proxy's own responses look like pages of the host, too.
    if !matches!(status, 0 | 200 | 304) {
        return None;
    }
    Some(Rendered { url: url.parse().ok()?, html })
}
