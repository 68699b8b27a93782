//! Configuration from the environment, with a struct for each concern. `docs/reference/configuration.md` lists the
//! variables.

use std::str::FromStr;

use vedette_domain::accounts::team::Team;
use vedette_domain::checks::history::block::BlockVersion;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::{Need, Tool};
use vedette_domain::sites::settings::Settings;
use vedette_domain::source::TrustedProxies;
use vedette_ops::config::{ConfigError, Read, list, one, required};
use vedette_store::{DirectoryRow, TeamWithSettings};

/// How the service presents itself and keeps time.
#[derive(Debug, Clone)]
pub struct Service {
    /// Base address of all links, ending in `/api/v1`; the request's own host if it is not set.
    pub base_url: Option<String>,
    /// The address of this process, ending in `/api/v1`. If `base_url` is not set, links outside of a request lead
    /// there.
    pub own_url: Option<String>,
    /// The address of its pages for browsers on this machine, without a slash at the end. It is used if `base_url` is
    /// not set.
    pub own_pages: Option<String>,
    /// The id of the service's data folder, if it runs on one machine.
    pub id: Option<String>,
    /// The OpenID provider's name on the pages; none if there is no provider.
    pub sign_in_with: Option<String>,
    /// Requests per minute and token. A user may make a few times as many with all tokens and sessions together.
    pub throttle: u32,
    /// The length of a monitoring minute. It can only be changed if the service runs on one machine.
    pub time_scale: TimeScale,
    /// The tools that have an engine in this deployment; the others are not scheduled, and on
    /// demand they are skipped.
    pub tools: Vec<Tool>,
    /// Whether performance checks wait until somebody installs a browser on this machine. On AWS, the deployment
    /// decides whether there is one.
    pub lacks_browser: bool,
    /// How many crawls or audits may run at a time in all processes together; `None` if one process runs them all, and
    /// shares them among teams itself.
    pub concurrency: Option<usize>,
    /// The version of the blocks that checks are packed into, if they are packed. Each process reads all versions that
    /// it could write.
    pub writes_blocks: Option<BlockVersion>,
    /// Whether users may create teams.
    pub creates_teams: bool,
    /// Whether this deployment sends mail.
    pub sends_mail: bool,
    /// The proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: TrustedProxies,
}

/// Requests per minute and token, unless `VEDETTE_THROTTLE` is set.
const THROTTLE_DEFAULT: u32 = 60;

/// Whether a team may use a tool, and has enabled it.
fn is_wanted(tool: Tool, team: &Team, settings: &Settings) -> bool {
    team.plan_active && team.plan.allows(tool) && settings.tools.is_enabled(tool)
}

/// Where a Lambda function finds the rest of the deployment.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// Name of the table.
    pub table: String,
    /// URL of a queue without its name: a tool or `maintenance`.
    pub queue_url_prefix: String,
    /// The schedule group.
    pub schedule_group: String,
    /// ARN of the call with which schedules send messages: the universal target for `SendMessage`.
    pub schedule_target: String,
    /// ARN of the role that schedules send with.
    pub schedule_role: String,
    /// ARN of the queue for events that could not be delivered.
    pub schedule_dlq: String,
    /// What starts recurring runs.
    pub schedules: Schedules,
}

/// What starts recurring runs on AWS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedules {
    /// A schedule for each site and tool.
    #[default]
    Each,
    /// The polling scheduler: one schedule, which sends all runs that are due, every minute.
    Polling,
}

impl FromStr for Schedules {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "each" => Ok(Self::Each),
            "buckets" => Ok(Self::Polling),
            _ => Err("must be each or buckets"),
        }
    }
}

