//! The URL of a monitored site, in its canonical form.

use std::num::NonZeroU16;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use url::{Host, Url};

use crate::input::{FieldRule, InputShape, TextKind};
use crate::sites::host_name::is_host_name;
use crate::validation::{Errors, Field};

/// The longest URL that is accepted, in characters, both as sent and in canonical form.
pub const MAX_LENGTH: usize = 2048;

/// A URL that starts with `http://` or `https://`, in canonical form: the scheme and the host in lower case, the host
/// in punycode without a trailing dot or as a plain IP address, no default port, no fragment, no empty query, no bare
/// `/`. Otherwise, the path and the query are as the WHATWG URL standard serializes them.
///
/// Two URLs are the same site if and only if their canonical forms are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteUrl(Url);

/// Why a text is not the URL of a site. The messages are for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SiteUrlError {
    /// It starts with neither scheme.
    #[error("The url must start with http:// or https://.")]
    Scheme,
    /// It is too long, as sent or in canonical form.
    #[error("The url must not be longer than {MAX_LENGTH} characters.")]
    TooLong,
    /// It contains a tab, a line break or another control character.
    #[error("The url must not contain control characters.")]
    ControlCharacter,
    /// It has no host.
    #[error("The url must have a host.")]
    NoHost,
    /// It contains a user name or a password, or empty ones.
    #[error("The url must not contain a user name or password.")]
    UserInfo,
    /// Its host is not a valid domain name.
    #[error("The url must have a valid domain name as its host.")]
    Domain,
    /// No server can be reached at port 0.
    #[error("The url must not have the port 0.")]
    Port,
    /// The parser refuses it for another reason.
    #[error("The url is not a valid URL: {0}.")]
    Invalid(url::ParseError),
}

/// The rule for URLs that people enter.
#[derive(Debug, Clone, Copy)]
pub struct UrlRule;

impl FieldRule<SiteUrl> for UrlRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<SiteUrl> {
        // The URL's own rule refuses texts that are too long.
        let text = field.string(usize::MAX, errors)?;
        SiteUrl::parse(&text).map_err(|error| errors.push(field.path(), error.to_string())).ok()
    }

    fn shape(&self) -> InputShape {
        InputShape::Text { min: 0, max: MAX_LENGTH, kind: TextKind::Url }
    }
}

impl SiteUrl {
    /// Reads a URL, ignoring surrounding whitespace.
    ///
    /// # Errors
    ///
    /// When it is not the URL of a site. This is stricter than browsers, which repair what they can:
    /// `http:example.com`, `https:///example.com` and line breaks inside are refused rather than guessed.
    pub fn parse(text: &str) -> Result<Self, SiteUrlError> {
        let text = text.trim();
        if text.chars().nth(MAX_LENGTH).is_some() {
            return Err(SiteUrlError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(SiteUrlError::ControlCharacter);
        }
        let rest = strip_scheme(text).ok_or(SiteUrlError::Scheme)?;
        // The parser treats a backslash as a slash, so the authority ends at either.
        let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(SiteUrlError::UserInfo);
        }
        if authority.is_empty() {
            return Err(SiteUrlError::NoHost);
        }
        let mut url = Url::parse(text).map_err(|error| match error {
            url::ParseError::EmptyHost => SiteUrlError::NoHost,
            url::ParseError::IdnaError | url::ParseError::InvalidDomainCharacter => {
                SiteUrlError::Domain
            }
            error => SiteUrlError::Invalid(error),
        })?;
        if url.port() == Some(0) {
            return Err(SiteUrlError::Port);
        }
        if let Some(Host::Domain(domain)) = url.host() {
            let name = domain.strip_suffix('.').unwrap_or(domain).to_owned();
            if !is_host_name(&name) || url.set_host(Some(&name)).is_err() {
                return Err(SiteUrlError::Domain);
            }
        }
        url.set_fragment(None);
        if url.query() == Some("") {
            url.set_query(None);
        }
        let url = Self(url);
        // Percent-encoding and punycode make a URL longer, but it must still be accepted when it is read again.
        if url.as_str().len() > MAX_LENGTH {
            return Err(SiteUrlError::TooLong);
        }
        Ok(url)
    }

    /// The canonical form.
    pub fn as_str(&self) -> &str {
        let text = self.0.as_str();
        let bare = self.0.path() == "/" && self.0.query().is_none();
        if bare { text.strip_suffix('/').unwrap_or(text) } else { text }
    }

    /// The hostname: a domain in punycode, an IPv4 address, or an IPv6 address in brackets.
    pub fn domain(&self) -> &str {
        // There always is one: http and https URLs cannot have an empty host.
        self.0.host_str().unwrap_or_default()
    }

