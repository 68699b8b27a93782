//! Maintenance windows: times in which the checks of sites run, but do not count as observations.
//!
//! Instances of a recurring window are never stored. They are computed from its rule when they are needed, which takes
//! no longer for a window that began long ago or whose rule has few instances.

mod calendar;
mod input;
mod recurrence;
mod resource;
#[cfg(test)]
mod tests;
mod window;
mod windows;

pub use calendar::calendar;
pub use input::{NewWindow, WindowEdit};
pub use recurrence::{INTERVAL_MAX, Recurrence, RecurrenceError};
pub use resource::WindowResource;
pub use window::{DURATION_MAX_MINUTES, Instance, MaintenanceWindow, SITES_MAX, parse_start};
pub use windows::{STORED_MAX, WINDOWS_MAX, WindowRefusal, Windows};
