//! Pure decisions of Vedette, by subject: [`sites`], [`heartbeats`], [`checks`], [`expectations`], [`locations`],
//! [`issues`], [`alerts`], [`status_pages`] and [`accounts`].
//!
//! Nothing here does I/O, reads a clock or draws randomness: callers load the state, call the domain, and save the
//! result. What several subjects share, such as ids and time, has modules of its own.

pub mod accounts;
pub mod alerts;
pub mod checks;
pub mod clock;
pub mod configuration;
pub mod expectations;
pub mod heartbeats;
pub mod id;
pub mod input;
pub mod issues;
pub mod locations;
pub mod maintenance;
pub mod message;
pub mod monitor;
pub mod name;
pub mod objectives;
pub mod rate_limit;
pub mod reports;
#[cfg(feature = "schema")]
pub mod schema;
pub mod shared_limit;
pub mod sites;
pub mod source;
pub mod status_pages;
pub mod text;
pub mod time;
pub mod time_span;
pub mod time_zone;
pub mod validation;
pub mod wording;
pub mod work;
