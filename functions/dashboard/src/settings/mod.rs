//! The monitoring settings of a team, in sections with a form each.

mod input;
mod section;
pub(crate) mod show;
pub(crate) mod update;
