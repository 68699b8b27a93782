//! Accounts: users, teams, roles, plans, tokens and sessions, and how people get in.

pub mod account;
pub mod audit;
pub mod email;
pub mod invitation;
pub mod mail_limits;
pub mod mailbox;
pub mod plan;
pub mod session;
