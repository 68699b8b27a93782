//! The DNS-over-HTTPS servers to query, as configured.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// The most servers: each is asked six questions per check.
pub const MAX_SERVERS: usize = 8;

/// The longest name of a server, in characters.
const NAME_LIMIT: usize = 32;

/// Three independent public resolvers; the third blocks what it considers a threat.
const DEFAULT: &str = "cloudflare=https://cloudflare-dns.com/dns-query,\
                       google=https://dns.google/dns-query,\
                       quad9=https://dns.quad9.net/dns-query";

/// A DNS-over-HTTPS server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DohServer {
    /// Its name in results.
    pub name: String,
    /// The URL that it answers queries at.
    pub url: Url,
}

/// Why a text is not a [`DohServer`], or not a list of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DohServerError {
    /// There is no `=`.
    #[error("expected NAME=https://HOST/PATH, not \"{0}\"")]
    Shape(String),
    /// The part before the `=` is invalid.
    #[error("\"{0}\" is not a name (1 to 32 letters, digits, dots, hyphens or underscores)")]
    Name(String),
    /// The part after the `=` is invalid.
    #[error("\"{0}\" is not an https URL without user name, query and fragment")]
    Url(String),
    /// Two servers have the same name, which must distinguish their results.
    #[error("the name \"{0}\" occurs twice")]
    Repeated(String),
    /// There are no servers, or more than [`MAX_SERVERS`].
    #[error("expected 1 to {MAX_SERVERS} servers, not {0}")]
    Count(usize),
}

impl FromStr for DohServer {
    type Err = DohServerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, url) =
            text.split_once('=').ok_or_else(|| DohServerError::Shape(text.to_owned()))?;
        let name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if name.is_empty() || name.len() > NAME_LIMIT || !name.bytes().all(name_byte) {
            return Err(DohServerError::Name(name.to_owned()));
        }
        let is_usable = |url: &Url| {
            url.scheme() == "https"
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
                && url.fragment().is_none()
        };
        match url.parse() {
            Ok(parsed) if is_usable(&parsed) => Ok(Self { name: name.to_owned(), url: parsed }),
            Ok(_) | Err(_) => Err(DohServerError::Url(url.to_owned())),
        }
    }
}

impl fmt::Display for DohServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.url)
    }
}

/// Servers in the order in which their answers are preferred, with names that differ in more than
/// case.
///
/// Parsed from a comma-separated list, ignoring whitespace around items. The default is Cloudflare, Google and Quad9.
/// The server named [`quad9`](vedette_domain::checks::check::FILTERING_RESOLVER) is expected to block threats.
///
/// ```
/// use vedette_probe::dns::DohServers;
///
/// let servers: DohServers = "one=https://192.0.2.1/dns-query, two=https://dns.example/q"
///     .parse()
///     .unwrap();
/// assert_eq!(servers.as_slice()[1].name, "two");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DohServers(Vec<DohServer>);

impl DohServers {
    /// Takes servers in the order in which their answers are preferred.
    ///
    /// # Errors
    /// When there are none or too many, or two have the same name.
    pub fn new(servers: Vec<DohServer>) -> Result<Self, DohServerError> {
        if servers.is_empty() || servers.len() > MAX_SERVERS {
            return Err(DohServerError::Count(servers.len()));
        }
        for (index, server) in servers.iter().enumerate() {
            if servers[..index].iter().any(|other| other.name.eq_ignore_ascii_case(&server.name)) {
                return Err(DohServerError::Repeated(server.name.clone()));
            }
        }
        Ok(Self(servers))
    }

    /// The servers.
    pub fn as_slice(&self) -> &[DohServer] {
        &self.0
    }
}

impl FromStr for DohServers {
    type Err = DohServerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let servers = text.split(',').map(|item| item.trim().parse());
        Self::new(servers.collect::<Result<_, _>>()?)
    }
}

impl Default for DohServers {
    fn default() -> Self {
        // A test parses it. If it were wrong, checks would fail without a resolver.
        DEFAULT.parse().unwrap_or(Self(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_three_public_resolvers() {
        let told: Vec<_> =
            DohServers::default().as_slice().iter().map(ToString::to_string).collect();
        let expected = [
            "cloudflare=https://cloudflare-dns.com/dns-query",
            "google=https://dns.google/dns-query",
            "quad9=https://dns.quad9.net/dns-query",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn invalid_lists_are_refused_with_the_reason() {
        use DohServerError::{Count, Name, Repeated, Shape, Url};
        let owned = str::to_owned;
        let nine: Vec<_> = (0..9).map(|index| format!("s{index}=https://a/")).collect();
        for (text, error) in [
            ("", Shape(owned(""))),
            ("a=https://a/,", Shape(owned(""))),
            ("https://dns.google/dns-query", Shape(owned("https://dns.google/dns-query"))),
            ("=https://a/", Name(owned(""))),
            ("my server=https://a/", Name(owned("my server"))),
            ("dns.google/?a=https://a/", Name(owned("dns.google/?a"))),
            ("a=http://a/dns-query", Url(owned("http://a/dns-query"))),
            ("a=a/dns-query", Url(owned("a/dns-query"))),
            ("a=", Url(owned(""))),
            ("a=https://u:p@a/", Url(owned("https://u:p@a/"))),
            ("a=https://a/?dns=", Url(owned("https://a/?dns="))),
            ("a=https://a/#b", Url(owned("https://a/#b"))),
            ("a=https://a/,A=https://b/", Repeated(owned("A"))),
            (&nine.join(","), Count(9)),
        ] {
            assert_eq!(text.parse::<DohServers>(), Err(error), "{text}");
        }
        let long = "n".repeat(33);
        assert_eq!(format!("{long}=https://a/").parse::<DohServer>(), Err(Name(long)));
        assert_eq!(nine[..8].join(",").parse::<DohServers>().map(|it| it.0.len()), Ok(8));
        assert_eq!(
            Url(owned("http://a/")).to_string(),
            "\"http://a/\" is not an https URL without user name, query and fragment",
        );
    }
}
