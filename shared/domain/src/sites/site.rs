//! A monitored site.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::configuration::ManagedBy;
use crate::expectations::Expectations;
use crate::id::{SiteId, TeamId};
use crate::objectives::Objective;
use crate::sites::settings::{ExpectedRecords, SiteOverrides};
use crate::sites::site_url::{SiteUrl, may_share_secrets};
use crate::sites::tag::Tags;

/// A monitored URL, and how its team wants to monitor it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// The site's id.
    pub id: SiteId,
    /// The team that owns it.
    pub team: TeamId,
    /// Display name; see [`name`](crate::name).
    pub name: String,
    /// The canonical URL, unique in the team.
    pub url: SiteUrl,
    /// Free text, at most 5,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// What it has in common with other sites.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Whether broken-link crawls render pages with a browser.
    #[serde(default)]
    pub js_rendered: bool,
    /// Whether the team keeps it at the top.
    #[serde(default)]
    pub pinned: bool,
    /// What differs from the team's monitoring settings.
    #[serde(default)]
    pub overrides: SiteOverrides,
    /// DNS records that must exist. If empty, the first check is the baseline.
    #[serde(default)]
    pub expected_records: ExpectedRecords,
    /// What its status checks expect.
    #[serde(rename = "exp", default, skip_serializing_if = "Expectations::is_unused")]
    pub expectations: Expectations,
    /// How much of a period it should be up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// The document that manages it, if there is one.
    #[serde(rename = "by", default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<ManagedBy>,
    /// Version of the records that DNS checks have learned. After a change, they are learned again.
    #[serde(default)]
    pub records: u64,
    /// Increases with every change by a client.
    pub rev: u64,
    /// Version of the URL and the monitoring. A run that began under another one is discarded.
    pub cfg: u64,
    /// The `cfg` that the site's schedules are known to follow; 0 for a new site.
    pub synced: u64,
    /// Creation.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

impl Site {
    /// A new site with its team's settings and a name derived from its URL. Its schedules do not exist yet.
    pub fn new(id: SiteId, team: TeamId, url: SiteUrl, now: Timestamp) -> Self {
        Self {
            id,
            team,
            name: url.generated_name().to_owned(),
            url,
            notes: None,
            tags: Tags::new(),
            js_rendered: false,
            pinned: false,
            overrides: SiteOverrides::default(),
            expected_records: ExpectedRecords::new(),
            expectations: Expectations::default(),
            objective: None,
            managed_by: None,
            records: 0,
            rev: 1,
            cfg: 1,
            synced: 0,
            created_at: now,
            updated_at: now,
        }
    }

    /// The site at another URL, without what belongs to its old one: an audited page on another host and, unless the two
    /// URLs may [share secrets](may_share_secrets), what its checks post. Nobody can read that, but somebody who may
    /// change the site could otherwise have it sent to a server of their own.
    #[must_use]
    pub fn moved_to(&self, url: SiteUrl) -> Self {
        let mut moved = self.clone();
        moved.overrides = moved.overrides.moved_to(url.domain());
        if !may_share_secrets(&self.url.to_url(), &url.to_url()) {
            moved.expectations.post = None;
        }
        Self { url, ..moved }
    }

    /// How much the site's own texts add to a list of sites, in bytes of JSON. Its URL appears three times there,
    /// because its checks contain it too, and so does its audited page. The header and the ignored paths are not
    /// counted: they have limits of their own, and may be the team's.
    pub fn listed_texts(&self) -> usize {
        let length = |text: &str| Value::from(text).to_string().len();
        let page = self.overrides.tools.performance.settings.url.as_ref();
        let page = page.and_then(Option::as_deref).map_or(0, length);
        let records = self.expected_records.values().flatten().map(|value| length(value));
        length(&self.name)
            + self.notes.as_deref().map_or(0, length)
            + 3 * (length(self.url.as_str()) + page)
            + records.sum::<usize>()
    }

    /// The site after a client's change to `changed`, with the versions that follow from the differences. `None` if
    /// nothing differs.
    ///
    /// A run in progress was ordered for the URL and the settings that it began with, so changing these discards it.
    /// Changing a description of the site does not.
    pub fn change_to(&self, mut changed: Self, now: Timestamp) -> Option<Self> {
        if changed == *self {
            return None;
        }
        if changed.url != self.url {
            changed.records = self.records + 1;
        }
        let is_watched_alike = changed.url == self.url
            && changed.overrides == self.overrides
            && changed.expected_records == self.expected_records
            && changed.expectations == self.expectations
            && changed.records == self.records;
        if !is_watched_alike {
            changed.cfg += 1;
        }
        changed.rev += 1;
        changed.updated_at = now;
        Some(changed)
    }
}

/// The limit for [`Site::listed_texts`], which is our own. With it, and with the limits of headers and ignored paths, a
/// site takes at most 50 KB of a list, and a page with 100 sites fits into the answer of a Lambda function.
pub const LISTED_TEXTS_MAX: usize = 20_480;

/// The longest `notes`, in characters. This is our own limit, which keeps a site within one item.
pub const NOTES_MAX: usize = 5_000;
