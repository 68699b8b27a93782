//! `/teams/{team}/reports`.

mod get;
