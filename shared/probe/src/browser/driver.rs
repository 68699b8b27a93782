//! A running browser and its tabs.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::mem;
use std::os::unix::process::ExitStatusExt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};
use vedette_domain::checks::check::CheckError;

use super::pipe::{DevTools, Event, Transport};
use super::process::Process;
use super::sandbox::Trial;
use super::{Chromium, SsrfGuardProxy, exhausted, failed, unavailable};
use crate::ssrf_guard::SsrfGuard;

/// How long a browser may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Tabs open at a time. Each takes some hundred megabytes at worst.
pub(super) const MAX_TABS: usize = 4;

/// How often the request to close a tab is repeated.
const CLOSE_INTERVAL: Duration = Duration::from_millis(100);

/// Turns standard input and output into the pipe that `--remote-debugging-pipe` expects at 3 and 4.
const PIPE_SCRIPT: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A running browser. Only tabs that we open stay open.
pub(crate) struct Browser {
    process: Process,
    devtools: DevTools,
    tabs: Mutex<Tabs>,
    permits: Arc<Semaphore>,
    user_agent: OnceLock<String>,
}

#[derive(Default)]
struct Tabs {
    /// Our tabs, by session.
    ours: HashMap<String, Page>,
    /// Tabs of ours being opened; which ones they are is known afterwards.
    opening: usize,
    /// Tabs that appeared meanwhile: sessions by target.
    unclaimed: HashMap<String, String>,
    /// Tabs being closed, by session.
    closing: HashMap<String, Closing>,
}

/// Passes the events of a tab on to its [`Tab`].
struct Page {
    state: watch::Sender<TabState>,
    requests: mpsc::UnboundedSender<Value>,
    permit: OwnedSemaphorePermit,
}

/// A tab that is being closed.
struct Closing {
    target: String,
    /// Held until the tab is gone, if it was one of ours: until then it takes up memory.
    _permit: Option<OwnedSemaphorePermit>,
}

/// What has happened in a tab.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TabState {
    /// Documents that have fired their load event.
    pub(crate) loads: u32,
    /// Virtual time budgets that have expired.
    pub(crate) spans: u32,
    /// Whether there are WebSockets or workers, whose messages cannot be waited for.
    pub(crate) listens: bool,
    /// Whether the page has crashed.
    pub(crate) crashed: bool,
    /// Whether the tab is closed.
    pub(crate) gone: bool,
}

/// A tab of ours, closed when dropped.
pub(crate) struct Tab<'a> {
    browser: &'a Browser,
    target: String,
    session: String,
    state: watch::Receiver<TabState>,
}

/// The paused requests of a tab (see `Fetch.enable`).
pub(crate) struct PausedRequests<'a> {
    devtools: &'a DevTools,
    session: String,
    paused: mpsc::UnboundedReceiver<Value>,
}

/// Runs `work` with a browser behind `proxy`, started with `extra_arguments` within `time_limit`,
/// and ends the browser afterwards.
///
/// # Errors
/// Those of `work`, and when the browser does not start, ends before `work` does, or takes too much
/// memory.
pub(crate) async fn with_browser<T>(
    guard: &SsrfGuard,
    chromium: &Chromium,
    proxy: &SsrfGuardProxy,
    extra_arguments: &[&str],
    time_limit: Duration,
    work: impl AsyncFnOnce(&Browser) -> Result<T, CheckError>,
) -> Result<T, CheckError> {
    let time_limit = START_TIMEOUT.min(time_limit);
    let home = chromium.home().map_err(failed)?;
    let profile = home.path().join("profile");
    let command = timeout(time_limit, chromium.command(proxy.address(), &profile)).await;
    let mut command = command.unwrap_or_else(|error| Err(failed(error)))?;
    command.extend(extra_arguments.iter().map(|&argument| argument.to_owned()));
    let (browser, transport) = Browser::start(&command, home).map_err(failed)?;
    let output = {
        let driven = async {
            match timeout(time_limit, browser.prepare(proxy)).await {
                Ok(Some(())) => work(&browser).await,
                Ok(None) => Err(failed("it does not follow commands")),
                Err(error) => Err(failed(error)),
            }
        };
        let bounded = async {
            tokio::select! {
                output = driven => output,
                () = transport.run(&browser.devtools, |event| browser.on_event(event, proxy)) => {
                    tracing::warn!("Chromium ended unexpectedly");
                    Err(unavailable("Chromium ended during the check"))
                }
                never = browser.retry_closing() => match never {},
                () = browser.process.memory_exceeded(chromium.memory) => {
                    Err(exhausted("the pages use more memory than a browser may have"))
                }
            }
        };
        proxy.serve_during(guard, bounded).await
    };
    browser.process.end().await;
    output
}

