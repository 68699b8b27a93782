//! What DNS checks ask, kept between them.

use url::Url;

use super::registration::Registry;
use super::servers::DohServers;
use super::session::Session;

/// The resolvers with their connections, and what registries said: one per process. Dropping it
/// closes the connections.
pub struct Resolvers {
    sessions: Vec<Session>,
    registry: Registry,
}

impl Resolvers {
    /// Where registrations of all top-level domains are found: a service that redirects to the
    /// registry that IANA lists for the domain (RFC 9224).
    pub const RDAP: &str = "https://rdap.org/domain/";

    /// Asks `servers` for records and, where there is one, the RDAP service at `rdap` for domains,
    /// whose names are appended to its path; see [`Self::RDAP`].
    ///
    /// They are connected to as targets are: by the guard, through its detours and with its trust
    /// anchors. A resolver in a private network has to be allowed by configuration.
    pub fn new(servers: &DohServers, rdap: Option<Url>) -> Self {
        Self {
            sessions: servers.as_slice().iter().cloned().map(Session::new).collect(),
            registry: Registry::new(rdap),
        }
    }

    pub(super) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.iter()
    }

    pub(super) fn session(&self, index: usize) -> Option<&Session> {
        self.sessions.get(index)
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }
}
