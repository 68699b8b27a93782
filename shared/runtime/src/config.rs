//! Configuration from the environment, one struct a concern; README lists the variables.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use ipnet::IpNet;
use url::Url;
use vedette_domain::check::CheckError;
use vedette_domain::schedule::Pace;
use vedette_domain::tool::Tool;
use vedette_probe::browser::Chromium;
use vedette_probe::dns::{DohServers, Resolvers};
use vedette_probe::guard::{ConnectTo, Outbound};
use vedette_probe::performance::{Auditor, Lighthouse, PageSpeed};

/// Everything that the environment says.
#[derive(Debug)]
pub struct Config {
    /// How the service presents itself.
    pub service: Service,
    /// What check engines may reach.
    pub outbound: Outbound,
    /// What they ask and run.
    pub engines: EngineConfig,
}

/// What check engines ask and run, beside the targets themselves.
#[derive(Debug, Clone, Default)]
pub struct EngineConfig {
    /// The resolvers of DNS checks.
    pub doh: DohServers,
    /// The RDAP service that knows registrations; none where nobody is to be asked.
    pub rdap: Option<Url>,
    /// What renders pages for crawls; without one, crawls that are to render them fail.
    pub browser: Option<Chromium>,
    /// Who audits pages; without one there are no performance checks.
    pub auditor: Option<Auditor>,
}

/// Where `make lighthouse` installs, seen from the project's root.
const LIGHTHOUSE_DEFAULT: &str = "infra/lighthouse";

/// How the service presents itself and keeps time.
#[derive(Debug, Clone)]
pub struct Service {
    /// Base address of all links, ending in `/api/v1`; the request's own host where it is not set.
    pub base_url: Option<String>,
    /// Requests a minute and token.
    pub throttle: u32,
    /// The length of a monitoring minute; only one machine's process may change it.
    pub pace: Pace,
    /// The tools that have an engine in this deployment; the others are not scheduled, and on
    /// demand they are skipped.
    pub tools: Vec<Tool>,
    /// How many crawls, or audits, run at a time in all processes together; none where a process is
    /// alone and sees to it that teams share its places.
    pub places: Option<usize>,
}

/// Requests a minute and token, unless `VEDETTE_THROTTLE` says otherwise.
const THROTTLE_DEFAULT: u32 = 60;

/// Where a Lambda function finds the rest of the deployment.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// Name of the table.
    pub table: String,
    /// URL of a queue without its name: a tool or `upkeep`.
    pub queue_url_prefix: String,
    /// The schedule group.
    pub schedule_group: String,
    /// ARN of the call by which schedules send: the universal target of `SendMessage`.
    pub schedule_target: String,
    /// ARN of the role that schedules send with.
    pub schedule_role: String,
    /// ARN of the queue for events that could not be delivered.
    pub schedule_dlq: String,
}

/// A variable that is missing or makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct ConfigError {
    name: &'static str,
    problem: String,
}

