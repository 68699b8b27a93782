//! What checks may reach: the public Internet, and nothing inside our own network.
//!
//! Anyone with a site chooses where our machines connect, so every request, redirect, crawled link and browser request
//! passes [`SsrfGuard::admit`]. It returns an [`AdmittedTarget`], the only thing that engines can connect to. It
//! contains addresses and no name. We connect to exactly what was checked, and a name that changes its answer in
//! between (DNS rebinding) gains nothing.
//!
//! Unusual spellings need no rules of their own. `url` normalizes decimal, octal, hexadecimal,
//! short and full-width forms of an address, and names are judged by the addresses that they
//! resolve to.

mod address;
mod connect_to;
mod outbound;
pub(crate) mod resolver;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use ipnet::IpNet;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use url::{Host, Url};
use vedette_domain::checks::check::CheckError;

pub use self::address::ForbiddenAddress;
pub use self::connect_to::{ConnectTo, ConnectToError};
pub use self::outbound::Outbound;
pub use self::resolver::Unresolved;
use self::resolver::{LookupError, Resolver};
use crate::tls;

/// [`CheckError::code`] of a target that may not be reached.
pub const TARGET_FORBIDDEN: &str = "target_forbidden";

/// [`CheckError::code`] when no name server could be reached.
pub const RESOLVER_UNAVAILABLE: &str = "resolver_unavailable";

/// Why a [`SsrfGuard`] cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SsrfGuardError {
    /// The system's resolver configuration is missing or unusable.
    #[error("the resolver configuration cannot be used: {0}")]
    Resolver(String),
    /// One of [`Outbound::extra_roots`] is not a usable trust anchor.
    #[error("extra root certificate {position} cannot be used: {error}")]
    Root {
        /// Its position in the list, from 1.
        position: usize,
        /// What is wrong with it.
        error: rustls::Error,
    },
    /// The TLS settings are not usable.
    #[error("TLS cannot be set up: {0}")]
    Tls(rustls::Error),
}

/// A target that the SSRF guard refuses to connect to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the target is forbidden: {reason}")]
pub struct ForbiddenTarget {
    /// The refused URL, without user name and password.
    pub url: String,
    /// Why.
    pub reason: ForbiddenReason,
}

/// Why a target is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForbiddenReason {
    /// Only `http` and `https` are allowed.
    #[error("the scheme \"{0}\" is neither http nor https")]
    Scheme(String),
    /// The host is, or resolves to, an address outside the public Internet.
    #[error("{0}")]
    Address(ForbiddenAddress),
    /// The host is, or resolves to, an address where Vedette itself listens.
    #[error("{0} is an address of this service")]
    OwnListener(SocketAddr),
}

impl From<ForbiddenTarget> for CheckError {
    fn from(refusal: ForbiddenTarget) -> Self {
        let mut data = json!({ "url": refusal.url });
        match refusal.reason {
            ForbiddenReason::Scheme(_) => {}
            ForbiddenReason::Address(ForbiddenAddress { address, .. }) => {
                data["address"] = json!(address.to_string());
            }
            ForbiddenReason::OwnListener(listener) => {
                data["address"] = json!(listener.ip().to_string());
            }
        }
        Self { message: refusal.to_string(), code: TARGET_FORBIDDEN.to_owned(), data }
    }
}

/// Why [`SsrfGuard::admit`] returns no target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// The target may not be reached: the check fails.
    #[error(transparent)]
    Forbidden(#[from] ForbiddenTarget),
    /// The target has no address: the check completes, and the target is down.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// No name server could be reached, which says nothing about the target: the check fails.
    #[error("no name server can be reached: {0}")]
    ResolverUnavailable(String),
}

/// Where to connect: at least one address with its port, all of them admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedTarget {
    addresses: Vec<SocketAddr>,
}

impl AdmittedTarget {
    /// In the order to try: alternating families, IPv4 first.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

/// Decides what may be reached, and holds what every engine needs for it: the resolver and the TLS
/// settings. Expensive to build (root store, hosts file), cheap to use: one per process.
pub struct SsrfGuard {
    allow: Vec<IpNet>,
    setting: Option<&'static str>,
    connect_to: Vec<ConnectTo>,
    own_listeners: Vec<SocketAddr>,
    resolver: Resolver,
    roots: Arc<RootCertStore>,
    extra_roots: Vec<CertificateDer<'static>>,
    tls: Arc<ClientConfig>,
}

impl fmt::Debug for SsrfGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SsrfGuard").finish_non_exhaustive()
    }
}

