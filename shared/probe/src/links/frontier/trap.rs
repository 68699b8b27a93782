//! Crawler traps.
//!
//! A trap is a page that links to ever new URLs of itself: an endless calendar, a relative link that grows by a segment
//! with each click, combinations of filters. URLs that look like one are checked, but not searched. The limit on depth
//! handles a calendar whose pages link only to the next one.

use std::collections::HashMap;

use super::super::canonical::path_and_query_of;

/// Segments that a path may have.
const SEGMENTS: usize = 24;

/// How often the same segment may occur in a path.
const REPEATS: usize = 3;

/// Queries to one path that are searched.
const QUERIES: u32 = 500;

/// Recognizes traps by the URLs seen before.
#[derive(Default)]
pub(super) struct Traps {
    /// Number of queries seen, by path.
    queries: HashMap<Box<str>, u32>,
}

impl Traps {
    /// Whether a new canonical URL leads into a trap.
    pub(super) fn is_trap(&mut self, url: &str) -> bool {
        let Some((address, _)) = url.split_once('?') else {
            return is_repetitive(path_and_query_of(url));
        };
        if is_repetitive(path_and_query_of(address)) {
            return true;
        }
        match self.queries.get_mut(address) {
            Some(seen) => {
                *seen += 1;
                *seen > QUERIES
            }
            None => {
                self.queries.insert(address.into(), 1);
                false
            }
        }
    }
}

fn is_repetitive(path: &str) -> bool {
    let mut seen = [""; SEGMENTS];
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    for (at, segment) in segments.enumerate() {
        let Some(place) = seen.get_mut(at) else {
            return true;
        };
        *place = segment;
        if seen[..=at].iter().filter(|other| **other == segment).count() > REPEATS {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_countless_segments_are_a_trap() {
        for (path, trap) in [
            ("/", false),
            ("/a/b/c", false),
            ("/2026/11/11/11", false),
            ("/a/a/a", false),
            ("/a/a/a/a", true),
            ("/a/b/a/b/a/b/a/b", true),
            ("/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24", false),
            ("/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25", true),
            ("/a/a/a/a?b", true),
        ] {
            let url = format!("https://example.com{path}");
            assert_eq!(Traps::default().is_trap(&url), trap, "{path}");
        }
    }

    #[test]
    fn countless_queries_are_a_trap() {
        let mut traps = Traps::default();
        for number in 0..QUERIES {
            assert!(!traps.is_trap(&format!("https://example.com/list?filter={number}")));
        }
        assert!(traps.is_trap("https://example.com/list?filter=more"));
        assert!(!traps.is_trap("https://example.com/other?filter=more"));
        assert!(!traps.is_trap("https://example.com/list"));
    }
}