/// Reads one variable.
type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads the process's environment.
pub fn environment(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

impl Config {
    /// Reads the configuration.
    ///
    /// # Errors
    ///
    /// The first variable that makes no sense.
    pub fn read(read: Read<'_>) -> Result<Self, ConfigError> {
        let engines = EngineConfig::read(read)?;
        let service = Service { tools: engines.tools(), ..Service::read(read)? };
        Ok(Self { service, outbound: outbound(read)?, engines })
    }
}

impl Service {
    fn read(read: Read<'_>) -> Result<Self, ConfigError> {
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
        let places = one(read, "VEDETTE_PLACES")?;
        Ok(Self { base_url, throttle, pace: Pace::default(), tools: Vec::new(), places })
    }
}

impl EngineConfig {
    fn read(read: Read<'_>) -> Result<Self, ConfigError> {
        let doh = one(read, "VEDETTE_DOH")?.unwrap_or_default();
        let rdap = match read("VEDETTE_RDAP").as_deref().map(str::trim) {
            Some("none") => None,
            Some(_) => one(read, "VEDETTE_RDAP")?,
            None => Resolvers::RDAP.parse().ok(),
        };
        let installed = Installed::read(read);
        let auditor = auditor(read, &installed)?;
        // One value for both, so that one trial tells whether it can have its sandbox.
        let browser = match &auditor {
            Some(Auditor::Lighthouse(lighthouse)) => Some(lighthouse.chromium.clone()),
            _ => installed.chromium().ok(),
        };
        Ok(Self { doh, rdap, browser, auditor })
    }

    /// The tools that these engines can run.
    fn tools(&self) -> Vec<Tool> {
        let can_run = |tool: &Tool| *tool != Tool::Performance || self.auditor.is_some();
        Tool::ALL.into_iter().filter(can_run).collect()
    }
}

/// Where to look for programs.
struct Installed {
    lighthouse: PathBuf,
    chrome: Option<PathBuf>,
    path: OsString,
}

impl Installed {
    fn read(read: Read<'_>) -> Self {
        let lighthouse = read("VEDETTE_LIGHTHOUSE").unwrap_or_else(|| LIGHTHOUSE_DEFAULT.into());
        Self {
            lighthouse: lighthouse.into(),
            chrome: read("VEDETTE_CHROME").map(PathBuf::from),
            path: read("PATH").unwrap_or_default().into(),
        }
    }

    fn chromium(&self) -> Result<Chromium, CheckError> {
        Chromium::find(self.chrome.as_deref(), &self.lighthouse, &self.path)
    }

    fn lighthouse(&self) -> Result<Auditor, CheckError> {
        Lighthouse::find(&self.lighthouse, self.chrome.as_deref(), &self.path)
            .map(Auditor::Lighthouse)
    }
}

/// The auditor that is named, or else Lighthouse where it is installed.
fn auditor(read: Read<'_>, installed: &Installed) -> Result<Option<Auditor>, ConfigError> {
    let refused = |problem: String| ConfigError { name: "VEDETTE_AUDITOR", problem };
    match read("VEDETTE_AUDITOR").as_deref().map(str::trim) {
        None => Ok(installed.lighthouse().ok()),
        Some("none") => Ok(None),
        Some("lighthouse") => {
            installed.lighthouse().map(Some).map_err(|error| refused(error.message))
        }
        Some("pagespeed") => {
            // Only who audits needs a key, and Google answers a few requests without one.
            let key = read("VEDETTE_PAGESPEED_KEY").unwrap_or_default();
            let endpoint =
                PageSpeed::ENDPOINT.parse().map_err(|_| refused("no endpoint".to_owned()))?;
            Ok(Some(Auditor::PageSpeed(PageSpeed::new(key, endpoint))))
        }
        Some(_) => Err(refused("must be lighthouse, pagespeed or none".to_owned())),
    }
}

fn is_base_url(url: &str) -> bool {
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    is_web && url.trim_end_matches('/').ends_with("/api/v1")
}

fn outbound(read: Read<'_>) -> Result<Outbound, ConfigError> {
    let extra_roots = match read("VEDETTE_EXTRA_ROOTS") {
        Some(path) => read_roots(&path)
            .map_err(|problem| ConfigError { name: "VEDETTE_EXTRA_ROOTS", problem })?,
        None => Vec::new(),
    };
    Ok(Outbound {
        allow: list::<IpNet>(read, "VEDETTE_ALLOW_TARGETS")?,
        connect_to: list::<ConnectTo>(read, "VEDETTE_CONNECT_TO")?,
        extra_roots,
        own_listeners: Vec::new(),
    })
}

impl Deployment {
    /// Reads where the deployment's parts are.
    ///
    /// # Errors
    ///
    /// The first variable that is missing.
    pub fn read(read: Read<'_>) -> Result<Self, ConfigError> {
        let required = |name: &'static str| {
            read(name).ok_or_else(|| ConfigError { name, problem: "is not set".to_owned() })
        };
        Ok(Self {
            table: required("VEDETTE_TABLE")?,
            queue_url_prefix: required("VEDETTE_QUEUE_URL_PREFIX")?,
            schedule_group: required("VEDETTE_SCHEDULE_GROUP")?,
            schedule_target: required("VEDETTE_SCHEDULE_TARGET")?,
            schedule_role: required("VEDETTE_SCHEDULE_ROLE")?,
            schedule_dlq: required("VEDETTE_SCHEDULE_DLQ")?,
        })
    }
}

