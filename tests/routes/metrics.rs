//! A team's metrics.

mod get;
