//! The jobs of a browser in a process of its own, and the answers that it may give.
//!
//! That process has no access to the table: it gets one job, and a checker saves its answer. Chromium has no sandbox
//! there, so an attacker who breaks out of a page can return any answer. An answer is therefore validated like data
//! from a stranger: by its kind, its size and its figures.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::checks::check::{
    CheckError, CoreWebVitals, Finish, LinksResult, PerformanceResult, ToolResult,
};
use crate::checks::tool::Tool;
use crate::sites::settings::LinksSettings;

/// The largest result of an audit, in bytes of JSON. Texts and lists of a report are cut, so a real result takes up a
/// fifth of this.
pub(crate) const AUDIT_BYTES_MAX: usize = 128 * 1024;

/// The largest error of a job, in bytes of JSON.
pub(crate) const ERROR_BYTES_MAX: usize = 4 * 1024;

/// The largest figure in an audit, in any unit: eleven days in milliseconds.
const FIGURE_MAX: f64 = 1e9;

/// One crawl or one audit, with everything that it needs and nothing else: no id of a team or site, and no secret
/// except the header that is sent to the site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserJob {
    /// Where the crawl starts, or the page to audit.
    pub url: Url,
    /// The header that is sent to the URL's host.
    pub header: Option<JobHeader>,
    /// What to do.
    pub work: BrowserWork,
}

/// A request header; its value is a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobHeader {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The work of a browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrowserWork {
    /// Crawls the site, and renders its pages before reading their links.
    Crawl {
        /// Path patterns left out.
        ignore_paths: BTreeSet<String>,
        /// Whether links outside of the site's host are left out.
        ignore_external_links: bool,
        /// Whether redirect responses are left out.
        ignore_redirects: bool,
    },
    /// Audits the page.
    Audit,
}

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrowserAnswer {
    /// What the crawl found.
    Crawled(LinksResult),
    /// What the audit measured.
    Audited(Box<PerformanceResult>),
    /// Why the check could not run.
    Failed(CheckError),
}

/// Why an answer is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// It is not JSON, or does not have the shape of an answer.
    #[error("it is unreadable")]
    Unreadable,
    /// It belongs to another kind of work or to another page.
    #[error("it belongs to another job")]
    OtherJob,
    /// It is larger than a result can be.
    #[error("it is larger than a result can be")]
    TooLarge,
    /// Its figures are impossible, or contradict each other.
    #[error("its figures are impossible")]
    Implausible,
}

impl fmt::Debug for JobHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHeader").field("name", &self.name).finish_non_exhaustive()
    }
}

impl JobHeader {
    /// Name and value.
    pub fn pair(&self) -> (&str, &str) {
        (&self.name, &self.value)
    }
}

impl From<(&str, &str)> for JobHeader {
    fn from((name, value): (&str, &str)) -> Self {
        Self { name: name.to_owned(), value: value.to_owned() }
    }
}

impl From<&LinksSettings> for BrowserWork {
    fn from(settings: &LinksSettings) -> Self {
        Self::Crawl {
            ignore_paths: settings.ignore_paths.clone(),
            ignore_external_links: settings.ignore_external_links,
            ignore_redirects: settings.ignore_redirects,
        }
    }
}

impl BrowserJob {
    /// The tool that the job is for.
    pub const fn tool(&self) -> Tool {
        match self.work {
            BrowserWork::Crawl { .. } => Tool::BrokenLinks,
            BrowserWork::Audit => Tool::Performance,
        }
    }

    /// The outcome of the check that an answer belongs to.
    ///
    /// # Errors
    ///
    /// When this answer is not possible for the job.
    pub fn finish(&self, answer: &[u8]) -> Result<Finish, BadAnswer> {
        let answer = serde_json::from_slice(answer).map_err(|_| BadAnswer::Unreadable)?;
        match (&self.work, answer) {
            (BrowserWork::Crawl { .. }, BrowserAnswer::Crawled(result)) => {
                check_crawl(&result)?;
                Ok(Finish::Completed(ToolResult::BrokenLinks(result)))
            }
            (BrowserWork::Audit, BrowserAnswer::Audited(result)) => {
                if result.url != self.url.as_str() {
                    return Err(BadAnswer::OtherJob);
                }
                check_audit(&result)?;
                Ok(Finish::Completed(ToolResult::Performance(result)))
            }
            (_, BrowserAnswer::Failed(error)) => {
                check_size(&error, ERROR_BYTES_MAX)?;
                Ok(Finish::Failed(error))
            }
            (_, BrowserAnswer::Crawled(_) | BrowserAnswer::Audited(_)) => Err(BadAnswer::OtherJob),
        }
    }
}

fn check_crawl(result: &LinksResult) -> Result<(), BadAnswer> {
    if !result.is_within_limits() {
        return Err(BadAnswer::TooLarge);
    }
    let is_plausible = result.is_consistent() && result.crawl.js_rendered;
    is_plausible.then_some(()).ok_or(BadAnswer::Implausible)
}

