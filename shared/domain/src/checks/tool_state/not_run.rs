//! Whether a site can't be checked: for a while, its status checks could not run, which says nothing about the site.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{ListChange, ToolState, millisecond};
use crate::checks::check::Finish;
use crate::checks::run::Run;
use crate::checks::tool::Tool;
use crate::issues::evaluate::clipped_to;

/// For how many cadences no check has completed when a site can't be checked.
const CADENCES: u32 = 3;
/// How long a site can't be checked before the owners of its team are notified.
pub const NOTIFIED_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// The most characters of an error that the state keeps. Every check rewrites it.
const MESSAGE_MAX: usize = 200;
/// The codes of errors that concern all sites: the owners of a team can do nothing about them.
const OF_SERVICE: [&str; 4] =
    ["no_connectivity", "resolver_unavailable", "no_socket", "interrupted"];

/// The automatic status checks since the last one that completed, if none of them could run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRun {
    /// The slot of the first one.
    #[serde(rename = "s", with = "millisecond::required")]
    pub since: Timestamp,
    /// The code of the newest one's error.
    #[serde(rename = "c")]
    pub code: String,
    /// The message of the newest one's error, perhaps without its end.
    #[serde(rename = "m")]
    pub message: String,
    /// Whether this lasts so long that the site counts as one that can't be checked.
    #[serde(rename = "l", default, skip_serializing_if = "std::ops::Not::not")]
    is_long: bool,
}

impl NotRun {
    /// When the owners are notified.
    pub fn notice_due(&self) -> Timestamp {
        self.since.saturating_add(NOTIFIED_AFTER).unwrap_or(self.since)
    }

    /// Whether the cause lies with the service as a whole.
    pub fn is_of_service(&self) -> bool {
        OF_SERVICE.contains(&self.code.as_str())
    }
}

impl ToolState {
    /// Why the site can't be checked, if so: the newest automatic status check could not run, and none has completed
    /// for three cadences. A site of which no check has ever completed can't be checked from the first one.
    pub fn unchecked(&self) -> Option<&NotRun> {
        self.not_run.as_ref().filter(|not_run| not_run.is_long)
    }

    /// Records whether the newest automatic check could run.
    pub(super) fn note_not_run(&mut self, run: &Run, finish: &Finish) {
        let before = self.not_run.take();
        let Finish::Failed(error) = finish else { return };
        if run.tool() != Tool::Status {
            return;
        }
        let slot = run.check.created_at();
        let since = before.as_ref().map_or(slot, |before| before.since.min(slot));
        // The last completed check was a cadence before the first that could not run.
        let cadences = run.settings.tools.cadence_minutes(Tool::Status) * (CADENCES - 1);
        let is_long = slot.duration_since(since).unsigned_abs() >= run.time_scale.minutes(cadences);
        self.not_run = Some(NotRun {
            since,
            code: error.code.clone(),
            message: clipped_to(&error.message, MESSAGE_MAX),
            is_long: is_long
                || self.latest_completed().is_none()
                || before.is_some_and(|before| before.is_long),
        });
    }

    /// The change of the list of sites that can't be checked from `before` to this state; `None` if the list stays as
    /// it is.
    pub fn unchecked_change(&self, before: &Self) -> Option<ListChange> {
        let since = |state: &Self| state.unchecked().map(|not_run| not_run.since);
        let now = since(self);
        (now != since(before)).then(|| now.map_or(ListChange::Ended, ListChange::Began))
    }
}
