//! The configuration of a process that checks sites, read from its environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use url::Url;
use vedette_domain::checks::check::CheckError;
use vedette_domain::checks::tool::{Need, Tool};
use vedette_ops::config::{ConfigError, Read, one};
use vedette_probe::browser::Chromium;
use vedette_probe::dns::{DohServers, Resolvers};
use vedette_probe::performance::{Auditor, Lighthouse, PageSpeed};
use vedette_probe::ssrf_guard::Outbound;
use vedette_runtime::config::{AuditorKind, Service};

/// All settings from the environment.
#[derive(Debug)]
pub struct Config {
    /// How the service identifies itself.
    pub service: Service,
    /// What the engines may reach.
    pub outbound: Outbound,
    /// The services and programs that the engines use.
    pub engines: EngineConfig,
}

/// What the engines use besides their targets: resolvers, services and programs.
#[derive(Debug, Clone, Default)]
pub struct EngineConfig {
    /// The resolvers of DNS checks, which also tell whether this machine is connected. With `None` there are no DNS
    /// checks, and every failure counts as the target's.
    pub doh: Option<DohServers>,
    /// The RDAP service that knows registrations; `None` to look up none.
    pub rdap: Option<Url>,
    /// The browser that renders pages for crawls. Without it, crawls that should render pages fail.
    pub browser: Option<Chromium>,
    /// What audits pages. Without it, there are no performance checks.
    pub auditor: Option<Auditor>,
    /// The function that crawls with a browser and audits with Lighthouse, in place of this process.
    pub browser_function: Option<String>,
}

/// The argument with which the browser function is started, where other functions name their tool.
pub const BROWSER: &str = "browser";

/// The variable that names the browser function.
const BROWSER_FUNCTION: &str = "VEDETTE_BROWSER_FUNCTION";

/// The variable with the URL of the RDAP service.
const RDAP: &str = "VEDETTE_RDAP";

/// The variable that names the folder of Lighthouse.
pub const LIGHTHOUSE: &str = "VEDETTE_LIGHTHOUSE";

/// Where `make lighthouse` installs Lighthouse, relative to the project's root.
const LIGHTHOUSE_DEFAULT: &str = "infra/lighthouse";

impl Config {
    /// Reads the configuration.
    ///
    /// # Errors
    ///
    /// The first variable that is invalid.
    pub fn read(read: Read<'_>) -> Result<Self, ConfigError> {
        // Outside of AWS, there is no function to call.
        let engines = EngineConfig::read(&|name| read(name).filter(|_| name != BROWSER_FUNCTION))?;
        let lacks_browser = engines.auditor.is_none() && AuditorKind::read(read)?.is_none();
        let service = Service { tools: engines.tools(), lacks_browser, ..Service::read(read)? };
        Ok(Self { service, outbound: targets(read)?, engines })
    }

    /// Reads the configuration of a function that runs one tool. The environment says which tools the deployment runs.
    /// The auditor must exist only in the function that audits pages.
    ///
    /// # Errors
    ///
    /// The first variable that is invalid.
    pub fn of_function(tool: Tool, read: Read<'_>) -> Result<Self, ConfigError> {
        let of_tool = |name: &str| match name {
            AuditorKind::VARIABLE if tool.definition().needs != Some(Need::Auditor) => {
                Some("none".to_owned())
            }
            _ => read(name),
        };
        let engines = EngineConfig::read(&of_tool)?;
        Ok(Self { service: Service::read(read)?, outbound: targets(read)?, engines })
    }

    /// Reads the configuration of the browser function, which takes no other part in the service: what it may reach,
    /// the resolvers that tell whether it is connected, and Lighthouse, which must be installed.
    ///
    /// # Errors
    ///
    /// The first variable that is invalid.
    pub fn of_browser(read: Read<'_>) -> Result<(Outbound, EngineConfig), ConfigError> {
        let of_browser = |name: &str| match name {
            AuditorKind::VARIABLE => Some("lighthouse".to_owned()),
            RDAP => Some("none".to_owned()),
            BROWSER_FUNCTION => None,
            _ => read(name),
        };
        Ok((targets(read)?, EngineConfig::read(&of_browser)?))
    }

