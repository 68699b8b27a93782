//! The outcome for each site of a bulk request.

use serde::Serialize;

use vedette_domain::sites::site_url::MAX_LENGTH;

use super::SiteResource;
use crate::validation::echo;

/// The outcome for many sites, each list in the order of the request.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SitesOutcome {
    /// Sites that were created.
    created: Vec<SiteResource>,
    /// URLs that the team already monitors, or that occur more than once in the request.
    skipped: Vec<Skipped>,
    /// URLs whose sites could not be created.
    failed: Vec<Failed>,
}

/// A URL that the team already monitors.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Skipped {
    /// The URL as it was sent, cut at the longest possible URL.
    url: String,
    /// For people.
    reason: String,
}

/// A URL whose site could not be created.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Failed {
    /// The URL as it was sent, cut at the longest possible URL.
    url: String,
    /// For people.
    error: String,
}

impl SitesOutcome {
    /// Records a site that was created.
    pub fn create(&mut self, site: SiteResource) {
        self.created.push(site);
    }

    /// Records a URL that was skipped.
    pub fn skip(&mut self, url: String, reason: impl Into<String>) {
        self.skipped.push(Skipped { url: as_sent(&url), reason: reason.into() });
    }

    /// Records a URL that was refused.
    pub fn fail(&mut self, url: String, error: impl Into<String>) {
        self.failed.push(Failed { url: as_sent(&url), error: error.into() });
    }
}

/// The whole text, unless it is longer than any URL; then it is cut.
fn as_sent(url: &str) -> String {
    echo(url, MAX_LENGTH).into_owned()
}
