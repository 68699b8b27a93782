//! What happened to a team's sites.

mod list;
