//! `/teams/{team}/members`.

mod list;
mod remove;
mod update;
