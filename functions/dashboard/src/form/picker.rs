//! A search in a form in which sites, or sites and heartbeats, are chosen. Without JavaScript, its button sends the form,
//! which comes back with everything that was typed and chosen.

use std::collections::BTreeSet;

use maud::{Markup, html};
use vedette_domain::id::MonitorId;
use vedette_store::DirectoryRow;

use super::FormInput;
use crate::words::counted;

/// A form that offers more has a search.
const FEW: usize = 25;
/// The most that are offered, besides those that are chosen.
const OFFERED_MAX: usize = 200;
/// The most chosen ones that are shown: a few times what a window or a status page takes.
const CHOSEN_MAX: usize = 500;
/// The field of the search, and the value of its button.
const FIND: &str = "find";

/// Whether the form was sent to search, and not to save it.
pub(crate) fn is_search(sent: &FormInput) -> bool {
    sent.has("do", FIND)
}

/// What can be chosen.
pub(crate) trait Candidate {
    /// One of them, and several.
    const WORDS: [&str; 2];

    fn id(&self) -> MonitorId;

    /// Whether it matches a part, which is in lower case.
    fn contains(&self, part: &str) -> bool;
}

impl Candidate for DirectoryRow {
    const WORDS: [&str; 2] = ["site", "sites"];

    fn id(&self) -> MonitorId {
        self.id
    }

    fn contains(&self, part: &str) -> bool {
        Self::contains(self, part)
    }
}

/// What a form offers, in its order: first what is chosen, then what matches the search.
pub(crate) struct Offered<'c, C> {
    pub(crate) all: Vec<&'c C>,
    /// How many match besides.
    more: usize,
    /// Whether there are so many that a search is of use.
    pub(crate) has_search: bool,
}

impl<'c, C: Candidate> Offered<'c, C> {
    /// The offer among some of what a team has.
    pub(crate) fn of(input: &FormInput, candidates: &'c [C], chosen: &BTreeSet<MonitorId>) -> Self {
        let part = input.text(FIND).trim().to_lowercase();
        let has_search = candidates.len() > FEW;
        let (mut all, mut others): (Vec<_>, Vec<_>) =
            candidates.iter().partition(|one| chosen.contains(&one.id()));
        all.truncate(CHOSEN_MAX);
        others.retain(|one| one.contains(&part));
        let more = others.len().saturating_sub(OFFERED_MAX);
        others.truncate(OFFERED_MAX);
        all.append(&mut others);
        Self { all, more, has_search }
    }

    /// The search, if there is one.
    pub(crate) fn search(&self, input: &FormInput) -> Markup {
        let [one, several] = C::WORDS;
        let more = [format!("more {one} matches"), format!("more {several} match")];
        html! {
            @if self.has_search {
                div.fld #(FIND) {
                    label for="find-text" { "Search " (several) }
                    div.row {
                        input.grow #find-text type="search" name=(FIND) value=(input.text(FIND)) placeholder="Name or URL";
                        button name="do" value=(FIND) formaction={ "#" (FIND) } { "Search" }
                    }
                    p.help {
                        @if self.all.is_empty() { "No " (one) " matches." }
                        @else { "Selected " (several) " stay selected." }
                        @if self.more > 0 { " " (counted(self.more, &more[0], &more[1])) "." }
                    }
                }
            }
        }
    }
}
