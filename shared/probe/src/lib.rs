//! The check engines of Vedette, and the SSRF guard that every connection they make has to pass.
//!
//! - [`ssrf_guard`] decides what may be reached, and pins the addresses.
//! - `http` connects to what the SSRF guard admits, for all engines.
//! - `tls` says what they offer to servers, and which certificates they trust.
//! - [`connectivity`] tells a target's failure from one of our own connection.
//! - [`browser`] runs a browser behind the SSRF guard.
//! - [`status`] fetches a page once, and reports whether it is up.
//! - [`ssl`] reads the certificate of a host, and reports whether it is valid.
//! - [`dns`] looks up a host's records through several resolvers.
//! - [`links`] crawls a site, and reports its broken links.
//! - [`performance`] audits a page with Lighthouse.
//! - [`scheme`] finds out which scheme a server speaks.
//! - [`exchange`] asks a service that the operator chose.
//! - [`post`] sends a message to an address that somebody else chose.
//! - [`txt`] looks up TXT records.
//!
//! An engine returns its tool's result, or the [`CheckError`](vedette_domain::checks::check::CheckError) of
//! a check that could not run. An unreachable target is a result.

pub mod browser;
pub mod connectivity;
pub mod dns;
pub mod exchange;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod http;
pub mod links;
#[cfg(test)]
mod loopback;
pub mod performance;
pub mod post;
mod registrable;
mod request_header;
pub mod scheme;
pub mod ssl;
pub mod ssrf_guard;
pub mod status;
mod tls;
pub mod txt;

pub use self::request_header::INVALID_HEADER;

/// `User-Agent` of every request to a target: the project, and a page about it.
pub const USER_AGENT: &str =
    concat!("Vedette/", env!("CARGO_PKG_VERSION"), " (+", env!("CARGO_PKG_HOMEPAGE"), ")");
