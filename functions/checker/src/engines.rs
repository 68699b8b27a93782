//! The engines of all tools, and what a run checks with them.

use std::pin::pin;
use std::sync::Arc;

use jiff::Timestamp;
use url::Url;
use vedette_domain::checks::browser_job::{BrowserAnswer, BrowserJob, BrowserWork, JobHeader};
use vedette_domain::checks::check::{
    CheckError, DnsResult, Finish, LinksResult, PerformanceResult, SslResult, StatusResult,
    ToolResult,
};
use vedette_domain::checks::evidence::Evidence;
use vedette_domain::checks::tool::Tool;
use vedette_domain::expectations::{Expectations, PostRequest};
use vedette_domain::id::TeamId;
use vedette_domain::sites::settings::{LinksSettings, Settings};
use vedette_domain::sites::site_url::SiteUrl;
use vedette_probe::browser::{BROWSER_UNAVAILABLE, Chromium};
use vedette_probe::connectivity::Connectivity;
use vedette_probe::dns::{self, DnsProbe, Resolvers};
use vedette_probe::links::{self, CrawlLimiter, LinksProbe, Progress};
use vedette_probe::performance::{self, AUDITOR_UNAVAILABLE, Auditor, PerformanceProbe};
use vedette_probe::ssl::{self, SslProbe};
use vedette_probe::ssrf_guard::{Outbound, RESOLVER_UNAVAILABLE, SsrfGuard, SsrfGuardError};
use vedette_probe::status::{self, Consent, Expected, POST_NOT_PROVEN, StatusPost, StatusProbe};
use vedette_runtime::uninterrupted;

use crate::EngineConfig;
use crate::browser_function::{BrowserFunction, BrowserUnavailable};
use crate::unsaved::UnsavedRuns;

/// [`CheckError::code`] when this process was stopped, or its machine suspended, during the check.
const INTERRUPTED: &str = "interrupted";

/// What an engine found.
#[derive(Debug)]
pub struct Probed {
    /// How the run ends.
    pub finish: Finish,
    /// The evidence of a status check.
    pub evidence: Option<Box<Evidence>>,
}

impl From<Finish> for Probed {
    fn from(finish: Finish) -> Self {
        Self { finish, evidence: None }
    }
}

/// Runs the engine of a tool. The tool's name selects its result, so no engine can answer for another tool.
macro_rules! run {
    ($tool:ident { $($name:ident => $engine:expr,)+ }) => {
        match $tool {
            $(Tool::$name => $engine.await.map(ToolResult::$name),)+
            // A heartbeat is never probed: its job reports.
            Tool::Heartbeat => return Ok(Finish::Skipped.into()),
        }
    };
}

/// The engines behind one SSRF guard. Expensive to create; a process has one.
pub struct Engines {
    pub(crate) guard: SsrfGuard,
    resolvers: Option<Arc<Resolvers>>,
    /// Without resolvers, every failure counts as the target's.
    pub(crate) connectivity: Option<Connectivity>,
    limiter: CrawlLimiter,
    browser: Option<Chromium>,
    auditor: Option<Auditor>,
    /// Runs the jobs that need a browser, if that is in a function of its own.
    browser_function: Option<BrowserFunction>,
    /// Finished runs that could not be saved yet.
    pub(crate) unsaved: UnsavedRuns,
}

/// What a run checks, and how.
#[derive(Clone, Copy)]
pub struct ProbeInput<'a> {
    /// The team that shares limits with others; `None` outside a service.
    pub team: Option<TeamId>,
    /// The monitored URL.
    pub url: &'a SiteUrl,
    /// Whether a crawl renders pages with a browser.
    pub js_rendered: bool,
    /// The settings of the site.
    pub settings: &'a Settings,
    /// What status checks expect of the site.
    pub expectations: &'a Expectations,
    /// Who decides about the POST of a status check; without it, none is sent.
    pub consent: Option<&'a dyn Consent>,
}

