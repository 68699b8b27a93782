//! What people choose for a maintenance window.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::DateTime;

use super::recurrence::Recurrence;
use super::window::MaintenanceWindow;
use crate::id::{SiteId, WindowId};
use crate::time_zone::NamedZone;

/// The name of a window without a name of its own.
const DEFAULT_NAME: &str = "Maintenance";

/// What people choose for a maintenance window; `None` for what they leave open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WindowInput {
    /// Display name.
    pub name: Option<String>,
    /// The sites that it is for; `Some(None)` for all sites of the team.
    pub sites: Option<Option<BTreeSet<SiteId>>>,
    /// When it starts for the first time, on the clocks of its zone.
    pub start: Option<DateTime>,
    /// Its time zone.
    pub zone: Option<NamedZone>,
    /// How long it takes, in minutes.
    pub minutes: Option<u32>,
    /// When it recurs; `Some(None)` if it takes place once.
    pub rule: Option<Option<Recurrence>>,
}

impl WindowInput {
    /// A new window of a given length. Without a start, it starts now; without a zone, it has the team's.
    pub fn into_window(
        self,
        id: WindowId,
        minutes: u32,
        team_zone: &NamedZone,
        now: Timestamp,
    ) -> MaintenanceWindow {
        let zone = self.zone.unwrap_or_else(|| team_zone.clone());
        let (start, zone) = match self.start {
            Some(start) => (start, zone),
            None => MaintenanceWindow::starting_now(zone, now),
        };
        MaintenanceWindow {
            id,
            name: self.name.unwrap_or_else(|| DEFAULT_NAME.to_owned()),
            sites: self.sites.flatten(),
            start,
            zone,
            minutes,
            rule: self.rule.flatten(),
            ended_at: None,
        }
    }

    /// The window with what was chosen.
    pub fn apply_to(self, window: &MaintenanceWindow) -> MaintenanceWindow {
        let kept = window.clone();
        MaintenanceWindow {
            id: kept.id,
            name: self.name.unwrap_or(kept.name),
            sites: self.sites.unwrap_or(kept.sites),
            start: self.start.unwrap_or(kept.start),
            zone: self.zone.unwrap_or(kept.zone),
            minutes: self.minutes.unwrap_or(kept.minutes),
            rule: self.rule.unwrap_or(kept.rule),
            ended_at: kept.ended_at,
        }
    }
}
