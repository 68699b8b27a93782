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
}
