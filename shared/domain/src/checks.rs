//! Checks: which tools run on a site and when, what a run finds, and what is kept of it.
//!
//! Start with [`tool::Tool`], then [`run::Run`], which is what a run was started with, and
//! [`tool_state::ToolState::apply_run`], which turns the stored state and a finished run into everything to be written.
//!
//! 1. [`schedule`] says when a tool is due: its slots. [`on_demand`] and [`timer`] say what else makes it run.
//! 2. A run is decided on by [`run::Run`] and probed outside of this crate. Its outcome is a [`check::Check`], with a
//!    result of the tool's own form.
//! 3. [`run::Run::evaluate`] judges the result, by [`crate::issues::evaluate`].
//! 4. [`tool_state::ToolState::apply_run`] counts the check in its [`history`], moves the trackers of issues, and sets
//!    the timer for the next look.
//! 5. [`report`] and lists are read from the counted history.

pub mod browser_job;
pub mod check;
pub mod concurrency;
pub mod cooldown;
pub mod history;
pub mod limits;
pub mod on_demand;
pub mod pointer;
pub mod policy;
pub mod report;
pub mod run;
pub mod schedule;
pub mod timer;
pub mod tool;
pub mod tool_state;
mod tools_of_plan;

pub use tools_of_plan::ToolOption;