/// Reads the process's environment.
pub fn environment(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

impl Service {
    /// Whether a tool runs on a site with these settings: its team's plan is active and has the
    /// tool, the settings enable it, and this deployment has an engine for it.
    pub fn runs(&self, tool: Tool, team: &Team, settings: &Settings) -> bool {
        is_wanted(tool, team, settings) && self.tools.contains(&tool)
    }

    /// Whether a tool runs on a site of which only the row in its team's directory was read. Says the same as
    /// [`Service::runs`].
    pub fn runs_on(&self, tool: Tool, row: &DirectoryRow, team: &TeamWithSettings) -> bool {
        team.team.plan_active
            && row.is_enabled(tool, &team.settings, team.plan())
            && self.tools.contains(&tool)
    }

    /// Whether a tool would run on a site with these settings if this machine had the browser that it needs.
    pub fn waits_for_browser(&self, tool: Tool, team: &Team, settings: &Settings) -> bool {
        tool.definition().needs == Some(Need::Auditor)
            && self.lacks_browser
            && is_wanted(tool, team, settings)
            && !self.tools.contains(&tool)
    }

    /// Base address of links outside of a request, ending in `/api/v1`, if there is one.
    pub fn link_base(&self) -> Option<&str> {
        self.base_url.as_deref().or(self.own_url.as_deref())
    }

    /// Base address of the service's pages, without a slash at the end, if there is one.
    pub fn pages_base(&self) -> Option<&str> {
        if let (None, Some(own)) = (&self.base_url, &self.own_pages) {
            return Some(own);
        }
        self.pings_base()
    }

    /// Base address of what jobs ping, without a slash at the end, if there is one. Many programs cannot resolve the name
    /// that the service's own pages have, but a command knows only this name of the service that it asks.
    pub fn pings_base(&self) -> Option<&str> {
        let base = self.link_base().or(self.own_pages.as_deref())?.trim_end_matches('/');
        Some(base.strip_suffix("/api/v1").unwrap_or(base))
    }

    /// The variable with the sender of emails.
    pub const MAIL_FROM: &'static str = "VEDETTE_MAIL_FROM";

    /// The variable with the networks of proxies that are trusted to name the client.
    pub const TRUSTED_PROXIES: &'static str = "VEDETTE_TRUSTED_PROXIES";

    /// The variable with the OpenID provider's name.
    pub const SIGN_IN_WITH: &'static str = "VEDETTE_OIDC_LABEL";

    /// The variable that names the resolvers of DNS checks.
    pub const RESOLVERS: &'static str = "VEDETTE_DOH";

    /// Whether there are resolvers, and therefore DNS checks.
    pub fn has_resolvers(read: Read<'_>) -> bool {
        read(Self::RESOLVERS).is_none_or(|servers| servers.trim() != "none")
    }

    /// Reads how the service presents itself. Only the environment says whether there is an auditor. A process that
    /// runs the auditor has to look for it itself.
    ///
    /// # Errors
    ///
    /// The first variable that is invalid.
    pub fn read(read: Read<'_>) -> Result<Self, ConfigError> {
        let base_url = read("VEDETTE_BASE_URL");
        if base_url.as_deref().is_some_and(|url| !is_base_url(url)) {
            return Err(ConfigError {
                name: "VEDETTE_BASE_URL",
                problem: "must be an http or https URL that ends in /api/v1".to_owned(),
            });
        }
        let throttle = one(read, "VEDETTE_THROTTLE")?.unwrap_or(THROTTLE_DEFAULT);
        if throttle == 0 {
            let problem = "must be at least 1".to_owned();
            return Err(ConfigError { name: "VEDETTE_THROTTLE", problem });
        }
        let concurrency = one(read, "VEDETTE_CONCURRENCY")?;
        let writes_blocks = match read("VEDETTE_BLOCKS").as_deref() {
            None | Some("false") => None,
            Some("true") => Some(BlockVersion::One),
            Some("2") => Some(BlockVersion::Two),
            Some(_) => {
                let problem = "must be false, true or 2".to_owned();
                return Err(ConfigError { name: "VEDETTE_BLOCKS", problem });
            }
        };
        let creates_teams = one(read, "VEDETTE_CREATE_TEAMS")?.unwrap_or(false);
        let has_auditor = !matches!(AuditorKind::read(read)?, None | Some(AuditorKind::Nobody));
        let tools = Tool::runnable(|need| match need {
            Need::Resolvers => Self::has_resolvers(read),
            Need::Auditor => has_auditor,
        });
        Ok(Self {
            base_url,
            own_url: None,
            own_pages: None,
            id: None,
            sign_in_with: read(Self::SIGN_IN_WITH).map(|label| label.trim().to_owned()),
            throttle,
            time_scale: TimeScale::default(),
            tools,
            lacks_browser: false,
            concurrency,
            writes_blocks,
            creates_teams,
            sends_mail: read(Self::MAIL_FROM).is_some(),
            trusted_proxies: TrustedProxies(list(read, Self::TRUSTED_PROXIES)?),
        })
    }
}

/// Who audits pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditorKind {
    /// Lighthouse on this machine.
    Lighthouse,
    /// Google's PageSpeed Insights.
    PageSpeed,
    /// Nobody: there are no performance checks.
    Nobody,
}

