//! The result of a broken-links check.

use serde::{Deserialize, Serialize};

/// The most entries in [`LinksResult::urls`].
pub const MAX_URLS: usize = 1_000;

/// The most bytes of URLs and sources in [`LinksResult::urls`], so that a result always fits into its item. A thousand
/// entries of ordinary length stay below it.
pub const MAX_URL_BYTES: usize = 300_000;

/// The result of a `broken-links` check: one crawl of a site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinksResult {
    /// Distinct broken links. The number is exact even if `urls` is cut.
    pub found: u32,
    /// Pages that were fetched and searched for links.
    pub crawled: u32,
    /// The broken links in the order in which the crawl found them, at most 1,000.
    pub urls: Vec<BrokenLink>,
    /// How the crawl went.
    pub crawl: Crawl,
}

/// A broken link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BrokenLink {
    /// Where the link leads: an absolute URL without a fragment, or the original text if it is not a URL.
    pub url: String,
    /// The page on which it was found, the first in breadth-first order. It is the sitemap for a URL that only a
    /// sitemap names, and the site's own URL for itself.
    pub source: String,
    /// HTTP status of the first answer, without following redirects; 0 if no answer came.
    pub status: u16,
}

/// How a crawl went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Crawl {
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// The limits of the crawl.
    pub limits: CrawlLimits,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Whether pages were rendered in a browser before their links were read.
    pub js_rendered: bool,
    /// Pages that were fetched and searched for links.
    pub pages: u32,
    /// Distinct links that were checked, broken or not; pages count too.
    pub links: u32,
    /// Distinct links that were not checked, and why.
    pub skipped: SkippedLinks,
    /// Pages that were checked but not searched, because their addresses look endless: they repeat the same path
    /// segment, or there are hundreds of queries to one path.
    pub traps: u32,
    /// Whether the site has a `robots.txt`, which the crawl followed.
    pub robots_txt: bool,
    /// URLs on the site's own host that its sitemaps name.
    pub sitemap_urls: u32,
    /// Whether `urls` is cut. If so, `found` is larger than its length.
    pub truncated: bool,
}

/// Links that a crawl found and did not judge, none of which counts as broken; and pages of which links may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkippedLinks {
    /// Disallowed by the `robots.txt` of their host. For other hosts than the site's, it is requested only if there are
    /// more than ten links to the host.
    pub robots: u32,
    /// On another host than the site's, beyond `limits.links_per_domain`.
    pub over_limit: u32,
    /// On a host that asked for a pause, with 429 or 503 and `Retry-After`: a host other than the site's, or the site's
    /// if the pause is longer than the crawl has time for.
    pub rate_limited: u32,
    /// Not connected to: the address is private or otherwise not on the public Internet.
    pub forbidden: u32,
    /// Not checked: the time was over, the name was not looked up in time, no name server could be reached, the target
    /// has only IPv6 addresses and IPv6 is not available here, or the server of another host stopped answering or
    /// withholds its `robots.txt`.
    pub unchecked: u32,
    /// An addition to the specification: pages, not links, that were not read to their end, could not be decoded, or
    /// have more links than are taken from one page. Absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub partly_read: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The limits of a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CrawlLimits {
    /// Pages searched for links.
    pub pages: u32,
    /// Distinct links.
    pub links: u32,
    /// Clicks from the site's URL to a page that is searched for links.
    pub depth: u32,
    /// Distinct links to one registered domain, not counting the site's own host.
    pub links_per_domain: u32,
    /// Seconds in total.
    pub seconds: u32,
}

/// Why a crawl ended. If several reasons apply, it is the first in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The site's URL gave no answer or an error, so there was nothing to crawl.
    Unreachable,
    /// The site's URL redirects to another host, which is not the site.
    RedirectedAway,
    /// `robots.txt` disallows the site's URL.
    RobotsDisallowed,
    /// The site's URL is not an HTML page.
    NotHtml,
    /// The time limit was reached.
    Deadline,
    /// There were more pages than the limit; the links to the others were still checked.
    PageLimit,
    /// There were more links than the limit; the others were not checked.
    LinkLimit,
    /// There were pages deeper than the limit; they were checked but not searched.
    DepthLimit,
    /// Everything was crawled.
    Completed,
}

impl FinishReason {
    /// Whether enough of the site was crawled that few broken links mean that there really are few.
    #[must_use]
    pub(crate) const fn is_representative(self) -> bool {
        match self {
            Self::Unreachable
            | Self::RedirectedAway
            | Self::RobotsDisallowed
            | Self::NotHtml
            | Self::Deadline => false,
            Self::PageLimit | Self::LinkLimit | Self::DepthLimit | Self::Completed => true,
        }
    }
}

