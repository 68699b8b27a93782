//! The entry points of crawls for fuzzing; see [`crate::fuzzing`].

use encoding_rs::{UTF_8, WINDOWS_1252};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use url::Url;

use super::canonical::{Base, MAX_URL, Reference, host_of, path_and_query_of};
use super::extract::{Extractor, PageLink};
use super::robots::Robots;
use super::sitemap;
use crate::http::MediaType;

/// Types that a server may declare for its page.
const CONTENT_TYPES: [&str; 8] = [
    "text/html",
    "text/html; charset=utf-8",
    "text/html; charset=utf-16le",
    "text/html; charset=utf-16be",
    "text/html; charset=windows-1252",
    "text/html; charset=iso-2022-jp",
    "text/html; charset=gb18030",
    "application/xhtml+xml; charset=nonsense",
];

/// Extracts the links of a page. The first byte selects the type that the server declares, the second the length of the
/// chunks in which the page arrives.
pub fn page(data: &[u8]) {
    let [content_type, length, html @ ..] = data else {
        return;
    };
    let content_type = CONTENT_TYPES[usize::from(*content_type) % CONTENT_TYPES.len()];
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))]);
    let mut extractor = Extractor::new(MediaType::of(&headers));
    for piece in html.chunks(usize::from(*length) + 1) {
        extractor.write(piece);
    }
    let links = extractor.finish(&Url::parse("https://example.com/a/b?c").expect("a URL"));
    for PageLink { url, valid, .. } in links.iter() {
        if valid {
            assert_canonical(url);
        }
    }
}

/// Resolves a reference, the second line, against a base, the first.
pub fn reference(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (base, reference) = text.split_once('\n').unwrap_or(("https://example.com/a/b?c", &text));
    let Ok(url) = Url::parse(base) else {
        return;
    };
    if !matches!(url.scheme(), "http" | "https") {
        return;
    }
    for encoding in [UTF_8, WINDOWS_1252] {
        let base = Base::new(&url, None, encoding);
        if let Reference::Web(url) = base.resolve(reference) {
            assert_canonical(&url);
            assert_eq!(base.resolve(&url), Reference::Web(url));
        }
    }
}

/// Obeys a `robots.txt`.
pub fn robots(data: &[u8]) {
    let Some(robots) = Robots::parse(data) else {
        return;
    };
    for url in ["https://example.com/", "https://example.com/a/b.pdf?c=%41*$"] {
        let allowed = robots.allow(url);
        assert_eq!(robots.allow(url), allowed);
    }
    assert!(robots.sitemaps().map(str::len).sum::<usize>() <= data.len());
}

/// Reads a sitemap.
pub fn sitemap(data: &[u8]) {
    let text = sitemap::text(data);
    let mut reading = sitemap::SitemapParser::new(&text);
    while reading.step() {}
    let found = reading.finish();
    assert!(found.sitemaps.len() <= sitemap::FILES_LIMIT);
    assert!(found.pages.iter().map(String::len).sum::<usize>() <= sitemap::TEXT_LIMIT);
}

fn assert_canonical(url: &str) {
    assert!(url.len() <= MAX_URL);
    let parsed = Url::parse(url).expect("a URL");
    assert_eq!(parsed.as_str(), url);
    assert_eq!(parsed.host_str(), Some(host_of(url)));
    assert!(path_and_query_of(url).starts_with('/'));
    assert!(parsed.fragment().is_none() && parsed.username().is_empty());
}
