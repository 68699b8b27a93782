//! The members of a team.

mod list;
mod remove;
mod update;
