use jiff::Timestamp;
use vedette_domain::check::{CheckError, DnsResult, Finish, SslResult, StatusResult, ToolResult};
use vedette_domain::settings::Settings;
use vedette_domain::site_url::SiteUrl;
use vedette_domain::tool::Tool;
use vedette_probe::dns::{self, DnsProbe, Resolvers};
use vedette_probe::guard::{Guard, GuardError, Outbound};
use vedette_probe::ssl::{self, SslProbe};
use vedette_probe::status::{self, StatusProbe};
use vedette_runtime::config::EngineConfig;

/// The check engines, behind one guard. Costly to make; one a process.
pub struct Engines {
    guard: Guard,
    resolvers: Resolvers,
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

impl Engines {
    /// Engines that may reach what `outbound` says.
    ///
    /// # Errors
    ///
    /// When the machine's resolver or a trust anchor cannot be read.
    pub fn new(outbound: Outbound, config: EngineConfig) -> Result<Self, GuardError> {
        let EngineConfig { doh, rdap } = config;
        Ok(Self { guard: Guard::new(outbound)?, resolvers: Resolvers::new(&doh, rdap) })
    }

    /// Runs a tool.
    pub async fn run(&self, tool: Tool, subject: Subject<'_>, now: Timestamp) -> Finish {
        let ran = match tool {
            Tool::Status => self.status(subject).await.map(ToolResult::Status),
            Tool::Ssl => self.ssl(subject, now).await.map(ToolResult::Ssl),
            Tool::Dns => self.dns(subject).await.map(ToolResult::Dns),
            Tool::BrokenLinks | Tool::Performance => return Finish::Skipped,
        };
        match ran {
            Ok(result) => Finish::Completed(result),
            Err(error) => Finish::Failed(error),
        }
    }

    async fn status(&self, subject: Subject<'_>) -> Result<StatusResult, CheckError> {
        let url = subject.url.to_url();
        let header = subject.settings.request_header.pair();
        let probe = StatusProbe { url: &url, header, deadline: status::DEADLINE };
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
        let probe = SslProbe { url: &url, deadline: ssl::DEADLINE, now };
        ssl::probe(&self.guard, &probe).await.map(Box::new)
    }

    async fn dns(&self, subject: Subject<'_>) -> Result<Box<DnsResult>, CheckError> {
        let url = subject.url.to_url();
        let probe = DnsProbe { url: &url, deadline: dns::DEADLINE };
        dns::probe(&self.guard, &self.resolvers, &probe).await.map(Box::new)
    }
}
