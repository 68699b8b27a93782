//! `/teams/{team}/groups`.

pub(crate) mod get;
pub(crate) mod update;
