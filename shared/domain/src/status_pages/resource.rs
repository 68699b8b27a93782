//! Status pages and incidents as the API shows them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use super::{Impact, IncidentStatus, PageIncident, StatusPage};
use crate::alerts::link;
use crate::configuration::ManagedBy;
use crate::id::{ComponentId, HeartbeatId, IncidentId, SiteId, StatusPageId};
use crate::time::{wire_time, wire_time_or_null};

/// A status page.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StatusPage"))]
pub struct StatusPageResource {
    /// Its unique ID.
    uuid: StatusPageId,
    /// Its name in the URL.
    slug: String,
    /// Where readers find it; null if the service does not know its own address. The URL of an unlisted page is
    /// secret.
    url: Option<String>,
    /// Its name.
    name: String,
    /// A message to all readers; null if there is none.
    message: Option<String>,
    /// Whether it can only be opened with its secret link.
    unlisted: bool,
    /// Whether planned maintenance appears under the names of the team's maintenance windows. Otherwise, it appears as
    /// "Maintenance".
    maintenance_names: bool,
    /// Whether readers can subscribe to its incidents by email.
    subscriptions: bool,
    /// The tags of sites that it also shows; omitted if it has no selector.
    #[serde(skip_serializing_if = "Option::is_none")]
    selector: Option<String>,
    /// Whether sites that the selector adds are published at once; omitted if they are hidden at first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    publish_new_sites: bool,
    /// The document that manages it; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "ManagedBy", default))]
    managed_by: Option<ManagedBy>,
    /// Its components, in groups.
    groups: Vec<GroupResource>,
    /// Creation.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    /// Last change.
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
}

/// Components that are shown together.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct GroupResource {
    /// Its heading; null if it has none.
    name: Option<String>,
    /// Its components, in the order in which they are shown.
    components: Vec<ComponentResource>,
}

/// A component.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct ComponentResource {
    /// Its unique ID, which readers see.
    uuid: ComponentId,
    /// Its published name.
    name: String,
    /// The site whose state it shows; null if it shows that of a heartbeat.
    site: Option<SiteId>,
    /// The heartbeat whose state it shows; omitted if it shows that of a site.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "HeartbeatId", default))]
    heartbeat: Option<HeartbeatId>,
    /// Whether its response time is published.
    response_time: bool,
    /// Whether readers do not see it; omitted if they do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    hidden: bool,
}

impl StatusPageResource {
    /// A page. `base` is the base address of the pages, if it is known.
    pub fn new(page: &StatusPage, base: Option<&str>) -> Self {
        let groups = page.groups.iter().map(|group| GroupResource {
            name: group.name.clone(),
            components: group
                .components
                .iter()
                .map(|component| ComponentResource {
                    uuid: component.id,
                    name: component.name.clone(),
                    site: (!component.is_heartbeat).then_some(component.monitor),
                    heartbeat: component.is_heartbeat.then_some(component.monitor),
                    response_time: component.publishes_response_time,
                    hidden: component.is_hidden,
                })
                .collect(),
        });
        Self {
            uuid: page.id,
            slug: page.slug.to_string(),
            url: base.map(|base| link::status_page(base, &page.address())),
            name: page.name.clone(),
            message: page.message.clone(),
            unlisted: page.is_unlisted(),
            maintenance_names: page.names_windows,
            subscriptions: page.offers_subscriptions,
            selector: page.selector.as_ref().map(ToString::to_string),
            managed_by: page.managed_by.clone(),
            publish_new_sites: page.publishes_new_sites,
            groups: groups.collect(),
            created_at: page.created_at,
            updated_at: page.updated_at,
        }
    }
}

/// An incident on a status page.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Incident"))]
pub struct IncidentResource {
    /// Its unique ID, which readers see.
    uuid: IncidentId,
    /// What is or was wrong, in one sentence.
    title: String,
    /// How much it affects the components that it concerns.
    impact: Impact,
    /// The current status: that of the newest update.
    status: IncidentStatus,
    /// The components that it concerns.
    components: BTreeSet<ComponentId>,
    /// When it started.
    #[serde(serialize_with = "wire_time")]
    started_at: Timestamp,
    /// When it was resolved; null while it is not.
    #[serde(serialize_with = "wire_time_or_null")]
    resolved_at: Option<Timestamp>,
    /// The time by which the team promises the next update; null if it promises none.
    #[serde(serialize_with = "wire_time_or_null")]
    next_update_by: Option<Timestamp>,
    /// What the team wrote, oldest first.
    updates: Vec<UpdateResource>,
    /// Creation.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    /// Last change.
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
}

/// An update of an incident.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct UpdateResource {
    /// When it was written.
    #[serde(serialize_with = "wire_time")]
    at: Timestamp,
    /// The status from then on.
    status: IncidentStatus,
    /// What the team wrote.
    text: String,
}

impl From<&PageIncident> for IncidentResource {
    fn from(incident: &PageIncident) -> Self {
        let updates = incident.updates.iter().map(|update| UpdateResource {
            at: update.at,
            status: update.status,
            text: update.text.clone(),
        });
        Self {
            uuid: incident.id,
            title: incident.title.clone(),
            impact: incident.impact,
            status: incident.status(),
            components: incident.components.clone(),
            started_at: incident.started_at,
            resolved_at: incident.resolved_at(),
            next_update_by: incident.next_update_by,
            updates: updates.collect(),
            created_at: incident.created_at,
            updated_at: incident.updated_at,
        }
    }
}
