//! All maintenance windows of a team.

use jiff::{Timestamp, ToSpan as _};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::window::{Instance, MaintenanceWindow};
use crate::id::{SiteId, WindowId};
use crate::sites::tag::Tag;

/// The most windows of a team.
pub const WINDOWS_MAX: usize = 50;
/// The most that the windows of a team take in the table, in bytes. Every run reads them.
pub const STORED_MAX: usize = 16 * 1024;

/// The maintenance windows of a team, in the order in which they were added. Stored as JSON in one text, which is read
/// sooner than nested attributes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Windows {
    known: Vec<MaintenanceWindow>,
    /// Those that are over, were removed, or took place at other times or for other sites, as far as they took place lately;
    /// the oldest first.
    past: Vec<MaintenanceWindow>,
}

/// How long a window that is over is remembered, in days, so that downtime in it does not count for objectives.
const REMEMBERED_DAYS: i64 = 92;
/// The most of these.
const REMEMBERED_MAX: usize = 20;

/// Why a window is not saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WindowRefusal {
    /// The team has [`WINDOWS_MAX`] others that are not over.
    #[error(
        "A team has at most {WINDOWS_MAX} maintenance windows that are active or planned. Remove one first."
    )]
    TooMany,
    /// The windows would take more than [`STORED_MAX`].
    #[error(
        "The maintenance windows of the team take too much space. Use short selectors instead of lists of sites."
    )]
    TooLong,
    /// No instance of it would be active now or later.
    #[error("The maintenance window would already be over. Choose a later start.")]
    Over,
    /// Its first start is on a date that its rule leaves out.
    #[error("The maintenance window must start on a day of its recurrence.")]
    OffRule,
    /// It has both sites and a selector.
    #[error("A maintenance window can have sites or a selector, but not both. Clear one of them.")]
    SitesAndSelector,
    /// It names a site that the team does not have.
    #[error("The maintenance window names a site that the team does not have.")]
    UnknownSite,
    /// It is not active, so it cannot be ended.
    #[error("The maintenance window is not active.")]
    NotActive,
}

impl Windows {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether there is nothing to store: there are none, and none is remembered.
    pub const fn is_unused(&self) -> bool {
        self.known.is_empty() && self.past.is_empty()
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, MaintenanceWindow> {
        self.known.iter()
    }

    /// The window with an id.
    pub fn get(&self, id: WindowId) -> Option<&MaintenanceWindow> {
        self.known.iter().find(|window| window.id == id)
    }

    /// The window with an id, unless it is over.
    pub fn current(&self, id: WindowId, now: Timestamp) -> Option<&MaintenanceWindow> {
        self.get(id).filter(|window| !window.is_over(now))
    }

    /// When somebody ended the window of a document, if it is over since and was to take place at the same times.
    pub(crate) fn ended_at(&self, window: &MaintenanceWindow) -> Option<Timestamp> {
        let is_same = |past: &&MaintenanceWindow| {
            past.managed_by.is_some()
                && past.managed_by == window.managed_by
                && past.is_at_times_of(window)
        };
        self.past.iter().rev().find(is_same)?.ended_at
    }

    /// The windows that are not over: the active ones first, in the order in which they end, then the others, in the
    /// order in which they start.
    pub fn current_ones(&self, now: Timestamp) -> Vec<&MaintenanceWindow> {
        let mut windows: Vec<_> = self.known.iter().filter(|window| !window.is_over(now)).collect();
        windows.sort_by_cached_key(|window| {
            let active = window.active_at(now).map(|active| active.end);
            (active.is_none(), active.or_else(|| window.next_after(now).map(|next| next.start)))
        });
        windows
    }

    /// Until when a site with these tags is in maintenance, if any instant from one to the other is in a window that
    /// covers it: the last end of these windows.
    pub fn until<'t>(
        &self,
        site: SiteId,
        tags: impl IntoIterator<Item = &'t Tag> + Clone,
        from: Timestamp,
        to: Timestamp,
    ) -> Option<Timestamp> {
        let (from, to) = (from.min(to), from.max(to));
        let covering = self.known.iter().filter(|window| window.covers(site, tags.clone()));
        let ends = covering.filter_map(|window| Some(window.started_by(to)?.end));
        ends.filter(|end| *end > from).max()
    }

