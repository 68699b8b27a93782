//! The broken links of a site, and the pages that have them.

use maud::{Markup, html};
use vedette_domain::checks::check::{BrokenLink, Check, Crawl, FinishReason, LinksResult};

use super::read;
use crate::clock::Clock;
use crate::layout;
use crate::sites::outward;
use crate::words::counted;

pub(super) fn part(check: Option<&Check>, clock: Clock<'_>) -> Markup {
    let Some((check, result)) = read::<LinksResult>(check) else { return Markup::default() };
    let shown = result.urls.len();
    html! {
      section.card #links {
        header {
            h2 { "Links" }
            span.quiet.small { "Checked " (clock.instant(check.id.created_at())) }
        }
        p.in {
            (result.found) " broken of " (result.crawl.links) " links on "
            (counted(result.crawled as usize, "page", "pages")) ". "
            (ending(&result.crawl))
        }
        @if shown > 0 { (table(&result.urls)) }
        @if usize::try_from(result.found).is_ok_and(|found| found > shown) {
            p.in.air { "The first " (shown) " are shown. " a href={ "/checks/" (check.id) } { "The whole check" } }
        }
      }
    }
}

/// Broken links with their source.
fn table(links: &[BrokenLink]) -> Markup {
    html! {
        table.t {
            (layout::columns("Broken links", &["Link", "On the page", "Status"]))
            tbody {
                @for link in links {
                    tr {
                        td { (outward(&link.url)) }
                        td { (outward(&link.source)) }
                        td { @if link.status == 0 { "No answer" } @else { (link.status) } }
                    }
                }
            }
        }
    }
}

/// What a crawl did not see.
fn ending(crawl: &Crawl) -> String {
    let reason = why_ended(crawl.finish_reason);
    let pages = match crawl.skipped.partly_read {
        0 => return reason.to_owned(),
        1 => "1 page was not read to its end.".to_owned(),
        several => format!("{several} pages were not read to their end."),
    };
    match crawl.finish_reason {
        FinishReason::Completed => format!("Completed, {pages}"),
        _ => format!("{reason} {pages}"),
    }
}

/// Why a crawl did not see everything.
const fn why_ended(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Completed => "The whole site was crawled.",
        FinishReason::Unreachable => "The site's URL gave no answer or an error.",
        FinishReason::RedirectedAway => "The site's URL redirects to another host.",
        FinishReason::RobotsDisallowed => "robots.txt disallows the site's URL.",
        FinishReason::NotHtml => "The site's URL is not an HTML page.",
        FinishReason::Deadline => {
            "The crawl ran out of time before it reached the rest of the site."
        }
        FinishReason::PageLimit => "The site has more pages than Vedette crawls.",
        FinishReason::LinkLimit => "The site has more links than Vedette checks.",
        FinishReason::DepthLimit => "Some pages are too many links away from the start.",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_says_what_the_crawl_did_not_see() {
        for (reason, partly_read, said) in [
            ("completed", 0, "The whole site was crawled."),
            ("completed", 1, "Completed, 1 page was not read to its end."),
            ("completed", 2, "Completed, 2 pages were not read to their end."),
            (
                "page_limit",
                1,
                "The site has more pages than Vedette crawls. 1 page was not read to its end.",
            ),
        ] {
            let crawl = json!({
                "finish_reason": reason,
                "limits": { "pages": 7, "links": 9, "depth": 3, "links_per_domain": 5, "seconds": 60 },
                "duration_ms": 7, "js_rendered": false, "pages": 7, "links": 99,
                "skipped": {
                    "robots": 0, "over_limit": 0, "rate_limited": 0, "forbidden": 0, "unchecked": 0,
                    "partly_read": partly_read,
                },
                "traps": 0, "robots_txt": false, "sitemap_urls": 0, "truncated": false,
            });
            assert_eq!(ending(&serde_json::from_value(crawl).expect("a crawl")), said);
        }
    }
}
