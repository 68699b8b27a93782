//! Checks of a site.

mod create;
mod delete;
mod get;
mod list;
