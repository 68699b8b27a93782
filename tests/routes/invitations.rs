//! `/teams/{team}/invitations`.

mod create;
mod list;
mod withdraw;
