//! The registered domain of a host.

/// The domain that was registered for `host`, by the ICANN part of the Public Suffix List. Its
/// private part lists domains in which a company, not a registry, hands out names. A trailing dot
/// is ignored.
pub(crate) fn registrable_domain(host: &str) -> Option<&str> {
    let is_registrys = |name: &str| {
        psl::suffix(name.as_bytes())
            .is_some_and(|suffix| suffix.typ() == Some(psl::Type::Icann) && suffix == name)
    };
    let mut domain = host.strip_suffix('.').unwrap_or(host);
    while !is_registrys(domain) {
        let (_, parent) = domain.split_once('.')?;
        if is_registrys(parent) {
            return Some(domain);
        }
        domain = parent;
    }
    None
}

/// A name in a domain in which somebody other than a registry hands out names, by the private part of the Public Suffix
/// List. Some of them run a registry below it, such as uk.com, and others rent out web space, such as github.io.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrivateDomain<'a> {
    /// The name that was handed out: one label more than the suffix has.
    pub(crate) domain: &'a str,
    /// The suffix below which it is.
    pub(crate) suffix: &'a str,
}

impl<'a> PrivateDomain<'a> {
    /// The name of `host` below the longest private suffix, if it is below one. A trailing dot is ignored.
    pub(crate) fn of(host: &'a str) -> Option<Self> {
        let host = host.strip_suffix('.').unwrap_or(host);
        let domain = psl::domain(host.as_bytes())?;
        let suffix = domain.suffix();
        let end = |bytes: &[u8]| host.get(host.len() - bytes.len()..);
        (suffix.typ() == Some(psl::Type::Private)).then_some(())?;
        Some(Self { domain: end(domain.as_bytes())?, suffix: end(suffix.as_bytes())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registered_domain_is_found() {
        for (host, domain) in [
            ("example.com", Some("example.com")),
            ("a.b.example.com", Some("example.com")),
            ("a.example.com.", Some("example.com")),
            ("www.example.co.uk", Some("example.co.uk")),
            ("xn--bcher-kva.xn--p1ai", Some("xn--bcher-kva.xn--p1ai")),
            // A company assigns these names, in a domain of a registry.
            ("shop.github.io", Some("github.io")),
            ("github.io", Some("github.io")),
            ("com", None),
            ("co.uk", None),
            ("localhost", None),
            ("host.internal-name", None),
            ("site.example", None),
            ("127.0.0.1", None),
            ("[::1]", None),
        ] {
            assert_eq!(registrable_domain(host), domain, "{host}");
        }
    }

    #[test]
    fn a_name_below_a_private_suffix_is_found() {
        for (host, expected) in [
            ("www.shop.uk.com", Some(("shop.uk.com", "uk.com"))),
            ("shop.co.ua.", Some(("shop.co.ua", "co.ua"))),
            ("a.b.shop.eu.org", Some(("shop.eu.org", "eu.org"))),
            ("shop.asso.eu.org", Some(("shop.asso.eu.org", "asso.eu.org"))),
            ("shop.github.io", Some(("shop.github.io", "github.io"))),
            ("github.io", None),
            ("uk.com", None),
            ("www.example.com", None),
            ("www.example.co.uk", None),
            ("host.internal-name", None),
            ("127.0.0.1", None),
            ("", None),
        ] {
            let found = PrivateDomain::of(host).map(|found| (found.domain, found.suffix));
            assert_eq!(found, expected, "{host}");
        }
    }
}
