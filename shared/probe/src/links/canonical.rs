//! Canonical URLs: the unique form in which a link is stored and compared.

use std::borrow::Cow;

use encoding_rs::Encoding;
use url::{Position, Url};

pub(super) use crate::http::MAX_URL;
use crate::ssrf_guard::without_credentials;

/// The longest reference that is parsed, in bytes. A URL of [`MAX_URL`] can be written longer, with
/// dot segments, but no honest page does that.
const REFERENCE_LIMIT: usize = 2 * MAX_URL;

/// What a reference in a page is.
#[derive(Debug, PartialEq)]
pub(super) enum Reference {
    /// An `http` or `https` URL in canonical form: without fragment, user name and password,
    /// otherwise as the WHATWG URL standard serializes it (scheme and host in lower case, punycode,
    /// no default port, no dot segments).
    Web(String),
    /// A fragment of the page itself.
    Fragment,
    /// A URL with another scheme, such as `mailto:`, `tel:`, `javascript:` or `data:`.
    OtherScheme,
    /// A URL that is too long to be checked.
    TooLong,
    /// An invalid URL, such as `http://` or `https://a b/`, which no browser can follow. Contains the reference as
    /// written.
    Invalid(String),
}

/// The base URL of a page's references.
pub(super) struct Base {
    url: Url,
    /// Length of scheme, host and port in `url`.
    origin: usize,
    encoding: &'static Encoding,
}

impl Base {
    /// The base of a page at `url` in `encoding`; `href` is that of its `base` element.
    pub(super) fn new(url: &Url, href: Option<&str>, encoding: &'static Encoding) -> Self {
        let joined = href.and_then(|href| url.join(href).ok());
        let joined = joined.filter(|base| matches!(base.scheme(), "http" | "https"));
        let url = without_credentials(joined.as_ref().unwrap_or(url));
        let origin = url[..Position::BeforePath].len();
        // By the standard, queries are in the encoding of the page, but never in UTF-16.
        Self { url, origin, encoding: encoding.output_encoding() }
    }

    /// Resolves `reference` as a browser would.
    pub(super) fn resolve(&self, reference: &str) -> Reference {
        let reference = trimmed(reference);
        if reference.starts_with('#') {
            return Reference::Fragment;
        }
        if has_other_scheme(reference) {
            return Reference::OtherScheme;
        }
        if reference.len() > REFERENCE_LIMIT {
            return Reference::TooLong;
        }
        if is_plain(reference) {
            let mut url = String::with_capacity(self.origin + reference.len());
            url.push_str(&self.url.as_str()[..self.origin]);
            url.push_str(reference);
            return within_limit(url);
        }
        let encode: &dyn for<'t> Fn(&'t str) -> Cow<'t, [u8]> =
            &|text| Cow::Owned(self.encoding.encode(text).0.into_owned());
        let options = Url::options().base_url(Some(&self.url));
        let parsed = if self.encoding == encoding_rs::UTF_8 {
            options.parse(reference)
        } else {
            options.encoding_override(Some(encode)).parse(reference)
        };
        match parsed {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => Reference::OtherScheme,
            Ok(url) => within_limit(canonical(url)),
            Err(_) => Reference::Invalid(reference.to_owned()),
        }
    }
}

/// A reference and its fragment, or `None` if it is a fragment of the page itself or has another scheme, so that it is
/// not a link.
pub(super) fn link_and_fragment(reference: &str) -> Option<(&str, &str)> {
    let reference = trimmed(reference);
    if reference.starts_with('#') || has_other_scheme(reference) {
        return None;
    }
    Some(reference.split_at(reference.find('#').unwrap_or(reference.len())))
}

/// A reference without the spaces that browsers ignore around it.
fn trimmed(reference: &str) -> &str {
    reference.trim_matches(|c: char| c <= ' ')
}

/// The canonical form of an `http` or `https` URL.
pub(super) fn canonical(mut url: Url) -> String {
    url.set_fragment(None);
    if !url.username().is_empty() || url.password().is_some() {
        url = without_credentials(&url);
    }
    url.into()
}

fn within_limit(url: String) -> Reference {
    if url.len() > MAX_URL { Reference::TooLong } else { Reference::Web(url) }
}

/// Whether `reference` starts with a scheme other than `http` or `https`. This is found out without parsing what may be
/// an image in a `data:` URL.
fn has_other_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else {
        return false;
    };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !scheme.eq_ignore_ascii_case("http")
        && !scheme.eq_ignore_ascii_case("https")
}

