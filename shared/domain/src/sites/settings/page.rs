//! The page that performance checks audit, if it is not the site's root.

use url::Url;

use crate::text::disrupts_line;

/// The longest page URL, in characters; the same as for a site's own URL.
pub const PAGE_URL_MAX: usize = 2_048;

/// Why a URL is not a page of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageUrlError {
    /// It is not an absolute `http` or `https` URL, or is longer than 2,048 characters.
    #[error("not an absolute http or https URL of at most {PAGE_URL_MAX} characters")]
    Invalid,
    /// It contains a user name or password, which would appear in reports.
    #[error("a user name or password in the URL")]
    Credentials,
    /// Its host is not the site's.
    #[error("not on the site's own domain")]
    OtherDomain,
}

/// Checks that `page` is a page of the site whose host is `domain` (lower case, punycode). The scheme and the port may
/// differ from the site's.
///
/// # Errors
///
/// What is wrong with the URL.
pub fn check_page_url(page: &str, domain: &str) -> Result<(), PageUrlError> {
    // The URL parser drops tabs and line breaks and adds missing slashes; here these are errors.
    let lower = page.get(..8).unwrap_or(page).to_ascii_lowercase();
    if page.chars().count() > PAGE_URL_MAX
        || page.chars().any(|c| disrupts_line(c) || c.is_whitespace())
        || !(lower.starts_with("http://") || lower.starts_with("https://"))
    {
        return Err(PageUrlError::Invalid);
    }
    let url = Url::parse(page).map_err(|_| PageUrlError::Invalid)?;
    if url.port() == Some(0) {
        return Err(PageUrlError::Invalid);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(PageUrlError::Credentials);
    }
    if url.host_str() == Some(domain) { Ok(()) } else { Err(PageUrlError::OtherDomain) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_lies_on_the_sites_own_host() {
        use PageUrlError::{Credentials, Invalid, OtherDomain};
        let long = format!("https://example.com/{}", "a".repeat(PAGE_URL_MAX));
        for (page, expected) in [
            ("https://example.com/pricing", Ok(())),
            ("http://example.com", Ok(())),
            ("HTTPS://EXAMPLE.com/A?b=c#d", Ok(())),
            ("https://example.com:8443/x", Ok(())),
            ("https://www.example.com/", Err(OtherDomain)),
            ("https://example.com.evil.test/", Err(OtherDomain)),
            ("https://evil.test/example.com", Err(OtherDomain)),
            ("https://example.com@evil.test/", Err(Credentials)),
            ("https://user:secret@example.com/", Err(Credentials)),
            ("/pricing", Err(Invalid)),
            ("example.com", Err(Invalid)),
            ("ftp://example.com/", Err(Invalid)),
            ("https:example.com", Err(Invalid)),
            ("https://", Err(Invalid)),
            ("https://example.com:0/", Err(Invalid)),
            ("https://example.com/a b", Err(Invalid)),
            ("https://exam\tple.com/", Err(Invalid)),
            ("", Err(Invalid)),
            ("ééééééé", Err(Invalid)),
            (&long, Err(Invalid)),
        ] {
            assert_eq!(check_page_url(page, "example.com"), expected, "{page}");
        }
    }

    #[test]
    fn international_hosts_compare_in_punycode() {
        assert_eq!(check_page_url("https://bücher.example/x", "xn--bcher-kva.example"), Ok(()));
    }
}
