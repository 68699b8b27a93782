//! Checks: which tools run on a site and when, what a run finds, and what is stored about it.
//!
//! Start with [`tool::Tool`], then [`run::Run`], the input of a run, and [`tool_state::ToolState::apply_run`], which
//! turns the stored state and a finished run into everything that is written.
//!
//! 1. [`schedule`] says when a tool is due: its slots. [`on_demand`] and [`timer`] say what else makes it run.
//! 2. A [`run::Run`] is decided here and probed outside of this crate. Its outcome is a [`check::Check`], with a result
//!    in the tool's own form.
//! 3. [`run::Run::evaluate`] judges the result with [`crate::issues::evaluate`].
//! 4. [`tool_state::ToolState::apply_run`] counts the check in its [`history`], updates the trackers of issues, and
//!    sets the timer for the next run.
//! 5. [`report`] and lists are read from the counted history.

pub mod browser_job;
pub mod check;
pub mod concurrency;
pub mod cooldown;
pub mod evidence;
pub mod history;
pub mod limits;
pub mod load;
pub mod on_demand;
pub mod percentage;
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
