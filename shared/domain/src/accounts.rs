//! Accounts: users, teams, roles, plans, tokens and sessions, and how people get in.
//!
//! Start with [`account`]: a user is a member of teams, with a role in each, and a role has permissions. What a team may
//! have is its [`plan`].
//!
//! - People get in by a link in a mail or by an OpenID provider ([`session`]), or join a team by an [`invitation`].
//! - [`mailbox`] and [`mail_limits`] bound how much mail strangers can have sent to somebody.
//! - Every change in a team is written to its [`audit`] log, in the transaction that makes the change.

pub mod access;
pub mod account;
pub mod audit;
pub mod email;
pub mod invitation;
pub mod mail_limits;
pub mod mailbox;
pub mod plan;
pub mod refusal;
pub mod session;
pub mod team;
