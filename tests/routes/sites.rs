//! Sites of a team.

mod bulk;
mod create;
mod delete;
mod get;
mod list;
mod update;
