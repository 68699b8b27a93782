//! The caller's teams.

mod get;
mod list;
