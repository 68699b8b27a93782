//! What people choose for a status page, and what they write about an incident.

use std::collections::BTreeSet;

use jiff::Timestamp;
use uuid::Uuid;

use super::address::Slug;
use super::incident::{
    INCIDENT_TITLE_MAX, Impact, IncidentRefusal, IncidentStatus, IncidentUpdate, PageIncident,
    UPDATE_TEXT_MAX, UPDATES_MAX,
};
use super::page::{
    COMPONENTS_MAX, Component, GROUPS_MAX, Group, MESSAGE_MAX, PAGES_MAX, PUBLISHED_NAME_MAX,
    StatusPage,
};
use crate::alerts::channel::LinkKey;
use crate::id::{ComponentId, HeartbeatId, IncidentId, MonitorId, SiteId, StatusPageId, TeamId};
use crate::input::{
    FieldRule, FlagRule, InputShape, ListRule, ObjectRule, input, instant, line, lines,
};
use crate::sites::selector::Selector;
use crate::validation::{Errors, Field};

input! {
    /// A new status page.
    NewPage,
    /// A change of a status page.
    PageEdit {
        /// The page's name, usually the organization's.
        #[form("Name", "Usually your organization’s name.")]
        name: Required<String> = line(PUBLISHED_NAME_MAX);
        /// The last part of the page's address, such as `meridian`. It is unique in the service.
        #[form("Slug", "The last part of its address, such as meridian.")]
        slug: Required<Slug> = Slug::RULE;
        /// A message to all readers; empty for none.
        #[form("Message", "Shown to all readers at the top.")]
        message: Clearable<String> = lines(MESSAGE_MAX);
        /// Whether the page can only be opened with its secret link. A page that is listed and then unlisted again gets a
        /// new link.
        #[form("Unlisted", "Only people with its long link can open the page. If you list the page and later unlist it again, it gets a new link.")]
        #[off("listed")]
        unlisted: Optional<bool> = FlagRule, or false;
        /// Whether readers can subscribe to the incidents of the page by email.
        #[form("Email updates", "Readers can subscribe to incidents. Each update that you write is emailed to them.")]
        subscriptions: Optional<bool> = FlagRule, or false;
        /// Whether planned maintenance appears under the names of the team's maintenance windows. Otherwise, it appears as
        /// "Maintenance".
        #[form("Publish the names of maintenance windows", "Otherwise, planned maintenance appears as “Maintenance”.")]
        maintenance_names: Optional<bool> = FlagRule, or false;
        /// The tags of sites that the page also shows, such as env:prod, team in (shop,web), !legacy; null if it shows only
        /// sites that were chosen individually. Their components join and leave as the tags change. They are hidden until
        /// somebody publishes them.
        #[form("Add sites with these tags")]
        selector: Clearable<Selector> = Selector::RULE;
        /// Whether sites that the selector adds are published at once, under their names.
        #[form("Publish new sites automatically", "Sites that match later appear on the page at once, under their own names. Otherwise, they stay hidden until you select them below.")]
        publish_new_sites: Optional<bool> = FlagRule, or false;
        /// The components, in groups.
        groups: Optional<Vec<GroupInput>> = GroupsRule;
    }
}

input! {
    /// A group as people choose it.
    GroupInput {
        /// The heading of the group; empty for none.
        #[form("Group")]
        #[option("group", "GROUP")]
        name: Nullable<String> = line(PUBLISHED_NAME_MAX);
        /// The components, in the order in which they are shown.
        components: Required<Vec<ComponentInput>> = ListRule::new(0, COMPONENTS_MAX, ObjectRule);
    }
}

input! {
    /// A component as people choose it.
    ComponentInput {
        /// The component to keep. If omitted, the component that shows the same site or heartbeat is kept or, if there is
        /// none, a new one is created.
        #[option("-")]
        uuid: Nullable<ComponentId> = ComponentId::RULE;
        /// The name that readers see.
        #[form("Published name")]
        name: Required<String> = line(PUBLISHED_NAME_MAX);
        /// The site whose state it shows. A component shows either a site or a heartbeat.
        #[option("-")]
        site: Nullable<SiteId> = SiteId::RULE;
        /// The heartbeat whose state it shows.
        #[option("-")]
        heartbeat: Nullable<HeartbeatId> = HeartbeatId::RULE;
        /// Whether its response time is published.
        #[form("Publish its response time")]
        response_time: Optional<bool> = FlagRule, or false;
        /// Whether readers do not see the component. If omitted, a component that is kept stays as it is, and a new one is
        /// shown.
        #[form("Hidden")]
        hidden: Nullable<bool> = FlagRule;
    }
}

/// The groups of a page, which have a limit together.
struct GroupsRule;

