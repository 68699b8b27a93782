//! Which addresses belong to the public Internet.
//!
//! Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its updates),
//! and a cloud's metadata address in public space.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// An address that no check may reach, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForbiddenAddress {
    /// The refused address.
    pub address: IpAddr,
    /// The special range that contains it; `None` for IPv6 outside the global unicast space.
    pub network: Option<IpNet>,
    /// What the range is for, such as `a private address`.
    pub kind: &'static str,
    /// The variable that could allow it, if the operator can set one.
    pub setting: Option<&'static str>,
}

impl fmt::Display for ForbiddenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.address, self.kind)?;
        if let Some(network) = self.network {
            write!(f, " ({network})")?;
        }
        match self.setting {
            Some(setting) => write!(f, ", which {setting} does not allow"),
            None => Ok(()),
        }
    }
}

struct Range {
    network: IpNet,
    kind: &'static str,
}

const fn v4(octets: [u8; 4], prefix: u8, kind: &'static str) -> Range {
    let [a, b, c, d] = octets;
    Range { network: IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)), kind }
}

const fn v6(high: [u16; 3], prefix: u8, kind: &'static str) -> Range {
    let [a, b, c] = high;
    let address = Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0);
    Range { network: IpNet::V6(Ipv6Net::new_assert(address, prefix)), kind }
}

const FORBIDDEN_V4: [Range; 17] = [
    v4([0, 0, 0, 0], 8, "an address of \"this network\""), // RFC 791; Linux connects 0.0.0.0 to itself
    v4([10, 0, 0, 0], 8, "a private address"),             // RFC 1918
    v4([100, 64, 0, 0], 10, "a carrier-grade NAT address"), // RFC 6598
    v4([127, 0, 0, 0], 8, "a loopback address"),           // RFC 1122
    v4([168, 63, 129, 16], 32, "a cloud platform address"), // Azure's wire server, in public space
    v4([169, 254, 0, 0], 16, "a link-local address"),      // RFC 3927; cloud metadata lives here
    v4([172, 16, 0, 0], 12, "a private address"),          // RFC 1918
    v4([192, 0, 0, 0], 24, "an IETF protocol address"),    // RFC 6890
    v4([192, 0, 2, 0], 24, "a documentation address"),     // RFC 5737
    v4([192, 88, 99, 0], 24, "a 6to4 relay address"),      // RFC 7526
    v4([192, 168, 0, 0], 16, "a private address"),         // RFC 1918
    v4([198, 18, 0, 0], 15, "a benchmark address"),        // RFC 2544
    v4([198, 51, 100, 0], 24, "a documentation address"),  // RFC 5737
    v4([203, 0, 113, 0], 24, "a documentation address"),   // RFC 5737
    v4([224, 0, 0, 0], 4, "a multicast address"),          // RFC 5771
    v4([255, 255, 255, 255], 32, "the broadcast address"), // RFC 8190
    v4([240, 0, 0, 0], 4, "a reserved address"),           // RFC 1112
];

/// The only IPv6 space allocated for the public Internet (RFC 4291, IANA's global unicast
/// registry). Everything else is refused, so ranges that are reserved later, or embed IPv4
/// addresses, need no entry here.
const GLOBAL_UNICAST: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Inside the global unicast space, but not public.
const FORBIDDEN_GLOBAL_V6: [Range; 4] = [
    v6([0x2001, 0, 0], 23, "an IETF protocol address"), // RFC 2928; holds Teredo, which wraps IPv4
    v6([0x2001, 0xdb8, 0], 32, "a documentation address"), // RFC 3849
    v6([0x2002, 0, 0], 16, "a 6to4 address, which wraps an IPv4 address"), // RFC 3056
    v6([0x3fff, 0, 0], 20, "a documentation address"),  // RFC 9637
];

