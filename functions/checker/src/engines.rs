//! The check engines, and what a run looks at with them.

use std::sync::Arc;

use jiff::Timestamp;
use url::Url;
use vedette_domain::check::{
    CheckError, DnsResult, Finish, LinksResult, PerformanceResult, SslResult, StatusResult,
    ToolResult,
};
use vedette_domain::settings::Settings;
use vedette_domain::site_url::SiteUrl;
use vedette_domain::tool::Tool;
use vedette_probe::browser::{BROWSER_UNAVAILABLE, Chromium};
use vedette_probe::connectivity::Connectivity;
use vedette_probe::dns::{self, DnsProbe, Resolvers};
use vedette_probe::guard::{Guard, GuardError, Outbound, RESOLVER_UNAVAILABLE};
use vedette_probe::links::{self, CrawlLimiter, LinksProbe, Progress};
use vedette_probe::performance::{self, AUDITOR_UNAVAILABLE, Auditor, PerformanceProbe};
use vedette_probe::ssl::{self, SslProbe};
use vedette_probe::status::{self, StatusProbe};

use crate::EngineConfig;
use crate::unsaved::UnsavedRuns;

/// The check engines, behind one guard. Costly to make; one a process.
pub struct Engines {
    guard: Guard,
    resolvers: Option<Arc<Resolvers>>,
    /// Without resolvers, every failure is the target's.
    connectivity: Option<Connectivity>,
    limiter: CrawlLimiter,
    browser: Option<Chromium>,
    auditor: Option<Auditor>,
    /// What they found and could not be saved yet.
    pub(crate) unsaved: UnsavedRuns,
}

/// What a run looks at, and how.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The monitored URL.
    pub url: &'a SiteUrl,
    /// Whether a crawl renders pages with a browser.
    pub js_rendered: bool,
    /// The settings of the site.
    pub settings: &'a Settings,
}

impl Subject<'_> {
    /// The page that is set, or else the root of the site.
    fn audited_page(&self) -> Url {
        let page = &self.settings.tools.performance.settings.url;
        // A page that was accepted as a URL is one.
        let page = page.as_deref().and_then(|page| Url::parse(page).ok());
        page.unwrap_or_else(|| self.url.root())
    }
}

impl Engines {
    /// Engines that may reach what `outbound` says.
    ///
    /// # Errors
    ///
    /// When the machine's resolver or a trust anchor cannot be read.
    pub fn new(outbound: Outbound, config: EngineConfig) -> Result<Self, GuardError> {
        Ok(Self::behind(Guard::new(outbound)?, config))
    }

    /// Engines behind this guard.
    pub fn behind(guard: Guard, config: EngineConfig) -> Self {
        let EngineConfig { doh, rdap, browser, auditor } = config;
        let resolvers = doh.map(|doh| Arc::new(Resolvers::new(&doh, rdap)));
        let connectivity = resolvers.clone().map(Connectivity::new);
        let (limiter, unsaved) = (CrawlLimiter::default(), UnsavedRuns::default());
        Self { guard, resolvers, connectivity, limiter, browser, auditor, unsaved }
    }

    /// Runs a tool. A crawl says how far it is.
    pub async fn run(
        &self,
        tool: Tool,
        subject: Subject<'_>,
        now: Timestamp,
        progress: impl Fn(Progress),
    ) -> Finish {
        let ran = match tool {
            Tool::Status => self.status(subject).await.map(ToolResult::Status),
            // Thousands of status checks wait at a time: none of them holds memory for the other tools.
            Tool::Ssl => Box::pin(self.ssl(subject, now)).await.map(ToolResult::Ssl),
            Tool::Dns => Box::pin(self.dns(subject, now)).await.map(ToolResult::Dns),
            Tool::BrokenLinks => {
                Box::pin(self.links(subject, progress)).await.map(ToolResult::BrokenLinks)
            }
            Tool::Performance => {
                Box::pin(self.performance(subject)).await.map(ToolResult::Performance)
            }
        };
        if let Some(connectivity) = &self.connectivity {
            connectivity.look_again(&self.guard).await;
        }
        match ran {
            Ok(result) => Finish::Completed(result),
            Err(error) => Finish::Failed(error),
        }
    }