/// Starts a browser to see whether `command` works.
pub(super) async fn try_start(command: &[String], home: TempDir) -> Trial {
    // If not even a shell starts, this machine is out of some resource.
    let Ok((mut browser, transport)) = Browser::start(command, home) else {
        return Trial::Unclear;
    };
    let trial = async {
        let version = browser.devtools.call_untimed("", "Browser.getVersion", json!({}));
        tokio::select! {
            version = version => {
                return version.map_or(Trial::Unclear, |IgnoredAny| Trial::Starts);
            }
            () = transport.run(&browser.devtools, |_| ()) => {}
        }
        let ended = browser.process.leader().wait().await;
        let killed = ended.is_ok_and(|status| status.signal() == Some(Signal::KILL.as_raw()));
        if killed { Trial::Unclear } else { Trial::Ends }
    };
    let trial = timeout(START_TIMEOUT, trial).await.unwrap_or(Trial::Unclear);
    browser.process.end().await;
    trial
}

impl Browser {
    fn start(command: &[String], home: TempDir) -> io::Result<(Self, Transport)> {
        let arguments =
            ["-c", PIPE_SCRIPT, "sh"].into_iter().chain(command.iter().map(String::as_str));
        let mut process = Process::start("/bin/sh", arguments, home)?;
        let leader = process.leader();
        let (Some(to), Some(from)) = (leader.stdin.take(), leader.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (devtools, transport) = DevTools::new(to, from);
        let (tabs, user_agent) = (Mutex::default(), OnceLock::new());
        let permits = Arc::new(Semaphore::new(MAX_TABS));
        Ok((Self { process, devtools, tabs, permits, user_agent }, transport))
    }

    /// Makes the browser hold new tabs until we let them run, refuse downloads, and authenticate
    /// with the proxy.
    async fn prepare(&self, proxy: &SsrfGuardProxy) -> Option<()> {
        let version: Value =
            self.devtools.call_untimed("", "Browser.getVersion", json!({})).await?;
        self.user_agent.set(version["userAgent"].as_str()?.to_owned()).ok()?;
        let denied = json!({ "behavior": "deny" });
        let IgnoredAny = self.devtools.call("", "Browser.setDownloadBehavior", denied).await?;
        let halted = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        let IgnoredAny = self.devtools.call("", "Target.setAutoAttach", halted).await?;
        // Once authenticated, the browser sends the credentials with every request.
        let (tab, requests) = self.open().await?;
        let url = format!("http://{}/", proxy.address());
        let patterns = json!({ "handleAuthRequests": true, "patterns": [{ "urlPattern": url }] });
        tab.post("Fetch.enable", patterns);
        tab.post("Runtime.runIfWaitingForDebugger", json!({}));
        tokio::select! {
            answer = tab.call("Page.navigate", json!({ "url": url })) => {
                answer.map(|IgnoredAny| ())
            }
            never = requests.resume(|_| None) => match never {},
        }
    }

    /// The browser's own `User-Agent`.
    pub(crate) fn user_agent(&self) -> &str {
        self.user_agent.get().map_or("", String::as_str)
    }

    /// Opens a tab once fewer than [`MAX_TABS`] are open. It does nothing before
    /// `Runtime.runIfWaitingForDebugger`.
    pub(crate) async fn open(&self) -> Option<(Tab<'_>, PausedRequests<'_>)> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        let opening = Opening::of(self);
        // In a window of its own, so that it is painted.
        let blank = json!({ "url": "about:blank", "newWindow": true });
        let created: Value = self.devtools.call("", "Target.createTarget", blank).await?;
        let target = created["targetId"].as_str()?.to_owned();
        let (state, receiver) = watch::channel(TabState::default());
        let (requests, paused) = mpsc::unbounded_channel();
        let session = {
            let mut tabs = self.tabs();
            let session = tabs.unclaimed.remove(&target)?;
            tabs.ours.insert(session.clone(), Page { state, requests, permit });
            session
        };
        drop(opening);
        let requests =
            PausedRequests { devtools: &self.devtools, session: session.clone(), paused };
        Some((Tab { browser: self, target, session, state: receiver }, requests))
    }

    /// The number of open tabs.
    #[cfg(test)]
    pub(super) async fn count_tabs(&self) -> usize {
        let all = self.devtools.call("", "Target.getTargets", json!({})).await;
        let all: Value = all.expect("targets");
        let targets = all["targetInfos"].as_array().expect("a list");
        targets.iter().filter(|target| target["type"] == "page").count()
    }

    /// Opens a tab that is not ours, as a page might manage to do.
    #[cfg(test)]
    pub(super) async fn open_stray(&self, url: &str) {
        let opened = self.devtools.call("", "Target.createTarget", json!({ "url": url })).await;
        opened.map(|IgnoredAny| ()).expect("opened");
    }

    /// Closes a tab. If it is not ours, it is closed before it has done anything. It has to be resumed, because the
    /// page that opened it waits for it.
    fn close(
        &self,
        tabs: &mut Tabs,
        session: &str,
        target: &str,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        let closing = Closing { target: target.to_owned(), _permit: permit };
        tabs.closing.insert(session.to_owned(), closing);
        self.devtools.post("", "Target.closeTarget", json!({ "targetId": target }));
        self.devtools.post(session, "Runtime.runIfWaitingForDebugger", json!({}));
    }

