//! The clients that DNS checks share.

use url::Url;

use super::client::DohClient;
use super::registration::RdapClient;
use super::servers::DohServers;

/// The DNS and RDAP clients with their connections and caches: one per process. Dropping it closes
/// the connections.
pub struct Resolvers {
    clients: Vec<DohClient>,
    registry: RdapClient,
}

impl Resolvers {
    /// The bootstrap service for all top-level domains: it redirects to the registry that IANA
    /// lists for the domain (RFC 9224).
    pub const RDAP: &str = "https://rdap.org/domain/";

    /// Queries `servers` for records, and the RDAP service at `rdap`, if any, for domains. Their
    /// names are appended to its path; see [`Self::RDAP`].
    ///
    /// Both are connected to like targets: through the guard, with its detours and trust anchors. A
    /// resolver in a private network has to be allowed by configuration.
    pub fn new(servers: &DohServers, rdap: Option<Url>) -> Self {
        Self {
            clients: servers.as_slice().iter().cloned().map(DohClient::new).collect(),
            registry: RdapClient::new(rdap),
        }
    }

    pub(super) fn clients(&self) -> impl Iterator<Item = &DohClient> {
        self.clients.iter()
    }

    pub(super) fn client(&self, index: usize) -> Option<&DohClient> {
        self.clients.get(index)
    }

    pub(super) fn registry(&self) -> &RdapClient {
        &self.registry
    }
}