fn check_audit(result: &PerformanceResult) -> Result<(), BadAnswer> {
    check_size(result, AUDIT_BYTES_MAX)?;
    let metrics = &result.speed_metrics;
    let CoreWebVitals { lcp, fcp, cls, tbt, ttfb, speed_index, interactive } =
        &metrics.core_web_vitals;
    let vitals = [lcp, fcp, cls, tbt, ttfb, speed_index, interactive];
    let vitals = vitals.into_iter().flat_map(|metric| [metric.value, metric.score]).flatten();
    let savings = metrics.opportunities.iter();
    let savings = savings.flat_map(|found| [Some(found.score), found.savings.ms]).flatten();
    let can_be = |figure: f64| figure.abs() <= FIGURE_MAX;
    let is_plausible = vitals.chain(savings).all(can_be)
        && (0.0..=FIGURE_MAX).contains(&result.response_time)
        && metrics.performance_score.is_none_or(|score| score <= 100)
        // An audit in a browser of our own has no field data.
        && metrics.real_user_metrics.is_none()
        && metrics.origin_metrics.is_none();
    is_plausible.then_some(()).ok_or(BadAnswer::Implausible)
}

fn check_size(value: &impl Serialize, limit: usize) -> Result<(), BadAnswer> {
    let bytes = serde_json::to_vec(value).map_err(|_| BadAnswer::Implausible)?;
    if bytes.len() > limit { Err(BadAnswer::TooLarge) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::checks::check::{
        BrokenLink, Crawl, CrawlLimits, FinishReason, MAX_URL_BYTES, MAX_URLS, SkippedLinks,
        SpeedMetrics,
    };

    const PAGE: &str = "https://example.com/cart";

    fn job(work: BrowserWork) -> BrowserJob {
        let header = Some(JobHeader::from(("Authorization", "Bearer secret")));
        BrowserJob { url: PAGE.parse().expect("a URL"), header, work }
    }

    fn crawl() -> BrowserJob {
        job((&LinksSettings::default()).into())
    }

    fn crawled(urls: Vec<BrokenLink>) -> LinksResult {
        let crawl = Crawl {
            finish_reason: FinishReason::Completed,
            limits: CrawlLimits {
                pages: 5_000,
                links: 75_000,
                depth: 20,
                links_per_domain: 500,
                seconds: 240,
            },
            duration_ms: 2_000,
            js_rendered: true,
            pages: 3,
            links: 9,
            skipped: SkippedLinks::default(),
            traps: 0,
            robots_txt: false,
            sitemap_urls: 0,
            truncated: false,
        };
        LinksResult { found: u32::try_from(urls.len()).expect("few"), crawled: 3, urls, crawl }
    }

    fn broken(length: usize) -> BrokenLink {
        BrokenLink { url: "x".repeat(length), source: String::new(), status: 404 }
    }

    fn audited() -> PerformanceResult {
        let speed_metrics = SpeedMetrics { performance_score: Some(93), ..SpeedMetrics::default() };
        PerformanceResult { response_time: 41.25, url: PAGE.to_owned(), speed_metrics }
    }

    fn finish(job: &BrowserJob, answer: &BrowserAnswer) -> Result<Finish, BadAnswer> {
        job.finish(&serde_json::to_vec(answer).expect("JSON"))
    }

    #[test]
    fn a_job_says_what_is_to_be_done_and_nothing_of_who_asks() {
        let settings = LinksSettings {
            ignore_paths: BTreeSet::from(["/blog".to_owned()]),
            ignore_external_links: true,
            ..LinksSettings::default()
        };
        let header = json!({ "name": "Authorization", "value": "Bearer secret" });
        let work = json!({ "crawl": {
            "ignore_paths": ["/blog"],
            "ignore_external_links": true,
            "ignore_redirects": false,
        } });
        for (job, work) in
            [(job((&settings).into()), work), (job(BrowserWork::Audit), json!("audit"))]
        {
            let written = serde_json::to_value(&job).expect("JSON");
            assert_eq!(written, json!({ "url": PAGE, "header": header, "work": work }));
            assert_eq!(serde_json::from_value::<BrowserJob>(written).expect("a job"), job);
        }
    }

    #[test]
    fn the_sample_events_are_valid_jobs() {
        let read = |sample: &str| serde_json::from_str::<BrowserJob>(sample).expect("a job").tool();
        let crawl = read(include_str!("../../../../events/browser/crawl.json"));
        let audit = read(include_str!("../../../../events/browser/audit.json"));
        assert_eq!((crawl, audit), (Tool::BrokenLinks, Tool::Performance));
    }

    #[test]
    fn the_value_of_a_header_is_not_shown() {
        let shown = format!("{:?}", job(BrowserWork::Audit));
        assert!(shown.contains("Authorization") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn a_check_ends_as_the_browser_says() {
        let result = crawled(vec![broken(10)]);
        assert_eq!(
            finish(&crawl(), &BrowserAnswer::Crawled(result.clone())),
            Ok(Finish::Completed(ToolResult::BrokenLinks(result)))
        );
        let (audit, result) = (job(BrowserWork::Audit), Box::new(audited()));
        assert_eq!(
            finish(&audit, &BrowserAnswer::Audited(result.clone())),
            Ok(Finish::Completed(ToolResult::Performance(result)))
        );
        let error = CheckError {
            message: "the audit failed".to_owned(),
            code: "audit_failed".to_owned(),
            data: json!({ "reason": "NO_FCP" }),
        };
        for job in [crawl(), audit] {
            let failed = BrowserAnswer::Failed(error.clone());
            assert_eq!(finish(&job, &failed), Ok(Finish::Failed(error.clone())));
        }
    }

    #[test]
    fn answers_that_do_not_match_the_job_are_refused() {
        let of_crawl = BrowserAnswer::Crawled(crawled(Vec::new()));
        let of_audit = BrowserAnswer::Audited(Box::new(audited()));
        let elsewhere = PerformanceResult { url: "https://example.com/".to_owned(), ..audited() };
        let of_elsewhere = BrowserAnswer::Audited(Box::new(elsewhere));
        assert_eq!(finish(&job(BrowserWork::Audit), &of_crawl), Err(BadAnswer::OtherJob));
        assert_eq!(finish(&crawl(), &of_audit), Err(BadAnswer::OtherJob));
        assert_eq!(finish(&job(BrowserWork::Audit), &of_elsewhere), Err(BadAnswer::OtherJob));
        for unreadable in ["", "null", "{}", r#"{"crawled":{}}"#, r#"{"saved":1}"#] {
            assert_eq!(crawl().finish(unreadable.as_bytes()), Err(BadAnswer::Unreadable));
        }
    }

    #[test]
    fn impossible_results_of_a_crawl_are_refused() {
        let refused = |result: LinksResult| finish(&crawl(), &BrowserAnswer::Crawled(result));
        let many = crawled(vec![broken(1); MAX_URLS]);
        assert!(refused(many.clone()).is_ok());
        let one_more = crawled(vec![broken(1); MAX_URLS + 1]);
        assert_eq!(refused(one_more), Err(BadAnswer::TooLarge));
        assert!(refused(crawled(vec![broken(MAX_URL_BYTES)])).is_ok());
        let long = crawled(vec![broken(MAX_URL_BYTES + 1)]);
        assert_eq!(refused(long), Err(BadAnswer::TooLarge));
        let unrendered = Crawl { js_rendered: false, ..many.crawl.clone() };
        let uncut = Crawl { truncated: true, ..many.crawl.clone() };
        for result in [
            LinksResult { found: 1, ..many.clone() },
            LinksResult { found: 2_000, ..many.clone() },
            LinksResult { crawled: 4, ..many.clone() },
            LinksResult { crawl: unrendered, ..many.clone() },
            LinksResult { crawl: uncut, ..many },
        ] {
            assert_eq!(refused(result), Err(BadAnswer::Implausible));
        }
    }

    #[test]
    fn impossible_results_of_an_audit_are_refused() {
        let sent = serde_json::to_value(BrowserAnswer::Audited(Box::new(audited()))).expect("JSON");
        let answered = |at: &str, value: Value| {
            let mut changed = sent.clone();
            *changed.pointer_mut(at).expect("a field") = value;
            job(BrowserWork::Audit).finish(changed.to_string().as_bytes())
        };
        let metrics = "/audited/speed_metrics";
        let score = format!("{metrics}/performance_score");
        let interactive = format!("{metrics}/core_web_vitals/interactive/value");
        assert!(answered(&score, json!(100)).is_ok() && answered(&interactive, json!(1e9)).is_ok());
        assert_eq!(answered(&score, json!(101)), Err(BadAnswer::Implausible));
        assert_eq!(answered(&interactive, json!(1e10)), Err(BadAnswer::Implausible));
        for response_time in [-1.0, 1e10] {
            let answer = answered("/audited/response_time", json!(response_time));
            assert_eq!(answer, Err(BadAnswer::Implausible), "{response_time}");
        }
        let text = "x".repeat(AUDIT_BYTES_MAX);
        let shown = format!("{metrics}/core_web_vitals/lcp/display_value");
        assert_eq!(answered(&shown, json!(text)), Err(BadAnswer::TooLarge));
    }

    #[test]
    fn a_long_error_is_refused() {
        let error = |length| CheckError {
            message: "x".repeat(length),
            code: "audit_failed".to_owned(),
            data: Value::Null,
        };
        assert!(finish(&crawl(), &BrowserAnswer::Failed(error(1_000))).is_ok());
        let long = BrowserAnswer::Failed(error(ERROR_BYTES_MAX));
        assert_eq!(finish(&crawl(), &long), Err(BadAnswer::TooLarge));
    }
}
