//! The hosts that this service answers for. Another domain can be made to resolve to this machine, and a page under
//! that name could then talk to the service as if it belonged to it (DNS rebinding). IP addresses and loopback names
//! cannot be abused like that.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use url::Url;

/// A host name under which people reach the service, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

impl FromStr for HostName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.trim().trim_end_matches('.').to_ascii_lowercase();
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_label = |label: &str| !label.is_empty() && label.chars().all(is_letter);
        if name.split('.').all(is_label) {
            Ok(Self(name))
        } else {
            Err("expected host names without ports, separated by commas")
        }
    }
}

/// All host names of this service, in addition to those that every machine has.
#[derive(Debug)]
pub(crate) struct Hosts(Vec<HostName>);

impl Hosts {
    /// The configured names, and the name in the base URL.
    pub(crate) fn new(configured: Vec<HostName>, base_url: Option<&str>) -> Self {
        // As browsers send it: non-ASCII names as Punycode.
        let base = base_url.and_then(|url| Url::parse(url).ok());
        let base = base.and_then(|url| url.host_str()?.parse().ok());
        Self(configured.into_iter().chain(base).collect())
    }

    /// Whether a request with this `Host` is for this service. Any port is accepted, because ports may be forwarded.
    pub(crate) fn know(&self, host: &str) -> bool {
        if let Some(rest) = host.strip_prefix('[') {
            return rest.split_once(']').is_some_and(|(address, port)| {
                address.parse::<Ipv6Addr>().is_ok() && (port.is_empty() || is_port(port))
            });
        }
        let Some(name) = without_port(host) else { return false };
        if name.parse::<Ipv4Addr>().is_ok() {
            return true;
        }
        let Ok(HostName(name)) = name.parse() else { return false };
        name == "localhost"
            || name.ends_with(".localhost")
            || self.0.iter().any(|known| known.0 == name)
    }
}

/// The name or IPv4 address before a port, if there is one.
fn without_port(host: &str) -> Option<&str> {
    match host.find(':') {
        Some(at) => is_port(&host[at..]).then_some(&host[..at]),
        None => Some(host),
    }
}

/// Whether this is a colon with or without a port, as RFC 3986 defines it.
fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.is_empty() || port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_that_no_page_of_others_can_have_are_known() {
        let configured = vec!["Monitor.test.".parse().expect("a name")];
        let hosts = Hosts::new(configured, Some("https://public.test:8443/api/v1"));
        assert!(
            Hosts::new(Vec::new(), Some("https://m\u{fc}nchen.test")).know("xn--mnchen-3ya.test")
        );
        for known in [
            "monitor.test",
            "MONITOR.TEST:80",
            "public.test",
            "localhost",
            "localhost:8787",
            "Vedette.LocalHost:8787",
            "localhost.",
            "127.0.0.1",
            "192.168.1.7:8787",
            "[::1]",
            "[fe80::1]:8787",
            "monitor.test:",
        ] {
            assert!(hosts.know(known), "{known}");
        }
        for unknown in [
            "",
            ":80",
            "evil.test",
            "sub.monitor.test",
            "monitor.test.evil.test",
            "localhost.evil.test",
            "evillocalhost",
            "127.0.0.1.evil.test",
            "127.0.0.1:80:90",
            "monitor.test:http",
            "monitor.test:65536",
            "[evil.test]",
            "[::1",
            "[::1]evil.test",
            "::1",
            "a b",
            ".localhost",
        ] {
            assert!(!hosts.know(unknown), "{unknown}");
        }
    }

    #[test]
    fn invalid_host_names_are_refused() {
        for wrong in ["", "a..b", "monitor.test:8787", "https://monitor.test", "*.test", "a b"] {
            assert!(wrong.parse::<HostName>().is_err(), "{wrong}");
        }
    }
}
