//! Reports of a team.

pub(crate) mod get;
