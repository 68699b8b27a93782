//! `/teams/{team}/configuration`.

pub(crate) mod apply;
pub(crate) mod export;
