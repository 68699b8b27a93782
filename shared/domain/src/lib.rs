//! Pure decisions of Vedette: identities, settings, schedules, checks, issues.
//!
//! Nothing here does I/O, reads a clock or draws randomness: shells load, call and save.

pub mod check;
pub mod tool;