impl ProbeInput<'_> {
    /// The page from the settings, or else the root of the site.
    fn audited_page(&self) -> Url {
        let page = &self.settings.tools.performance.settings.url;
        // A page in the settings was accepted as a URL, so this parses.
        let page = page.as_deref().and_then(|page| Url::parse(page).ok());
        page.unwrap_or_else(|| self.url.root())
    }

    /// The browser job of a tool.
    fn job(&self, tool: Tool) -> Option<BrowserJob> {
        let (url, work) = match tool {
            Tool::BrokenLinks if self.js_rendered => {
                (self.url.to_url(), (&self.settings.tools.broken_links.settings).into())
            }
            Tool::Performance => (self.audited_page(), BrowserWork::Audit),
            Tool::Status | Tool::Ssl | Tool::Dns | Tool::BrokenLinks | Tool::Heartbeat => {
                return None;
            }
        };
        let header = self.settings.request_header.pair().map(JobHeader::from);
        Some(BrowserJob { url, header, work })
    }
}

impl Engines {
    /// Engines that may reach what `outbound` allows.
    ///
    /// # Errors
    ///
    /// When the machine's resolver or a trust anchor cannot be read.
    pub fn new(outbound: Outbound, config: EngineConfig) -> Result<Self, SsrfGuardError> {
        Ok(Self::behind(SsrfGuard::new(outbound)?, config))
    }

    /// Engines behind this guard.
    pub fn behind(guard: SsrfGuard, config: EngineConfig) -> Self {
        let EngineConfig { doh, rdap, browser, auditor, browser_function: _ } = config;
        let resolvers = doh.map(|doh| Arc::new(Resolvers::new(&doh, rdap)));
        let connectivity = resolvers.clone().map(Connectivity::new);
        let (limiter, unsaved) = (CrawlLimiter::default(), UnsavedRuns::default());
        let browser_function = None;
        Self {
            guard,
            resolvers,
            connectivity,
            limiter,
            browser,
            auditor,
            browser_function,
            unsaved,
        }
    }

    /// The same, with a function for jobs that need a browser.
    #[must_use]
    pub fn with_browser_function(self, function: BrowserFunction) -> Self {
        Self { browser_function: Some(function), ..self }
    }

    /// Runs a tool. A crawl reports its progress. What is found by a process that did not run for a while says nothing
    /// about the target, so the tool runs once more, unless it may have sent a POST.
    ///
    /// # Errors
    ///
    /// When a browser function was to run it, and it is unknown whether it did.
    pub async fn run(
        &self,
        tool: Tool,
        subject: ProbeInput<'_>,
        now: Timestamp,
        progress: impl Fn(Progress),
    ) -> Result<Probed, BrowserUnavailable> {
        let runs = if subject.consent.is_some() { 1 } else { 2 };
        for _ in 0..runs {
            let found = uninterrupted(pin!(self.run_once(tool, subject, now, &progress))).await;
            if let Some(found) = found {
                return found;
            }
        }
        let message = "the process did not run for a while during the check";
        Ok(Finish::Failed(without_data(message, INTERRUPTED)).into())
    }

    async fn run_once(
        &self,
        tool: Tool,
        subject: ProbeInput<'_>,
        now: Timestamp,
        progress: &impl Fn(Progress),
    ) -> Result<Probed, BrowserUnavailable> {
        // If PageSpeed Insights is configured, it runs the audits, not the browser function.
        if let Some(function) = &self.browser_function
            && (tool != Tool::Performance || self.auditor.is_none())
            && let Some(job) = subject.job(tool)
        {
            return Box::pin(function.run(&job, now)).await.map(Probed::from);
        }
        let mut evidence = None;
        let ran = run!(tool {
            Status => self.status(subject, &mut evidence),
            // Thousands of status checks wait at a time. Boxing the other tools keeps their memory out of those.
            Ssl => Box::pin(self.ssl(subject, now)),
            Dns => Box::pin(self.dns(subject, now)),
            BrokenLinks => Box::pin(self.links(subject, now, progress)),
            Performance => Box::pin(self.performance(subject)),
        });
        if let Some(connectivity) = &self.connectivity {
            connectivity.look_again(&self.guard).await;
        }
        let finish = match ran {
            Ok(result) => Finish::Completed(result),
            Err(error) => Finish::Failed(error),
        };
        Ok(Probed { finish, evidence })
    }

