//! The outages of a team's sites.

mod list;
