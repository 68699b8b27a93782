//! What people choose for a maintenance window.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::DateTime;

use super::recurrence::Recurrence;
use super::window::{DURATION_MAX_MINUTES, MaintenanceWindow, SITES_MAX, START, WINDOW_NAME_MAX};
use crate::id::{SiteId, WindowId};
use crate::input::{ListRule, MinutesRule, input, line};
use crate::sites::selector::Selector;
use crate::time_zone::NamedZone;

/// The name of a window without a name of its own.
const DEFAULT_NAME: &str = "Maintenance";

input! {
    /// A new maintenance window. Without a start, it starts now; without a zone, it has the team's.
    NewWindow,
    /// A change of a maintenance window.
    WindowEdit {
        /// Display name: one line of visible text.
        #[form("Name", "For example, Deployment.")]
        name: Nullable<String> = line(WINDOW_NAME_MAX), or DEFAULT_NAME.to_owned();
        /// How long the window lasts.
        #[form("Duration")]
        #[option("for", "DURATION")]
        duration_minutes: Required<u32> = MinutesRule(DURATION_MAX_MINUTES);
        /// When the window first starts: a local time in its time zone, such as `2026-11-29T02:00`. A new window without
        /// it starts now.
        #[form("Starts", "Leave it empty to start a new window now.")]
        #[option("start", "TIME")]
        starts_at: Nullable<DateTime> = START;
        /// An IANA time zone name, such as `Europe/Berlin`. The default is the team's time zone.
        time_zone: Nullable<NamedZone> = NamedZone::RULE;
        /// When the window recurs: an RFC 5545 recurrence rule, such as `FREQ=WEEKLY;BYDAY=SU`. It has `FREQ` (`DAILY`,
        /// `WEEKLY` or `MONTHLY`), `INTERVAL`, `BYDAY`, `BYMONTHDAY` and `UNTIL` (in UTC). The window must start on one of
        /// these days. Without a rule, it takes place once.
        #[form("Repeats")]
        #[option("repeat", "RULE")]
        recurrence: Clearable<Recurrence> = Recurrence::RULE;
        /// An addition to the specification: which sites the window is for, by their tags, such as env:prod, team in
        /// (shop,web), !legacy. Sites join and leave as their tags change. A window cannot have both a selector and
        /// sites: to change from one to the other, set the former to null.
        #[form("Sites with tags")]
        selector: Clearable<Selector> = Selector::RULE;
        /// The sites that the window is for; null for all sites of the team, or for those that the selector matches.
        #[form("Sites", "Select none for all sites, or for those with the tags above.")]
        #[option("-")]
        sites: Clearable<BTreeSet<SiteId>> = ListRule::new(1, SITES_MAX, SiteId::RULE);
    }
}

impl NewWindow {
    /// A window for all sites that starts now and takes so many minutes.
    pub fn lasting(duration_minutes: u32) -> Self {
        let (name, starts_at, time_zone) = (DEFAULT_NAME.to_owned(), None, None);
        let (recurrence, selector, sites) = (None, None, None);
        Self { name, duration_minutes, starts_at, time_zone, recurrence, selector, sites }
    }

    /// The window, in the zone of its team unless it has another.
    pub fn into_window(
        self,
        id: WindowId,
        team_zone: &NamedZone,
        now: Timestamp,
    ) -> MaintenanceWindow {
        let zone = self.time_zone.unwrap_or_else(|| team_zone.clone());
        let (start, zone) = match self.starts_at {
            Some(start) => (start, zone),
            None => MaintenanceWindow::starting_now(zone, now),
        };
        MaintenanceWindow {
            id,
            name: self.name,
            sites: self.sites,
            selector: self.selector,
            start,
            zone,
            minutes: self.duration_minutes,
            rule: self.recurrence,
            managed_by: None,
            ended_at: None,
            changed_at: None,
            is_past: false,
        }
    }
}

impl WindowEdit {
    /// The window with what was chosen.
    pub fn apply_to(self, window: &MaintenanceWindow) -> MaintenanceWindow {
        let kept = window.clone();
        MaintenanceWindow {
            id: kept.id,
            name: self.name.unwrap_or(kept.name),
            sites: self.sites.unwrap_or(kept.sites),
            selector: self.selector.unwrap_or(kept.selector),
            start: self.starts_at.unwrap_or(kept.start),
            zone: self.time_zone.unwrap_or(kept.zone),
            minutes: self.duration_minutes.unwrap_or(kept.minutes),
            rule: self.recurrence.unwrap_or(kept.rule),
            managed_by: kept.managed_by,
            ended_at: kept.ended_at,
            changed_at: kept.changed_at,
            is_past: kept.is_past,
        }
    }
}