    /// Reads the configuration of another location, which looks at public targets only, whatever is allowed elsewhere:
    /// what it may reach, and the resolvers that tell whether it has a connection.
    ///
    /// # Errors
    ///
    /// The first variable that is invalid.
    pub fn of_location(read: Read<'_>) -> Result<(Outbound, EngineConfig), ConfigError> {
        let of_location = |name: &str| match name {
            AuditorKind::VARIABLE | RDAP => Some("none".to_owned()),
            BROWSER_FUNCTION => None,
            _ => read(name),
        };
        Ok((Outbound::read(read)?, EngineConfig::read(&of_location)?))
    }
}

/// What checks may reach.
fn targets(read: Read<'_>) -> Result<Outbound, ConfigError> {
    Outbound::read(read)?.allowing(read, "VEDETTE_ALLOW_TARGETS")
}

impl EngineConfig {
    fn read(read: Read<'_>) -> Result<Self, ConfigError> {
        let doh = match Service::has_resolvers(read) {
            true => Some(one(read, Service::RESOLVERS)?.unwrap_or_default()),
            false => None,
        };
        let rdap = match read(RDAP).as_deref().map(str::trim) {
            Some("none") => None,
            Some(_) => one(read, RDAP)?,
            None => Resolvers::RDAP.parse().ok(),
        };
        let installed = Installed::read(read);
        let browser_function = read(BROWSER_FUNCTION);
        let auditor = match AuditorKind::read(read)? {
            Some(AuditorKind::Lighthouse) if browser_function.is_some() => None,
            kind => auditor(kind, read, &installed)?,
        };
        // Both get the same value, so that a single trial finds out whether the sandbox works.
        let browser = match &auditor {
            Some(Auditor::Lighthouse(lighthouse)) => Some(lighthouse.chromium.clone()),
            _ => installed.chromium().ok(),
        };
        Ok(Self { doh, rdap, browser, auditor, browser_function })
    }

    /// Makes browsers keep their files in this folder while a check runs.
    pub fn keep_browser_files_in(&mut self, folder: &Path) {
        if let Some(Auditor::Lighthouse(lighthouse)) = &mut self.auditor {
            lighthouse.chromium = lighthouse.chromium.clone().with_homes(folder.to_owned());
        }
        let browser = self.browser.take();
        self.browser = browser.map(|browser| browser.with_homes(folder.to_owned()));
    }

