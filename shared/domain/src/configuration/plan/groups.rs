//! The groups of a document.

use super::super::describe;
use super::super::document::ObjectKind;
use super::{ChangeStep, Likeness, Planner, text_of};
use crate::checks::tool::Tool;
use crate::input::read_object;
use crate::sites::group::{SITE_GROUPS_MAX, SiteGroup, SiteGroupInput, SiteGroups};

impl Planner<'_> {
    pub(super) fn groups(&mut self) {
        let SiteGroups { rev, groups } = self.current.groups;
        let rev = *rev;
        let matches = self.match_up(
            ObjectKind::Group,
            groups,
            |group| group.managed_by.as_ref(),
            &[Likeness {
                of_entry: &|entry| Some(text_of(entry, "name").to_lowercase()),
                of_object: &|group| Some(group.name.to_lowercase()),
            }],
        );
        let removed = match self.prunes(ObjectKind::Group) {
            true => matches.gone.clone(),
            false => Vec::new(),
        };
        let described = matches.pairs.iter().filter_map(|(_, before)| *before);
        let replaced: Vec<_> = described.chain(removed).map(|group| group.name.clone()).collect();
        let mut after: Vec<SiteGroup> = groups.clone();
        after.retain(|group| !replaced.contains(&group.name));
        for (entry, before) in matches.pairs {
            let read: Option<SiteGroupInput> = read_object(&entry.fields(), &mut self.errors);
            let Some(SiteGroupInput { name, selector, objective }) = read else { continue };
            let managed_by = Some(self.managed_by(&entry));
            let group = SiteGroup { name, selector, objective, managed_by };
            let cadence = self.settings.tools.cadence_minutes(Tool::Status);
            let new = objective.filter(|_| before.and_then(|group| group.objective) != objective);
            if let Some(Err(refusal)) = new.map(|objective| objective.check_cadence(cadence)) {
                entry.refuse("objective.percentage", refusal, &mut self.errors);
            }
            if after.iter().any(|other| other.name.to_lowercase() == group.name.to_lowercase()) {
                entry.refuse(
                    "name",
                    "must differ from the names of other groups",
                    &mut self.errors,
                );
            }
            let described = (before.map(describe::group), describe::group(&group));
            let is_managed = before.is_some_and(|before| before.managed_by == group.managed_by);
            let name = group.name.clone();
            after.push(group);
            // The last change of a group saves all of them.
            let step = ChangeStep::SaveGroups { rev, groups: Vec::new() };
            self.change(
                ObjectKind::Group,
                &entry,
                &name,
                (described.0.as_ref(), &described.1),
                is_managed,
                step,
            );
        }
        for group in matches.gone {
            let step = ChangeStep::SaveGroups { rev, groups: Vec::new() };
            let described = describe::group(group);
            let by = group.managed_by.as_ref();
            self.remove(ObjectKind::Group, (&group.name, &described), by, step);
        }
        if after.len() > SITE_GROUPS_MAX {
            let why = format!(
                "The groups field would lead to {} groups; a team has at most {SITE_GROUPS_MAX}.",
                after.len()
            );
            self.errors.push("groups", why);
        }
        for change in self.changes.iter_mut().chain(&mut self.deletions) {
            if let ChangeStep::SaveGroups { groups, .. } = &mut change.step {
                groups.clone_from(&after);
            }
        }
    }
}
