//! What became of each site of a bulk request.

use serde::Serialize;

use vedette_domain::sites::site_url::MAX_LENGTH;

use super::SiteResource;
use crate::validation::echo;

/// What became of many sites, each list in the order of the request.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SitesOutcome {
    /// Sites that are watched from now on.
    created: Vec<SiteResource>,
    /// URLs that are watched already, or occur more than once in the request.
    skipped: Vec<Skipped>,
    /// URLs that are not watched.
    failed: Vec<Failed>,
}

/// A URL that is watched already.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Skipped {
    /// As it was sent, as far as a URL may be long.
    url: String,
    /// For people.
    reason: String,
}

/// A URL that is not watched.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Failed {
    /// As it was sent, as far as a URL may be long.
    url: String,
    /// For people.
    error: String,
}

impl SitesOutcome {
    /// A site was created.
    pub fn create(&mut self, site: SiteResource) {
        self.created.push(site);
    }

    /// A URL was passed over.
    pub fn skip(&mut self, url: String, reason: impl Into<String>) {
        self.skipped.push(Skipped { url: as_sent(&url), reason: reason.into() });
    }

    /// A URL was refused.
    pub fn fail(&mut self, url: String, error: impl Into<String>) {
        self.failed.push(Failed { url: as_sent(&url), error: error.into() });
    }
}

/// Whole, as far as it could be a URL: what is longer is cut.
fn as_sent(url: &str) -> String {
    echo(url, MAX_LENGTH).into_owned()
}
