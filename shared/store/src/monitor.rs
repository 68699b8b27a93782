//! The item of a monitor, which is a site, a heartbeat, or what remains of a deleted one.

use vedette_domain::heartbeats::heartbeat::Heartbeat;
use vedette_domain::monitor::Monitor;
use vedette_domain::sites::site::Site;

use crate::StoreError;
use crate::item::{Item, Stored};

/// The attribute that only what remains of a deleted site or heartbeat has.
pub(crate) const TOMBSTONE: &str = "deleted_at";

/// Whether an item is a heartbeat rather than a site: only heartbeats have a schedule.
pub(crate) fn is_heartbeat(stored: &Item) -> bool {
    stored.contains_key("schedule")
}

/// The site in an item that may be a tombstone or a heartbeat.
pub(crate) fn live_site(stored: Item) -> Result<Option<Site>, StoreError> {
    match stored.contains_key(TOMBSTONE) || is_heartbeat(&stored) {
        true => Ok(None),
        false => Stored::read(stored).map(Some),
    }
}

/// The heartbeat in an item that may be a site or a tombstone.
pub(crate) fn live_heartbeat(stored: Item) -> Result<Option<Heartbeat>, StoreError> {
    match is_heartbeat(&stored) {
        true => Stored::read(stored).map(Some),
        false => Ok(None),
    }
}

/// The site or heartbeat in an item that may be a tombstone.
pub(crate) fn live_monitor(stored: Item) -> Result<Option<Monitor>, StoreError> {
    if is_heartbeat(&stored) {
        return live_heartbeat(stored).map(|heartbeat| heartbeat.map(Monitor::from));
    }
    live_site(stored).map(|site| site.map(Monitor::from))
}
