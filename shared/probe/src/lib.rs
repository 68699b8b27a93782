//! The check engines of Vedette, and the guard before every connection they make.
//!
//! - [`guard`] decides what may be reached, and pins the addresses.
//! - [`browser`] keeps a browser to what the guard admits.
//! - [`status`] fetches a page once and says whether it is up.
//! - [`ssl`] reads the certificate of a host and says whether it is valid.
//! - [`dns`] looks up a host's records through several resolvers.
//! - [`links`] crawls a site and says which of its links lead nowhere.
//! - [`performance`] audits a page with Lighthouse.
//!
//! An engine returns its tool's result, or the [`CheckError`](vedette_domain::check::CheckError) of
//! a check that could not run. A target that cannot be reached is a result.

pub mod browser;
pub mod dns;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod guard;
mod http;
pub mod links;
#[cfg(test)]
mod loopback;
pub mod performance;
mod registrable;
mod request_header;
pub mod ssl;
pub mod status;

pub use self::request_header::INVALID_HEADER;

/// `User-Agent` of every request to a target: the project, and the page that says what it does.
pub const USER_AGENT: &str =
    concat!("Vedette/", env!("CARGO_PKG_VERSION"), " (+", env!("CARGO_PKG_HOMEPAGE"), ")");
