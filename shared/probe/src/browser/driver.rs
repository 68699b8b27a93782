//! A browser that runs, and its tabs.

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
use vedette_domain::check::CheckError;

use super::pipe::{DevTools, Event, Wire};
use super::process::Process;
use super::sandbox::Trial;
use super::{Chromium, GuardProxy, exhausted, failed, unavailable};
use crate::guard::Guard;

/// How long a browser may take to start.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// Tabs of ours that are open at a time. Each takes some hundred megabytes at worst.
pub(super) const MAX_TABS: usize = 4;

/// How often what should be closed is looked after.
const SWEEP: Duration = Duration::from_millis(100);

/// Makes standard input and output the pipe that `--remote-debugging-pipe` expects at 3 and 4.
const ON_PIPE: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A browser that is driven from here. Of its tabs, only ours stay open.
pub(crate) struct Browser {
    process: Process,
    devtools: DevTools,
    tabs: Mutex<Tabs>,
    permits: Arc<Semaphore>,
    user_agent: OnceLock<String>,
}

#[derive(Default)]
struct Tabs {
    /// By session.
    ours: HashMap<String, Page>,
    /// How many of ours are about to appear; which they are is known afterwards.
    opening: usize,
    /// Who appeared meanwhile: sessions by target.
    unclaimed: HashMap<String, String>,
    /// Who is to be gone, by session.
    closing: HashMap<String, Closing>,
}

/// Where a [`Tab`] is told what happens in it.
struct Page {
    life: watch::Sender<Life>,
    requests: mpsc::UnboundedSender<Value>,
    permit: OwnedSemaphorePermit,
}

/// A tab that was told to close.
struct Closing {
    target: String,
    /// Held until it is gone, where it was one of ours: until then it takes up memory.
    _permit: Option<OwnedSemaphorePermit>,
}

/// What has happened in a tab.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Life {
    /// Documents that came with all that they name.
    pub(crate) loads: u32,
    /// Spans of virtual time that have passed.
    pub(crate) spans: u32,
    /// Whether there are WebSockets or workers, whose messages nobody can wait for.
    pub(crate) listens: bool,
    /// Whether the page has broken down.
    pub(crate) crashed: bool,
    /// Whether the tab is closed.
    pub(crate) gone: bool,
}

/// A tab of ours, closed when the value ends.
pub(crate) struct Tab<'a> {
    browser: &'a Browser,
    target: String,
    session: String,
    life: watch::Receiver<Life>,
}

/// The requests of a tab that wait for us (see `Fetch.enable`).
pub(crate) struct Requests<'a> {
    devtools: &'a DevTools,
    session: String,
    paused: mpsc::UnboundedReceiver<Value>,
}

/// Runs `work` beside a browser behind `proxy`, started with `further` arguments within `patience`,
/// and ends the browser with it.
///
/// # Errors
/// Those of `work`, and when the browser does not start, ends before `work` does, or takes too much
/// memory.
pub(crate) async fn with_browser<T>(
    guard: &Guard,
    chromium: &Chromium,
    proxy: &GuardProxy,
    further: &[&str],
    patience: Duration,
    work: impl AsyncFnOnce(&Browser) -> Result<T, CheckError>,
) -> Result<T, CheckError> {
    let patience = START_PATIENCE.min(patience);
    let home = tempfile::tempdir().map_err(failed)?;
    let profile = home.path().join("profile");
    let command = timeout(patience, chromium.command(proxy.address(), &profile)).await;
    let mut command = command.unwrap_or_else(|error| Err(failed(error)))?;
    command.extend(further.iter().map(|&argument| argument.to_owned()));
    let (browser, wire) = Browser::start(&command, home).map_err(failed)?;
    let output = {
        let driven = async {
            match timeout(patience, browser.prepare(proxy)).await {
                Ok(Some(())) => work(&browser).await,
                Ok(None) => Err(failed("it does not do as it is told")),
                Err(error) => Err(failed(error)),
            }
        };
        let bounded = async {
            tokio::select! {
                output = driven => output,
                () = wire.carry(&browser.devtools, |event| browser.on_event(event, proxy)) => {
                    tracing::warn!("Chromium ended before it was told to");
                    Err(unavailable("Chromium ended during the check"))
                }
                never = browser.sweep() => match never {},
                () = browser.process.outgrown(chromium.memory) => {
                    Err(exhausted("the pages take more memory than a browser is given"))
                }
            }
        };
        proxy.serve_during(guard, bounded).await
    };
    browser.process.end().await;
    output
}