    /// Whether this machine was connected to the internet when Vedette last looked; `None` if that is unknown.
    pub fn is_connected(&self) -> Option<bool> {
        self.connectivity.as_ref()?.last()
    }

    /// Runs a job that another process has passed on.
    pub async fn do_job(&self, job: &BrowserJob, now: Timestamp) -> BrowserAnswer {
        let header = job.header.as_ref().map(JobHeader::pair);
        let done = match &job.work {
            BrowserWork::Crawl { ignore_paths, ignore_external_links, ignore_redirects } => {
                let settings = LinksSettings {
                    ignore_paths: ignore_paths.clone(),
                    ignore_external_links: *ignore_external_links,
                    ignore_redirects: *ignore_redirects,
                    ..LinksSettings::default()
                };
                let crawl = CrawlOf { team: None, url: &job.url, header, settings: &settings };
                Box::pin(self.rendered(crawl, now, drop)).await.map(BrowserAnswer::Crawled)
            }
            BrowserWork::Audit => {
                Box::pin(self.audit(&job.url, header)).await.map(BrowserAnswer::Audited)
            }
        };
        done.unwrap_or_else(BrowserAnswer::Failed)
    }

    async fn status(
        &self,
        subject: ProbeInput<'_>,
        evidence: &mut Option<Box<Evidence>>,
    ) -> Result<StatusResult, CheckError> {
        let url = subject.url.to_url();
        let header = subject.settings.request_header.pair();
        let connectivity = self.connectivity.as_ref();
        let incident_codes = &subject.settings.tools.status.settings.incident_status_codes;
        let expected = Expected { expectations: subject.expectations, incident_codes };
        let post = match (&subject.expectations.post, subject.consent) {
            (None, _) => None,
            (Some(PostRequest { content_type, body }), Some(consent)) => {
                Some(StatusPost { content_type, body, consent })
            }
            (Some(_), None) => {
                return Err(without_data("nobody agrees to the POST", POST_NOT_PROVEN));
            }
        };
        let probe = StatusProbe {
            url: &url,
            method: subject.expectations.method,
            post,
            header,
            deadline: status::DEADLINE,
            connectivity,
            expected: Some(expected),
        };
        let (mut result, seen) = status::probe_with_evidence(&self.guard, &probe).await?;
        *evidence = Some(Box::new(seen));
        // The engine writes a bare host with a slash; the API does not.
        result.url = subject.url.as_str().to_owned();
        if !result.redirected {
            result.effective_url.clone_from(&result.url);
        }
        Ok(result)
    }

    async fn ssl(
        &self,
        subject: ProbeInput<'_>,
        now: Timestamp,
    ) -> Result<Box<SslResult>, CheckError> {
        let url = subject.url.to_url();
        let connectivity = self.connectivity.as_ref();
        let port = subject.settings.tools.ssl.settings.port();
        let probe = SslProbe { url: &url, port, deadline: ssl::DEADLINE, now, connectivity };
        ssl::probe(&self.guard, &probe).await.map(Box::new)
    }

    async fn dns(
        &self,
        subject: ProbeInput<'_>,
        now: Timestamp,
    ) -> Result<Box<DnsResult>, CheckError> {
        let url = subject.url.to_url();
        let Some(resolvers) = &self.resolvers else {
            return Err(without_data("no resolver is configured here", RESOLVER_UNAVAILABLE));
        };
        let probe = DnsProbe { url: &url, deadline: dns::DEADLINE, now };
        dns::probe(&self.guard, resolvers, &probe).await.map(Box::new)
    }

    async fn links(
        &self,
        subject: ProbeInput<'_>,
        now: Timestamp,
        progress: impl Fn(Progress),
    ) -> Result<LinksResult, CheckError> {
        let url = &subject.url.to_url();
        let header = subject.settings.request_header.pair();
        let settings = &subject.settings.tools.broken_links.settings;
        let crawl = CrawlOf { team: subject.team, url, header, settings };
        if subject.js_rendered {
            self.rendered(crawl, now, progress).await
        } else {
            self.crawl(crawl, None, now, progress).await
        }
    }