    /// Whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The port of an `https` URL, if it is not the default port.
    pub fn https_port(&self) -> Option<NonZeroU16> {
        self.0.port().filter(|_| self.is_https()).and_then(NonZeroU16::new)
    }

    /// The same URL for engines; its path is never empty.
    pub fn to_url(&self) -> Url {
        self.0.clone()
    }

    /// The root of the site: scheme, host and port, and `/`.
    pub fn root(&self) -> Url {
        let mut root = self.to_url();
        root.set_path("/");
        root.set_query(None);
        root
    }

    /// SHA-256 of the canonical form: the key of the URL in its team.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.as_str()).into()
    }

    /// The name of a site that was not given one: the domain without a leading `www.`.
    pub(crate) fn generated_name(&self) -> &str {
        let domain = self.domain();
        domain.strip_prefix("www.").unwrap_or(domain)
    }
}

/// What follows `http://` or `https://`, in any case.
fn strip_scheme(text: &str) -> Option<&str> {
    ["http://", "https://"].into_iter().find_map(|scheme| {
        let (head, rest) = text.split_at_checked(scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// Whether what was meant for `first`, and may be secret, may also be sent to `url`: to the same scheme, host and port, or
/// from http to https on the same host. Another port of the host may belong to somebody else.
pub fn may_share_secrets(first: &Url, url: &Url) -> bool {
    let is_upgrade = (first.scheme(), url.scheme()) == ("http", "https");
    let is_same = first.scheme() == url.scheme()
        && first.port_or_known_default() == url.port_or_known_default();
    url.host() == first.host() && (is_upgrade || is_same)
}

impl std::fmt::Display for SiteUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for SiteUrl {
    type Err = SiteUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Serialize for SiteUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for SiteUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        match SiteUrl::parse(text) {
            Ok(url) => url.as_str().to_owned(),
            Err(error) => panic!("{text:?}: {error}"),
        }
    }

    #[test]
    fn secrets_stay_within_an_origin_or_move_to_https() {
        for (first, next, may_share) in [
            ("http://a.test/", "http://a.test:80/b", true),
            ("http://a.test/", "http://a.test:8080/", false),
            ("http://a.test/", "http://b.a.test/", false),
            ("http://a.test/", "https://a.test/", true),
            ("http://a.test:8080/", "https://a.test:8443/", true),
            ("http://a.test/", "https://b.test/", false),
            ("https://a.test/", "https://a.test:8443/", false),
            ("https://a.test/", "http://a.test/", false),
            ("https://a.test/", "http://a.test:443/", false),
        ] {
            let [first_url, next_url] = [first, next].map(|url| url.parse().expect("a URL"));
            assert_eq!(may_share_secrets(&first_url, &next_url), may_share, "{first} to {next}");
        }
    }

    #[test]
    fn one_site_has_one_spelling() {
        let cases = [
            // Bare slash, fragment, default port.
            ("https://example.com", "https://example.com"),
            ("https://example.com/", "https://example.com"),
            ("https://example.com/#top", "https://example.com"),
            ("https://example.com#top", "https://example.com"),
            ("https://example.com:443/", "https://example.com"),
            ("https://example.com:/", "https://example.com"),
            ("http://example.com:80", "http://example.com"),
            ("http://example.com:080", "http://example.com"),
            // Other ports stay, including the other scheme's default.
            ("https://example.com:80", "https://example.com:80"),
            ("http://example.com:443/", "http://example.com:443"),
            ("https://example.com:8443/a", "https://example.com:8443/a"),
            // Case: scheme and host only.
            ("HTTPS://EXAMPLE.com/Path?Query=A", "https://example.com/Path?Query=A"),
            ("hTTp://Example.COM", "http://example.com"),
            // Surrounding whitespace, line breaks included.
            ("  https://example.com \r\n", "https://example.com"),
            // Path and query as the standard serializes them.
            ("https://example.com/a/", "https://example.com/a/"),
            ("https://example.com//", "https://example.com//"),
            ("https://example.com/a/../b/./c", "https://example.com/b/c"),
            ("https://example.com/..", "https://example.com"),
            ("https://example.com/%7euser", "https://example.com/%7euser"),
            ("https://example.com/a b?c d", "https://example.com/a%20b?c%20d"),
            ("https://example.com/ü?ü", "https://example.com/%C3%BC?%C3%BC"),
            ("https://example.com?a=1", "https://example.com/?a=1"),
            // An empty query means nothing.
            ("https://example.com/?", "https://example.com"),
            ("https://example.com?#top", "https://example.com"),
            ("https://example.com/a?", "https://example.com/a"),
            ("https://example.com/??", "https://example.com/??"),
            ("https://example.com/?a=1&b=/#c", "https://example.com/?a=1&b=/"),
            ("https://example.com\\a", "https://example.com/a"),
            ("https://example.com/a@b", "https://example.com/a@b"),
            ("https://example.com?to=a@b", "https://example.com/?to=a@b"),
            // International names.
            ("https://bücher.example/", "https://xn--bcher-kva.example"),
            ("https://BÜCHER.example", "https://xn--bcher-kva.example"),
            ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
            ("https://例え.jp/道", "https://xn--r8jz45g.jp/%E9%81%93"),
            ("https://example。com", "https://example.com"),
            // A trailing dot marks a complete name, which it is here anyway.
            ("https://example.com.", "https://example.com"),
            ("https://EXAMPLE.com.:8443/a.", "https://example.com:8443/a."),
            ("https://bücher.example。", "https://xn--bcher-kva.example"),
            ("http://192.0.2.1./", "http://192.0.2.1"),
            // Names that occur in practice, registered or not.
            ("http://localhost:8080", "http://localhost:8080"),
            ("https://my_shop.example.com", "https://my_shop.example.com"),
            ("https://_.example.com", "https://_.example.com"),
            ("https://r3---sn-4g5e.example.com", "https://r3---sn-4g5e.example.com"),
            // IPv4 in other spellings.
            ("http://192.0.2.1/", "http://192.0.2.1"),
            ("http://0xC0.0.0x2.1", "http://192.0.2.1"),
            ("http://0300.0.02.01", "http://192.0.2.1"),
            ("http://3221225985", "http://192.0.2.1"),
            ("http://192.513", "http://192.0.2.1"),
            // IPv6.
            ("http://[2001:DB8:0:0::1]:80/", "http://[2001:db8::1]"),
            ("http://[::ffff:192.0.2.1]:8080", "http://[::ffff:c000:201]:8080"),
        ];
        for (text, expected) in cases {
            assert_eq!(canonical(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_the_address_of_a_site_is_refused() {
        use SiteUrlError::{ControlCharacter, Domain, Invalid, NoHost, Port, Scheme, UserInfo};
        use url::ParseError::{InvalidIpv4Address, InvalidIpv6Address, InvalidPort};
        let cases = [
            // Other schemes, or a scheme that is not spelled out.
            ("", Scheme),
            ("   ", Scheme),
            ("example.com", Scheme),
            ("//example.com", Scheme),
            ("http:example.com", Scheme),
            ("http:/example.com", Scheme),
            ("https:\\\\example.com", Scheme),
            ("ftp://example.com", Scheme),
            ("ws://example.com", Scheme),
            ("file:///etc/passwd", Scheme),
            ("javascript:alert(1)", Scheme),
            ("ｈttps://example.com", Scheme),
            ("httpß", Scheme),
            // No host; browsers would take the next part for the host.
            ("https://", NoHost),
            ("https:///", NoHost),
            ("https:///example.com", NoHost),
            ("https://\\example.com", NoHost),
            ("https://?a=1", NoHost),
            ("https://#a", NoHost),
            ("https://:443", NoHost),
            // A soft hyphen, which disappears when it is mapped.
            ("https://\u{ad}", NoHost),
            // Credentials, including empty ones.
            ("https://user@example.com", UserInfo),
            ("https://user:secret@example.com", UserInfo),
            ("https://:secret@example.com", UserInfo),
            ("https://@example.com", UserInfo),
            ("https://example.com@", UserInfo),
            // Browsers drop tabs and line breaks, so two texts would be one site.
            ("https://exam\tple.com", ControlCharacter),
            ("https://example.com/a\nb", ControlCharacter),
            ("https://example.com/a\r\nb", ControlCharacter),
            ("ht\ntps://example.com", ControlCharacter),
            ("https://example.com/\0", ControlCharacter),
            ("\u{1}https://example.com", ControlCharacter),
            ("https://example.com/\u{7f}", ControlCharacter),
            ("https://example.com/\u{9f}", ControlCharacter),
            // Not a URL by the standard.
            ("https://example.com:65536", Invalid(InvalidPort)),
            ("https://example.com:http", Invalid(InvalidPort)),
            ("https://example.com:-1", Invalid(InvalidPort)),
            ("https://exa mple.com", Domain),
            ("https://exa<mple.com", Domain),
            ("https://%00.com", Domain),
            ("https://xn--/", Domain),
            // Impossible labels.
            ("http://.", Domain),
            ("http://..", Domain),
            ("http://1..", Domain),
            ("http://-", Domain),
            ("http://ok..test", Domain),
            ("http://.ok.test", Domain),
            ("http://ok.test..", Domain),
            ("http://-ok.test", Domain),
            ("http://ok-.test", Domain),
            ("http://ok.-", Domain),
            ("http://o!k.test", Domain),
            ("http://o*.test", Domain),
            ("http://o~k.test", Domain),
            // Nothing listens there.
            ("http://example.com:0", Port),
            ("https://[2001:db8::1]:000/a", Port),
            ("http://256.0.0.1", Invalid(InvalidIpv4Address)),
            ("http://1.2.3.4.5", Invalid(InvalidIpv4Address)),
            ("http://[::1", Invalid(InvalidIpv6Address)),
            ("http://[fe80::1%25eth0]", Invalid(InvalidIpv6Address)),
            ("http://[1::2::3]", Invalid(InvalidIpv6Address)),
        ];
        for (text, expected) in cases {
            assert_eq!(SiteUrl::parse(text), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn names_are_as_long_as_dns_lets_them_be() {
        let label = "a".repeat(63);
        let whole = [&*label, &label, &label, &label[2..]].join(".");
        assert_eq!(whole.len(), 253);
        for (host, is_name) in [
            (format!("{label}.test"), true),
            (format!("a{label}.test"), false),
            (whole.clone(), true),
            (format!("{whole}."), true),
            (format!("{whole}a"), false),
            (format!("{whole}a."), false),
        ] {
            let parsed = SiteUrl::parse(&format!("https://{host}"));
            let expected =
                if is_name { Ok(host.trim_end_matches('.')) } else { Err(SiteUrlError::Domain) };
            assert_eq!(parsed.as_ref().map(SiteUrl::domain).map_err(|error| *error), expected);
        }
    }

    #[test]
    fn the_root_keeps_scheme_host_and_port() {
        for (url, root) in [
            ("https://example.com", "https://example.com/"),
            ("https://example.com/shop/cart?a=1", "https://example.com/"),
            ("http://example.com:8080?a=1", "http://example.com:8080/"),
            ("http://[2001:db8::1]:81//", "http://[2001:db8::1]:81/"),
        ] {
            assert_eq!(SiteUrl::parse(url).expect("an address").root().as_str(), root);
        }
    }

    #[test]
    fn the_port_of_tls_is_named_unless_it_is_the_usual_one() {
        for (url, is_https, port) in [
            ("https://example.com", true, None),
            ("https://example.com:443/a", true, None),
            ("https://example.com:8443/a", true, Some(8443)),
            ("https://[::1]:1", true, Some(1)),
            ("http://example.com:8443", false, None),
            ("http://example.com:443", false, None),
        ] {
            let url = SiteUrl::parse(url).expect("a URL");
            assert_eq!(
                (url.is_https(), url.https_port().map(NonZeroU16::get)),
                (is_https, port),
                "{url}"
            );
        }
    }

    #[test]
    fn messages_tell_clients_what_to_mend() {
        let message = |text: &str| SiteUrl::parse(text).expect_err("refused").to_string();
        assert_eq!(message("example.com"), "The url must start with http:// or https://.");
        assert_eq!(message("https://"), "The url must have a host.");
        assert_eq!(
            message("https://exa mple.com"),
            "The url must have a valid domain name as its host."
        );
        assert_eq!(
            message("https://a@example.com"),
            "The url must not contain a user name or password."
        );
        assert_eq!(
            message("https://example.com/\t/"),
            "The url must not contain control characters."
        );
        assert_eq!(
            message("https://example.com:99999"),
            "The url is not a valid URL: invalid port number."
        );
        assert_eq!(message("https://example.com:0"), "The url must not have the port 0.");
        assert_eq!(message(&"h".repeat(2049)), "The url must not be longer than 2048 characters.");
    }

    #[test]
    fn length_counts_as_sent_and_as_stored() {
        let of_length = |length: usize| {
            let head = "https://example.com/";
            format!("{head}{}", "a".repeat(length - head.len()))
        };
        assert_eq!(canonical(&of_length(2048)).len(), 2048);
        assert_eq!(canonical(&format!(" {} ", of_length(2048))).len(), 2048, "trimmed first");
        assert_eq!(SiteUrl::parse(&of_length(2049)), Err(SiteUrlError::TooLong));
        // A fragment is dropped, but it counts as sent.
        let fragment = format!("{}#a", of_length(2047));
        assert_eq!(SiteUrl::parse(&fragment), Err(SiteUrlError::TooLong));
        // Characters count, not bytes; but the stored form is six times as long.
        let umlauts = format!("https://example.com/{}", "ü".repeat(338));
        assert_eq!(canonical(&umlauts).len(), 2048);
        assert_eq!(SiteUrl::parse(&format!("{umlauts}ü")), Err(SiteUrlError::TooLong));
    }

    #[test]
    fn hosts_and_names() {
        // Address, domain, generated name.
        let cases = [
            ("https://www.example.com:8443/a", "www.example.com", "example.com"),
            ("https://WWW.example.com", "www.example.com", "example.com"),
            ("https://www2.example.com", "www2.example.com", "www2.example.com"),
            ("https://a.www.example.com", "a.www.example.com", "a.www.example.com"),
            ("https://www", "www", "www"),
            ("https://www.", "www", "www"),
            ("https://bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("http://0x7f.1", "127.0.0.1", "127.0.0.1"),
            ("http://[2001:db8::1]:81", "[2001:db8::1]", "[2001:db8::1]"),
        ];
        for (text, domain, name) in cases {
            let url = SiteUrl::parse(text).expect("an address");
            assert_eq!((url.domain(), url.generated_name()), (domain, name));
        }
    }

    #[test]
    fn the_hash_is_of_the_canonical_form() {
        let plain = SiteUrl::parse("https://example.com").expect("an address");
        let other = SiteUrl::parse("HTTPS://Example.com:443/#a").expect("an address");
        assert_eq!(plain, other);
        assert_eq!(plain.hash(), other.hash());
        // printf https://example.com | sha256sum
        let hex: String = plain.hash().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "100680ad546ce6a577f42f52df33b4cfdca756859e664b8d7de329b150d09ce9");
        let slash = SiteUrl::parse("https://example.com/a").expect("an address");
        assert_ne!(plain.hash(), slash.hash());
    }

    #[test]
    fn it_is_a_string_in_json() {
        let url = SiteUrl::parse("https://example.com/").expect("an address");
        let json = serde_json::to_string(&url).expect("json");
        assert_eq!(json, r#""https://example.com""#);
        assert_eq!(serde_json::from_str::<SiteUrl>(&json).expect("readable"), url);
        assert_eq!(url.to_string().parse(), Ok(url.clone()));
        assert_eq!(url.to_url().as_str(), "https://example.com/");
        let error = serde_json::from_str::<SiteUrl>(r#""example.com""#).expect_err("refused");
        assert!(error.to_string().starts_with("The url must start with http:// or https://."));
    }

    /// Texts that are probably URLs, with odd parts.
    fn addresses() -> impl Strategy<Value = String> {
        let scheme = prop::sample::select(vec!["http://", "https://", "HTTP://", "hTtPs://"]);
        let host = prop_oneof![
            "[a-zA-Z0-9.-]{1,20}",
            "[0-9x.]{1,15}",
            "\\[[0-9a-fA-F:.]{2,20}\\]",
            "[a-zäöüß例え。.]{1,10}",
            "www\\.[a-z]{1,10}\\.com",
        ];
        let port = prop_oneof![Just(String::new()), ":[0-9]{0,5}"];
        let tail = prop_oneof![Just(String::new()), "[/?#\\\\].{0,40}"];
        (scheme, host, port, tail)
            .prop_map(|(scheme, host, port, tail)| format!("{scheme}{host}{port}{tail}"))
    }

    fn check_canonical(text: &str) -> Result<(), TestCaseError> {
        let Ok(url) = SiteUrl::parse(text) else {
            return Ok(());
        };
        let canonical = url.as_str();
        let again = SiteUrl::parse(canonical);
        prop_assert_eq!(again.as_ref(), Ok(&url), "idempotent: {}", canonical);
        prop_assert_eq!(again.as_ref().map(SiteUrl::as_str), Ok(canonical));
        prop_assert!(canonical.starts_with("http://") || canonical.starts_with("https://"));
        prop_assert!(canonical.is_ascii() && canonical.len() <= MAX_LENGTH);
        prop_assert!(!canonical.contains('#') && !canonical.chars().any(char::is_control));
        prop_assert!(!url.domain().is_empty() && !url.generated_name().is_empty());
        let full = url.to_url();
        prop_assert_eq!(full.host_str(), Some(url.domain()));
        prop_assert_eq!((full.username(), full.password(), full.fragment()), ("", None, None));
        Ok(())
    }

    proptest! {
        #[test]
        fn a_canonical_url_is_unchanged_by_canonicalization(text in addresses()) {
            check_canonical(&text)?;
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>(), scheme in "(https?://)?") {
            check_canonical(&text)?;
            check_canonical(&format!("{scheme}{text}"))?;
        }
    }
}