/// Starts a browser by `command` to see whether it starts.
pub(super) async fn try_out(command: &[String], home: TempDir) -> Trial {
    // Where not even a shell starts, this machine is out of something.
    let Ok((mut browser, wire)) = Browser::start(command, home) else {
        return Trial::Unclear;
    };
    let trial = async {
        let version = browser.devtools.ask("", "Browser.getVersion", json!({}));
        tokio::select! {
            version = version => {
                return version.map_or(Trial::Unclear, |IgnoredAny| Trial::Starts);
            }
            () = wire.carry(&browser.devtools, |_| ()) => {}
        }
        let ended = browser.process.leader().wait().await;
        let killed = ended.is_ok_and(|status| status.signal() == Some(Signal::KILL.as_raw()));
        if killed { Trial::Unclear } else { Trial::Ends }
    };
    let trial = timeout(START_PATIENCE, trial).await.unwrap_or(Trial::Unclear);
    browser.process.end().await;
    trial
}

impl Browser {
    fn start(command: &[String], home: TempDir) -> io::Result<(Self, Wire)> {
        let arguments = ["-c", ON_PIPE, "sh"].into_iter().chain(command.iter().map(String::as_str));
        let mut process = Process::start("/bin/sh", arguments, home)?;
        let leader = process.leader();
        let (Some(to), Some(from)) = (leader.stdin.take(), leader.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (devtools, wire) = DevTools::over(to, from);
        let (tabs, user_agent) = (Mutex::default(), OnceLock::new());
        let permits = Arc::new(Semaphore::new(MAX_TABS));
        Ok((Self { process, devtools, tabs, permits, user_agent }, wire))
    }

    /// Gets it to show its tabs before they do anything, to keep nothing that pages send, and to be
    /// known to the proxy.
    async fn prepare(&self, proxy: &GuardProxy) -> Option<()> {
        let version: Value = self.devtools.ask("", "Browser.getVersion", json!({})).await?;
        self.user_agent.set(version["userAgent"].as_str()?.to_owned()).ok()?;
        let denied = json!({ "behavior": "deny" });
        let IgnoredAny = self.devtools.call("", "Browser.setDownloadBehavior", denied).await?;
        let halted = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        let IgnoredAny = self.devtools.call("", "Target.setAutoAttach", halted).await?;
        // What proves the browser once is sent along with all that it asks for from then on.
        let (tab, requests) = self.open().await?;
        let url = format!("http://{}/", proxy.address());
        let asked = json!({ "handleAuthRequests": true, "patterns": [{ "urlPattern": url }] });
        tab.post("Fetch.enable", asked);
        tab.post("Runtime.runIfWaitingForDebugger", json!({}));
        tokio::select! {
            answer = tab.ask("Page.navigate", json!({ "url": url })) => {
                answer.map(|IgnoredAny| ())
            }
            never = requests.let_go(|_| None) => match never {},
        }
    }

    /// Its own `User-Agent`.
    pub(crate) fn user_agent(&self) -> &str {
        self.user_agent.get().map_or("", String::as_str)
    }

    /// A new tab, once fewer than [`MAX_TABS`] are there; it does nothing before
    /// `Runtime.runIfWaitingForDebugger`.
    pub(crate) async fn open(&self) -> Option<(Tab<'_>, Requests<'_>)> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        let opening = Opening::of(self);
        // In a window of its own, so that it is drawn.
        let blank = json!({ "url": "about:blank", "newWindow": true });
        let created: Value = self.devtools.call("", "Target.createTarget", blank).await?;
        let target = created["targetId"].as_str()?.to_owned();
        let (life, told) = watch::channel(Life::default());
        let (requests, paused) = mpsc::unbounded_channel();
        let session = {
            let mut tabs = self.tabs();
            let session = tabs.unclaimed.remove(&target)?;
            tabs.ours.insert(session.clone(), Page { life, requests, permit });
            session
        };
        drop(opening);
        let requests = Requests { devtools: &self.devtools, session: session.clone(), paused };
        Some((Tab { browser: self, target, session, life: told }, requests))
    }