    /// The instances for a site with these tags that overlap a time, as far as the windows are still known: at most 20
    /// of those that are over, were removed or changed, for 92 days.
    pub fn instances<'t>(
        &self,
        site: SiteId,
        tags: impl IntoIterator<Item = &'t Tag> + Clone,
        from: Timestamp,
        to: Timestamp,
    ) -> Vec<Instance> {
        let all = self.past.iter().chain(&self.known);
        let covering = all.filter(|window| window.covers(site, tags.clone()));
        covering.flat_map(|window| window.instances(from, to)).collect()
    }

    /// The windows with one that is new or replaces the one with its id, without those that are over.
    ///
    /// # Errors
    ///
    /// Why it is not saved.
    pub fn with(&self, window: MaintenanceWindow, now: Timestamp) -> Result<Self, WindowRefusal> {
        if window.sites.is_some() && window.selector.is_some() {
            return Err(WindowRefusal::SitesAndSelector);
        }
        if window.first_date() != Some(window.start.date()) {
            return Err(WindowRefusal::OffRule);
        }
        if window.is_over(now) {
            return Err(WindowRefusal::Over);
        }
        let mut next = self.without_past(now);
        let mut changed = None;
        let changed_at = Timestamp::from_second(now.as_second()).ok();
        match next.known.iter_mut().find(|known| known.id == window.id) {
            Some(known) if known.takes_place_like(&window) => {
                *known = MaintenanceWindow { changed_at: known.changed_at, ..window };
            }
            Some(known) => {
                let window = MaintenanceWindow { changed_at, ..window };
                changed = Some(std::mem::replace(known, window).stopped(now));
            }
            None => next.known.push(MaintenanceWindow { changed_at, ..window }),
        }
        let mut next = next.remembering(changed, now);
        if next.known.len() > WINDOWS_MAX {
            return Err(WindowRefusal::TooMany);
        }
        while next.text().is_ok_and(|text| text.len() > STORED_MAX) && !next.past.is_empty() {
            next.past.remove(0);
        }
        match next.text() {
            Ok(text) if text.len() <= STORED_MAX => Ok(next),
            _ => Err(WindowRefusal::TooLong),
        }
    }

    /// The windows after the active instances of one were ended.
    ///
    /// # Errors
    ///
    /// It is not active.
    pub fn with_ended(&self, id: WindowId, now: Timestamp) -> Result<Self, WindowRefusal> {
        let mut next = self.clone();
        let active = next.known.iter_mut().find(|window| window.id == id);
        let Some(window) = active.filter(|window| window.active_at(now).is_some()) else {
            return Err(WindowRefusal::NotActive);
        };
        window.ended_at = Some(now);
        Ok(next.without_past(now))
    }

    /// The windows without one, and without those that are over.
    #[must_use]
    pub fn without(&self, id: WindowId, now: Timestamp) -> Self {
        let next = self.without_past(now);
        let (removed, known): (Vec<_>, _) =
            next.known.into_iter().partition(|window| window.id == id);
        let removed = removed.into_iter().map(|window| window.stopped(now));
        Self { known, past: next.past }.remembering(removed, now)
    }

    fn without_past(&self, now: Timestamp) -> Self {
        let all = self.known.iter().cloned();
        let (over, known): (Vec<_>, _) = all.partition(|window| window.is_over(now));
        // An instance that was ended early says nothing about those after it.
        let over = over.into_iter().map(|window| {
            let ended_at = window.ended_at.filter(|at| window.next_after(*at).is_none());
            MaintenanceWindow { ended_at, ..window }
        });
        Self { known, past: self.past.clone() }.remembering(over, now)
    }

    /// The windows with others among the past ones, as far as they took place lately.
    fn remembering(
        mut self,
        over: impl IntoIterator<Item = MaintenanceWindow>,
        now: Timestamp,
    ) -> Self {
        let over = over.into_iter().map(|window| MaintenanceWindow { is_past: true, ..window });
        self.past.extend(over);
        let since = now.saturating_sub((REMEMBERED_DAYS * 24).hours()).unwrap_or(now);
        self.past.retain(|window| !window.instances(since, now).is_empty());
        self.past.drain(..self.past.len().saturating_sub(REMEMBERED_MAX));
        self
    }

    fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.known.iter().chain(&self.past).collect::<Vec<_>>())
    }
}

impl Serialize for Windows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text().map_err(S::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Windows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let all: Vec<MaintenanceWindow> = serde_json::from_str(&text).map_err(D::Error::custom)?;
        let (past, known) = all.into_iter().partition(|window| window.is_past);
        Ok(Self { known, past })
    }
}
