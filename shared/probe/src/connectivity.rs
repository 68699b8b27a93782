//! Whether this machine is connected to the Internet. Without a connection, a site that cannot be reached is not down.
//!
//! Three kinds of failures look the same when our own connection is gone: a timeout, an unreachable network, and a name
//! that cannot be looked up. They are observations only if one of the resolvers of DNS checks answers. Refusals,
//! resets, and TLS and HTTP errors come from the target and always count. So does every failure in a network that the
//! configuration allows, because it may be reachable without the Internet.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep_until, timeout};
use url::Url;
use vedette_domain::checks::check::CheckError;

use crate::dns::Resolvers;
use crate::ssrf_guard::SsrfGuard;

/// [`CheckError::code`] when a target cannot be reached and this machine is not connected.
pub const NO_CONNECTIVITY: &str = "no_connectivity";

/// The resolvers are asked at most once in this time.
const PAUSE: Duration = Duration::from_secs(10);

/// How long they have to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// How long it may take to find out whether a target is in an allowed network.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(1);

/// Knows whether this machine is connected. There is one per process: checks that fail at the same time ask once.
pub struct Connectivity {
    resolvers: Arc<Resolvers>,
    last: Mutex<Last>,
}

/// What is known since the resolvers were last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Last(Option<Answer>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    asked_at: Instant,
    is_connected: bool,
}

/// Whether this machine is connected, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is known.
    Known(bool),
    /// The resolvers have to be asked, and may be at this time.
    AskAt(Instant),
}

/// What an answer changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// The connection is gone.
    Lost,
    /// It is back.
    Regained,
}

impl Last {
    /// Judges a failure of something that began at this instant.
    ///
    /// A lost connection is assumed for a while: at worst, a check is repeated. A working connection must have been
    /// confirmed since the check began; otherwise the first failures of an outage would be blamed on the targets.
    fn judge(self, began: Instant, now: Instant) -> Verdict {
        let Some(Answer { asked_at, is_connected }) = self.0 else {
            return Verdict::AskAt(now);
        };
        let next = asked_at + PAUSE;
        if now < next && (!is_connected || began <= asked_at) {
            return Verdict::Known(is_connected);
        }
        Verdict::AskAt(next.max(now))
    }

    /// Records an answer.
    fn note(&mut self, answer: Answer) -> Option<Change> {
        let was_lost = self.is_lost();
        self.0 = Some(answer);
        match (was_lost, self.is_lost()) {
            (false, true) => Some(Change::Lost),
            (true, false) => Some(Change::Regained),
            _ => None,
        }
    }

    fn is_lost(self) -> bool {
        self.0.is_some_and(|answer| !answer.is_connected)
    }
}

impl Connectivity {
    /// Asks these resolvers.
    pub fn new(resolvers: Arc<Resolvers>) -> Self {
        Self { resolvers, last: Mutex::default() }
    }

    /// Checks whether the connection is back, if it was gone and the resolvers may be asked again. Call this from time
    /// to time, so that the operator learns that an outage is over even if nothing fails any more.
    pub async fn look_again(&self, guard: &SsrfGuard) {
        let Ok(last) = self.last.try_lock() else { return };
        let now = Instant::now();
        if last.is_lost() && last.judge(now, now) == Verdict::AskAt(now) {
            self.ask(guard, last).await;
        }
    }

    /// Whether this machine was connected when the resolvers were last asked; `None` if they were never asked, or are
    /// being asked.
    pub fn last(&self) -> Option<bool> {
        let last = self.last.try_lock().ok()?;
        last.0.map(|answer| answer.is_connected)
    }

    /// Whether this machine is connected, to judge a failure of something that `began` at this instant. Waits if the
    /// resolvers have to be asked and may not be asked yet.
    async fn is_there(&self, guard: &SsrfGuard, began: Instant) -> bool {
        loop {
            let (last, now) = (self.last.lock().await, Instant::now());
            match last.judge(began, now) {
                Verdict::Known(is_connected) => return is_connected,
                Verdict::AskAt(at) if at <= now => return self.ask(guard, last).await,
                Verdict::AskAt(at) => {
                    // Other callers may already know enough.
                    drop(last);
                    sleep_until(at).await;
                }
            }
        }
    }

    async fn ask(&self, guard: &SsrfGuard, mut last: MutexGuard<'_, Last>) -> bool {
        let asked_at = Instant::now();
        let is_connected = self.resolvers.any_answers(guard, asked_at + ANSWER_TIMEOUT).await;
        match last.note(Answer { asked_at, is_connected }) {
            Some(Change::Lost) => tracing::error!(
                "this machine has no connection: none of the resolvers (VEDETTE_DOH) answers; \
                 until one does, timeouts, unreachable networks and failed lookups are failed checks"
            ),
            Some(Change::Regained) => tracing::info!("this machine has a connection again"),
            None => {}
        }
        is_connected
    }

    /// Whether a network failure says something about targets. `why` describes the failure of something that `began` at
    /// this instant.
    ///
    /// # Errors
    /// [`NO_CONNECTIVITY`].
    pub(crate) async fn confirm(
        &self,
        guard: &SsrfGuard,
        began: Instant,
        why: &str,
    ) -> Result<(), CheckError> {
        if self.is_there(guard, began).await {
            return Ok(());
        }
        Err(CheckError {
            message: format!("this machine has no connection to the Internet ({why})"),
            code: NO_CONNECTIVITY.to_owned(),
            data: json!({ "failure": why }),
        })
    }

    /// Like [`Self::confirm`], for a failure on the way to `url`. In a network that the configuration allows, it always
    /// says something about the target.
    ///
    /// # Errors
    /// [`NO_CONNECTIVITY`].
    pub(crate) async fn confirm_for(
        &self,
        guard: &SsrfGuard,
        url: &Url,
        began: Instant,
        why: &str,
    ) -> Result<(), CheckError> {
        match timeout(ADDRESS_TIMEOUT, guard.is_in_allowed_network(url)).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => self.confirm(guard, began, why).await,
        }
    }
}

#[cfg(test)]
mod tests;
