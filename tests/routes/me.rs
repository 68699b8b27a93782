//! The caller.

mod get;
