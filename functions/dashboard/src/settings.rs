//! The monitoring settings of a team, in sections with a form each.

mod section;
pub(crate) mod show;
pub(crate) mod update;
