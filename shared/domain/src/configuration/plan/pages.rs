//! The status pages of a document.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::describe;
use super::super::document::{Entry, ObjectKind};
use super::{ChangeStep, Likeness, Planner, text_of};
use crate::alerts::channel::LinkKey;
use crate::id::{ComponentId, StatusPageId};
use crate::input::read_object;
use crate::status_pages::{
    COMPONENTS_MAX, Component, ComponentInput, Group, NewPage, PAGES_MAX, StatusPage,
};

impl Planner<'_> {
    pub(super) fn pages(&mut self) {
        let (pages, team) = (self.current.pages, self.current.team);
        let matches = self.match_up(
            ObjectKind::StatusPage,
            pages,
            |page| page.managed_by.as_ref(),
            &[Likeness {
                of_entry: &|entry| Some(text_of(entry, "slug").to_owned()),
                of_object: &|page| Some(page.slug.as_str().to_owned()),
            }],
        );
        for (entry, before) in matches.pairs {
            let Some(new) = self.read_page(&entry) else { continue };
            let after = self.page_after(&entry, before, new);
            let described = (
                before.map(|before| describe::page(before, &self.references)),
                describe::page(&after, &self.references),
            );
            let is_managed = before.is_some_and(|before| before.managed_by == after.managed_by);
            let name = after.name.clone();
            let after = Box::new(after);
            let step = match before {
                None => ChangeStep::CreatePage(after),
                Some(before) => ChangeStep::SavePage { before: Box::new(before.clone()), after },
            };
            self.change(
                ObjectKind::StatusPage,
                &entry,
                &name,
                (described.0.as_ref(), &described.1),
                is_managed,
                step,
            );
        }
        for page in matches.gone {
            let step = ChangeStep::DeletePage(Box::new(page.clone()));
            let described = describe::page(page, &self.references);
            let by = page.managed_by.as_ref();
            self.remove(ObjectKind::StatusPage, (&page.name, &described), by, step);
        }
        self.limit(ObjectKind::StatusPage, team.status_pages.len(), PAGES_MAX, "a team");
    }

    fn read_page(&mut self, entry: &Entry) -> Option<NewPage> {
        let mut entry = entry.clone();
        let groups = entry.fields.get_mut("groups").and_then(Value::as_array_mut);
        for (place, group) in groups.into_iter().flatten().enumerate() {
            let components = group.get_mut("components").and_then(Value::as_array_mut);
            for (part, component) in components.into_iter().flatten().enumerate() {
                let path = format!("{}.groups.{place}.components.{part}", entry.path);
                if component.get("uuid").is_some() {
                    self.errors.push(
                        format!("{path}.uuid"),
                        format!("The {path}.uuid field is not known."),
                    );
                }
                let (references, errors) = (&self.references, &mut self.errors);
                if let Some(site) = component.get_mut("site") {
                    references.resolve(site, format!("{path}.site"), errors);
                }
                if let Some(heartbeat) = component.get_mut("heartbeat") {
                    references.resolve_heartbeat(heartbeat, format!("{path}.heartbeat"), errors);
                }
            }
        }
        read_object(&entry.fields(), &mut self.errors)
    }

    /// The page after the plan. Components that its selector has added stay, unless the document has their sites.
    fn page_after(
        &mut self,
        entry: &Entry,
        before: Option<&StatusPage>,
        new: NewPage,
    ) -> StatusPage {
        let (team, now) = (self.current.team.id, self.choices.now);
        let kept: Vec<_> = before.into_iter().flat_map(StatusPage::components).cloned().collect();
        let mut groups = Vec::new();
        let mut shown = BTreeSet::new();
        for group in new.groups.iter().flatten() {
            let mut components = Vec::new();
            for component in group.components.clone() {
                let (monitor, is_heartbeat) = component.shown();
                let ComponentInput { name, response_time, hidden, .. } = component;
                let id = kept.iter().find(|one| one.monitor == monitor && !shown.contains(&one.id));
                let id = id.map_or_else(|| ComponentId(self.uuid()), |one| one.id);
                shown.insert(id);
                components.push(Component {
                    id,
                    name,
                    monitor,
                    is_heartbeat,
                    publishes_response_time: response_time,
                    is_hidden: hidden.unwrap_or_default(),
                    is_selected: false,
                });
            }
            groups.push(Group { name: group.name.clone(), components });
        }
        for group in before.into_iter().flat_map(|before| &before.groups) {
            let others = group.components.iter();
            let others = others.filter(|one| one.is_selected && !shown.contains(&one.id));
            let count: usize = groups.iter().map(|group: &Group| group.components.len()).sum();
            let room = COMPONENTS_MAX.saturating_sub(count);
            let others: Vec<_> = others.take(room).cloned().collect();
            if others.is_empty() {
                continue;
            }
            match groups.iter_mut().find(|one| one.name == group.name) {
                Some(one) => one.components.extend(others),
                None => groups.push(Group { name: group.name.clone(), components: others }),
            }
        }
        let key = LinkKey::from_random(self.random());
        let link = before.and_then(|before| before.link.clone()).unwrap_or(key);
        StatusPage {
            id: before.map_or_else(|| StatusPageId(self.uuid()), |before| before.id),
            team,
            slug: new.slug,
            name: new.name,
            message: new.message,
            groups,
            selector: new.selector,
            publishes_new_sites: new.publish_new_sites,
            left: before.map(|before| before.left.clone()).unwrap_or_default(),
            link: new.unlisted.then_some(link),
            names_windows: new.maintenance_names,
            offers_subscriptions: new.subscriptions,
            managed_by: Some(self.managed_by(entry)),
            rev: before.map_or(1, |before| before.rev + 1),
            created_at: before.map_or(now, |before| before.created_at),
            updated_at: now,
        }
    }
}
