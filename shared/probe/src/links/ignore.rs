//! The patterns of `ignore_paths`.

use super::canonical::{origin_of, path_and_query_of};

/// What a crawl ignores: matching URLs are neither crawled nor checked.
///
/// A pattern is compared, case-sensitively, with the path of a link on the site's own host:
///
/// - `*` matches any run of characters, including none, and including slashes.
/// - A pattern with a `*` matches the whole path: `/blog/*` is everything below `/blog/`, `*.pdf` every path that ends
///   in `.pdf`, `*/print` every one that ends in `/print`.
/// - A pattern without one matches a path and everything below it: `/blog` is `/blog`, `/blog/` and `/blog/2026`, but
///   not `/blogger`.
/// - The leading slash is optional: `blog` is `/blog`.
/// - A pattern with a `?` is compared with path and query, any other with the path alone: `/search`
///   is also `/search?q=1`, and `/list?*page=*` is every page of a list.
/// - A pattern that starts with `http://` or `https://` is compared with whole URLs, on any host:
///   `https://social.example/*`.
///
/// Links are compared in canonical form, with percent-encoding; non-ASCII characters in a pattern
/// stand for their encoded form. A pattern that is empty or `/` matches every path.
pub(super) struct IgnorePaths(Vec<Pattern>);

struct Pattern {
    /// With a leading slash, star or scheme.
    text: String,
    whole_url: bool,
    with_query: bool,
}

impl IgnorePaths {
    pub(super) fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        Self(patterns.into_iter().map(Pattern::new).collect())
    }

    /// Whether to ignore the link at this canonical URL; `own` says whether it is on the site's own
    /// host.
    pub(super) fn matches(&self, url: &str, own: bool) -> bool {
        self.0.iter().any(|pattern| (own || pattern.whole_url) && pattern.matches(url))
    }
}

impl Pattern {
    fn new(text: &str) -> Self {
        let text = encoded(text.trim());
        let whole_url = text.starts_with("http://") || text.starts_with("https://");
        let with_query = text.contains('?');
        let rooted = whole_url || text.starts_with(['/', '*']);
        let text = if rooted { text } else { format!("/{text}") };
        Self { text, whole_url, with_query }
    }

    fn matches(&self, url: &str) -> bool {
        let path = path_and_query_of(url);
        let query = if self.with_query { None } else { path.find('?') };
        let (from, to) = match (self.whole_url, query) {
            (true, None) => (0, url.len()),
            (true, Some(at)) => (0, origin_of(url).len() + at),
            (false, None) => (origin_of(url).len(), url.len()),
            (false, Some(at)) => (origin_of(url).len(), origin_of(url).len() + at),
        };
        let subject = &url[from..to];
        if self.text.contains('*') {
            glob(self.text.as_bytes(), subject.as_bytes())
        } else {
            is_below(&self.text, subject)
        }
    }
}

