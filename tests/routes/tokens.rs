//! The caller's tokens.

mod create;
mod list;
mod revoke;