    /// A crawl that renders pages in a browser.
    async fn rendered(
        &self,
        crawl: CrawlOf<'_>,
        now: Timestamp,
        progress: impl Fn(Progress),
    ) -> Result<LinksResult, CheckError> {
        let browser = self.browser.as_ref();
        let browser = browser
            .ok_or_else(|| without_data("no browser is installed here", BROWSER_UNAVAILABLE))?;
        self.crawl(crawl, Some(browser), now, progress).await
    }

    async fn crawl(
        &self,
        CrawlOf { team, url, header, settings }: CrawlOf<'_>,
        browser: Option<&Chromium>,
        now: Timestamp,
        progress: impl Fn(Progress),
    ) -> Result<LinksResult, CheckError> {
        let probe = LinksProbe {
            url,
            header,
            settings,
            browser,
            limits: links::CrawlBounds::default(),
            deadline: links::DEADLINE,
            connectivity: self.connectivity.as_ref(),
            now,
        };
        links::probe(&self.guard, &self.limiter.of_team(team), &probe, progress).await
    }

    async fn performance(
        &self,
        subject: ProbeInput<'_>,
    ) -> Result<Box<PerformanceResult>, CheckError> {
        self.audit(&subject.audited_page(), subject.settings.request_header.pair()).await
    }

    async fn audit(
        &self,
        url: &Url,
        header: Option<(&str, &str)>,
    ) -> Result<Box<PerformanceResult>, CheckError> {
        let Some(auditor) = &self.auditor else {
            return Err(without_data("no auditor is installed here", AUDITOR_UNAVAILABLE));
        };
        let probe = PerformanceProbe { url, header, deadline: performance::DEADLINE };
        performance::probe(&self.guard, auditor, &probe).await.map(Box::new)
    }
}

/// What to crawl. Not `Debug`: the header's value is a secret.
#[derive(Clone, Copy)]
struct CrawlOf<'a> {
    team: Option<TeamId>,
    url: &'a Url,
    header: Option<(&'a str, &'a str)>,
    settings: &'a LinksSettings,
}

fn without_data(message: &str, code: &str) -> CheckError {
    let data = serde_json::json!({});
    CheckError { message: message.to_owned(), code: code.to_owned(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audited_page_is_the_one_that_is_set_or_the_root_of_the_site() {
        let url = SiteUrl::parse("https://example.com:8443/shop?a=1").expect("a URL");
        let (mut settings, none) = (Settings::default(), Expectations::default());
        let page = |settings: &Settings| {
            let (js_rendered, consent) = (false, None);
            let subject = ProbeInput {
                team: None,
                url: &url,
                js_rendered,
                settings,
                expectations: &none,
                consent,
            };
            subject.audited_page().to_string()
        };
        assert_eq!(page(&settings), "https://example.com:8443/");
        settings.tools.performance.settings.url = Some("https://example.com/cart".to_owned());
        assert_eq!(page(&settings), "https://example.com/cart");
    }

    #[test]
    fn a_browser_is_handed_audits_and_crawls_that_render() {
        let url = SiteUrl::parse("https://example.com/shop").expect("a URL");
        let (mut settings, none) = (Settings::default(), Expectations::default());
        settings.request_header.name = Some("Authorization".to_owned());
        settings.request_header.value = Some("Bearer of the site".to_owned());
        settings.tools.broken_links.settings.ignore_redirects = true;
        for js_rendered in [false, true] {
            let (url, settings, consent) = (&url, &settings, None);
            let subject =
                ProbeInput { team: None, url, js_rendered, settings, expectations: &none, consent };
            for tool in Tool::ALL {
                let job = subject.job(tool);
                let needs = tool == Tool::Performance || (tool == Tool::BrokenLinks && js_rendered);
                assert_eq!(job.is_some(), needs, "{tool} {js_rendered}");
                let Some(job) = job else { continue };
                let pair = job.header.as_ref().map(JobHeader::pair);
                assert_eq!((job.tool(), pair), (tool, settings.request_header.pair()));
                let is_crawl =
                    matches!(job.work, BrowserWork::Crawl { ignore_redirects: true, .. });
                assert_eq!(is_crawl, tool == Tool::BrokenLinks);
                let path = if is_crawl { "/shop" } else { "/" };
                assert_eq!(job.url.path(), path);
            }
        }
    }
}
