//! The clients that DNS checks share.

use futures::stream::{FuturesUnordered, StreamExt};
use hickory_resolver::proto::rr::{Name, RecordType};
use tokio::time::Instant;
use url::Url;

use super::client::{DohClient, Reply};
use super::registration::RdapClient;
use super::servers::DohServers;
use crate::ssrf_guard::SsrfGuard;

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
    /// Vedette connects to both as to targets: through the SSRF guard, with its detours and trust anchors. A resolver
    /// in a private network has to be allowed by the configuration.
    pub fn new(servers: &DohServers, rdap: Option<Url>) -> Self {
        Self {
            clients: servers.as_slice().iter().cloned().map(DohClient::new).collect(),
            registry: RdapClient::new(rdap),
        }
    }

    /// Whether any server answers a question by `until`, even with an error.
    pub(crate) async fn any_answers(&self, guard: &SsrfGuard, until: Instant) -> bool {
        // Every resolver knows the name servers of the root.
        let question = [(Name::root(), RecordType::NS)];
        let asked = self.clients.iter().map(|client| client.query(guard, &question, until));
        let mut asked: FuturesUnordered<_> = asked.collect();
        while let Some(replies) = asked.next().await {
            if replies.iter().any(Reply::is_answer) {
                return true;
            }
        }
        false
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
