//! Invitations to a team.

mod create;
mod list;
mod withdraw;