impl FieldRule<Vec<GroupInput>> for GroupsRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<Vec<GroupInput>> {
        let known = errors.len();
        let groups: Vec<GroupInput> = Self::LIST.read(field, errors)?;
        if groups.iter().map(|group| group.components.len()).sum::<usize>() > COMPONENTS_MAX {
            field.refuse(
                errors,
                format_args!("must not have more than {COMPONENTS_MAX} components"),
            );
            return None;
        }
        if errors.len() > known {
            // An id that could not be read would seem to be missing.
            return Some(groups);
        }
        let components = groups.iter().zip(0..).flat_map(|(group, number)| {
            let components = group.components.iter().zip(0..);
            components.map(move |(one, place)| (one, format!("{number}.components.{place}")))
        });
        for (component, place) in components {
            let mut refuse = |name: &str, what: &str| {
                let path = format!("{}.{place}.{name}", field.path());
                errors.push(path.clone(), format!("The {path} field {what}."));
            };
            match (component.site, component.heartbeat) {
                (None, None) => refuse("site", "is required without heartbeat"),
                (Some(_), Some(_)) => refuse("heartbeat", "cannot be combined with site"),
                (None, Some(_)) if component.response_time => {
                    refuse("response_time", "is for sites; a heartbeat has no response time");
                }
                _ => {}
            }
        }
        Some(groups)
    }

    fn shape(&self) -> InputShape {
        FieldRule::<Vec<GroupInput>>::shape(&Self::LIST)
    }

    fn limit(&self) -> String {
        format!("At most {COMPONENTS_MAX} components in all.")
    }
}

impl ComponentInput {
    /// The site or heartbeat whose state it shows, and whether it is a heartbeat. An input that was read has one of them.
    /// Without either, this is the nil id, which nothing has.
    pub fn shown(&self) -> (MonitorId, bool) {
        let none = MonitorId(Uuid::nil());
        (self.site.or(self.heartbeat).unwrap_or(none), self.heartbeat.is_some())
    }
}

impl GroupsRule {
    const LIST: ListRule<ObjectRule, GroupInput> = ListRule::new(0, GROUPS_MAX, ObjectRule);
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
    /// A component shows a heartbeat that the team does not have.
    #[error("The status page shows a heartbeat that the team does not have.")]
    UnknownHeartbeat,
    /// A component has an id that the page does not have, or has twice.
    #[error("The status page names a component that it does not have, or names it twice.")]
    UnknownComponent,
}

impl NewPage {
    /// A page that shows nothing yet.
    pub const fn named(name: String, slug: Slug) -> Self {
        Self {
            name,
            slug,
            message: None,
            unlisted: false,
            subscriptions: false,
            maintenance_names: false,
            selector: None,
            publish_new_sites: false,
            groups: None,
        }
    }

    /// The page. If it is unlisted, `link` is the key in its link; `new_id` gives its components their ids.
    ///
    /// # Errors
    ///
    /// A refusal, or an error of `new_id`.
    pub fn into_page<E: From<PageRefusal>>(
        self,
        id: StatusPageId,
        team: TeamId,
        link: LinkKey,
        new_id: impl FnMut() -> Result<ComponentId, E>,
        now: Timestamp,
    ) -> Result<StatusPage, E> {
        let page = StatusPage {
            id,
            team,
            slug: self.slug,
            name: self.name,
            message: self.message,
            groups: Vec::new(),
            selector: self.selector,
            publishes_new_sites: self.publish_new_sites,
            left: Vec::new(),
            link: self.unlisted.then_some(link),
            names_windows: self.maintenance_names,
            offers_subscriptions: self.subscriptions,
            managed_by: None,
            rev: 1,
            created_at: now,
            updated_at: now,
        };
        let groups = identified(self.groups.unwrap_or_default(), &page, new_id)?;
        Ok(StatusPage { groups, ..page })
    }
}

impl PageEdit {
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
        // What somebody removes does not come back by itself.
        let is_kept =
            |id| groups.iter().flat_map(|group| &group.components).any(|one| one.id == id);
        let removed = page.components().filter(|one| one.is_selected && !is_kept(one.id));
        let removed = removed.map(|one| (None, Component { is_hidden: true, ..one.clone() }));
        let left = page.left.iter().cloned().chain(removed).collect();
        let link = match self.unlisted {
            Some(false) => None,
            Some(true) => Some(page.link.clone().unwrap_or(link)),
            None => page.link.clone(),
        };
        Ok(StatusPage {
            slug: self.slug.unwrap_or_else(|| page.slug.clone()),
            name: self.name.unwrap_or_else(|| page.name.clone()),
            message: self.message.unwrap_or_else(|| page.message.clone()),
            groups,
            selector: self.selector.unwrap_or_else(|| page.selector.clone()),
            publishes_new_sites: self.publish_new_sites.unwrap_or(page.publishes_new_sites),
            left,
            link,
            names_windows: self.maintenance_names.unwrap_or(page.names_windows),
            offers_subscriptions: self.subscriptions.unwrap_or(page.offers_subscriptions),
            rev: page.rev + 1,
            updated_at: now,
            ..page.clone()
        })
    }
}

