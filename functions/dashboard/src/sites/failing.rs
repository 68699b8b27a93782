//! A site that is failing but has no issue yet.

use std::num::NonZeroU32;

use jiff::Timestamp;
use maud::{Markup, html};
use vedette_domain::checks::policy::ToolPolicy;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::issues::Fingerprint;
use vedette_domain::sites::settings::Settings;

use crate::clock::Clock;

/// How many failed checks there have been, of those that open an issue. `None` if no check counts toward an issue
/// because a person has resolved it, or if the threshold has been lowered meanwhile.
pub(super) fn counted(status: &ToolState, settings: &Settings) -> Option<(NonZeroU32, NonZeroU32)> {
    let fingerprint = Fingerprint::StatusDown;
    let failed = status.trackers.get(&fingerprint)?.tracker.failures()?.streak;
    let policy = ToolPolicy::of(Tool::Status, settings);
    let of = policy.thresholds_of(fingerprint).open_after;
    (failed < of).then_some((failed, of))
}

/// The time of the confirmation retry.
pub(super) fn next_check(status: &ToolState) -> Option<Timestamp> {
    status.timer.map(|timer| timer.due)
}

/// `1 of 2, checks again at 14:32`.
pub(super) fn words(
    (failed, of): (NonZeroU32, NonZeroU32),
    next: Option<Timestamp>,
    clock: Clock<'_>,
) -> Markup {
    html! {
        (failed) " of " (of)
        @match next {
            Some(next) if next > clock.now => { ", checks again at " (clock.time(next)) },
            Some(_) => ", checks again now",
            None => {}
        }
    }
}
