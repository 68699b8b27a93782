//! The groups above the list: saved selectors, each with the state of its sites.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use url::form_urlencoded::Serializer;
use vedette_domain::checks::history::{COUNTED_DAYS, CheckCount, Retention};
use vedette_domain::checks::percentage::Percentage;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::Partition;
use vedette_domain::sites::group::{SiteGroup, SiteGroups};
use vedette_domain::sites::list_order::SortKey;
use vedette_domain::sites::site_state::SiteState;
use vedette_domain::sites::tag_dictionary::TagDictionary;
use vedette_http::error::ApiError;
use vedette_store::Store;

use super::tags::list_of;
use super::{Listed, SitesView, headline};
use crate::look::Look;
use crate::site_groups::address;
use crate::words::grouped;

/// A group and its sites.
pub(super) struct Members {
    group: SiteGroup,
    /// Its worst state; `None` if no site is in it.
    worst: Option<SiteState>,
    /// How many of its sites are in this state, and how many it has.
    counts: (usize, usize),
    /// Good checks divided by all checks. It is known if the groups have so few sites that each of them is read.
    uptime: Option<Percentage>,
}

/// The groups of a team with these sites, those in the worst state first and then by name.
pub(super) async fn load(
    store: &Store,
    groups: &SiteGroups,
    tags: &TagDictionary,
    sites: &[Listed<'_>],
    retention: Retention,
) -> Result<Vec<Members>, ApiError> {
    let members = groups.groups.iter().map(|group| {
        let selector = group.selector.numbered(tags);
        let members = sites.iter().filter(|site| selector.matches(&site.row.tags));
        (group, members.collect::<Vec<_>>())
    });
    let members: Vec<_> = members.collect();
    let partitions: BTreeSet<_> = members
        .iter()
        .flat_map(|(_, sites)| sites.iter().map(|site| site.row.id.partition()))
        .collect();
    let states = match partitions.len() <= SortKey::BY_CHECKS_MAX {
        true => store.tool_states(partitions, Tool::Status).await?,
        false => BTreeMap::new(),
    };
    let of = |(group, sites): (&SiteGroup, Vec<&Listed<'_>>)| {
        let worst = sites.iter().map(|site| site.state).min();
        let in_it = sites.iter().filter(|site| Some(site.state) == worst).count();
        let partitions = sites.iter().map(|site| site.row.id.partition());
        Members {
            group: group.clone(),
            worst,
            counts: (in_it, sites.len()),
            uptime: uptime(partitions, &states, retention),
        }
    };
    let mut members: Vec<_> = members.into_iter().map(of).collect();
    members.sort_by_cached_key(|of| (of.worst.is_none(), of.worst, of.group.name.to_lowercase()));
    Ok(members)
}

fn uptime(
    sites: impl Iterator<Item = Partition>,
    states: &BTreeMap<Partition, ToolState>,
    retention: Retention,
) -> Option<Percentage> {
    let counts = sites.filter_map(|site| {
        states.get(&site).and_then(|state| state.recent_checks(COUNTED_DAYS, retention))
    });
    counts.reduce(CheckCount::plus).and_then(CheckCount::uptime)
}

/// The card, if the team has groups. A filtered list does without, because the groups are about all sites.
pub(super) fn part(view: &SitesView<'_>) -> Markup {
    html! {
        @if !view.groups.is_empty() {
            section.card aria-labelledby="groups" {
                header {
                    h2 #groups { "Groups" }
                    @if view.may_manage { a.small href=(address(view.team.id)) { "Edit groups" } }
                }
                div.groups {
                    @for members in view.groups { (one(view, members)) }
                }
            }
        }
    }
}

fn one(view: &SitesView<'_>, members: &Members) -> Markup {
    let Members { group, worst, counts: (number, total), uptime } = members;
    let look = worst.map_or(Look::Pending, Look::from);
    html! {
        a href=(list_of(view.team.id, &group.selector.to_string())) title=(group.selector) {
            b { (look.mark()) span.cut { bdi { (group.name) } } }
            small {
                @match worst {
                    None => "No sites",
                    Some(state) => {
                        @if number < total { (grouped(*number as u64)) " of " }
                        @else if *total > 1 { "All " }
                        (grouped(*total as u64)) " " (headline::are(*number, *state))
                    }
                }
                @if let Some(uptime) = uptime { " · " span.nb { (uptime) "\u{202f}%" } }
                @if let Some(of) = view.budgets.get(&group.name) {
                    " · " span.nb title={ "Objective: " (of.objective) } { (of.budget.left_in_words(view.cadence_minutes)) }
                }
            }
        }
    }
}

/// The action of a filtered list: it saves the selector as a group, or changes the group that it is.
pub(super) fn action(view: &SitesView<'_>) -> Markup {
    let selector = &view.tag_filter.text;
    let query = Serializer::new(String::new()).append_pair("selector", selector).finish();
    html! {
        @if view.tag_filter.group(view.saved).is_some() {
            a.btn href=(address(view.team.id)) { "Edit groups" }
        } @else {
            a.btn href={ (address(view.team.id)) "?" (query) } { "Save as a group" }
        }
    }
}
