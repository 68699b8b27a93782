//! `HOST:PORT:ADDR:PORT`: where to connect, in place of the address in a URL.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use url::Host;

/// A detour: requests to `host` and `port` connect to `address`, like curl's `--connect-to`.
///
/// The request itself does not change: its `Host` header, its TLS server name and the URLs in results stay the same.
/// The guard checks the address like any other.
///
/// Parsed from `HOST:PORT:ADDR:PORT`, with IPv6 addresses in brackets:
///
/// ```
/// use vedette_probe::ssrf_guard::ConnectTo;
///
/// let detour: ConnectTo = "shop.example:443:[::1]:8443".parse().unwrap();
/// assert_eq!(detour.address, "[::1]:8443".parse().unwrap());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTo {
    /// Host of the URL, normalized (lower case, punycode), without a trailing dot.
    pub host: Host,
    /// Port of the URL, which may be the scheme's default.
    pub port: u16,
    /// Where to connect.
    pub address: SocketAddr,
}

/// Why a text is not a [`ConnectTo`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectToError {
    /// It has too few or too many parts.
    #[error("expected HOST:PORT:ADDR:PORT, with IPv6 addresses in brackets, not \"{0}\"")]
    Shape(String),
    /// The first part is invalid.
    #[error("\"{0}\" is neither a host name nor an address")]
    Host(String),
    /// The second or fourth part is invalid.
    #[error("\"{0}\" is not a port (1 to 65535)")]
    Port(String),
    /// The third part is invalid.
    #[error("\"{0}\" is not an IP address (IPv6 in brackets)")]
    Address(String),
}

impl ConnectTo {
    /// Whether a request to `host` and `port` takes this detour.
    pub(super) fn applies(&self, host: &Host<&str>, port: u16) -> bool {
        self.port == port
            && match host {
                Host::Domain(name) => self.host == Host::Domain(without_trailing_dot(name)),
                address => self.host == *address,
            }
    }
}

impl FromStr for ConnectTo {
    type Err = ConnectToError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shape = || ConnectToError::Shape(text.to_owned());
        let (host, rest) = split_host(text).ok_or_else(shape)?;
        let (port, rest) = rest.split_once(':').ok_or_else(shape)?;
        let (address, address_port) = split_host(rest).ok_or_else(shape)?;
        if address_port.contains(':') {
            return Err(shape());
        }
        Ok(Self {
            host: parse_host(host).ok_or_else(|| ConnectToError::Host(host.to_owned()))?,
            port: parse_port(port)?,
            address: SocketAddr::new(parse_address(address)?, parse_port(address_port)?),
        })
    }
}

/// Splits at the colon after a host, which may be an IPv6 address in brackets.
fn split_host(text: &str) -> Option<(&str, &str)> {
    if text.starts_with('[') {
        let end = text.find(']')? + 1;
        Some((&text[..end], text[end..].strip_prefix(':')?))
    } else {
        text.split_once(':')
    }
}

fn parse_host(text: &str) -> Option<Host> {
    match Host::parse(text).ok()? {
        Host::Domain(name) => Some(Host::Domain(without_trailing_dot(&name).to_owned())),
        address => Some(address),
    }
}

fn without_trailing_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

fn parse_port(text: &str) -> Result<u16, ConnectToError> {
    // `u16::from_str` also accepts a sign.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if digits && port != 0 => Ok(port),
        _ => Err(ConnectToError::Port(text.to_owned())),
    }
}

fn parse_address(text: &str) -> Result<IpAddr, ConnectToError> {
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(v6) => v6.parse().map(IpAddr::V6).ok(),
        None => text.parse().map(IpAddr::V4).ok(),
    }
    .ok_or_else(|| ConnectToError::Address(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_addresses_of_both_families_are_read() {
        for (text, host, port, address) in [
            ("example.com:443:127.0.0.1:8443", "example.com", 443, "127.0.0.1:8443"),
            ("EXAMPLE.com.:80:127.0.0.1:80", "example.com", 80, "127.0.0.1:80"),
            ("bücher.example:80:[::1]:1", "xn--bcher-kva.example", 80, "[::1]:1"),
            ("192.0.2.7:80:127.0.0.1:9", "192.0.2.7", 80, "127.0.0.1:9"),
            ("[2001:db8::1]:65535:[fe80::1]:2", "[2001:db8::1]", 65535, "[fe80::1]:2"),
        ] {
            let detour: ConnectTo = text.parse().expect(text);
            assert_eq!(detour.host, Host::parse(host).expect(host));
            assert_eq!(detour.port, port);
            assert_eq!(detour.address, address.parse().expect(address));
        }
    }

    #[test]
    fn invalid_detours_are_refused_with_the_reason() {
        let owned = str::to_owned;
        for (text, error) in [
            ("", ConnectToError::Shape(owned(""))),
            ("a:1:127.0.0.1", ConnectToError::Shape(owned("a:1:127.0.0.1"))),
            ("a:1:127.0.0.1:2:3", ConnectToError::Shape(owned("a:1:127.0.0.1:2:3"))),
            ("[::1:80:127.0.0.1:2", ConnectToError::Shape(owned("[::1:80:127.0.0.1:2"))),
            ("[::1]80:127.0.0.1:2", ConnectToError::Shape(owned("[::1]80:127.0.0.1:2"))),
            (":80:127.0.0.1:2", ConnectToError::Host(String::new())),
            ("a b:80:127.0.0.1:2", ConnectToError::Host(owned("a b"))),
            ("a::127.0.0.1:2", ConnectToError::Port(String::new())),
            ("a:0:127.0.0.1:2", ConnectToError::Port(owned("0"))),
            ("a:+80:127.0.0.1:2", ConnectToError::Port(owned("+80"))),
            ("a:80:127.0.0.1:65536", ConnectToError::Port(owned("65536"))),
            ("a:80:b:2", ConnectToError::Address(owned("b"))),
            ("a:80:[127.0.0.1]:2", ConnectToError::Address(owned("[127.0.0.1]"))),
            ("a:80:::2", ConnectToError::Shape(owned("a:80:::2"))),
        ] {
            assert_eq!(text.parse::<ConnectTo>(), Err(error), "{text}");
        }
    }
}