impl LinksResult {
    /// A result with all `broken` links, in the order of the crawl. `urls` is cut at [`MAX_URLS`] and
    /// [`MAX_URL_BYTES`]; `found` is the number of all of them.
    pub fn new(crawl: Crawl, broken: impl IntoIterator<Item = BrokenLink>) -> Self {
        let mut urls = Vec::new();
        let (mut found, mut bytes, mut cut) = (0_u32, 0, false);
        for link in broken {
            found = found.saturating_add(1);
            bytes += link.url.len() + link.source.len();
            cut |= urls.len() == MAX_URLS || bytes > MAX_URL_BYTES;
            if !cut {
                urls.push(link);
            }
        }
        Self { found, crawled: crawl.pages, urls, crawl: Crawl { truncated: cut, ..crawl } }
    }

    /// Whether `urls` is as short as [`new`](Self::new) makes it.
    pub(crate) fn is_within_limits(&self) -> bool {
        let bytes: usize = self.urls.iter().map(|link| link.url.len() + link.source.len()).sum();
        self.urls.len() <= MAX_URLS && bytes <= MAX_URL_BYTES
    }

    /// Whether its figures agree with each other.
    pub(crate) fn is_consistent(&self) -> bool {
        let missing =
            usize::try_from(self.found).ok().and_then(|all| all.checked_sub(self.urls.len()));
        let is_cut = missing.map(|missing| missing > 0);
        self.crawled == self.crawl.pages && is_cut == Some(self.crawl.truncated)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crawl() -> Crawl {
        Crawl {
            finish_reason: FinishReason::Completed,
            limits: CrawlLimits {
                pages: 2_500,
                links: 100_000,
                depth: 20,
                links_per_domain: 500,
                seconds: 240,
            },
            duration_ms: 1_234,
            js_rendered: false,
            pages: 7,
            links: 31,
            skipped: SkippedLinks {
                robots: 1,
                over_limit: 3,
                rate_limited: 4,
                forbidden: 2,
                unchecked: 0,
                partly_read: 0,
            },
            traps: 0,
            robots_txt: true,
            sitemap_urls: 5,
            truncated: false,
        }
    }

    fn broken(count: usize, length: usize) -> impl Iterator<Item = BrokenLink> {
        (0..count).map(move |number| BrokenLink {
            url: number.to_string() + &"x".repeat(length - number.to_string().len()),
            source: String::new(),
            status: 404,
        })
    }

    #[test]
    fn the_wire_has_exactly_the_fields_of_the_api() {
        let link = BrokenLink {
            url: "https://example.com/gone".to_owned(),
            source: "https://example.com/".to_owned(),
            status: 410,
        };
        let result = LinksResult::new(crawl(), [link]);
        let value = json!({
            "found": 1,
            "crawled": 7,
            "urls": [{
                "url": "https://example.com/gone",
                "source": "https://example.com/",
                "status": 410,
            }],
            "crawl": {
                "finish_reason": "completed",
                "limits": {
                    "pages": 2500,
                    "links": 100000,
                    "depth": 20,
                    "links_per_domain": 500,
                    "seconds": 240,
                },
                "duration_ms": 1234,
                "js_rendered": false,
                "pages": 7,
                "links": 31,
                "skipped": {
                    "robots": 1,
                    "over_limit": 3,
                    "rate_limited": 4,
                    "forbidden": 2,
                    "unchecked": 0,
                },
                "traps": 0,
                "robots_txt": true,
                "sitemap_urls": 5,
                "truncated": false,
            },
        });
        assert_eq!(serde_json::to_value(&result).expect("JSON"), value);
        assert_eq!(serde_json::from_value::<LinksResult>(value).expect("read"), result);
    }

    #[test]
    fn pages_that_were_partly_read_are_counted_only_if_there_are_any() {
        let none = serde_json::to_value(SkippedLinks::default()).expect("JSON");
        assert_eq!(none.get("partly_read"), None);
        assert_eq!(serde_json::from_value::<SkippedLinks>(none).expect("read").partly_read, 0);
        let some = SkippedLinks { partly_read: 2, ..SkippedLinks::default() };
        assert_eq!(serde_json::to_value(some).expect("JSON")["partly_read"], 2);
    }

    #[test]
    fn urls_are_cut_and_found_is_exact() {
        for (count, length, kept) in [
            (0, 9, 0),
            (1_000, 9, 1_000),
            (1_001, 9, 1_000),
            (25_000, 9, 1_000),
            (100, 3_000, 100),
            (101, 3_000, 100),
        ] {
            let result = LinksResult::new(crawl(), broken(count, length));
            assert_eq!((result.found as usize, result.urls.len()), (count, kept));
            assert_eq!(result.crawl.truncated, count > kept);
        }
    }

    #[test]
    fn nothing_is_kept_after_the_cut() {
        let links = broken(1, 10).chain(broken(1, MAX_URL_BYTES)).chain(broken(1, 10));
        let result = LinksResult::new(crawl(), links);
        assert_eq!((result.found, result.urls.len()), (3, 1), "the first ones, not the short ones");
    }
}