impl AuditorKind {
    /// The auditor that the environment names.
    ///
    /// # Errors
    ///
    /// When it names an unknown one.
    pub fn read(read: Read<'_>) -> Result<Option<Self>, ConfigError> {
        one(read, Self::VARIABLE)
    }

    /// The variable that names it.
    pub const VARIABLE: &'static str = "VEDETTE_AUDITOR";
}

impl FromStr for AuditorKind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "lighthouse" => Ok(Self::Lighthouse),
            "pagespeed" => Ok(Self::PageSpeed),
            "none" => Ok(Self::Nobody),
            _ => Err("must be lighthouse, pagespeed or none"),
        }
    }
}

fn is_base_url(url: &str) -> bool {
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    is_web && url.trim_end_matches('/').ends_with("/api/v1")
}

impl Deployment {
    /// Reads where the deployment's parts are.
    ///
    /// # Errors
    ///
    /// The first variable that is missing.
    pub fn read(read: Read<'_>) -> Result<Self, ConfigError> {
        let required = |name| required(read, name);
        Ok(Self {
            table: required("VEDETTE_TABLE")?,
            queue_url_prefix: required("VEDETTE_QUEUE_URL_PREFIX")?,
            schedule_group: required("VEDETTE_SCHEDULE_GROUP")?,
            schedule_target: required("VEDETTE_SCHEDULE_TARGET")?,
            schedule_role: required("VEDETTE_SCHEDULE_ROLE")?,
            schedule_dlq: required("VEDETTE_SCHEDULE_DLQ")?,
            schedules: one(read, "VEDETTE_SCHEDULES")?.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(vars: &[(&'static str, &'static str)]) -> Result<Service, String> {
        let read = |name: &str| {
            vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())
        };
        Service::read(&read).map_err(|error| error.to_string())
    }

    #[test]
    fn every_variable_has_a_default() {
        let service = read(&[]).expect("defaults");
        assert_eq!(service.throttle, 60);
        assert_eq!(service.base_url, None);
    }

    #[test]
    fn proxies_are_trusted_by_their_networks() {
        assert_eq!(read(&[]).expect("defaults").trusted_proxies, TrustedProxies::default());
        let service = read(&[("VEDETTE_TRUSTED_PROXIES", "10.0.0.0/8, 2001:db8::/32,")]);
        assert_eq!(service.expect("networks").trusted_proxies.0.len(), 2);
    }

    #[test]
    fn a_performance_check_needs_an_auditor() {
        for (auditor, has_performance) in
            [("none", false), ("lighthouse", true), ("pagespeed", true)]
        {
            let service = read(&[("VEDETTE_AUDITOR", auditor)]).expect("a configuration");
            assert_eq!(service.tools.contains(&Tool::Performance), has_performance, "{auditor}");
        }
        assert!(!read(&[]).expect("defaults").tools.contains(&Tool::Performance));
    }

    #[test]
    fn a_wrong_value_is_refused_with_its_name() {
        for (name, value) in [
            ("VEDETTE_BASE_URL", "https://monitor.test"),
            ("VEDETTE_THROTTLE", "0"),
            ("VEDETTE_THROTTLE", "many"),
            ("VEDETTE_CONCURRENCY", "-1"),
            ("VEDETTE_BLOCKS", "yes"),
            ("VEDETTE_CREATE_TEAMS", "yes"),
            ("VEDETTE_AUDITOR", "somebody"),
            ("VEDETTE_TRUSTED_PROXIES", "10.0.0.0/8, proxy.example.com"),
        ] {
            let said = read(&[(name, value)]).expect_err(value);
            assert!(said.starts_with(name), "{said}");
        }
    }
}
