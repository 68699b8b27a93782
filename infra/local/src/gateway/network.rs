//! Where a connection comes from, as far as one machine can tell its neighbors apart.

use std::net::{IpAddr, Ipv6Addr};

/// Where a connection comes from: an IPv4 address, or the network of an IPv6 address, since one customer gets the whole
/// network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Network(IpAddr);

/// The part of an IPv6 address that names its network.
const NETWORK: u128 = !0 << 64;

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
            address => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let peer = |text: &str| Network::from(text.parse::<IpAddr>().expect("an address"));
        assert_eq!(peer("2001:db8:0:1::1"), peer("2001:db8:0:1:ffff::2"));
        assert_ne!(peer("2001:db8:0:1::1"), peer("2001:db8:0:2::1"));
        assert_eq!(peer("::ffff:192.0.2.1"), peer("192.0.2.1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
    }
}
