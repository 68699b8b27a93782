//! All maintenance windows of a team.

use jiff::{SignedDuration, Timestamp};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::window::{DURATION_MAX_MINUTES, Instance, MaintenanceWindow};
use crate::id::{SiteId, WindowId};
use crate::sites::tag::Tag;

/// The most windows of a team.
pub const WINDOWS_MAX: usize = 50;
/// The most that the windows of a team take in the table, in bytes. Every run reads them.
pub const STORED_MAX: usize = 16 * 1024;

/// The maintenance windows of a team, in the order in which they were added. Stored as JSON in one text, which is read
/// sooner than nested attributes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Windows(Vec<MaintenanceWindow>);

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
        self.0.is_empty()
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, MaintenanceWindow> {
        self.0.iter()
    }

    /// The window with an id.
    pub fn get(&self, id: WindowId) -> Option<&MaintenanceWindow> {
        self.0.iter().find(|window| window.id == id)
    }

    /// The window with an id, unless it is over.
    pub fn current(&self, id: WindowId, now: Timestamp) -> Option<&MaintenanceWindow> {
        self.get(id).filter(|window| !window.is_over(now))
    }

    /// The windows that are not over: the active ones first, in the order in which they end, then the others, in the
    /// order in which they start.
    pub fn current_ones(&self, now: Timestamp) -> Vec<&MaintenanceWindow> {
        let mut windows: Vec<_> = self.0.iter().filter(|window| !window.is_over(now)).collect();
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
        let covering = self.0.iter().filter(|window| window.covers(site, tags.clone()));
        let ends = covering.filter_map(|window| Some(window.started_by(to)?.end));
        ends.filter(|end| *end > from).max()
    }

    /// The instances for a site with these tags that overlap a time, as far as the windows are still known: a window
    /// that is over is dropped when the team changes another one.
    pub fn instances<'t>(
        &self,
        site: SiteId,
        tags: impl IntoIterator<Item = &'t Tag> + Clone,
        from: Timestamp,
        to: Timestamp,
    ) -> Vec<Instance> {
        let covering = self.0.iter().filter(|window| window.covers(site, tags.clone()));
        let longest = SignedDuration::from_mins(DURATION_MAX_MINUTES.into());
        let of_window = |window: &MaintenanceWindow| {
            let first = window.next_after(from.saturating_sub(longest).unwrap_or(from));
            let after = |instance: &Instance| window.next_after(instance.start);
            let starts = std::iter::successors(first, after);
            let starts = starts.take_while(|instance| instance.start < to);
            starts.filter(|instance| instance.end > from).collect::<Vec<_>>()
        };
        covering.flat_map(of_window).collect()
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
        match next.0.iter_mut().find(|known| known.id == window.id) {
            Some(known) => *known = window,
            None => next.0.push(window),
        }
        if next.0.len() > WINDOWS_MAX {
            return Err(WindowRefusal::TooMany);
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
        let active = next.0.iter_mut().find(|window| window.id == id);
        let Some(window) = active.filter(|window| window.active_at(now).is_some()) else {
            return Err(WindowRefusal::NotActive);
        };
        window.ended_at = Some(now);
        Ok(next.without_past(now))
    }

    /// The windows without one, and without those that are over.
    #[must_use]
    pub fn without(&self, id: WindowId, now: Timestamp) -> Self {
        let mut next = self.without_past(now);
        next.0.retain(|window| window.id != id);
        next
    }

    fn without_past(&self, now: Timestamp) -> Self {
        Self(self.0.iter().filter(|window| !window.is_over(now)).cloned().collect())
    }

    fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.0)
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
        serde_json::from_str(&text).map(Self).map_err(D::Error::custom)
    }
}
