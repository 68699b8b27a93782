//! The addresses of Cloudflare's proxy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

const fn v4(octets: [u8; 4], prefix: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(high: [u16; 2], prefix: u8) -> Ipv6Net {
    let [a, b] = high;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

/// From <https://www.cloudflare.com/ips-v4>, last changed by Cloudflare on 28 September 2023.
const V4: [Ipv4Net; 15] = [
    v4([173, 245, 48, 0], 20),
    v4([103, 21, 244, 0], 22),
    v4([103, 22, 200, 0], 22),
    v4([103, 31, 4, 0], 22),
    v4([141, 101, 64, 0], 18),
    v4([108, 162, 192, 0], 18),
    v4([190, 93, 240, 0], 20),
    v4([188, 114, 96, 0], 20),
    v4([197, 234, 240, 0], 22),
    v4([198, 41, 128, 0], 17),
    v4([162, 158, 0, 0], 15),
    v4([104, 16, 0, 0], 13),
    v4([104, 24, 0, 0], 14),
    v4([172, 64, 0, 0], 13),
    v4([131, 0, 72, 0], 22),
];

/// From <https://www.cloudflare.com/ips-v6>, of the same date.
const V6: [Ipv6Net; 7] = [
    v6([0x2400, 0xcb00], 32),
    v6([0x2606, 0x4700], 32),
    v6([0x2803, 0xf800], 32),
    v6([0x2405, 0xb500], 32),
    v6([0x2405, 0x8100], 32),
    v6([0x2a06, 0x98c0], 29),
    v6([0x2c0f, 0xf248], 32),
];

/// Whether `address` belongs to Cloudflare's proxy.
pub(super) fn announces(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => V4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => V6.iter().any(|network| network.contains(&address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxys_addresses_are_known() {
        for (address, is_proxy) in [
            ("104.16.0.0", true),
            ("104.23.255.255", true),
            ("104.27.255.255", true),
            ("104.28.0.0", false),
            ("104.15.255.255", false),
            ("172.64.0.1", true),
            ("172.71.255.255", true),
            ("172.72.0.0", false),
            ("1.1.1.1", false),
            ("2606:4700::6810:84e5", true),
            ("2606:4701::", false),
            ("2a06:98c7:ffff::", true),
            ("2a06:98c8::", false),
        ] {
            assert_eq!(announces(address.parse().expect("an address")), is_proxy, "{address}");
        }
        for network in V4 {
            assert_eq!(network, network.trunc());
        }
        for network in V6 {
            assert_eq!(network, network.trunc());
        }
    }
}
