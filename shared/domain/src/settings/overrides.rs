//! Partial settings, and what a site sets differently.
//!
//! `None` means "not said". Where the API allows null, the field is an option of an option:
//! `Some(None)` is a null that was said, and overrides. Only what was said is serialized.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use serde::{Deserialize, Deserializer, Serialize};

use super::Settings;
use super::dns::DnsRecordType;
use super::header::HeaderOverride;
use super::page::check_page_url;
use super::tools::{
    DnsSettings, LinksSettings, PerformanceSettings, SslSettings, StatusSettings, ToolSettings,
    Tools,
};

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
    /// The overrides that `sent` ones make of these, which resolve to `read`.
    ///
    /// What is sent replaces everything: what it leaves out is inherited. But a setting that is sent
    /// as it was read stays what it is, so that settings can be written back as they were read: an
    /// inherited one still follows the team, and a cadence that the plan slows down is not lost.
    #[must_use]
    pub fn replaced_by(&self, mut sent: Self, read: &Settings) -> Self {
        sent.tools.keep_as_read(&self.tools, &read.tools);
        let header = sent.request_header.as_ref().map(HeaderOverride::to_request_header);
        if header.as_ref() == Some(&read.request_header) {
            sent.request_header.clone_from(&self.request_header);
        }
        sent
    }

    /// The overrides after the site moved to the host `domain`: the audited page is forgotten when
    /// it is not on that host.
    #[must_use]
    pub fn moved_to(mut self, domain: &str) -> Self {
        let url = &mut self.tools.performance.settings.url;
        if let Some(Some(page)) = url
            && check_page_url(page, domain).is_err()
        {
            *url = None;
        }
        self
    }
}

/// Partial settings of the five tools.
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

impl<O: Overrides<S>, S> Overrides<ToolSettings<S>> for ToolOverride<O> {
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

/// Partial settings that can be laid over whole ones.
trait Overrides<S> {
    /// Writes what was said over whole settings.
    fn apply(&self, to: &mut S);

    /// Takes back what was sent as it was `read`, so that what was `stored` stays.
    fn keep_as_read(&mut self, stored: &Self, read: &S);
}

/// Partial settings of a tool: every field is there in the whole ones too.
macro_rules! overrides {
    ($partial:ident of $whole:ident { $($field:ident),* $(,)? }) => {
        impl Overrides<$whole> for $partial {
            fn apply(&self, to: &mut $whole) {
                // Destructured, so that a new field cannot be forgotten here.
                let Self { $($field),* } = self;
                $(set(&mut to.$field, $field.as_ref());)*
            }

            fn keep_as_read(&mut self, stored: &Self, read: &$whole) {
                let Self { $($field),* } = self;
                $(keep($field, &stored.$field, &read.$field);)*
            }
        }
    };
}

/// Partial [`StatusSettings`]; the fields mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusOverrides {
    /// Response codes that count as failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident_status_codes: Option<BTreeSet<u16>>,
    /// Failed checks in a row before an issue opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures_to_open: Option<NonZeroU32>,
    /// Successful checks in a row before it resolves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successes_to_resolve: Option<NonZeroU32>,
    /// Minutes until a failure is looked at again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_retry_minutes: Option<u32>,
    /// Minutes between follow-ups of an active issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident_follow_up_minutes: Option<u32>,
}

overrides!(StatusOverrides of StatusSettings {
    incident_status_codes,
    failures_to_open,
    successes_to_resolve,
    confirmation_retry_minutes,
    incident_follow_up_minutes,
});

/// Partial [`SslSettings`]; the fields mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SslOverrides {
    /// Days before expiry from which the certificate is reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiry_days: Option<NonZeroU32>,
    /// Failed checks in a row before an issue opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures_to_open: Option<NonZeroU32>,
    /// Minutes until a failure is looked at again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_retry_minutes: Option<u32>,
}

overrides!(SslOverrides of SslSettings {
    expiry_days,
    failures_to_open,
    confirmation_retry_minutes,
});

/// Partial [`DnsSettings`]; the fields mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DnsOverrides {
    /// Whether only failed lookups open an issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hard_failures_only: Option<bool>,
    /// Failed checks in a row before an issue opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures_to_open: Option<NonZeroU32>,
    /// Minutes until a failure is looked at again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_retry_minutes: Option<u32>,
    /// The record types watched for changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitored_record_types: Option<BTreeSet<DnsRecordType>>,
}

overrides!(DnsOverrides of DnsSettings {
    hard_failures_only,
    failures_to_open,
    confirmation_retry_minutes,
    monitored_record_types,
});

/// Partial [`LinksSettings`]; the fields mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LinksOverrides {
    /// Broken URLs in one crawl that make a breach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_broken_count: Option<NonZeroU32>,
    /// Breaches in a row before an issue opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consecutive_breaches_to_open: Option<NonZeroU32>,
    /// Path patterns left out of the crawl.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_paths: Option<BTreeSet<String>>,
    /// Whether links outside the site's host are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_external_links: Option<bool>,
    /// Whether redirect responses are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_redirects: Option<bool>,
}

overrides!(LinksOverrides of LinksSettings {
    min_broken_count,
    consecutive_breaches_to_open,
    ignore_paths,
    ignore_external_links,
    ignore_redirects,
});

/// Partial [`PerformanceSettings`]; the fields mean the same. The legacy `max_response_time_ms`
/// of a request has already become `max_ttfb_ms`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PerformanceOverrides {
    /// The page audited; null is the site's root.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "said")]
    pub url: Option<Option<String>>,
    /// The lowest acceptable score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_score: Option<u32>,
    /// The longest acceptable time to first byte, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "said")]
    pub max_ttfb_ms: Option<Option<NonZeroU32>>,
    /// The longest acceptable Time to Interactive, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "said")]
    pub max_load_time_seconds: Option<Option<NonZeroU32>>,
    /// Breaches in a row before an issue opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consecutive_breaches_to_open: Option<NonZeroU32>,
}

overrides!(PerformanceOverrides of PerformanceSettings {
    url,
    min_score,
    max_ttfb_ms,
    max_load_time_seconds,
    consecutive_breaches_to_open,
});

/// Writes a value that was said, and leaves the present one otherwise.
pub(super) fn set<T: Clone>(to: &mut T, said: Option<&T>) {
    if let Some(value) = said {
        to.clone_from(value);
    }
}

/// Puts what was stored in the place of what was sent as it was read.
fn keep<T: Clone + PartialEq>(sent: &mut Option<T>, stored: &Option<T>, read: &T) {
    if sent.as_ref() == Some(read) {
        sent.clone_from(stored);
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a field that is present, null included; an absent one is left to `default`.
fn said<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
