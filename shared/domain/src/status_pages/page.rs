//! What a team has chosen for a status page.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::address::{PageAddress, Slug};
use crate::alerts::channel::LinkKey;
use crate::id::{ComponentId, SiteId, StatusPageId, TeamId};

/// The most status pages of a team.
pub const PAGES_MAX: usize = 5;
/// The most groups of a status page.
pub(super) const GROUPS_MAX: usize = 20;
/// The most components of a status page, in all groups.
pub const COMPONENTS_MAX: usize = 50;
/// The longest name of a page, a group or a component, in characters.
pub(super) const PUBLISHED_NAME_MAX: usize = 100;
/// The longest message, in characters.
pub(super) const MESSAGE_MAX: usize = 1_000;

/// A status page, as the team manages it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusPage {
    /// Its unique ID.
    pub id: StatusPageId,
    /// The team that it belongs to.
    pub team: TeamId,
    /// Its name in the URL.
    pub slug: Slug,
    /// Its name, usually the organization's.
    pub name: String,
    /// A message to all readers; null if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its components, in groups.
    #[serde(default)]
    pub groups: Vec<Group>,
    /// The key in its link, if the page is unlisted: then the slug leads nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkKey>,
    /// Whether planned maintenance has the names of the team's windows. Otherwise, it is called "Maintenance".
    #[serde(default)]
    pub names_windows: bool,
    /// Whether readers can subscribe to its incidents by email.
    #[serde(rename = "subscriptions", default, skip_serializing_if = "is_false")]
    pub offers_subscriptions: bool,
    /// Rises with every write.
    pub rev: u64,
    /// Creation.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// Components that are shown together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its heading; `None` for components without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its components, in the order in which they are shown.
    pub components: Vec<Component>,
}

/// A part of a status page whose state is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// Its unique ID, which readers see.
    pub id: ComponentId,
    /// Its published name.
    pub name: String,
    /// The site whose state it shows.
    pub site: SiteId,
    /// Whether its response time is published.
    #[serde(default, skip_serializing_if = "is_false")]
    pub publishes_response_time: bool,
}

impl StatusPage {
    /// Where readers find it.
    pub fn address(&self) -> PageAddress {
        self.link.as_ref().map_or_else(|| PageAddress::from(&self.slug), PageAddress::from)
    }

    /// Whether only its link leads to it.
    pub const fn is_unlisted(&self) -> bool {
        self.link.is_some()
    }

    /// All components.
    pub fn components(&self) -> impl Iterator<Item = &Component> {
        self.groups.iter().flat_map(|group| &group.components)
    }

    /// The component with an id.
    pub fn component(&self, id: ComponentId) -> Option<&Component> {
        self.components().find(|component| component.id == id)
    }

    /// The sites whose states it shows.
    pub fn sites(&self) -> BTreeSet<SiteId> {
        self.components().map(|component| component.site).collect()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}