    /// The tools that these engines can run.
    fn tools(&self) -> Vec<Tool> {
        Tool::runnable(|need| match need {
            Need::Resolvers => self.doh.is_some(),
            Need::Auditor => self.auditor.is_some(),
        })
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
        let lighthouse = read(LIGHTHOUSE).unwrap_or_else(|| LIGHTHOUSE_DEFAULT.into());
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

/// The configured auditor, otherwise Lighthouse if it is installed.
fn auditor(
    kind: Option<AuditorKind>,
    read: Read<'_>,
    installed: &Installed,
) -> Result<Option<Auditor>, ConfigError> {
    let refused = |problem: String| ConfigError { name: AuditorKind::VARIABLE, problem };
    match kind {
        None => Ok(installed.lighthouse().ok()),
        Some(AuditorKind::Nobody) => Ok(None),
        Some(AuditorKind::Lighthouse) => {
            installed.lighthouse().map(Some).map_err(|error| refused(error.message))
        }
        Some(AuditorKind::PageSpeed) => {
            // Only audits need a key, and Google answers a few requests without one.
            let key = read("VEDETTE_PAGESPEED_KEY").unwrap_or_default();
            let endpoint =
                PageSpeed::ENDPOINT.parse().map_err(|_| refused("no endpoint".to_owned()))?;
            Ok(Some(Auditor::PageSpeed(PageSpeed::new(key, endpoint))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(vars: &[(&'static str, &'static str)]) -> Result<Config, String> {
        let read = |name: &str| {
            vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())
        };
        Config::read(&read).map_err(|error| error.to_string())
    }

    #[test]
    fn every_variable_has_a_default() {
        let config = read(&[]).expect("defaults");
        assert_eq!(config.engines.doh.expect("resolvers").as_slice().len(), 3);
        assert!(config.engines.rdap.is_some());
        assert!(config.outbound.allow.is_empty() && config.outbound.connect_to.is_empty());
    }

    #[test]
    fn only_the_function_that_audits_needs_the_auditor() {
        let read = |name: &str| match name {
            "VEDETTE_AUDITOR" => Some("lighthouse".to_owned()),
            "VEDETTE_LIGHTHOUSE" => Some("/nonexistent".to_owned()),
            _ => None,
        };
        for tool in Tool::ALL {
            let config = Config::of_function(tool, &read);
            assert_eq!(config.is_err(), tool == Tool::Performance, "{tool}");
            if let Ok(config) = config {
                assert!(config.service.tools.contains(&Tool::Performance), "others audit");
            }
        }
    }

    #[test]
    fn a_browser_function_replaces_lighthouse_but_not_pagespeed() {
        for (kind, has_auditor) in [("lighthouse", false), ("pagespeed", true)] {
            let read = |name: &str| match name {
                "VEDETTE_AUDITOR" => Some(kind.to_owned()),
                "VEDETTE_LIGHTHOUSE" => Some("/nonexistent".to_owned()),
                "VEDETTE_BROWSER_FUNCTION" => Some("vedette-browser".to_owned()),
                _ => None,
            };
            let config = Config::of_function(Tool::Performance, &read).expect("a configuration");
            assert_eq!(config.engines.auditor.is_some(), has_auditor, "{kind}");
            assert_eq!(config.engines.browser_function.as_deref(), Some("vedette-browser"));
            // The browser function needs Lighthouse itself and cannot pass jobs on.
            let refused = Config::of_browser(&read).expect_err("no Lighthouse");
            assert_eq!(refused.name, AuditorKind::VARIABLE);
        }
    }

    #[test]
    fn only_a_machine_that_wants_a_browser_lacks_one() {
        for (auditor, lacks_browser) in
            [(None, true), (Some("none"), false), (Some("pagespeed"), false)]
        {
            let read = |name: &str| match name {
                "VEDETTE_AUDITOR" => auditor.map(str::to_owned),
                "VEDETTE_LIGHTHOUSE" => Some("/nonexistent".to_owned()),
                _ => None,
            };
            let service = Config::read(&read).expect("a configuration").service;
            assert_eq!(service.lacks_browser, lacks_browser, "{auditor:?}");
        }
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
        assert_eq!(config.engines.doh.expect("resolvers").as_slice()[0].name, "own");
        assert_eq!(config.engines.rdap, None);
    }

    #[test]
    fn without_resolvers_there_are_no_dns_checks() {
        for (doh, runs) in [("none", false), (" none ", false), ("own=https://dns.test/q", true)] {
            let config = read(&[("VEDETTE_DOH", doh)]).expect("a configuration");
            assert_eq!(config.engines.doh.is_some(), runs, "{doh}");
            assert_eq!(config.service.tools.contains(&Tool::Dns), runs, "{doh}");
        }
    }

    #[test]
    fn browsers_keep_their_files_where_they_are_told() {
        let mut engines = read(&[("VEDETTE_CHROME", "/bin/sh")]).expect("a configuration").engines;
        let lighthouse = Lighthouse {
            node: "node".into(),
            script: "audit.mjs".into(),
            chromium: Chromium::at("sh".into()),
        };
        engines.auditor = Some(Auditor::Lighthouse(lighthouse));
        engines.keep_browser_files_in(Path::new("/of/browsers"));
        for browser in [format!("{:?}", engines.browser), format!("{:?}", engines.auditor)] {
            assert!(browser.contains("/of/browsers"), "{browser}");
        }
    }

    #[test]
    fn a_wrong_value_is_refused_with_its_name() {
        for (name, value) in [
            ("VEDETTE_ALLOW_TARGETS", "127.0.0.0/33"),
            ("VEDETTE_CONNECT_TO", "shop.test:443"),
            ("VEDETTE_EXTRA_ROOTS", "/nonexistent.pem"),
            ("VEDETTE_EXTRA_ROOTS", "-----BEGIN CERTIFICATE-----"),
            ("VEDETTE_THROTTLE", "0"),
            ("VEDETTE_DOH", "dns.test"),
            ("VEDETTE_RDAP", "rdap.test"),
            ("VEDETTE_AUDITOR", "lighthouse"),
        ] {
            let said = read(&[(name, value)]).expect_err(value);
            assert!(said.starts_with(name), "{said}");
        }
    }
}
