//! Whether this machine has a connection to the world: without one, a site that cannot be reached is
//! not down.
//!
//! Three kinds of failure look the same when our own connection is gone: a timeout, an unreachable
//! network, a name that cannot be looked up. They are observations only if one of the resolvers of DNS
//! checks answers. Refusals, resets and whatever TLS and HTTP say come from the target, and count as
//! they are; so does every failure of a network that configuration allows, which may be reached
//! without the world.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep_until, timeout};
use url::Url;
use vedette_domain::checks::check::CheckError;

use crate::dns::Resolvers;
use crate::ssrf_guard::SsrfGuard;

/// [`CheckError::code`] when a target cannot be reached and this machine has no connection.
pub const NO_CONNECTIVITY: &str = "no_connectivity";

/// The resolvers are asked once in this time at most.
const PAUSE: Duration = Duration::from_secs(10);

/// How long they have to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// How long it may take to find out whether a target is in an allowed network.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(1);

/// Knows whether this machine has a connection. One per process: checks that fail at the same time
/// ask once.
pub struct Connectivity {
    resolvers: Arc<Resolvers>,
    last: Mutex<Last>,
}

/// What is known from the last time that the resolvers were asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Last(Option<Answer>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    asked_at: Instant,
    is_connected: bool,
}

/// Whether there is a connection, as far as it is known.
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
    /// Judges a failure of something that began at an instant.
    ///
    /// That there is no connection holds for a while: at worst, a check is repeated. That there is one
    /// must have been found out since the check began, or the first failures of an outage would be
    /// taken for the targets'.
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

    /// Notes an answer.
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

    /// Looks whether the connection is back, if it was gone and the resolvers may be asked again.
    /// To be called now and then: the operator hears that an outage is over, even when nothing
    /// fails any more.
    pub async fn look_again(&self, guard: &SsrfGuard) {
        let Ok(last) = self.last.try_lock() else { return };
        let now = Instant::now();
        if last.is_lost() && last.judge(now, now) == Verdict::AskAt(now) {
            self.ask(guard, last).await;
        }
    }

    /// Whether there is a connection, judging a failure of something that `began` at an instant. Waits
    /// if the resolvers have to be asked and may not be yet.
    async fn is_there(&self, guard: &SsrfGuard, began: Instant) -> bool {
        loop {
            let (last, now) = (self.last.lock().await, Instant::now());
            match last.judge(began, now) {
                Verdict::Known(is_connected) => return is_connected,
                Verdict::AskAt(at) if at <= now => return self.ask(guard, last).await,
                Verdict::AskAt(at) => {
                    // Others may know enough already.
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

    /// Whether a failure of the network says something about targets. `why` is the failure in words,
    /// of something that `began` at an instant.
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

    /// As [`Self::confirm`], for a failure on the way to `url`. Of a target in a network that
    /// configuration allows it always says something.
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