impl SsrfGuard {
    /// A guard that resolves names as this machine does: with `/etc/resolv.conf` and the hosts
    /// file.
    ///
    /// # Errors
    /// When the system has no usable resolver configuration, or an extra root cannot be used.
    pub fn new(outbound: Outbound) -> Result<Self, SsrfGuardError> {
        Self::build(outbound, Resolver::of_the_system()?)
    }

    /// A guard that asks the given name servers, for tests and unusual networks. It overrides those
    /// `options` that it relies on (order of families, cache bounds).
    ///
    /// # Errors
    /// When the resolver cannot be set up, or an extra root cannot be used.
    pub fn with_resolver(
        outbound: Outbound,
        config: ResolverConfig,
        options: ResolverOpts,
    ) -> Result<Self, SsrfGuardError> {
        Self::build(outbound, Resolver::new(config, options)?)
    }

    fn build(outbound: Outbound, resolver: Resolver) -> Result<Self, SsrfGuardError> {
        let roots = Arc::new(trust_anchors(&outbound.extra_roots)?);
        Ok(Self {
            tls: Arc::new(
                tls::config(Arc::clone(&roots), outbound.extra_roots.clone())
                    .map_err(SsrfGuardError::Tls)?,
            ),
            roots,
            extra_roots: outbound.extra_roots,
            allow: outbound.allow,
            setting: outbound.setting,
            connect_to: outbound.connect_to,
            own_listeners: outbound.own_listeners,
            resolver,
        })
    }

    /// Resolves the host of `url`, and checks that it may be reached.
    ///
    /// If some of a name's addresses are forbidden, the target has only the others: `localhost` is also `::1`, and an
    /// internal address that somebody publishes next to a public one is never connected to.
    ///
    /// # Errors
    /// See [`NotAdmitted`]. A name is refused because of its first address if all of them are forbidden.
    pub async fn admit(&self, url: &Url) -> Result<AdmittedTarget, NotAdmitted> {
        let refused = |reason| ForbiddenTarget { url: without_credentials(url).into(), reason };
        let ("http" | "https", Some(host), Some(port)) =
            (url.scheme(), url.host(), url.port_or_known_default())
        else {
            return Err(refused(ForbiddenReason::Scheme(url.scheme().to_owned())).into());
        };
        let mut addresses = self.resolve(&host, port).await?;
        let mut reason = None;
        addresses.retain(|address| match self.check_address(*address) {
            Ok(()) => true,
            Err(forbidden) => {
                reason.get_or_insert(forbidden);
                false
            }
        });
        match reason {
            Some(reason) if addresses.is_empty() => Err(refused(reason).into()),
            _ => Ok(AdmittedTarget { addresses: alternate_families(addresses) }),
        }
    }

    /// Checks whether `address` may be reached, on any port; for engines that see addresses without
    /// connecting to them.
    ///
    /// # Errors
    /// With the kind of the address, if it is neither public nor allowed by configuration.
    pub fn check_ip(&self, address: IpAddr) -> Result<(), ForbiddenAddress> {
        match address::forbidden(address) {
            Some(forbidden) if !self.is_allowed_network(address) => {
                Err(ForbiddenAddress { setting: self.setting, ..forbidden })
            }
            _ => Ok(()),
        }
    }