fn one<T: FromStr<Err: std::fmt::Display>>(
    read: Read<'_>,
    name: &'static str,
) -> Result<Option<T>, ConfigError> {
    let value = read(name).map(|text| text.trim().parse());
    value.transpose().map_err(|problem: T::Err| ConfigError { name, problem: problem.to_string() })
}

fn list<T: FromStr<Err: std::fmt::Display>>(
    read: Read<'_>,
    name: &'static str,
) -> Result<Vec<T>, ConfigError> {
    let text = read(name).unwrap_or_default();
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(|item| {
            item.parse().map_err(|problem: T::Err| ConfigError {
                name,
                problem: format!("`{item}`: {problem}"),
            })
        })
        .collect()
}

fn read_roots(path: &str) -> Result<Vec<rustls::pki_types::CertificateDer<'static>>, String> {
    use rustls::pki_types::pem::PemObject as _;
    let pem = fs::read(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    let roots = rustls::pki_types::CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("{path} is not PEM: {error}"))?;
    if roots.is_empty() {
        return Err(format!("{path} holds no certificate"));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(vars: &[(&'static str, &'static str)]) -> Result<Config, String> {
        let vars = vars.to_vec();
        let read = move |name: &str| {
            vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())
        };
        Config::read(&read).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_needs_to_be_set() {
        let config = read(&[]).expect("defaults");
        assert_eq!(config.service.throttle, 60);
        assert_eq!(config.service.base_url, None);
        assert_eq!(config.engines.doh.as_slice().len(), 3);
        assert!(config.engines.rdap.is_some());
        assert!(config.outbound.allow.is_empty() && config.outbound.connect_to.is_empty());
    }

    #[test]
    fn lists_are_read() {
        let config = read(&[
            ("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8, ::1/128"),
            ("VEDETTE_CONNECT_TO", "shop.test:443:127.0.0.1:8443"),
            ("VEDETTE_BASE_URL", "https://monitor.test/api/v1"),
            ("VEDETTE_THROTTLE", "600"),
            ("VEDETTE_DOH", "own=https://dns.test/dns-query"),
            ("VEDETTE_RDAP", "none"),
        ])
        .expect("a configuration");
        assert_eq!(config.outbound.allow.len(), 2);
        assert_eq!(config.outbound.connect_to.len(), 1);
        assert_eq!(config.service.throttle, 600);
        assert_eq!(config.engines.doh.as_slice()[0].name, "own");
        assert_eq!(config.engines.rdap, None);
    }

    #[test]
    fn a_wrong_value_is_refused_with_its_name() {
        for (name, value) in [
            ("VEDETTE_ALLOW_TARGETS", "127.0.0.0/33"),
            ("VEDETTE_CONNECT_TO", "shop.test:443"),
            ("VEDETTE_EXTRA_ROOTS", "/nonexistent.pem"),
            ("VEDETTE_BASE_URL", "https://monitor.test"),
            ("VEDETTE_THROTTLE", "0"),
            ("VEDETTE_THROTTLE", "many"),
            ("VEDETTE_PLACES", "-1"),
            ("VEDETTE_DOH", "dns.test"),
            ("VEDETTE_RDAP", "rdap.test"),
            ("VEDETTE_AUDITOR", "lighthouse"),
            ("VEDETTE_AUDITOR", "somebody"),
        ] {
            let said = read(&[(name, value)]).expect_err(value);
            assert!(said.starts_with(name), "{said}");
        }
    }
}
