use vedette_domain::check::{Finish, ToolResult};
use vedette_domain::settings::Settings;
use vedette_domain::site::Site;
use vedette_domain::tool::Tool;
use vedette_probe::guard::{Guard, GuardError, Outbound};
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

    /// Runs a tool on a site; none where the tool has no engine ([`vedette_probe::TOOLS`]).
    pub(crate) async fn run(&self, tool: Tool, site: &Site, settings: &Settings) -> Option<Finish> {
        match tool {
            Tool::Status => Some(self.status(site, settings).await),
            Tool::Ssl | Tool::Dns | Tool::BrokenLinks | Tool::Performance => None,
        }
    }

    async fn status(&self, site: &Site, settings: &Settings) -> Finish {
        let url = site.url.to_url();
        let header = settings.request_header.pair();
        let probe = StatusProbe { url: &url, header, deadline: status::DEADLINE };
        match status::probe(&self.guard, &probe).await {
            Ok(mut result) => {
                // The engine spells a bare host with a slash; the API does not.
                result.url = site.url.as_str().to_owned();
                if !result.redirected {
                    result.effective_url.clone_from(&result.url);
                }
                Finish::Completed(ToolResult::Status(result))
            }
            Err(error) => Finish::Failed(error),
        }
    }
}
