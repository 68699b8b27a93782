use jiff::Timestamp;
use vedette_domain::check::{CheckError, Finish, SslResult, StatusResult, ToolResult};
use vedette_domain::settings::Settings;
use vedette_domain::site::Site;
use vedette_domain::tool::Tool;
use vedette_probe::guard::{Guard, GuardError, Outbound};
use vedette_probe::ssl::{self, SslProbe};
use vedette_probe::status::{self, StatusProbe};

/// The check engines, behind one guard.
pub struct Engines {
    guard: Guard,
}

impl Engines {
    /// Engines that may reach what `outbound` says.
    ///
    /// # Errors
    ///
    /// When the machine's resolver or a trust anchor cannot be read.
    pub fn new(outbound: Outbound) -> Result<Self, GuardError> {
        Ok(Self { guard: Guard::new(outbound)? })
    }

    /// Runs a tool on a site.
    pub async fn run(
        &self,
        tool: Tool,
        site: &Site,
        settings: &Settings,
        now: Timestamp,
    ) -> Finish {
        let ran = match tool {
            Tool::Status => self.status(site, settings).await.map(ToolResult::Status),
            Tool::Ssl => self.ssl(site, now).await.map(ToolResult::Ssl),
            Tool::Dns | Tool::BrokenLinks | Tool::Performance => return Finish::Skipped,
        };
        match ran {
            Ok(result) => Finish::Completed(result),
            Err(error) => Finish::Failed(error),
        }
    }

    async fn status(&self, site: &Site, settings: &Settings) -> Result<StatusResult, CheckError> {
        let url = site.url.to_url();
        let header = settings.request_header.pair();
        let probe = StatusProbe { url: &url, header, deadline: status::DEADLINE };
        let mut result = status::probe(&self.guard, &probe).await?;
        // The engine spells a bare host with a slash; the API does not.
        result.url = site.url.as_str().to_owned();
        if !result.redirected {
            result.effective_url.clone_from(&result.url);
        }
        Ok(result)
    }

    async fn ssl(&self, site: &Site, now: Timestamp) -> Result<Box<SslResult>, CheckError> {
        let url = site.url.to_url();
        let probe = SslProbe { url: &url, deadline: ssl::DEADLINE, now };
        ssl::probe(&self.guard, &probe).await.map(Box::new)
    }
}