/// Whether `subject` is `path` or below it.
fn is_below(path: &str, subject: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    match subject.strip_prefix(path) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// Whether `pattern` matches all of `subject`, `*` being any run of bytes. On a mismatch only the
/// last star takes one more byte, so the work is at most the product of the lengths.
fn glob(pattern: &[u8], subject: &[u8]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut retry = None;
    while position < subject.len() {
        if pattern.get(at) == Some(&b'*') {
            retry = Some((at, position));
            at += 1;
        } else if pattern.get(at) == Some(&subject[position]) {
            at += 1;
            position += 1;
        } else if let Some((star, from)) = retry {
            at = star + 1;
            position = from + 1;
            retry = Some((star, position));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// `text` with non-ASCII characters and spaces percent-encoded, as in URLs.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn own(pattern: &str, path: &str) -> bool {
        IgnorePaths::new([pattern]).matches(&format!("https://example.com{path}"), true)
    }

    #[test]
    fn patterns_match_as_documented() {
        for (pattern, matching, others) in [
            (
                "/blog",
                &["/blog", "/blog/", "/blog/2026", "/blog?page=2", "/blog/x?y=1"][..],
                &["/blogger", "/", "/a/blog", "/Blog", "/blo"][..],
            ),
            ("blog", &["/blog", "/blog/x"], &["/blogger", "/a/blog"]),
            ("/blog/", &["/blog", "/blog/", "/blog/x"], &["/blogger"]),
            ("/blog/*", &["/blog/", "/blog/x", "/blog/x/y?z"], &["/blog", "/blogger"]),
            ("/blog*", &["/blog", "/blogger", "/blog/x"], &["/a/blog"]),
            ("*.pdf", &["/a.pdf", "/x/b.pdf", "/a.pdf?download"], &["/a.pdfx", "/pdf"]),
            ("*/print", &["/print", "/a/print"], &["/print/a", "/blueprint"]),
            ("/a/*/c", &["/a/b/c", "/a/b/b/c", "/a//c"], &["/a/c", "/a/b/c/d"]),
            ("a*b*c", &["/abc", "/axbxc", "/abcbc"], &["/ab", "/xabc"]),
            ("/list?page=*", &["/list?page=", "/list?page=2"], &["/list", "/list?x&page=2"]),
            ("/list?*page=*", &["/list?page=2", "/list?x&page=2"], &["/list", "/list/?page=2"]),
            ("/list?page=2", &["/list?page=2"], &["/list", "/list?page=22"]),
            ("/ä ö", &["/%C3%A4%20%C3%B6"], &["/"]),
            (" /blog ", &["/blog"], &["/"]),
            ("/", &["/", "/x", "/x?y"], &[]),
            ("", &["/", "/x"], &[]),
            ("*", &["/", "/x?y"], &[]),
            ("**", &["/", "/x"], &[]),
            ("https://example.com/a/*", &["/a/", "/a/b?c"], &["/", "/b/https://example.com/a/b"]),
            ("https://example.com", &["/", "/x"], &[]),
            ("http://example.com/*", &[], &["/", "/x"]),
        ] {
            for path in matching {
                assert!(own(pattern, path), "{pattern} is to match {path}");
            }
            for path in others {
                assert!(!own(pattern, path), "{pattern} is not to match {path}");
            }
        }
    }

    #[test]
    fn other_hosts_are_matched_by_whole_urls_only() {
        for (pattern, matches) in [
            ("/a", false),
            ("*", false),
            ("https://social.example", true),
            ("https://social.example/*", true),
            ("http*://social.example/*", false),
            ("https://*.example/a", true),
            ("https://other.example/*", false),
            ("https://social.example.org", false),
        ] {
            let ignore = IgnorePaths::new([pattern]);
            assert_eq!(ignore.matches("https://social.example/a", false), matches, "{pattern}");
        }
        assert!(!IgnorePaths::new([]).matches("https://example.com/", true));
    }

    /// The definition, without shortcuts: each star tries every length.
    fn slowly(pattern: &[u8], subject: &[u8]) -> bool {
        match pattern.split_first() {
            None => subject.is_empty(),
            Some((b'*', rest)) => (0..=subject.len()).any(|at| slowly(rest, &subject[at..])),
            Some((byte, rest)) => subject.first() == Some(byte) && slowly(rest, &subject[1..]),
        }
    }

    proptest! {
        #[test]
        fn stars_match_by_definition(pattern in "[ab*]{0,8}", subject in "[ab]{0,10}") {
            let quick = glob(pattern.as_bytes(), subject.as_bytes());
            prop_assert_eq!(quick, slowly(pattern.as_bytes(), subject.as_bytes()));
        }

        #[test]
        fn no_pattern_panics(pattern in "\\PC{0,20}", path in "/[a-z0-9/?=%.]{0,20}") {
            own(&pattern, &path);
        }

        #[test]
        fn a_path_is_matched_by_itself_and_by_all_above_it(
            path in "/[a-z]{1,4}(/[a-z]{1,4}){0,4}",
        ) {
            prop_assert!(own(&path, &path));
            for (at, _) in path.match_indices('/').skip(1) {
                prop_assert!(own(&path[..at], &path));
                let starred = format!("{}/*", &path[..at]);
                prop_assert!(own(&starred, &path));
            }
            let longer = format!("{path}x");
            prop_assert!(!own(&path, &longer));
        }
    }

    #[test]
    fn many_stars_take_no_longer() {
        let pattern = "*a".repeat(100) + "b";
        let subject = format!("/{}", "a".repeat(2_000));
        assert!(!own(&pattern, &subject), "would not end if every star tried every length");
    }
}
