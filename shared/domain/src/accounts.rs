//! Accounts: users, teams, roles, plans, tokens and sessions, and how people get in.
//!
//! Start with [`account`]: a user is a member of teams, with a role in each, and a role has permissions. The team's
//! [`plan`] limits what it may have.
//!
//! - People sign in with a link from an email or through an OpenID provider ([`session`]), or join a team with an
//!   [`invitation`].
//! - [`mailbox`] and [`mail_limits`] limit how much email strangers can make Vedette send to somebody.
//! - Every change in a team is recorded in its [`audit`] log, in the transaction that makes the change.

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
pub mod token;
