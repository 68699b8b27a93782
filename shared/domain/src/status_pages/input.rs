//! What people choose for a status page, and what they write about an incident.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::address::Slug;
use super::incident::{
    Impact, IncidentRefusal, IncidentStatus, IncidentUpdate, PageIncident, UPDATES_MAX,
};
use super::page::{Component, Group, PAGES_MAX, StatusPage};
use crate::alerts::channel::LinkKey;
use crate::id::{ComponentId, IncidentId, SiteId, StatusPageId, TeamId};

/// What people choose for a status page; `None` for what they leave open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageInput {
    /// Its name in the URL.
    pub slug: Option<Slug>,
    /// Its name.
    pub name: Option<String>,
    /// What the team has to say to all readers; `Some(None)` for nothing.
    pub message: Option<Option<String>>,
    /// Its groups, which replace all others.
    pub groups: Option<Vec<GroupInput>>,
    /// Whether only a secret link leads to it.
    pub is_unlisted: Option<bool>,
    /// Whether planned maintenance has the names of the team's windows.
    pub names_windows: Option<bool>,
    /// Whether readers can subscribe to its incidents by email.
    pub offers_subscriptions: Option<bool>,
}

/// A group as people choose it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupInput {
    /// Its heading, if it has one.
    pub name: Option<String>,
    /// Its components.
    pub components: Vec<ComponentInput>,
}

/// A component as people choose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentInput {
    /// Which component of the page it is; `None` for the one that shows the site or, if there is none, a new one.
    pub id: Option<ComponentId>,
    /// Its published name.
    pub name: String,
    /// The site whose state it shows.
    pub site: SiteId,
    /// Whether its response time is published.
    pub publishes_response_time: bool,
}

/// Why a status page is not saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageRefusal {
    /// The team has [`PAGES_MAX`] others.
    #[error("A team has at most {PAGES_MAX} status pages.")]
    TooMany,
    /// Another page has the slug.
    #[error("The slug is taken.")]
    SlugTaken,
    /// A component shows a site that the team does not have.
    #[error("The status page shows a site that the team does not have.")]
    UnknownSite,
    /// A component has an id that the page does not have, or has twice.
    #[error("The status page names a component that it does not have, or names it twice.")]
    UnknownComponent,
}

impl PageInput {
    /// A new page with a slug and a name. `new_id` gives its components their ids.
    ///
    /// # Errors
    ///
    /// A refusal, or an error of `new_id`.
    pub fn into_page<E: From<PageRefusal>>(
        self,
        (id, team): (StatusPageId, TeamId),
        (slug, name): (Slug, String),
        link: LinkKey,
        new_id: impl FnMut() -> Result<ComponentId, E>,
        now: Timestamp,
    ) -> Result<StatusPage, E> {
        let page = StatusPage {
            id,
            team,
            slug,
            name,
            message: None,
            groups: Vec::new(),
            link: None,
            names_windows: false,
            offers_subscriptions: false,
            rev: 0,
            created_at: now,
            updated_at: now,
        };
        self.apply_to(&page, link, new_id, now)
    }

    /// The page with what was chosen. If it becomes unlisted, `link` is the key in its link.
    ///
    /// # Errors
    ///
    /// A refusal, or an error of `new_id`.
    pub fn apply_to<E: From<PageRefusal>>(
        self,
        page: &StatusPage,
        link: LinkKey,
        new_id: impl FnMut() -> Result<ComponentId, E>,
        now: Timestamp,
    ) -> Result<StatusPage, E> {
        let groups = match self.groups {
            Some(groups) => identified(groups, page, new_id)?,
            None => page.groups.clone(),
        };
        let link = match self.is_unlisted {
            Some(false) => None,
            Some(true) => Some(page.link.clone().unwrap_or(link)),
            None => page.link.clone(),
        };
        Ok(StatusPage {
            slug: self.slug.unwrap_or_else(|| page.slug.clone()),
            name: self.name.unwrap_or_else(|| page.name.clone()),
            message: self.message.unwrap_or_else(|| page.message.clone()),
            groups,
            link,
            names_windows: self.names_windows.unwrap_or(page.names_windows),
            offers_subscriptions: self.offers_subscriptions.unwrap_or(page.offers_subscriptions),
            rev: page.rev + 1,
            updated_at: now,
            ..page.clone()
        })
    }
}