/// Whether `reference` is a path, perhaps with a query, that parsing would not change. This is by far the most common
/// kind.
fn is_plain(reference: &str) -> bool {
    let mut previous = 0;
    reference.starts_with('/')
        && reference.bytes().all(|byte| {
            let plain = match byte {
                // A second slash starts a host; a dot may start a `.` or `..` segment.
                b'/' => previous != b'/',
                b'.' => previous != b'/',
                byte => byte.is_ascii_alphanumeric() || b"-_~?=&".contains(&byte),
            };
            previous = byte;
            plain
        })
}

/// Scheme, host and port of a canonical URL: what a connection can be reused for.
pub(super) fn origin_of(canonical: &str) -> &str {
    let host = canonical.find("://").map_or(0, |at| at + 3);
    let end = canonical[host..].find('/').map_or(canonical.len(), |at| host + at);
    &canonical[..end]
}

/// Host of a canonical URL or of its origin; IPv6 in brackets.
pub(super) fn host_of(canonical: &str) -> &str {
    let origin = origin_of(canonical);
    let host = origin.find("://").map_or(origin, |at| &origin[at + 3..]);
    match host.rfind(':') {
        // Not a colon within an IPv6 address.
        Some(at) if !host[at..].contains(']') => &host[..at],
        _ => host,
    }
}

/// A host name without `www.`.
pub(super) fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}