    /// Whether the configuration allows the network of this address, so that it may be reachable without the Internet.
    pub(crate) fn is_allowed_network(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|network| network.contains(&address))
    }

    /// Whether a refused address may be in a private network that the site's visitors reach: the operator allows targets
    /// in private networks. Loopback addresses are in no network.
    pub(crate) fn may_be_in_private_network(&self, address: IpAddr) -> bool {
        let is_of_network = |address: IpAddr| !address.to_canonical().is_loopback();
        is_of_network(address) && self.allow.iter().any(|allowed| is_of_network(allowed.network()))
    }

    /// Whether `url` leads to such a network.
    pub(crate) async fn is_in_allowed_network(&self, url: &Url) -> bool {
        let (false, Some(host), Some(port)) =
            (self.allow.is_empty(), url.host(), url.port_or_known_default())
        else {
            return false;
        };
        let addresses = self.resolve(&host, port).await.unwrap_or_default();
        addresses.iter().any(|address| self.is_allowed_network(address.ip()))
    }

    /// Whether `url` may lead to a network that only the configuration allows, so that no other location may be asked
    /// about it. A name that cannot be resolved now may belong to that network.
    pub async fn may_be_private(&self, url: &Url) -> bool {
        let (false, Some(host), Some(port)) =
            (self.allow.is_empty(), url.host(), url.port_or_known_default())
        else {
            return false;
        };
        match self.resolve(&host, port).await {
            Ok(addresses) => addresses.iter().any(|address| self.is_allowed_network(address.ip())),
            Err(_) => true,
        }
    }

    /// The TLS settings of every engine that trusts what a browser trusts.
    pub(crate) fn tls(&self) -> &Arc<ClientConfig> {
        &self.tls
    }

    /// The trust anchors in [`Self::tls`], for an engine that judges certificates itself.
    pub(crate) fn roots(&self) -> &RootCertStore {
        &self.roots
    }

    /// The operator's certificates among them. A server may present one of them as its own.
    pub(crate) fn extra_roots(&self) -> &[CertificateDer<'static>] {
        &self.extra_roots
    }

    async fn resolve(&self, host: &Host<&str>, port: u16) -> Result<Vec<SocketAddr>, NotAdmitted> {
        if let Some(detour) = self.connect_to.iter().find(|detour| detour.applies(host, port)) {
            return Ok(vec![detour.address]);
        }
        match host {
            Host::Ipv4(address) => Ok(vec![SocketAddr::new((*address).into(), port)]),
            Host::Ipv6(address) => Ok(vec![SocketAddr::new((*address).into(), port)]),
            Host::Domain(name) => match self.resolver.addresses(name).await {
                Ok(addresses) => {
                    Ok(addresses.into_iter().map(|address| (address, port).into()).collect())
                }
                Err(LookupError::Unresolved(unresolved)) => Err(unresolved.into()),
                Err(LookupError::Unavailable(why)) => Err(NotAdmitted::ResolverUnavailable(why)),
            },
        }
    }

    fn check_address(&self, address: SocketAddr) -> Result<(), ForbiddenReason> {
        self.check_ip(address.ip()).map_err(ForbiddenReason::Address)?;
        if self.own_listeners.iter().any(|listener| reaches(address, *listener)) {
            return Err(ForbiddenReason::OwnListener(address));
        }
        Ok(())
    }
}

/// Whether a connection to `address` would arrive at `listener`.
fn reaches(address: SocketAddr, listener: SocketAddr) -> bool {
    let (ip, listening) = (address.ip().to_canonical(), listener.ip().to_canonical());
    address.port() == listener.port()
        && (ip == listening
            // On Linux, the unspecified address is this machine.
            || ip.is_unspecified()
            || (listening.is_unspecified() && is_local(ip)))
}

/// Whether `ip` is an address of this machine: only then can a socket be bound to it. An address
/// that a router translates to ours is not recognized.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

/// Alternates the families, IPv4 first, each in the resolver's order and without duplicates, so
/// that a broken family costs one attempt (RFC 8305, section 4).
fn alternate_families(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let (v4, v6): (Vec<_>, Vec<_>) = addresses.into_iter().partition(SocketAddr::is_ipv4);
    let (mut v4, mut v6) = (v4.into_iter(), v6.into_iter());
    let mut ordered = Vec::with_capacity(v4.len() + v6.len());
    loop {
        let pair = [v4.next(), v6.next()];
        if pair == [None, None] {
            return ordered;
        }
        for address in pair.into_iter().flatten() {
            if !ordered.contains(&address) {
                ordered.push(address);
            }
        }
    }
}

/// `url` without user name and password, which must not appear in messages.
pub(crate) fn without_credentials(url: &Url) -> Url {
    let mut url = url.clone();
    // Both fail only for URLs that can have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

/// Mozilla's root certificates and the operator's.
fn trust_anchors(extra_roots: &[CertificateDer<'static>]) -> Result<RootCertStore, SsrfGuardError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for (index, root) in extra_roots.iter().enumerate() {
        roots
            .add(root.clone())
            .map_err(|error| SsrfGuardError::Root { position: index + 1, error })?;
    }
    Ok(roots)
}