    /// Repeats the commands to close tabs: a page that starts to load forgets them.
    async fn retry_closing(&self) -> Infallible {
        loop {
            sleep(CLOSE_INTERVAL).await;
            for Closing { target, .. } in self.tabs().closing.values() {
                self.devtools.post("", "Target.closeTarget", json!({ "targetId": target }));
            }
        }
    }

    fn tabs(&self) -> MutexGuard<'_, Tabs> {
        self.tabs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_event(&self, event: Event, proxy: &SsrfGuardProxy) {
        let (method, session) = (&*event.method, &event.session);
        let mut tabs = self.tabs();
        if session.is_empty() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match method {
                "Target.attachedToTarget" => {
                    let params = event.params();
                    // Workers that belong to no tab stay paused.
                    if params["targetInfo"]["type"] != "page" {
                        return;
                    }
                    let target = text(&params["targetInfo"]["targetId"]);
                    let session = text(&params["sessionId"]);
                    if tabs.opening > 0 {
                        tabs.unclaimed.insert(target, session);
                    } else {
                        self.close(&mut tabs, &session, &target, None);
                    }
                }
                "Target.detachedFromTarget" => {
                    let session = text(&event.params()["sessionId"]);
                    tabs.closing.remove(&session);
                    if let Some(page) = tabs.ours.get(&session) {
                        page.state.send_modify(|state| state.gone = true);
                    }
                }
                _ => {}
            }
            return;
        }
        let Some(page) = tabs.ours.get(session) else {
            return;
        };
        match method {
            "Page.loadEventFired" => page.state.send_modify(|state| state.loads += 1),
            "Emulation.virtualTimeBudgetExpired" => {
                page.state.send_modify(|state| state.spans += 1);
            }
            "Network.webSocketCreated" | "Target.attachedToTarget" => {
                page.state.send_modify(|state| state.listens = true);
            }
            "Inspector.targetCrashed" => page.state.send_modify(|state| state.crashed = true),
            "Page.javascriptDialogOpening" => {
                // Nobody answers a dialog, but leaving a page is allowed.
                let answer = json!({ "accept": event.params()["type"] == "beforeunload" });
                self.devtools.post(session, "Page.handleJavaScriptDialog", answer);
            }
            "Fetch.requestPaused" => drop(page.requests.send(event.params())),
            "Fetch.authRequired" => {
                let mut response = proxy.credentials().to_json();
                response["response"] = "ProvideCredentials".into();
                let answer = json!({ "requestId": event.params()["requestId"], "authChallengeResponse": response });
                self.devtools.post(session, "Fetch.continueWithAuth", answer);
            }
            _ => {}
        }
    }
}

/// While this exists, new tabs may be ours.
struct Opening<'a>(&'a Browser);

impl<'a> Opening<'a> {
    fn of(browser: &'a Browser) -> Self {
        browser.tabs().opening += 1;
        Self(browser)
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        let mut tabs = self.0.tabs();
        tabs.opening -= 1;
        if tabs.opening == 0 {
            for (target, session) in mem::take(&mut tabs.unclaimed) {
                self.0.close(&mut tabs, &session, &target, None);
            }
        }
    }
}

impl Tab<'_> {
    /// Sends a command without waiting for its result.
    pub(crate) fn post(&self, method: &str, params: Value) {
        self.browser.devtools.post(&self.session, method, params);
    }

    /// Sends a command and waits for its result, without a timeout; `None` if it fails.
    pub(crate) async fn call<T: DeserializeOwned>(&self, method: &str, params: Value) -> Option<T> {
        self.browser.devtools.call_untimed(&self.session, method, params).await
    }

    /// What has happened so far.
    pub(crate) fn state(&self) -> TabState {
        *self.state.borrow()
    }

    /// Waits until the condition holds, or cannot hold any more because the page is gone.
    pub(crate) async fn wait_for(&self, mut is_so: impl FnMut(&TabState) -> bool) {
        let _ =
            self.state.clone().wait_for(|state| state.crashed || state.gone || is_so(state)).await;
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        let mut tabs = self.browser.tabs();
        if let Some(Page { state, permit, .. }) = tabs.ours.remove(&self.session)
            && !state.borrow().gone
        {
            self.browser.close(&mut tabs, &self.session, &self.target, Some(permit));
        }
    }
}

impl PausedRequests<'_> {
    /// Resumes the requests as they come, with the headers that `headers` returns instead of
    /// theirs.
    pub(crate) async fn resume(mut self, headers: impl Fn(&Value) -> Option<Value>) -> Infallible {
        while let Some(paused) = self.paused.recv().await {
            let mut go_on = json!({ "requestId": paused["requestId"] });
            if let Some(headers) = headers(&paused["request"]) {
                go_on["headers"] = headers;
            }
            self.devtools.post(&self.session, "Fetch.continueRequest", go_on);
        }
        pending().await
    }
}
