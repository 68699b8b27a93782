//! Checks: which tools run on a site and when, what a run finds, and what is kept of it.

pub mod browser_job;
pub mod check;
pub mod concurrency;
pub mod cooldown;
pub mod history;
pub mod limits;
pub mod on_demand;
pub mod policy;
pub mod report;
pub mod run;
pub mod schedule;
pub mod timer;
pub mod tool;
pub mod tool_state;