/// The groups with the ids of their components. A component keeps its id as long as it names it, or shows the same site.
fn identified<E: From<PageRefusal>>(
    groups: Vec<GroupInput>,
    page: &StatusPage,
    mut new_id: impl FnMut() -> Result<ComponentId, E>,
) -> Result<Vec<Group>, E> {
    let mut free: Vec<&Component> = page.components().collect();
    let mut take = |wanted: &dyn Fn(&Component) -> bool| {
        let place = free.iter().position(|component| wanted(component))?;
        Some(free.remove(place).id)
    };
    // Components that are named come first, so that no other takes their ids.
    let all = groups.iter().flat_map(|group| &group.components);
    let mut ids = Vec::new();
    for component in all.clone() {
        ids.push(match component.id {
            Some(id) => Some(take(&|known| known.id == id).ok_or(PageRefusal::UnknownComponent)?),
            None => None,
        });
    }
    for (id, component) in ids.iter_mut().zip(all) {
        *id = id.or_else(|| take(&|known| known.site == component.site));
    }
    let mut ids = ids.into_iter();
    let mut identified = Vec::new();
    for group in groups {
        let mut components = Vec::new();
        for ComponentInput { name, site, publishes_response_time, .. } in group.components {
            let id = ids.next().flatten().map_or_else(&mut new_id, Ok)?;
            components.push(Component { id, name, site, publishes_response_time });
        }
        identified.push(Group { name: group.name, components });
    }
    Ok(identified)
}

/// What people write about an incident; `None` for what they leave open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IncidentInput {
    /// What is wrong, in one sentence.
    pub title: Option<String>,
    /// How much it affects the components that it concerns.
    pub impact: Option<Impact>,
    /// The components that it concerns.
    pub components: Option<BTreeSet<ComponentId>>,
    /// When it started, which is not in the future.
    pub started_at: Option<Timestamp>,
    /// By when the team promises the next update; `Some(None)` for no promise.
    pub next_update_by: Option<Option<Timestamp>>,
    /// An update.
    pub update: Option<UpdateInput>,
}

/// An update of an incident as people write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateInput {
    /// The status from then on; `None` if it stays.
    pub status: Option<IncidentStatus>,
    /// What people wrote.
    pub text: String,
}

impl IncidentInput {
    /// A new incident of a page with a title and a first update.
    ///
    /// # Errors
    ///
    /// It concerns a component that the page does not have, or starts in the future.
    pub fn into_incident(
        self,
        id: IncidentId,
        page: &StatusPage,
        (title, first): (String, UpdateInput),
        now: Timestamp,
    ) -> Result<PageIncident, IncidentRefusal> {
        let incident = PageIncident {
            id,
            title,
            impact: Impact::Minor,
            components: BTreeSet::new(),
            started_at: now,
            next_update_by: None,
            updates: Vec::new(),
            rev: 0,
            created_at: now,
            updated_at: now,
        };
        Self { update: Some(first), ..self }.apply_to(&incident, page, now)
    }

    /// The incident with what was written. An update without a status keeps that of the one before.
    ///
    /// # Errors
    ///
    /// The incident has too many updates, concerns a new component that the page does not have, or is moved into the
    /// future.
    pub fn apply_to(
        self,
        incident: &PageIncident,
        page: &StatusPage,
        now: Timestamp,
    ) -> Result<PageIncident, IncidentRefusal> {
        let kept = incident.clone();
        let components = self.components.unwrap_or(kept.components);
        let is_known =
            |id: &ComponentId| page.component(*id).is_some() || incident.components.contains(id);
        if !components.iter().all(is_known) {
            return Err(IncidentRefusal::UnknownComponent);
        }
        if self.started_at.is_some_and(|started_at| started_at > now) {
            return Err(IncidentRefusal::StartsInFuture);
        }
        let mut updates = kept.updates;
        if let Some(UpdateInput { status, text }) = self.update {
            let status = status.unwrap_or_else(|| incident.status());
            // There is always room for the update that resolves an incident.
            let resolves = status == IncidentStatus::Resolved && !incident.is_resolved();
            if updates.len() >= UPDATES_MAX && !resolves {
                return Err(IncidentRefusal::TooManyUpdates);
            }
            updates.push(IncidentUpdate { at: now, status, text });
        }
        Ok(PageIncident {
            title: self.title.unwrap_or(kept.title),
            impact: self.impact.unwrap_or(kept.impact),
            components,
            started_at: self.started_at.unwrap_or(kept.started_at),
            next_update_by: self.next_update_by.unwrap_or(kept.next_update_by),
            updates,
            rev: kept.rev + 1,
            updated_at: now,
            ..incident.clone()
        })
    }
}
