//! The result of a crawl.

use std::time::Duration;

use vedette_domain::checks::check::{
    Crawl as Facts, CrawlLimits, FinishReason, LinksResult, SkippedLinks,
};

use super::frontier::State;
use super::{Crawl, LinksProbe};

impl Crawl<'_> {
    /// The result after `elapsed`; `in_time` says whether the crawl finished.
    pub(super) fn result(
        &self,
        probe: &LinksProbe<'_>,
        elapsed: Duration,
        in_time: bool,
    ) -> LinksResult {
        let progress = self.frontier.progress;
        let facts = Facts {
            finish_reason: self.finish_reason(in_time),
            limits: CrawlLimits {
                pages: probe.limits.pages,
                links: probe.limits.links,
                depth: probe.limits.depth,
                links_per_domain: probe.limits.links_per_domain,
                seconds: probe.deadline.as_secs().try_into().unwrap_or(u32::MAX),
            },
            duration_ms: elapsed.as_millis().try_into().unwrap_or(u64::MAX),
            js_rendered: probe.browser.is_some(),
            pages: progress.pages,
            links: progress.links,
            skipped: SkippedLinks { partly_read: self.partly_read, ..self.frontier.skipped() },
            traps: self.frontier.trapped,
            robots_txt: self.robots_txt,
            sitemap_urls: self.sitemap_urls,
            // Set when lists are cut.
            truncated: false,
        };
        LinksResult::new(facts, self.frontier.broken())
    }

    fn finish_reason(&self, in_time: bool) -> FinishReason {
        if self.frontier.progress.pages == 0 {
            if let Some(reason) = self.entry_failure {
                return reason;
            }
            match self.frontier.state(self.entry) {
                State::DisallowedByRobots => return FinishReason::RobotsDisallowed,
                State::OverLimit | State::RateLimited | State::Forbidden | State::Unchecked => {
                    return FinishReason::Unreachable;
                }
                // A redirect target whose extension is not a page's.
                State::Answered(200, _) => return FinishReason::NotHtml,
                State::Answered(..) => return FinishReason::Unreachable,
                State::Waiting | State::InFlight => {}
            }
        }
        let limits_hit = self.frontier.limits_hit;
        if !in_time {
            FinishReason::Deadline
        } else if limits_hit.pages {
            FinishReason::PageLimit
        } else if limits_hit.links {
            FinishReason::LinkLimit
        } else if limits_hit.depth {
            FinishReason::DepthLimit
        } else {
            FinishReason::Completed
        }
    }
}
