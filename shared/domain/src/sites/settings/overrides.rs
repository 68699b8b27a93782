//! Partial settings: what a site sets differently from its team.
//!
//! `None` means that a value is absent. Where the API allows null, the field is an option of an option: `Some(None)` is
//! an explicit null, which overrides. Only present values are serialized.

use serde::{Deserialize, Serialize};

use super::Settings;
use super::declare::{Overrides, OwnSettings, keep, set};
use super::header::HeaderOverride;
use super::page::check_page_url;
use super::tools::{
    DnsOverrides, LinksOverrides, PerformanceOverrides, SslOverrides, StatusOverrides,
    ToolSettings, Tools, of_tool,
};
use crate::accounts::plan::Plan;
use crate::checks::tool::Tool;

/// What a site sets differently from its team.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteOverrides {
    /// Overrides of the tools.
    #[serde(skip_serializing_if = "ToolsOverrides::is_empty")]
    pub tools: ToolsOverrides,
    /// A header in place of the team's. A site cannot switch the team's header off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_header: Option<HeaderOverride>,
}

impl SiteOverrides {
    /// The overrides after a client sends `sent` to replace these, which resolve to `read`.
    ///
    /// What is sent replaces everything, and anything it leaves out is inherited. But a setting that is sent as it was
    /// read stays what it is, so that clients can write back settings as they read them: an inherited setting still
    /// follows the team, and a cadence that the plan slows down is not lost.
    #[must_use]
    pub fn replaced_by(&self, mut sent: Self, read: &Settings) -> Self {
        sent.tools.keep_as_read(&self.tools, &read.tools);
        let header = sent.request_header.as_ref().map(HeaderOverride::to_request_header);
        if header.as_ref() == Some(&read.request_header) {
            sent.request_header.clone_from(&self.request_header);
        }
        sent
    }

    /// The overrides after a change to the `chosen` ones by somebody who could see which settings are the site's own. A
    /// cadence that the plan slows down is sent as it was read, and is not lost.
    #[must_use]
    pub fn keeping_cadences(&self, mut chosen: Self, read: &Settings) -> Self {
        let mut stored = self.tools.clone();
        for tool in Tool::ALL {
            let (chosen, stored) = (chosen.tools.cadence_mut(tool), *stored.cadence_mut(tool));
            if *chosen == Some(read.tools.cadence_minutes(tool)) && stored.is_some() {
                *chosen = stored;
            }
        }
        chosen
    }

    /// The overrides with every tool disabled.
    #[must_use]
    pub fn paused(&self) -> Self {
        self.with_tools(Some(false))
    }

    /// The overrides with every tool enabled or disabled as in the team.
    #[must_use]
    pub fn resumed(&self) -> Self {
        self.with_tools(None)
    }

    fn with_tools(&self, enabled: Option<bool>) -> Self {
        let mut overrides = self.clone();
        let tools = &mut overrides.tools;
        for tool in Tool::ALL {
            *of_tool!([&mut] tools.enabled, tool) = enabled;
        }
        overrides
    }

    /// The overrides after the site moved to the host `domain`. The audited page is removed if it is not on that host.
    #[must_use]
    pub(crate) fn moved_to(mut self, domain: &str) -> Self {
        let url = &mut self.tools.performance.settings.url;
        if let Some(Some(page)) = url
            && check_page_url(page, domain).is_err()
        {
            *url = None;
        }
        self
    }
}

/// Partial settings of each tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolsOverrides {
    /// HTTP reachability.
    #[serde(skip_serializing_if = "ToolOverride::is_empty")]
    pub status: ToolOverride<StatusOverrides>,
    /// TLS certificate.
    #[serde(skip_serializing_if = "ToolOverride::is_empty")]
    pub ssl: ToolOverride<SslOverrides>,
    /// DNS records.
    #[serde(skip_serializing_if = "ToolOverride::is_empty")]
    pub dns: ToolOverride<DnsOverrides>,
    /// Site crawl.
    #[serde(rename = "broken-links", skip_serializing_if = "ToolOverride::is_empty")]
    pub broken_links: ToolOverride<LinksOverrides>,
    /// Lab performance audit.
    #[serde(skip_serializing_if = "ToolOverride::is_empty")]
    pub performance: ToolOverride<PerformanceOverrides>,
}

impl ToolsOverrides {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the site itself enables or disables a tool.
    pub const fn enabled(&self, tool: Tool) -> Option<bool> {
        *of_tool!([&] self.enabled, tool)
    }

    /// The same overrides as far as the plan allows them.
    #[must_use]
    pub(crate) fn on_plan(&self, plan: Plan) -> Self {
        let mut allowed = self.clone();
        for tool in Tool::ALL {
            let cadence = allowed.cadence_mut(tool);
            *cadence = cadence.map(|minutes| minutes.max(plan.minimum_cadence_minutes(tool)));
        }
        allowed
    }

    const fn cadence_mut(&mut self, tool: Tool) -> &mut Option<u32> {
        of_tool!([&mut] self.cadence_minutes, tool)
    }

    pub(super) fn apply(&self, to: &mut Tools) {
        let Self { status, ssl, dns, broken_links, performance } = self;
        status.apply(&mut to.status);
        ssl.apply(&mut to.ssl);
        dns.apply(&mut to.dns);
        broken_links.apply(&mut to.broken_links);
        performance.apply(&mut to.performance);
    }

    fn keep_as_read(&mut self, stored: &Self, read: &Tools) {
        let Self { status, ssl, dns, broken_links, performance } = self;
        status.keep_as_read(&stored.status, &read.status);
        ssl.keep_as_read(&stored.ssl, &read.ssl);
        dns.keep_as_read(&stored.dns, &read.dns);
        broken_links.keep_as_read(&stored.broken_links, &read.broken_links);
        performance.keep_as_read(&stored.performance, &read.performance);
    }
}

/// Partial settings of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[serde(bound(
    serialize = "O: Serialize + Default + PartialEq",
    deserialize = "O: Deserialize<'de> + Default"
))]
pub struct ToolOverride<O> {
    /// Whether the tool runs automatically and may open issues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Minutes between two automatic checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cadence_minutes: Option<u32>,
    /// The tool's own settings.
    #[serde(skip_serializing_if = "is_default")]
    pub settings: O,
}

impl<O: Default + PartialEq> ToolOverride<O> {
    fn is_empty(&self) -> bool {
        is_default(self)
    }
}

impl<S: OwnSettings<Overrides = O>, O: Overrides<S>> Overrides<ToolSettings<S>>
    for ToolOverride<O>
{
    fn apply(&self, to: &mut ToolSettings<S>) {
        let Self { enabled, cadence_minutes, settings } = self;
        set(&mut to.enabled, enabled.as_ref());
        set(&mut to.cadence_minutes, cadence_minutes.as_ref());
        settings.apply(&mut to.settings);
    }

    fn keep_as_read(&mut self, stored: &Self, read: &ToolSettings<S>) {
        let Self { enabled, cadence_minutes, settings } = self;
        keep(enabled, &stored.enabled, &read.enabled);
        keep(cadence_minutes, &stored.cadence_minutes, &read.cadence_minutes);
        settings.keep_as_read(&stored.settings, &read.settings);
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