/// Names of the best-known ranges outside the global unicast space, for messages only.
const NAMED_V6: [Range; 10] = [
    Range { network: host(Ipv6Addr::UNSPECIFIED), kind: "the unspecified address" },
    Range { network: host(Ipv6Addr::LOCALHOST), kind: "the loopback address" },
    Range {
        network: IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96)),
        kind: "an IPv4-mapped address",
    }, // RFC 4291
    Range {
        network: IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 96)),
        kind: "an IPv4-compatible address",
    }, // RFC 4291
    v6([0x64, 0xff9b, 0], 32, "a NAT64 address, which wraps an IPv4 address"), // RFC 6052, RFC 8215
    v6([0x100, 0, 0], 64, "a discard address"),                                // RFC 6666
    v6([0xfc00, 0, 0], 7, "a private address"),                                // RFC 4193
    v6([0xfe80, 0, 0], 10, "a link-local address"),                            // RFC 4291
    v6([0xfec0, 0, 0], 10, "a site-local address"),                            // RFC 3879
    v6([0xff00, 0, 0], 8, "a multicast address"),                              // RFC 4291
];

const fn host(address: Ipv6Addr) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(address, 128))
}

/// Why `address` is not part of the public Internet, if it is not.
pub(super) fn forbidden(address: IpAddr) -> Option<ForbiddenAddress> {
    let of = |range: &Range| ForbiddenAddress {
        address,
        network: Some(range.network),
        kind: range.kind,
        setting: None,
    };
    let in_range = |range: &&Range| range.network.contains(&address);
    match address {
        IpAddr::V4(_) => FORBIDDEN_V4.iter().find(in_range).map(of),
        IpAddr::V6(v6) if GLOBAL_UNICAST.contains(&v6) => {
            FORBIDDEN_GLOBAL_V6.iter().find(in_range).map(of)
        }
        IpAddr::V6(_) => Some(NAMED_V6.iter().find(in_range).map(of).unwrap_or(ForbiddenAddress {
            address,
            network: None,
            kind: "outside the global unicast space 2000::/3",
            setting: None,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(address: &str) -> Option<&'static str> {
        forbidden(address.parse().expect("an address")).map(|forbidden| forbidden.kind)
    }

    #[test]
    fn both_ends_of_every_forbidden_range_are_refused() {
        for range in FORBIDDEN_V4.iter().chain(&FORBIDDEN_GLOBAL_V6).chain(&NAMED_V6) {
            for address in [range.network.network(), range.network.broadcast()] {
                assert!(forbidden(address).is_some(), "{address} of {}", range.network);
            }
        }
    }

    #[test]
    fn the_neighbors_of_forbidden_ranges_are_public() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::",
            "2001:200::",
            "2001:db7:ffff::1",
            "2001:db9::",
            "2001:ffff::",
            "2003::",
            "2606:4700:4700::1111",
            "3ffe::",
            "3fff:1000::",
        ] {
            assert_eq!(kind(address), None, "{address}");
        }
    }

    #[test]
    fn the_message_names_what_the_address_is() {
        for (address, message) in [
            ("10.1.2.3", "10.1.2.3 is a private address (10.0.0.0/8)"),
            ("169.254.169.254", "169.254.169.254 is a link-local address (169.254.0.0/16)"),
            ("255.255.255.255", "255.255.255.255 is the broadcast address (255.255.255.255/32)"),
            ("::1", "::1 is the loopback address (::1/128)"),
            ("::", "::  is the unspecified address (::/128)"),
            ("::ffff:8.8.8.8", "::ffff:8.8.8.8 is an IPv4-mapped address (::ffff:0.0.0.0/96)"),
            ("::8.8.8.8", "::808:808 is an IPv4-compatible address (::/96)"),
            ("fd00:ec2::254", "fd00:ec2::254 is a private address (fc00::/7)"),
        ] {
            let refused = forbidden(address.parse().expect("an address")).expect("forbidden");
            assert_eq!(refused.to_string(), message.replace("  ", " "));
        }
        assert_eq!(kind("5f00::1"), Some("outside the global unicast space 2000::/3"));
        assert_eq!(kind("4000::"), Some("outside the global unicast space 2000::/3"));
    }
}