/// Path and query of a canonical URL.
pub(super) fn path_and_query_of(canonical: &str) -> &str {
    &canonical[origin_of(canonical).len()..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn base(url: &str) -> Base {
        Base::new(&url.parse().expect("a URL"), None, encoding_rs::UTF_8)
    }

    fn web(url: &str) -> Reference {
        Reference::Web(url.to_owned())
    }

    #[test]
    fn references_are_read_as_browsers_do() {
        let base = base("https://user:pass@Example.com:443/a/b?q#f");
        for (reference, url) in [
            ("c", "https://example.com/a/c"),
            ("", "https://example.com/a/b?q"),
            ("?x=1", "https://example.com/a/b?x=1"),
            ("/c", "https://example.com/c"),
            ("/c#part", "https://example.com/c"),
            ("/c/", "https://example.com/c/"),
            ("/c?", "https://example.com/c?"),
            ("/.", "https://example.com/"),
            ("/c/../d/./e", "https://example.com/d/e"),
            ("../../../c", "https://example.com/c"),
            ("/.well-known/x", "https://example.com/.well-known/x"),
            ("//other.example/x", "https://other.example/x"),
            ("HTTP://OTHER.example:80/X", "http://other.example/X"),
            ("http://other.example:443/", "http://other.example:443/"),
            ("http://other.example", "http://other.example/"),
            ("https://me:secret@other.example/", "https://other.example/"),
            (" \t\n/c \r\n", "https://example.com/c"),
            ("/a\nb", "https://example.com/ab"),
            ("\\c\\d", "https://example.com/c/d"),
            ("/a b", "https://example.com/a%20b"),
            ("/ä?ö", "https://example.com/%C3%A4?%C3%B6"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://[::1]:8080/x", "http://[::1]:8080/x"),
            ("tel/me", "https://example.com/a/tel/me"),
            ("/x:y", "https://example.com/x:y"),
        ] {
            assert_eq!(base.resolve(reference), web(url), "{reference:?}");
        }
    }

    #[test]
    fn references_that_are_no_web_links_are_distinguished() {
        let base = base("https://example.com/");
        for reference in [
            "mailto:a@example.com",
            "tel:+123",
            "javascript:void(0)",
            "JavaScript:void(0)",
            "java\nscript:void(0)",
            "data:image/png;base64,AAAA",
            "ftp://example.com/",
            "blob:https://example.com/1",
            "about:blank",
        ] {
            assert_eq!(base.resolve(reference), Reference::OtherScheme, "{reference:?}");
        }
        for reference in ["#", "#part", " #part"] {
            assert_eq!(base.resolve(reference), Reference::Fragment, "{reference:?}");
        }
        for reference in
            ["http://", "https://a b/", "//", "http://[::1", "http://:80/", "//a:99999/"]
        {
            let invalid = Reference::Invalid(reference.to_owned());
            assert_eq!(base.resolve(reference), invalid, "{reference:?}");
        }
    }

    #[test]
    fn long_urls_are_left_out() {
        let base = base("https://example.com/");
        let origin = "https://example.com".len();
        let fits = format!("/{}", "a".repeat(MAX_URL - origin - 1));
        assert!(matches!(base.resolve(&fits), Reference::Web(url) if url.len() == MAX_URL));
        assert_eq!(base.resolve(&format!("{fits}a")), Reference::TooLong);
        assert_eq!(base.resolve(&format!("/{}", "ü".repeat(MAX_URL / 3))), Reference::TooLong);
        assert_eq!(base.resolve(&format!("/{}", "./".repeat(MAX_URL))), Reference::TooLong);
        let data = format!("data:,{}", "a".repeat(1_000_000));
        assert_eq!(base.resolve(&data), Reference::OtherScheme);
    }

    #[test]
    fn the_base_element_and_the_encoding_count() {
        let url: Url = "https://example.com/a/b".parse().expect("a URL");
        for (href, expected) in [
            (None, "https://example.com/a/c"),
            (Some("/x/"), "https://example.com/x/c"),
            (Some("https://me@cdn.example/y/z"), "https://cdn.example/y/c"),
            (Some("http://"), "https://example.com/a/c"),
            (Some("mailto:x"), "https://example.com/a/c"),
            (Some("data:,x"), "https://example.com/a/c"),
        ] {
            let base = Base::new(&url, href, encoding_rs::UTF_8);
            assert_eq!(base.resolve("c"), web(expected), "{href:?}");
        }
        let latin = Base::new(&url, None, encoding_rs::WINDOWS_1252);
        assert_eq!(latin.resolve("/é?é"), web("https://example.com/%C3%A9?%E9"));
        let utf16 = Base::new(&url, None, encoding_rs::UTF_16LE);
        assert_eq!(utf16.resolve("/?é"), web("https://example.com/?%C3%A9"));
    }

    #[test]
    fn parts_of_a_canonical_url() {
        for (url, origin, host, rest) in [
            ("https://example.com/a?b", "https://example.com", "example.com", "/a?b"),
            ("http://127.0.0.1:80/", "http://127.0.0.1:80", "127.0.0.1", "/"),
            ("http://[::1]/x", "http://[::1]", "[::1]", "/x"),
            ("http://[::1]:8080/x:1", "http://[::1]:8080", "[::1]", "/x:1"),
        ] {
            assert_eq!(origin_of(url), origin);
            assert_eq!(host_of(url), host);
            assert_eq!(path_and_query_of(url), rest);
        }
    }

    proptest! {
        #[test]
        fn the_short_way_leads_where_the_parser_does(
            reference in "/[a-zA-Z0-9/.?=&_~-]{0,20}",
        ) {
            let base = base("http://example.com:8080/a/b?c");
            let expected = match base.url.join(&reference) {
                Ok(parsed) => web(parsed.as_str()),
                Err(_) => Reference::Invalid(reference.clone()),
            };
            prop_assert_eq!(base.resolve(&reference), expected);
        }

        #[test]
        fn a_canonical_url_stays_as_it_is(reference in "\\PC{0,40}") {
            let base = base("https://example.com/a/b?c");
            if let Reference::Web(url) = base.resolve(&reference) {
                prop_assert_eq!(base.resolve(&url), web(&url));
                let parsed = Url::parse(&url).expect("canonical");
                prop_assert_eq!(parsed.as_str(), &url);
                prop_assert_eq!(parsed.host_str(), Some(host_of(&url)));
                prop_assert!(parsed.fragment().is_none() && parsed.username().is_empty());
            }
        }

        #[test]
        fn spellings_of_one_url_are_one(
            path in "/[a-z]{1,5}(/[a-z]{1,5}){0,3}",
            fragment in "[a-z]{0,4}",
        ) {
            let base = base("https://example.com/x/y");
            let expected = base.resolve(&path);
            for spelling in [
                format!("https://example.com{path}"),
                format!("HTTPS://EXAMPLE.com:443{path}#{fragment}"),
                format!("//example.com{path}"),
                format!("/zz/..{path}"),
                format!("/.{path}#{fragment}"),
                format!("..{path}"),
                format!("\t{path}\n"),
            ] {
                prop_assert_eq!(&base.resolve(&spelling), &expected, "{}", spelling);
            }
        }
    }
}
