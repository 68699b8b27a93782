//! Groups of sites: selectors with a name that a team has saved. A site is in each group that its tags match.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::selector::Selector;
use super::settings::Settings;
use crate::checks::tool::Tool;
use crate::configuration::ManagedBy;
use crate::input::{FieldRule, InputShape, ListRule, ObjectRule, input, line};
use crate::objectives::{Objective, ObjectiveRule};
use crate::validation::{Errors, Field, ValidationError};

/// The most groups of a team.
pub const SITE_GROUPS_MAX: usize = 20;
/// The longest name of a group, in characters.
const GROUP_NAME_MAX: usize = 60;

/// A saved selector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SiteGroup {
    /// Its name, which no other group of the team has.
    pub name: String,
    /// The tags of its sites.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub selector: Selector,
    /// How much of a period all of its sites should be up; omitted if there is no objective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Objective", default))]
    pub objective: Option<Objective>,
    /// An addition to the specification: the document that manages it; omitted if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "ManagedBy", default))]
    pub managed_by: Option<ManagedBy>,
}

/// The groups of a team, in the order in which the team has saved them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteGroups {
    /// Rises with every write.
    pub rev: u64,
    /// The groups.
    pub groups: Vec<SiteGroup>,
}

input! {
    /// All groups of a team, which replace those before.
    SiteGroupsInput {
        /// The groups. Their names differ.
        groups: Required<Vec<SiteGroupInput>> = GroupsRule;
    }
}

input! {
    /// A group as people choose it.
    SiteGroupInput {
        /// The name of the group.
        #[form("Name")]
        name: Required<String> = line(GROUP_NAME_MAX);
        /// The tags of its sites, such as `env:prod, team in (shop,web), !legacy`.
        #[form("Tags")]
        selector: Required<Selector> = Selector::RULE;
        /// How much of a period all of its sites should be up: the group is down while any of them is. Checks must be
        /// frequent enough to tell: what it allows is at least two of them long.
        objective: Nullable<Objective> = ObjectiveRule;
    }
}

/// Groups whose names differ, whatever their case.
struct GroupsRule;

impl GroupsRule {
    const LIST: ListRule<ObjectRule, SiteGroupInput> =
        ListRule::new(0, SITE_GROUPS_MAX, ObjectRule);
}

impl FieldRule<Vec<SiteGroupInput>> for GroupsRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<Vec<SiteGroupInput>> {
        let groups: Vec<SiteGroupInput> = Self::LIST.read(field, errors)?;
        let names: BTreeSet<_> = groups.iter().map(|group| group.name.to_lowercase()).collect();
        if names.len() < groups.len() {
            field.refuse(errors, "must not have two groups with the same name");
            return None;
        }
        Some(groups)
    }

    fn shape(&self) -> InputShape {
        FieldRule::<Vec<SiteGroupInput>>::shape(&Self::LIST)
    }

    fn limit(&self) -> String {
        FieldRule::<Vec<SiteGroupInput>>::limit(&Self::LIST)
    }
}

impl SiteGroupsInput {
    /// Refuses objectives that checks at the team's cadence cannot tell. Those that groups have already may stay.
    ///
    /// # Errors
    ///
    /// Each of them.
    pub fn check_objectives(
        &self,
        before: &SiteGroups,
        team: &Settings,
    ) -> Result<(), ValidationError> {
        let cadence = team.tools.cadence_minutes(Tool::Status);
        let mut errors = Errors::new();
        for (place, SiteGroupInput { name, objective, .. }) in self.groups.iter().enumerate() {
            let known = before.groups.iter().find(|group| group.name == *name);
            let new = objective.filter(|_| known.and_then(|group| group.objective) != *objective);
            if let Some(Err(refusal)) = new.map(|objective| objective.check_cadence(cadence)) {
                let field = format!("groups.{place}.objective.percentage");
                errors.push(&*field, format!("The {field} field {refusal}."));
            }
        }
        errors.finish(Some(()))
    }

    /// The groups after this choice.
    pub fn after(self, before: &SiteGroups) -> SiteGroups {
        let names: BTreeSet<_> = self.groups.iter().map(|group| group.name.clone()).collect();
        let managed_by = |name: &str, selector: &Selector| {
            let is_renamed =
                |group: &&SiteGroup| !names.contains(&group.name) && group.selector == *selector;
            let mut known = before.groups.iter();
            let known =
                known.clone().find(|group| group.name == name).or_else(|| known.find(is_renamed));
            known.and_then(|group| group.managed_by.clone())
        };
        let groups = self.groups.into_iter();
        let groups = groups.map(|SiteGroupInput { name, selector, objective }| SiteGroup {
            managed_by: managed_by(&name, &selector),
            name,
            selector,
            objective,
        });
        SiteGroups { rev: before.rev + 1, groups: groups.collect() }
    }
}
