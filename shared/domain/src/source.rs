//! Where requests and connections come from, for limits on each source.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

/// The source of a request or a connection, or the target of a POST: an IPv4 address, or an IPv6 network of 64 bits, the
/// smallest network that a customer gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// The first 64 bits of an IPv6 address.
    V6([u16; 4]),
    /// Unknown. All such requests count together.
    Unknown,
}

impl Source {
    /// The source that an address belongs to.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self::V6([a, b, c, d])
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(address) => address.fmt(f),
            Self::V6([a, b, c, d]) => write!(f, "{a:x}:{b:x}:{c:x}:{d:x}::/64"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// Networks of the operator's proxies, which forward the client's address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedProxies(pub Vec<IpNet>);

impl TrustedProxies {
    fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The address of the client: the peer, or the client that a trusted proxy names. `forwarded` lists the addresses
    /// of `X-Forwarded-For` in their order. Each proxy appends the address that its request came from, so only what
    /// trusted proxies have appended counts; the rest may be made up.
    pub fn client<'a>(
        &self,
        peer: IpAddr,
        forwarded: impl DoubleEndedIterator<Item = &'a str>,
    ) -> IpAddr {
        let mut client = peer;
        for said in forwarded.rev() {
            let Some(said) = self.contain(client).then(|| parse(said)).flatten() else { break };
            client = said;
        }
        client
    }
}

/// An address as proxies write it; some add a port.
fn parse(said: &str) -> Option<IpAddr> {
    let said = said.trim();
    let bare = said.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(said);
    let address = bare.parse().ok();
    address.or_else(|| said.parse().ok().map(|with_port: std::net::SocketAddr| with_port.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> String {
        Source::of(text.parse().expect("an address")).to_string()
    }

    #[test]
    fn a_source_is_an_ipv4_address_or_an_ipv6_network() {
        assert_eq!(source("203.0.113.7"), "203.0.113.7");
        assert_eq!(source("::ffff:203.0.113.7"), "203.0.113.7");
        assert_eq!(source("2001:db8:0:1::7"), "2001:db8:0:1::/64");
        assert_eq!(source("2001:db8:0:1:ffff::"), source("2001:db8:0:1::7"));
        assert_ne!(source("2001:db8:0:2::7"), source("2001:db8:0:1::7"));
    }

    #[test]
    fn only_what_trusted_proxies_have_added_is_believed() {
        let networks =
            ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().expect("a network"));
        let trusted = TrustedProxies(networks.to_vec());
        for (peer, forwarded, client) in [
            ("198.51.100.1", "", "198.51.100.1"),
            ("198.51.100.1", "203.0.113.7", "198.51.100.1"),
            ("10.0.0.1", "", "10.0.0.1"),
            ("10.0.0.1", "203.0.113.7", "203.0.113.7"),
            ("::ffff:10.0.0.1", "203.0.113.7", "203.0.113.7"),
            ("10.0.0.1", "192.0.2.1, 203.0.113.7", "203.0.113.7"),
            ("10.0.0.1", "203.0.113.7, 10.0.0.2", "203.0.113.7"),
            ("fd00::1", "2001:db8::7,fd00::2", "2001:db8::7"),
            ("10.0.0.1", "203.0.113.7:4711", "203.0.113.7"),
            ("10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"),
            ("10.0.0.1", "[2001:db8::7]", "2001:db8::7"),
            ("10.0.0.1", "203.0.113.7, unknown", "10.0.0.1"),
        ] {
            let client: IpAddr = client.parse().expect("an address");
            let peer = peer.parse().expect("an address");
            assert_eq!(trusted.client(peer, forwarded.split(',')), client, "{peer} {forwarded}");
        }
    }
}
