//! What a crawl means: whether enough links are broken.

use serde_json::json;

use super::{Evaluation, clipped, http_status};
use crate::checks::check::{BrokenLink, LinksResult};
use crate::issues::{Fingerprint, Outcome};
use crate::sites::settings::LinksSettings;

/// The number of broken links that an evaluation names.
const NAMED: usize = 5;

/// Evaluates a broken-links check: down if at least `min_broken_count` links are broken.
///
/// A crawl that saw too little of the site ([`is_representative`]: it ran out of time, or did not get past the first
/// page) can reach the threshold. If it does not, it says nothing: there is no evaluation, and an issue neither
/// resolves nor loses its streak.
///
/// [`is_representative`]: crate::checks::check::FinishReason::is_representative
pub(super) fn links(result: &LinksResult, settings: &LinksSettings) -> Option<Evaluation> {
    let threshold = settings.min_broken_count.get();
    let down = result.found >= threshold;
    if !down && !result.crawl.finish_reason.is_representative() {
        return None;
    }
    let answer = match result.found {
        0 => "no broken links".to_owned(),
        1 => "1 broken link".to_owned(),
        found => format!("{found} broken links"),
    };
    let pages = match result.crawled {
        1 => "1 page".to_owned(),
        crawled => format!("{crawled} pages"),
    };
    let worst = worst(&result.urls);
    let first = match worst.first() {
        Some(link) if down => format!(", such as {} ({})", clipped(&link.url), status(link)),
        _ => String::new(),
    };
    Some(Evaluation {
        fingerprint: Fingerprint::BrokenLinksThreshold,
        summary: format!("{answer} on {pages}{first}"),
        measured: json!({
            "found": result.found,
            "crawled": result.crawled,
            "finish_reason": result.crawl.finish_reason,
            "min_broken_count": threshold,
            "urls": worst
                .iter()
                .map(|link| json!({
                    "url": clipped(&link.url),
                    "source": clipped(&link.source),
                    "status": link.status,
                }))
                .collect::<Vec<_>>(),
        }),
        outcome: Outcome::of(down),
    })
}

/// The first few of the most serious links: no answer, then gone for good, then server errors, then links that may
/// still work for people.
fn worst(urls: &[BrokenLink]) -> Vec<&BrokenLink> {
    let mut worst: Vec<_> = urls.iter().collect();
    worst.sort_by_key(|link| match link.status {
        0 => 0,
        404 | 410 => 1,
        500.. => 2,
        _ => 3,
    });
    worst.truncate(NAMED);
    worst
}

fn status(link: &BrokenLink) -> String {
    if link.status == 0 { "no answer".to_owned() } else { http_status(link.status) }
}

#[cfg(test)]
pub(super) mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::checks::check::{Crawl, CrawlLimits, FinishReason, SkippedLinks};

    pub(in crate::issues::evaluate) fn crawl(
        finish_reason: FinishReason,
        statuses: &[u16],
    ) -> LinksResult {
        let crawl = Crawl {
            finish_reason,
            limits: CrawlLimits {
                pages: 10,
                links: 10,
                depth: 10,
                links_per_domain: 10,
                seconds: 10,
            },
            duration_ms: 5,
            js_rendered: false,
            pages: 3,
            links: 9,
            skipped: SkippedLinks::default(),
            traps: 0,
            robots_txt: false,
            sitemap_urls: 0,
            truncated: false,
        };
        let broken = statuses.iter().enumerate().map(|(index, status)| BrokenLink {
            url: format!("https://example.com/{index}"),
            source: "https://example.com/".to_owned(),
            status: *status,
        });
        LinksResult::new(crawl, broken)
    }

    fn settings(min_broken_count: u32) -> LinksSettings {
        LinksSettings {
            min_broken_count: NonZeroU32::new(min_broken_count).expect("positive"),
            ..LinksSettings::default()
        }
    }

    #[test]
    fn an_issue_needs_as_many_broken_links_as_the_threshold() {
        for (statuses, threshold, summary) in [
            (&[][..], 1, "no broken links on 3 pages"),
            (&[404], 2, "1 broken link on 3 pages"),
            (
                &[404],
                1,
                "1 broken link on 3 pages, such as https://example.com/0 (HTTP 404 Not Found)",
            ),
            (
                &[403, 500, 404, 0],
                4,
                "4 broken links on 3 pages, such as https://example.com/3 (no answer)",
            ),
        ] {
            let result = crawl(FinishReason::Completed, statuses);
            let evaluation = links(&result, &settings(threshold)).expect("representative");
            assert_eq!(evaluation.fingerprint, Fingerprint::BrokenLinksThreshold);
            assert_eq!(evaluation.summary, summary);
            assert!(evaluation.has_past(), "{summary}");
            let down = statuses.len() as u32 >= threshold;
            assert_eq!(evaluation.outcome, Outcome::of(down), "{summary}");
        }
    }

    #[test]
    fn a_crawl_that_saw_too_little_can_only_accuse() {
        use FinishReason as Reason;
        for (reason, representative) in [
            (Reason::Deadline, false),
            (Reason::Unreachable, false),
            (Reason::RedirectedAway, false),
            (Reason::RobotsDisallowed, false),
            (Reason::NotHtml, false),
            (Reason::PageLimit, true),
            (Reason::LinkLimit, true),
            (Reason::DepthLimit, true),
            (Reason::Completed, true),
        ] {
            let result = crawl(reason, &[404, 404]);
            assert_eq!(links(&result, &settings(3)).is_some(), representative, "{reason:?}");
            let evaluation = links(&result, &settings(2)).expect("reached");
            assert_eq!(evaluation.outcome, Outcome::Down, "{reason:?}");
        }
    }

    #[test]
    fn the_context_names_the_gravest() {
        let result = crawl(FinishReason::Completed, &[403, 500, 404, 0, 410, 308, 503]);
        let evaluation = links(&result, &settings(5)).expect("representative");
        assert_eq!(evaluation.outcome, Outcome::Down);
        assert!(evaluation.summary.starts_with("7 broken links"), "{}", evaluation.summary);
        let statuses: Vec<_> = evaluation.measured["urls"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|link| link["status"].as_u64().expect("a number"))
            .collect();
        assert_eq!(statuses, [0, 404, 410, 500, 503]);
        assert_eq!(evaluation.measured["found"], 7);
        assert_eq!(evaluation.measured["crawled"], 3);
        assert_eq!(evaluation.measured["min_broken_count"], 5);
        assert_eq!(evaluation.measured["finish_reason"], "completed");
    }

    #[test]
    fn long_urls_are_cut() {
        let mut result = crawl(FinishReason::Completed, &[404; 9]);
        for link in &mut result.urls {
            link.url = "ü".repeat(2_000);
            link.source = "é".repeat(2_000);
        }
        let evaluation = links(&result, &settings(1)).expect("representative");
        assert!(evaluation.summary.chars().count() < 300);
        assert!(evaluation.measured.to_string().len() < 6_000);
    }
}
