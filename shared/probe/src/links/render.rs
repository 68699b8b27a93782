//! Pages as a browser shows them: for sites whose links are made by scripts.
//!
//! One Chromium for the crawl, a few tabs at a time. All that it asks for goes through a
//! [`GuardProxy`]; the site's request header is put on each request by itself, so that it reaches
//! the own host only. Where a page cannot be rendered, as it was fetched has to do; where the browser
//! itself is gone, the crawl fails.

use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use url::Url;
use vedette_domain::check::CheckError;

use super::canonical::host_of;
use crate::browser::{self, Bounds, Browser, Chromium, GuardProxy, Tab};
use crate::guard::Guard;
use crate::request_header::{RequestHeader, is_at_home};

/// How long a page may take to load and come to rest; what it shows by then is read.
const LOAD_PATIENCE: Duration = Duration::from_secs(8);

/// How long a page's own clock runs on once it has loaded, as long as it waits for no request. It
/// jumps from timer to timer, so that this takes no time.
const REST: Duration = Duration::from_secs(1);

/// How long a page is given to be drawn, where it is at all.
const DRAWING: Duration = Duration::from_millis(250);

/// How long a page that listens to WebSockets or workers may go on doing so.
const LISTENING: Duration = Duration::from_millis(500);

/// How long a page may take to be read.
const READ_PATIENCE: Duration = Duration::from_secs(5);

/// Ends once the page was drawn, which brings what asks for it, or for being seen.
const DRAWN: &str =
    "new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))";

/// What is read of a page: where it is by now, its elements (up to two million characters), and the
/// HTTP status that it came with, 0 where that is not known. Read in a world of its own, where no
/// script of the page has put something else in the place of what is asked for.
const READ: &str = "[
  location.href,
  document.documentElement ? document.documentElement.outerHTML.slice(0, 2097152).toWellFormed() : '',
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
    let proxy = GuardProxy::bind(home, Bounds::CRAWL).await.map_err(browser::failed)?;
    let pictureless = ["--blink-settings=imagesEnabled=false"];
    let crawl = async |browser: &Browser| {
        // The browser's own, and ours behind it.
        let user_agent = format!("{} {}", browser.user_agent(), crate::USER_AGENT);
        let headers = header.map(RequestHeader::to_strings).unwrap_or_default();
        work(&Renderer { browser, user_agent, home, headers }).await
    };
    let output =
        browser::with_browser(guard, chromium, &proxy, &pictureless, patience, crawl).await?;
    if proxy.is_exhausted() {
        // What was cut off would be missing without a word.
        return Err(browser::exhausted("the pages load more than a crawl may take"));
    }
    Ok(output)
}

impl Renderer<'_> {
    /// The page at `url` as it is shown once it has come to rest; none where that fails, or scripts
    /// have left the host. `clock` is told when the page begins to wait for a tab, and when it has one.
    pub(super) async fn render(
        &self,
        url: &Url,
        clock: impl Fn(Option<Instant>),
    ) -> Option<Rendered> {
        clock(None);
        let (tab, requests) = self.browser.open().await?;
        clock(Some(Instant::now()));
        let shown = async {
            self.prepare(&tab);
            // What it shows by then is read.
            let _ = timeout(LOAD_PATIENCE, load(&tab, url)).await;
            read(&tab).await
        };
        let rendered = tokio::select! {
            rendered = shown => rendered?,
            never = requests.let_go(|request| self.headers(request)) => match never {},
        };
        let is_at_host = matches!(rendered.url.scheme(), "http" | "https")
            && host_of(rendered.url.as_str()) == host_of(url.as_str());
        is_at_host.then_some(rendered)
    }

    fn prepare(&self, tab: &Tab<'_>) {
        tab.post("Page.enable", json!({}));
        // These two tell of WebSockets and workers.
        tab.post("Network.enable", json!({}));
        let workers = json!({
            "autoAttach": true,
            "waitForDebuggerOnStart": false,
            "flatten": true,
            "filter": [{ "type": "worker" }],
        });
        tab.post("Target.setAutoAttach", workers);
        let user_agent = json!({ "userAgent": self.user_agent });
        tab.post("Network.setUserAgentOverride", user_agent);
        if !self.headers.is_empty() {
            tab.post("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*" }] }));
        }
        tab.post("Runtime.runIfWaitingForDebugger", json!({}));
    }

    /// The headers of a request to the own host, with ours; none for other requests.
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

/// Goes to `url`, and waits until the page has nothing more to do of its own accord.
async fn load(tab: &Tab<'_>, url: &Url) -> Option<()> {
    let navigated: Value = tab.ask("Page.navigate", json!({ "url": url.as_str() })).await?;
    if navigated["errorText"].is_string() {
        return None;
    }
    tab.until(|life| life.loads > 0).await;
    let drawn = json!({ "expression": DRAWN, "awaitPromise": true });
    let drawn = timeout(DRAWING, tab.ask::<IgnoredAny>("Runtime.evaluate", drawn));
    let (_, _) = tokio::join!(run_on(tab, REST), drawn);
    if tab.life().listens {
        sleep(LISTENING).await;
    }
    // What came of all that may have asked for more.
    run_on(tab, REST).await;
    Some(())
}

/// Lets the page's clock run on, as fast as the page can follow. It stands still while the page
/// waits for requests, and afterwards.
async fn run_on(tab: &Tab<'_>, span: Duration) {
    let before = tab.life().spans;
    let policy = json!({
        "policy": "pauseIfNetworkFetchesPending",
        "budget": span.as_millis() as u64,
    });
    tab.post("Emulation.setVirtualTimePolicy", policy);
    tab.until(|life| life.spans > before).await;
}

/// The main frame of a tab; what is in it is left unread.
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

/// The answer to [`READ`]: anything else fails at its first wrong element.
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
        let Frames { frame_tree } = tab.ask("Page.getFrameTree", json!({})).await?;
        let frame = json!({ "frameId": frame_tree.frame.id });
        let world: World = tab.ask("Page.createIsolatedWorld", frame).await?;
        let expression = json!({
            "expression": READ,
            "returnByValue": true,
            "contextId": world.execution_context_id,
        });
        tab.ask("Runtime.evaluate", expression).await
    };
    let Evaluated { result } = timeout(READ_PATIENCE, answer).await.ok()??;
    let (url, html, status) = result.value;
    // The proxy's own answers, too, look like pages of the host.
    if !matches!(status, 0 | 200 | 304) {
        return None;
    }
    Some(Rendered { url: url.parse().ok()?, html })
}