/// The groups with the ids of their components. A component keeps its id as long as it names it, or shows the same site
/// or heartbeat.
fn identified<E: From<PageRefusal>>(
    groups: Vec<GroupInput>,
    page: &StatusPage,
    mut new_id: impl FnMut() -> Result<ComponentId, E>,
) -> Result<Vec<Group>, E> {
    let mut free: Vec<&Component> = page.components().collect();
    let mut take = |wanted: &dyn Fn(&Component) -> bool| {
        let place = free.iter().position(|component| wanted(component))?;
        Some(free.remove(place))
    };
    // Components that are named come first, so that no other takes their ids.
    let all = groups.iter().flat_map(|group| &group.components);
    let mut kept = Vec::new();
    for component in all.clone() {
        kept.push(match component.uuid {
            Some(id) => Some(take(&|known| known.id == id).ok_or(PageRefusal::UnknownComponent)?),
            None => None,
        });
    }
    for (kept, component) in kept.iter_mut().zip(all) {
        *kept = kept.or_else(|| take(&|known| known.monitor == component.shown().0));
    }
    let mut kept = kept.into_iter();
    let mut identified = Vec::new();
    for group in groups {
        let mut components = Vec::new();
        for component in group.components {
            let kept = kept.next().flatten();
            let (monitor, is_heartbeat) = component.shown();
            let ComponentInput { name, response_time, hidden, .. } = component;
            components.push(Component {
                id: kept.map_or_else(&mut new_id, |kept| Ok(kept.id))?,
                name,
                monitor,
                is_heartbeat,
                publishes_response_time: response_time,
                is_hidden: hidden.unwrap_or_else(|| kept.is_some_and(|kept| kept.is_hidden)),
                is_selected: kept.is_some_and(|kept| kept.is_selected && kept.monitor == monitor),
            });
        }
        identified.push(Group { name: group.name, components });
    }
    Ok(identified)
}

input! {
    /// A new incident with its first update.
    NewIncident,
    /// A change of an incident, or an update.
    IncidentEdit {
        /// What is wrong, in one sentence.
        #[form("Title", "What is wrong. For example, Orders are delayed.")]
        title: Required<String> = line(INCIDENT_TITLE_MAX);
        /// How much it affects the components that it concerns.
        impact: Optional<Impact> = Impact::ALL, or Impact::Minor;
        /// The state of the work on it. An update without it keeps the status.
        #[needs("text")]
        status: Optional<IncidentStatus> = IncidentStatus::ALL, or IncidentStatus::Investigating;
        /// An update: what readers can do, and what the team is doing.
        #[form("Text", "What readers can do, and what you are doing.")]
        text: Required<String> = lines(UPDATE_TEXT_MAX);
        /// The time by which the team promises the next update; empty if it promises none.
        #[form("Next update by", "Optional. In the time zone of the team.")]
        #[option("next-update-by", "TIME")]
        next_update_by: Clearable<Timestamp> = instant();
        /// The components that it concerns.
        #[option("component", "COMPONENT")]
        components: Optional<BTreeSet<ComponentId>> = ListRule::new(0, COMPONENTS_MAX, ComponentId::RULE);
        /// When it started, which is not in the future. The default is now.
        #[option("started-at", "TIME")]
        started_at: Optional<Timestamp> = instant();
    }
}

impl NewIncident {
    /// An incident that starts now, with the defaults.
    pub const fn about(title: String, text: String) -> Self {
        let (impact, status) = (Impact::Minor, IncidentStatus::Investigating);
        let (next_update_by, components, started_at) = (None, None, None);
        Self { title, impact, status, text, next_update_by, components, started_at }
    }

    /// The incident of a page.
    ///
    /// # Errors
    ///
    /// It concerns a component that the page does not have, or starts in the future.
    pub fn into_incident(
        self,
        id: IncidentId,
        page: &StatusPage,
        now: Timestamp,
    ) -> Result<PageIncident, IncidentRefusal> {
        let incident = PageIncident {
            id,
            title: self.title,
            impact: self.impact,
            components: BTreeSet::new(),
            started_at: now,
            next_update_by: self.next_update_by,
            updates: Vec::new(),
            rev: 0,
            created_at: now,
            updated_at: now,
        };
        let (components, started_at) = (self.components, self.started_at);
        let (status, text) = (Some(self.status), Some(self.text));
        let first =
            IncidentEdit { components, started_at, status, text, ..IncidentEdit::default() };
        first.apply_to(&incident, page, now)
    }
}

impl IncidentEdit {
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
        if let Some(text) = self.text {
            let status = self.status.unwrap_or_else(|| incident.status());
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