    async fn status(&self, subject: Subject<'_>) -> Result<StatusResult, CheckError> {
        let url = subject.url.to_url();
        let header = subject.settings.request_header.pair();
        let connectivity = self.connectivity.as_ref();
        let probe = StatusProbe { url: &url, header, deadline: status::DEADLINE, connectivity };
        let mut result = status::probe(&self.guard, &probe).await?;
        // The engine spells a bare host with a slash; the API does not.
        result.url = subject.url.as_str().to_owned();
        if !result.redirected {
            result.effective_url.clone_from(&result.url);
        }
        Ok(result)
    }

    async fn ssl(
        &self,
        subject: Subject<'_>,
        now: Timestamp,
    ) -> Result<Box<SslResult>, CheckError> {
        let url = subject.url.to_url();
        let connectivity = self.connectivity.as_ref();
        let probe = SslProbe { url: &url, deadline: ssl::DEADLINE, now, connectivity };
        ssl::probe(&self.guard, &probe).await.map(Box::new)
    }

    async fn dns(
        &self,
        subject: Subject<'_>,
        now: Timestamp,
    ) -> Result<Box<DnsResult>, CheckError> {
        let url = subject.url.to_url();
        let Some(resolvers) = &self.resolvers else {
            return Err(missing("no resolver is to be asked here", RESOLVER_UNAVAILABLE));
        };
        let probe = DnsProbe { url: &url, deadline: dns::DEADLINE, now };
        dns::probe(&self.guard, resolvers, &probe).await.map(Box::new)
    }

    async fn links(
        &self,
        subject: Subject<'_>,
        progress: impl Fn(Progress),
    ) -> Result<LinksResult, CheckError> {
        let url = subject.url.to_url();
        let settings = &subject.settings.tools.broken_links.settings;
        let browser = match &self.browser {
            None if subject.js_rendered => {
                return Err(missing("no browser is installed here", BROWSER_UNAVAILABLE));
            }
            browser => browser.as_ref().filter(|_| subject.js_rendered),
        };
        let probe = LinksProbe {
            url: &url,
            header: subject.settings.request_header.pair(),
            settings,
            browser,
            limits: links::Limits::default(),
            deadline: links::DEADLINE,
            connectivity: self.connectivity.as_ref(),
        };
        links::probe(&self.guard, &self.limiter, &probe, progress).await
    }

    async fn performance(
        &self,
        subject: Subject<'_>,
    ) -> Result<Box<PerformanceResult>, CheckError> {
        let Some(auditor) = &self.auditor else {
            return Err(missing("no auditor is installed here", AUDITOR_UNAVAILABLE));
        };
        let url = subject.audited_page();
        let probe = PerformanceProbe {
            url: &url,
            header: subject.settings.request_header.pair(),
            deadline: performance::DEADLINE,
        };
        performance::probe(&self.guard, auditor, &probe).await.map(Box::new)
    }
}

/// A part that this machine does not have.
fn missing(message: &str, code: &str) -> CheckError {
    let data = serde_json::json!({});
    CheckError { message: message.to_owned(), code: code.to_owned(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audited_page_is_the_one_that_is_set_or_the_root_of_the_site() {
        let url = SiteUrl::parse("https://example.com:8443/shop?a=1").expect("a URL");
        let mut settings = Settings::default();
        let page = |settings: &Settings| {
            Subject { url: &url, js_rendered: false, settings }.audited_page().to_string()
        };
        assert_eq!(page(&settings), "https://example.com:8443/");
        settings.tools.performance.settings.url = Some("https://example.com/cart".to_owned());
        assert_eq!(page(&settings), "https://example.com/cart");
    }
}
