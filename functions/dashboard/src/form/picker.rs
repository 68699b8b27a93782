//! A search for sites in a form in which they are chosen. Without JavaScript, its button sends the form, which comes back
//! with everything that was typed and chosen.

use std::collections::BTreeSet;

use maud::{Markup, html};
use vedette_domain::heartbeats::heartbeat::Heartbeat;
use vedette_domain::id::{MonitorId, SiteId};
use vedette_store::DirectoryRow;

use super::FormInput;
use crate::words::counted;

/// Teams with more sites can search them.
const FEW: usize = 25;
/// The most sites that are offered, besides those that are chosen.
const OFFERED_MAX: usize = 200;
/// The most chosen sites that are shown: a few times what a window or a status page takes.
const CHOSEN_MAX: usize = 500;
/// The field of the search, and the value of its button.
const FIND: &str = "find";

/// Whether the form was sent to search, and not to save it.
pub(crate) fn is_search(sent: &FormInput) -> bool {
    sent.has("do", FIND)
}

/// What is searched for, in lower case; empty for everything.
fn searched(input: &FormInput) -> String {
    input.text(FIND).trim().to_lowercase()
}

/// The sites that a form offers, in their order: first those that are chosen, then those that match the search.
pub(crate) struct Offered<'s> {
    pub(crate) sites: Vec<&'s DirectoryRow>,
    /// How many match besides.
    more: usize,
    /// Whether there are so many sites that a search is of use.
    pub(crate) has_search: bool,
}

impl<'s> Offered<'s> {
    /// The offer among some of a team's sites.
    pub(crate) fn of(
        input: &FormInput,
        sites: impl ExactSizeIterator<Item = &'s DirectoryRow>,
        chosen: &BTreeSet<SiteId>,
    ) -> Self {
        let part = searched(input);
        let has_search = sites.len() > FEW;
        let (mut offered, mut others): (Vec<_>, Vec<_>) =
            sites.partition(|site| chosen.contains(&site.id));
        offered.truncate(CHOSEN_MAX);
        others.retain(|site| site.contains(&part));
        let more = others.len().saturating_sub(OFFERED_MAX);
        others.truncate(OFFERED_MAX);
        offered.append(&mut others);
        Self { sites: offered, more, has_search }
    }

    /// The heartbeats that the form offers besides, in their order.
    pub(crate) fn with_heartbeats<'h>(
        &mut self,
        input: &FormInput,
        heartbeats: impl ExactSizeIterator<Item = &'h Heartbeat>,
        chosen: &BTreeSet<MonitorId>,
    ) -> Vec<&'h Heartbeat> {
        let part = searched(input);
        self.has_search |= heartbeats.len() > FEW;
        let is_offered = |heartbeat: &&Heartbeat| {
            chosen.contains(&heartbeat.id) || heartbeat.name.to_lowercase().contains(&part)
        };
        heartbeats.filter(is_offered).take(OFFERED_MAX).collect()
    }

    /// The search, if there is one.
    pub(crate) fn search(&self, input: &FormInput) -> Markup {
        html! {
            @if self.has_search {
                div.fld #(FIND) {
                    label for="find-text" { "Search sites" }
                    div.row {
                        input.grow #find-text type="search" name=(FIND) value=(input.text(FIND)) placeholder="Name or URL";
                        button name="do" value=(FIND) formaction={ "#" (FIND) } { "Search" }
                    }
                    p.help {
                        @if self.sites.is_empty() { "No site matches." }
                        @else { "Selected sites stay selected." }
                        @if self.more > 0 { " " (counted(self.more, "more site matches", "more sites match")) "." }
                    }
                }
            }
        }
    }
}
