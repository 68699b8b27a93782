//! The caller's teams.

mod create;
mod get;
mod list;
mod update;
