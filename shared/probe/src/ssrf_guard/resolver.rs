//! Resolves names through the system's name servers and hosts file.

use std::net::IpAddr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, Record};

use super::SsrfGuardError;

/// Answers are cached for their TTL, but no longer than the shortest cadence, so that a check notices a moved site at
/// once, while the redirects and tools of one round share a lookup.
const MAX_TTL: Duration = Duration::from_secs(60);

/// Queries in flight on one TCP connection to a name server. With the crate's default of 32, a
/// burst of checks behind a server that truncates would look like an outage.
const MAX_QUERIES_IN_FLIGHT: usize = 4096;

/// Why a name has no address. Its target is unreachable: checks complete, and report it down.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// It is not a valid DNS name (RFC 1035: labels of 1 to 63 bytes, 253 bytes in total).
    #[error("not a valid domain name")]
    InvalidName,
    /// NXDOMAIN.
    #[error("name does not resolve")]
    NoSuchName,
    /// The name exists, but has neither A nor AAAA records.
    #[error("name has no address")]
    NoAddress,
    /// No name server answered in time.
    #[error("name lookup timed out")]
    TimedOut,
    /// The name servers answered with an error, such as SERVFAIL.
    #[error("name lookup failed: {0}")]
    Failed(String),
}

pub(crate) enum LookupError {
    Unresolved(Unresolved),
    /// No name server could be reached; the text is for operators.
    Unavailable(String),
}

pub(crate) struct Resolver(TokioResolver);

impl Resolver {
    /// A resolver according to `/etc/resolv.conf` and the hosts file.
    pub(super) fn of_the_system() -> Result<Self, SsrfGuardError> {
        let (config, options) = system()?;
        Self::new(config, options)
    }

    /// The same, but every lookup asks the name servers.
    pub(crate) fn of_the_system_without_cache() -> Result<Self, SsrfGuardError> {
        let (config, options) = system()?;
        Self::without_cache(config, options)
    }

    /// A resolver of which every lookup asks these name servers.
    pub(crate) fn without_cache(
        config: ResolverConfig,
        mut options: ResolverOpts,
    ) -> Result<Self, SsrfGuardError> {
        options.cache_size = 0;
        Self::new(config, options)
    }

    pub(super) fn new(
        config: ResolverConfig,
        options: ResolverOpts,
    ) -> Result<Self, SsrfGuardError> {
        let provider = TokioRuntimeProvider::default();
        let mut builder =
            TokioResolver::builder_with_config(config, provider).with_options(options);
        let options = builder.options_mut();
        // IPv4 first: some of our hosts (AWS Lambda) have no IPv6, and response times stay
        // comparable between hosts.
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        options.positive_max_ttl = Some(MAX_TTL);
        // A confirmation retry must ask again, not get the cached failure.
        options.negative_max_ttl = Some(Duration::ZERO);
        options.max_active_requests = MAX_QUERIES_IN_FLIGHT;
        builder.build().map(Self).map_err(|error| SsrfGuardError::Resolver(error.to_string()))
    }

    /// All addresses of `host`, taken as an absolute name: this machine's search domains could turn
    /// a public name into an internal one.
    pub(super) async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        let answer = self.0.lookup_ip(absolute(host)?).await.map_err(classify)?;
        let addresses: Vec<IpAddr> = answer.iter().collect();
        if addresses.is_empty() {
            return Err(LookupError::Unresolved(Unresolved::NoAddress));
        }
        Ok(addresses)
    }

    /// All TXT records of `host`, taken as an absolute name. If it does not exist, there are none.
    pub(crate) async fn texts(&self, host: &str) -> Result<Vec<String>, LookupError> {
        let answer = match self.0.txt_lookup(absolute(host)?).await {
            Ok(answer) => answer,
            Err(error) => {
                return match classify(error) {
                    LookupError::Unresolved(Unresolved::NoSuchName | Unresolved::NoAddress) => {
                        Ok(Vec::new())
                    }
                    error => Err(error),
                };
            }
        };
        let text = |record: &Record| match &record.data {
            RData::TXT(txt) => Some(String::from_utf8_lossy(&txt.txt_data.concat()).into_owned()),
            _ => None,
        };
        Ok(answer.answers().iter().filter_map(text).collect())
    }
}

fn system() -> Result<(ResolverConfig, ResolverOpts), SsrfGuardError> {
    hickory_resolver::system_conf::read_system_conf()
        .map_err(|error| SsrfGuardError::Resolver(error.to_string()))
}

fn absolute(host: &str) -> Result<Name, LookupError> {
    let mut name =
        Name::from_ascii(host).map_err(|_| LookupError::Unresolved(Unresolved::InvalidName))?;
    name.set_fqdn(true);
    Ok(name)
}

fn classify(error: NetError) -> LookupError {
    LookupError::Unresolved(match error {
        NetError::Timeout => Unresolved::TimedOut,
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => Unresolved::NoSuchName,
            ResponseCode::NoError => Unresolved::NoAddress,
            code => Unresolved::Failed(rcode(code)),
        },
        NetError::Dns(DnsError::ResponseCode(code)) => Unresolved::Failed(rcode(code)),
        NetError::Io(_) | NetError::Busy | NetError::NoConnections => {
            return LookupError::Unavailable(error.to_string());
        }
        // Anything else is an invalid answer.
        _ => Unresolved::Failed("the name server's answer is not valid".to_owned()),
    })
}

/// Uses the names of IANA's DNS RCODE registry that people search for.
fn rcode(code: ResponseCode) -> String {
    match code {
        ResponseCode::FormErr => "FORMERR".to_owned(),
        ResponseCode::ServFail => "SERVFAIL".to_owned(),
        ResponseCode::NotImp => "NOTIMP".to_owned(),
        ResponseCode::Refused => "REFUSED".to_owned(),
        code => format!("RCODE {}", u16::from(code)),
    }
}
