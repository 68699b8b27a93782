//! The groups of a team's sites as the API shows them.

use serde::Serialize;
use vedette_domain::sites::group::{SiteGroup, SiteGroups};

/// The groups of a team.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SiteGroups"))]
pub struct SiteGroupsResource {
    /// The groups, in the order in which they were saved.
    groups: Vec<SiteGroup>,
}

impl From<SiteGroups> for SiteGroupsResource {
    fn from(SiteGroups { groups, .. }: SiteGroups) -> Self {
        Self { groups }
    }
}
