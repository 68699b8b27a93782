//! The input for a site, new or existing.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::id::{SiteId, TeamId};
use crate::sites::settings::{ExpectedRecords, Settings, SiteOverrides};
use crate::sites::site::Site;
use crate::sites::site_url::SiteUrl;

/// The fields that a new site and a change share; `None` means that a field was not sent.
#[derive(Debug, Clone)]
pub struct SiteInput {
    /// The URL to monitor.
    pub url: SiteUrl,
    /// The display name.
    pub name: Option<String>,
    /// The notes; `Some(None)` clears them.
    pub notes: Option<Option<String>>,
    /// Whether crawls render pages with a browser.
    pub js_rendered: Option<bool>,
    /// The site's own monitoring settings. Anything left out is inherited.
    pub overrides: Option<SiteOverrides>,
    /// The DNS records that must exist.
    pub expected_records: Option<ExpectedRecords>,
}

impl SiteInput {
    /// The new site.
    pub fn into_site(self, id: SiteId, team: TeamId, now: Timestamp) -> Site {
        let site = Site::new(id, team, self.url, now);
        Site {
            name: self.name.unwrap_or(site.name),
            notes: self.notes.flatten(),
            js_rendered: self.js_rendered.unwrap_or_default(),
            overrides: self.overrides.unwrap_or_default(),
            expected_records: self.expected_records.unwrap_or_default(),
            ..site
        }
    }
}

/// The input for a change of a site.
#[derive(Debug, Clone)]
pub struct SiteUpdate {
    /// The fields that a new site has too.
    pub input: SiteInput,
    /// Whether the team keeps it at the top; `None` means that this was not sent.
    pub pinned: Option<bool>,
}

impl SiteUpdate {
    /// The same input from a client that read the settings in force for `site` and writes them back. Settings that are
    /// sent as they were read stay what they are, even inherited.
    #[must_use]
    pub fn as_written_back(self, site: &Site, in_force: &Settings) -> Self {
        self.with_overrides(|sent| site.overrides.replaced_by(sent, in_force))
    }

    /// The same input from somebody who could see what `site` inherits and what is its own. Everything that is sent
    /// becomes its own.
    #[must_use]
    pub fn as_chosen(self, site: &Site, in_force: &Settings) -> Self {
        self.with_overrides(|sent| site.overrides.keeping_cadences(sent, in_force))
    }

    fn with_overrides(mut self, next: impl FnOnce(SiteOverrides) -> SiteOverrides) -> Self {
        self.input.overrides = self.input.overrides.map(next);
        self
    }

    /// The site after the change. A generated name stays when the URL changes, because the team knows the site by it.
    /// What is not sent and belongs to the old URL is removed; see [`Site::moved_to`]. Clearing the expected records also
    /// forgets the learned ones, if the site `has_learnt` any.
    pub fn apply_to(self, site: &Site, has_learnt: bool) -> Site {
        let Self { input, pinned } = self;
        let clears = input.expected_records.as_ref().is_some_and(BTreeMap::is_empty);
        let moved = site.moved_to(input.url);
        Site {
            overrides: input.overrides.unwrap_or(moved.overrides),
            name: input.name.unwrap_or(moved.name),
            notes: input.notes.unwrap_or(moved.notes),
            js_rendered: input.js_rendered.unwrap_or(moved.js_rendered),
            pinned: pinned.unwrap_or(moved.pinned),
            expected_records: input.expected_records.unwrap_or(moved.expected_records),
            records: moved.records + u64::from(clears && has_learnt),
            ..moved
        }
    }
}
