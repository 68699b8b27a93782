//! Which POSTs of status checks were begun, so that none is sent twice.
//!
//! A check that posts notes that in the state directly before it sends the request. If its message is delivered again,
//! whether the run is still in progress or its process has died, the note says so, and nothing is sent.

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::millisecond;
use serde::{Deserialize, Serialize};

use super::{Discard, ToolState};
use crate::checks::tool::Tool;
use crate::clock::is_ahead;
use crate::id::CheckId;

/// The newest POST of each kind of check that is not known to have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PostsInFlight {
    /// Of automatic checks.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    automatic: Option<BegunPost>,
    /// Of on-demand checks.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    on_demand: Option<BegunPost>,
}

/// A POST that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct BegunPost {
    #[serde(rename = "c")]
    check: CheckId,
    #[serde(rename = "t", with = "millisecond::required")]
    at: Timestamp,
}

/// Why a check may not send its POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPost {
    /// The run does not count.
    #[error(transparent)]
    Discarded(#[from] Discard),
    /// The same run is sending it, or has just sent it, in another process.
    #[error("the check is in progress")]
    InProgress,
    /// A run of this check has sent it, or was about to, and has died since.
    #[error("the POST may have been sent already")]
    Lost,
}

impl PostsInFlight {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    const fn of(&self, check: CheckId) -> Option<BegunPost> {
        if check.is_automatic() { self.automatic } else { self.on_demand }
    }

    const fn of_mut(&mut self, check: CheckId) -> &mut Option<BegunPost> {
        if check.is_automatic() { &mut self.automatic } else { &mut self.on_demand }
    }

    /// Forgets the POST of a check that has ended.
    pub(super) fn end(&mut self, check: CheckId) {
        let begun = self.of_mut(check);
        *begun = begun.filter(|begun| begun.check.created_at() > check.created_at());
    }
}

impl ToolState {
    /// Why a check may not send a POST, if it may not.
    pub fn refuses_post(&self, check: CheckId, now: Timestamp) -> Option<NoPost> {
        let begun = self.posts.of(check)?;
        if begun.check == check {
            let age = now.duration_since(begun.at);
            // After that, no process works on it any more.
            let is_lost = age > Tool::Status.limits().run || is_ahead(begun.at, now);
            return Some(if is_lost { NoPost::Lost } else { NoPost::InProgress });
        }
        let slot = begun.check.created_at();
        let is_older = check.created_at() <= slot && !is_ahead(slot, now);
        (check.is_automatic() && is_older).then_some(NoPost::Discarded(Discard::Stale))
    }

    /// The state in which a check has begun its POST. It must be saved before the POST is sent.
    ///
    /// # Errors
    ///
    /// Why the check may not send it. `cfg` is the version of the site with which the run began.
    pub fn begin_post(&self, check: CheckId, cfg: u64, now: Timestamp) -> Result<Self, NoPost> {
        self.wants(check, now)?;
        if self.cfg != cfg {
            return Err(Discard::Superseded.into());
        }
        if let Some(refusal) = self.refuses_post(check, now) {
            return Err(refusal);
        }
        let mut next = self.clone();
        next.rev += 1;
        *next.posts.of_mut(check) = Some(BegunPost { check, at: now });
        Ok(next)
    }
}
