//! The check engines of Vedette, and the guard before every connection they make.
//!
//! - [`guard`] decides what may be reached, and pins the addresses.
//! - [`ssl`] reads the certificate of a host and says whether it is valid.
//! - [`dns`] looks up a host's records through several resolvers.
//! - [`browser`] keeps a browser to what the guard admits.
//! - [`performance`] audits a page with Lighthouse.
//! - [`links`] crawls a site and says which of its links lead nowhere.
//! - [`status`] fetches a page once and says whether it is up.
//!
//! An engine returns its tool's result, or the [`CheckError`](vedette_domain::check::CheckError) of
//! a check that could not run. A target that cannot be reached is a result.

pub mod browser;
mod connect;
pub mod dns;
mod exchange;
mod failure;
pub mod guard;
pub mod links;
#[cfg(test)]
mod loopback;
pub mod ssl;
pub mod performance;
mod request_header;
pub mod status;
mod stop;

use vedette_domain::tool::Tool;

pub use self::request_header::INVALID_HEADER;

/// `User-Agent` of every request to a target.
pub const USER_AGENT: &str = concat!("Vedette/", env!("CARGO_PKG_VERSION"));
