//! The broken links of a site, and the pages that have them.

use maud::{Markup, html};
use vedette_domain::checks::check::{BrokenLink, Check, FinishReason, LinksResult};

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
            (why_ended(result.crawl.finish_reason))
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
