//! What is outstanding for a status page: whether, and when, it must be published again.

use std::collections::BTreeMap;

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use super::page::StatusPage;
use super::publish::{MonitorFacts, covered};
use crate::accounts::team::Team;
use crate::checks::history::{day_of, day_start};
use crate::id::{MonitorId, StatusPageId, TeamId};

/// How long a publication may take before its message is sent again.
pub const PUBLICATION_GRACE: SignedDuration = SignedDuration::from_mins(2);
/// A page is published again after this time, even if nothing has happened: the figures of today change with every
/// check.
const REFRESHED_EVERY: SignedDuration = SignedDuration::from_hours(1);
/// Checks say that a page is published again only if an issue opens or resolves. So nothing else notices that the first
/// check of a site succeeds, that its checks stop coming, or that they come again. Nor does a new site say which pages
/// select it. That is looked for no more often than this.
const LOOKED_FOR: SignedDuration = SignedDuration::from_mins(5);

/// What is outstanding for a status page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// The team.
    pub team: TeamId,
    /// The page.
    pub page: StatusPageId,
    /// Rises with everything that changes what is published.
    pub wanted: u64,
    /// The `wanted` up to which the page was published.
    pub done: u64,
    /// Rises with every attempt to publish. What a later attempt has read is never replaced by what an earlier one did.
    pub attempts: u64,
    /// When the page changes without anybody doing anything, or should be refreshed.
    #[serde(
        rename = "at",
        default,
        with = "millisecond::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub next: Option<Timestamp>,
    /// How many incidents the page has.
    #[serde(default)]
    pub incidents: u32,
    /// What the selector of the page was last applied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
    /// Whether the page was deleted, and what is left of it must be removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_deleted: bool,
}

/// What a selector was applied to. As long as nothing of it changes, it selects the same sites, unless it selects sites
/// without tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// The `rev` of the page.
    pub page: u64,
    /// The `rev` of the team's tags.
    pub tags: u64,
}

impl Publication {
    /// What is outstanding for a new page.
    pub const fn of_new_page(team: TeamId, page: StatusPageId) -> Self {
        Self {
            team,
            page,
            wanted: 1,
            done: 0,
            attempts: 0,
            next: None,
            incidents: 0,
            selected: None,
            is_deleted: false,
        }
    }

    /// Whether there is something to do at an instant.
    pub fn is_outstanding(&self, now: Timestamp) -> bool {
        self.is_deleted || self.wanted > self.done || self.next.is_some_and(|next| next <= now)
    }
}

/// When a page that was just published must be published again, if nothing happens until then: when a window that it
/// shows starts or ends, when too little is known about a site, when the day turns, and once in a while. A page with a
/// selector looks for new sites more often.
pub fn next_publication(
    page: &StatusPage,
    monitors: &BTreeMap<MonitorId, MonitorFacts>,
    team: &Team,
    now: Timestamp,
) -> Timestamp {
    let later = |wait: SignedDuration| now.saturating_add(wait).unwrap_or(Timestamp::MAX);
    let tomorrow = day_of(now).saturating_add(1.day());
    let covering =
        team.windows.iter().filter(|window| covered(page, window, monitors).next().is_some());
    let edges = covering.flat_map(|window| {
        let end = window.active_at(now).map(|active| active.end);
        let start = window.next_after(now).map(|next| next.start);
        [start, end].into_iter().flatten()
    });
    let known_until = monitors.values().filter_map(MonitorFacts::known_until).min();
    let looked_for = match page.selector {
        Some(_) => Some(later(LOOKED_FOR)),
        None => known_until.map(|until| until.max(later(LOOKED_FOR))),
    };
    let refreshed = later(REFRESHED_EVERY).min(looked_for.unwrap_or(Timestamp::MAX));
    edges.fold(refreshed.min(day_start(tomorrow)), Timestamp::min)
}