    /// How many tabs are open.
    #[cfg(test)]
    pub(super) async fn count_tabs(&self) -> usize {
        let all = self.devtools.call("", "Target.getTargets", json!({})).await;
        let all: Value = all.expect("targets");
        let targets = all["targetInfos"].as_array().expect("a list");
        targets.iter().filter(|target| target["type"] == "page").count()
    }

    /// Opens a tab as a page would that found a way.
    #[cfg(test)]
    pub(super) async fn open_stray(&self, url: &str) {
        let opened = self.devtools.call("", "Target.createTarget", json!({ "url": url })).await;
        opened.map(|IgnoredAny| ()).expect("opened");
    }

    /// Closes a tab; one that is not ours before it has done anything. The page that opened it waits
    /// until it is let go on.
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

    /// Asks again and again to close what is still open: a page that begins to load forgets that.
    async fn sweep(&self) -> Infallible {
        loop {
            sleep(SWEEP).await;
            for Closing { target, .. } in self.tabs().closing.values() {
                self.devtools.post("", "Target.closeTarget", json!({ "targetId": target }));
            }
        }
    }

    fn tabs(&self) -> MutexGuard<'_, Tabs> {
        self.tabs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_event(&self, event: Event, proxy: &GuardProxy) {
        let (method, session) = (&*event.method, &event.session);
        let mut tabs = self.tabs();
        if session.is_empty() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match method {
                "Target.attachedToTarget" => {
                    let params = event.params();
                    // Workers that belong to no tab are not let go on.
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
                        page.life.send_modify(|life| life.gone = true);
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
            "Page.loadEventFired" => page.life.send_modify(|life| life.loads += 1),
            "Emulation.virtualTimeBudgetExpired" => page.life.send_modify(|life| life.spans += 1),
            "Network.webSocketCreated" | "Target.attachedToTarget" => {
                page.life.send_modify(|life| life.listens = true);
            }
            "Inspector.targetCrashed" => page.life.send_modify(|life| life.crashed = true),
            "Page.javascriptDialogOpening" => {
                // Nobody is there to agree, but a page may be left.
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

/// While it is there, tabs that appear may be ours.
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
    /// Sends a command whose answer does not matter.
    pub(crate) fn post(&self, method: &str, params: Value) {
        self.browser.devtools.post(&self.session, method, params);
    }

    /// Sends a command and gives its result, however long it takes; none where that fails.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> Option<T> {
        self.browser.devtools.ask(&self.session, method, params).await
    }

    /// What has happened so far.
    pub(crate) fn life(&self) -> Life {
        *self.life.borrow()
    }

    /// Waits until that is so; ends without, where it cannot be so any more.
    pub(crate) async fn until(&self, mut is_so: impl FnMut(&Life) -> bool) {
        let _ = self.life.clone().wait_for(|life| life.crashed || life.gone || is_so(life)).await;
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        let mut tabs = self.browser.tabs();
        if let Some(Page { life, permit, .. }) = tabs.ours.remove(&self.session)
            && !life.borrow().gone
        {
            self.browser.close(&mut tabs, &self.session, &self.target, Some(permit));
        }
    }
}

impl Requests<'_> {
    /// Lets them go on, with the headers that `headers` gives in place of theirs.
    pub(crate) async fn let_go(mut self, headers: impl Fn(&Value) -> Option<Value>) -> Infallible {
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
