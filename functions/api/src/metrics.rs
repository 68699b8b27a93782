//! `/teams/{team}/metrics`.

pub(crate) mod get;
mod heartbeats;
