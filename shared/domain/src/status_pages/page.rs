//! What a team has chosen for a status page.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Builder;

use super::address::{PageAddress, Slug};
use crate::alerts::channel::LinkKey;
use crate::configuration::ManagedBy;
use crate::id::{ComponentId, HeartbeatId, MonitorId, SiteId, StatusPageId, TeamId};
use crate::sites::selector::Selector;

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
    /// The tags of the sites that it shows besides; see [`StatusPage::following`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// Whether sites that its selector adds are published at once. Otherwise, they stay hidden until somebody publishes
    /// them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub publishes_new_sites: bool,
    /// What was chosen for components that its selector added before they left, with the names of their groups. They are
    /// the same when they join again. If somebody has removed one, it joins hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<(Option<String>, Component)>,
    /// The key in its link, if the page is unlisted: then the slug leads nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkKey>,
    /// Whether planned maintenance has the names of the team's windows. Otherwise, it is called "Maintenance".
    #[serde(default)]
    pub names_windows: bool,
    /// Whether readers can subscribe to its incidents by email.
    #[serde(rename = "subscriptions", default, skip_serializing_if = "is_false")]
    pub offers_subscriptions: bool,
    /// The document that manages it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<ManagedBy>,
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
    /// The site or heartbeat whose state it shows.
    #[serde(rename = "site")]
    pub monitor: MonitorId,
    /// Whether that is a heartbeat.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_heartbeat: bool,
    /// Whether its response time is published.
    #[serde(default, skip_serializing_if = "is_false")]
    pub publishes_response_time: bool,
    /// Whether readers do not see it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_hidden: bool,
    /// Whether the selector of the page added it. It leaves the page when its site is no longer selected.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_selected: bool,
}

/// What the selector of a status page did with a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComponentChange {
    /// It was added, because the tags of its site match.
    Joined,
    /// It was removed, because the tags of its site no longer match.
    Left,
}

/// What the selector of a page changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Following {
    /// The page after it.
    pub page: StatusPage,
    /// The components that it adds and removes.
    pub components: Vec<(Component, ComponentChange)>,
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

    /// The page as its readers see it, without hidden components and without groups that have no others.
    #[must_use]
    pub fn as_published(&self) -> Self {
        let mut page = self.clone();
        for group in &mut page.groups {
            group.components.retain(|component| !component.is_hidden);
        }
        page.groups.retain(|group| !group.components.is_empty());
        page
    }

    /// The page after its selector was applied to the team: `sites` are the names of those that it selects. `None` if
    /// that changes nothing. The components of sites that are no longer selected leave. If there are none, new ones come
    /// last, with the names of their sites, at most [`COMPONENTS_MAX`] in all: apply it until nothing changes. A page
    /// without a selector keeps what it has.
    pub fn following(&self, sites: &BTreeMap<SiteId, String>, now: Timestamp) -> Option<Following> {
        self.selector.as_ref()?;
        let mut page = self.clone();
        let mut components = Vec::new();
        for group in &mut page.groups {
            let leaves = |one: &mut Component| one.is_selected && !sites.contains_key(&one.monitor);
            for component in group.components.extract_if(.., leaves) {
                components.push((component.clone(), ComponentChange::Left));
                page.left.push((group.name.clone(), component));
            }
        }
        page.groups.retain(|group| !group.components.is_empty());
        page.left.drain(..page.left.len().saturating_sub(COMPONENTS_MAX));
        let shown = page.sites();
        let joins = components.is_empty();
        let new = sites.iter().filter(|(site, _)| joins && !shown.contains(site));
        let mut new: Vec<_> = new.collect();
        new.sort_by_cached_key(|(site, name)| (name.to_lowercase(), **site));
        for (site, name) in new {
            // The site has the same component whenever it joins. Somebody may have given that one another site.
            let id = self.component_of(*site);
            if page.component(id).is_some() || page.components().count() >= COMPONENTS_MAX {
                continue;
            }
            let before = page.left.iter().position(|(_, left)| left.id == id);
            let (group, component) = before.map(|place| page.left.remove(place)).unwrap_or((
                None,
                Component {
                    id,
                    name: name.chars().take(PUBLISHED_NAME_MAX).collect(),
                    monitor: *site,
                    is_heartbeat: false,
                    publishes_response_time: false,
                    is_hidden: !self.publishes_new_sites,
                    is_selected: true,
                },
            ));
            page.group_for_new(group).components.push(component.clone());
            components.push((component, ComponentChange::Joined));
        }
        page.rev += 1;
        page.updated_at = now;
        (!components.is_empty()).then_some(Following { page, components })
    }

    /// The group for a component that joins: the one with this name, or else the last one if it has none. It is added
    /// unless the page has room for no other group.
    fn group_for_new(&mut self, name: Option<String>) -> &mut Group {
        let named = self.groups.iter().position(|group| name.is_some() && group.name == name);
        let last = self.groups.len().checked_sub(1);
        let unnamed = last.filter(|last| self.groups[*last].name.is_none());
        let has_room = self.groups.len() < GROUPS_MAX;
        let place = named.or(unnamed).or(last.filter(|_| !has_room)).unwrap_or_else(|| {
            self.groups.push(Group { name: None, components: Vec::new() });
            self.groups.len() - 1
        });
        &mut self.groups[place]
    }

    /// The id of the component for a site that the selector adds. Nobody who sees it learns the id of the site.
    fn component_of(&self, site: SiteId) -> ComponentId {
        let hash = Sha256::new().chain_update(self.id.0.as_bytes()).chain_update(site.0.as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.finalize()[..16]);
        ComponentId(Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// The sites whose states it shows.
    pub fn sites(&self) -> BTreeSet<SiteId> {
        self.monitors(false)
    }

    /// The heartbeats whose states it shows.
    pub fn heartbeats(&self) -> BTreeSet<HeartbeatId> {
        self.monitors(true)
    }

    fn monitors(&self, are_heartbeats: bool) -> BTreeSet<MonitorId> {
        let shown = self.components().filter(|component| component.is_heartbeat == are_heartbeats);
        shown.map(|component| component.monitor).collect()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}
