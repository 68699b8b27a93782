//! The orders of the list of sites.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maud::{Markup, html};
use vedette_domain::checks::history::Retention;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::Partition;
use vedette_domain::sites::list_order::{ListOrder, SortKey};

use super::figures::{response, uptime};
use super::{Listed, SiteFilter, SitesView};
use crate::form::capitalized;
use crate::look::Icon;
use crate::sites::certificate_ends;
use crate::words::grouped;

/// What the list is sorted by, in a sentence.
pub(super) const fn word(key: SortKey) -> &'static str {
    match key {
        SortKey::State => "state",
        SortKey::Name => "name",
        SortKey::Added => "date added",
        SortKey::Response => "response time",
        SortKey::Uptime => "uptime",
        SortKey::Certificate => "certificate",
        SortKey::Checked => "last check",
    }
}

/// Sorts by what the directory and the index of issues say. Sites that are equal are by state and then by name.
pub(super) fn by_directory(order: ListOrder, sites: &mut [&Listed<'_>]) {
    match order.key {
        SortKey::Name => order.arrange(sites, |site| Some(site.row.name.to_lowercase())),
        SortKey::Added => order.arrange(sites, |site| Some(site.row.created_at)),
        _ => order.arrange(sites, |site| Some(site.state)),
    }
}

/// Sorts by what the checks of the order's tool say.
pub(super) fn by_checks(
    order: ListOrder,
    sites: &mut [&Listed<'_>],
    states: &BTreeMap<Partition, ToolState>,
    (retention, now): (Retention, Timestamp),
) {
    let of = |site: &Listed<'_>| states.get(&site.row.id.partition());
    match order.key {
        SortKey::Response => order.arrange(sites, |site| response(site, of(site)?, now)),
        SortKey::Uptime => order.arrange(sites, |site| uptime(of(site)?, retention)),
        SortKey::Certificate => order.arrange(sites, |site| certificate_ends(of(site)?)),
        _ => order.arrange(sites, |site| Some(of(site)?.latest()?.id().created_at())),
    }
}

fn arrow(order: ListOrder) -> Markup {
    if order.ascends() { Icon::Ascending } else { Icon::Descending }.shape()
}

/// The heading of a column. It is a link if the list can be sorted by it.
pub(super) fn heading(view: &SitesView<'_>, key: SortKey, class: &str, words: &Markup) -> Markup {
    let order = view.found.order;
    let sorted = (order.key == key).then_some(match order.ascends() {
        true => "ascending",
        false => "descending",
    });
    html! {
        th class=[(!class.is_empty()).then_some(class)] scope="col" aria-sort=[sorted] {
            @if key.sorts(view.found.count) {
                a href=(view.address(&SiteFilter { order: order.toward(key), ..*view.wanted })) {
                    (words)
                    @if sorted.is_some() { (arrow(order)) }
                }
            } @else {
                (words)
            }
        }
    }
}

/// A menu of all orders, also for phones, where columns have no headings.
pub(super) fn menu(view: &SitesView<'_>) -> Markup {
    let (order, count) = (view.found.order, view.found.count);
    html! {
        details.menu.sort {
            summary.btn { span.quiet.wide { "Sort by " } (capitalized(word(order.key))) (Icon::Unfold.shape()) }
            div.pop {
                @for key in SortKey::ALL {
                    @if key.sorts(count) {
                        a href=(view.address(&SiteFilter { order: order.toward(key), ..*view.wanted }))
                            aria-current=[(key == order.key).then_some("true")] {
                            (capitalized(word(key)))
                            @if key == order.key { (arrow(order)) }
                        }
                    }
                }
                @if count > SortKey::BY_CHECKS_MAX {
                    p.head { "Search or filter to sort by other columns: this takes at most " (grouped(SortKey::BY_CHECKS_MAX as u64)) " sites." }
                }
            }
        }
    }
}
