//! What a team's audit log says.

mod list;
