//! Tags in the list of sites: the filter by them, and those of each site.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use url::form_urlencoded::byte_serialize;
use vedette_domain::id::TeamId;
use vedette_domain::sites::group::{SiteGroup, SiteGroups};
use vedette_domain::sites::selector::{SELECTOR_HELP, Selector, SelectorError};
use vedette_domain::sites::tag::Tag;
use vedette_domain::sites::tag_dictionary::TagDictionary;
use vedette_http::query::Query;
use vedette_store::DirectoryRow;

use super::{SiteFilter, SitesView};
use crate::form::sentence;
use crate::look::Icon;
use crate::words::{either, grouped, listed};

/// Without a filter, this many of the most frequent tags are above the list.
const SUGGESTED: usize = 4;
/// The most tags in the menu.
const OFFERED: usize = 40;

/// The filter by tags from the request.
#[derive(Debug, Default)]
pub(super) struct TagFilter {
    /// The selector as it is written, or what was sent instead of one.
    pub(super) text: String,
    selector: Option<Selector>,
    error: Option<SelectorError>,
}

impl TagFilter {
    pub(super) fn parse(query: &Query) -> Self {
        match query.search("selector").map(|text| (text, Selector::parse(text))) {
            None => Self::default(),
            Some((_, Ok(selector))) => {
                Self { text: selector.to_string(), selector: Some(selector), error: None }
            }
            Some((text, Err(error))) => {
                Self { text: text.to_owned(), selector: None, error: Some(error) }
            }
        }
    }

    /// Whether the list shows only some sites because of their tags.
    pub(super) const fn is_set(&self) -> bool {
        self.selector.is_some()
    }

    /// Whether the sites with these rows are in the list.
    pub(super) fn selects(&self, tags: &TagDictionary) -> impl Fn(&DirectoryRow) -> bool {
        let selector = self.selector.as_ref().map(|selector| selector.numbered(tags));
        let selector = selector.unwrap_or_default();
        move |row| selector.matches(&row.tags)
    }

    /// The selector in words: `With env:prod and team:shop, without legacy`.
    pub(super) fn words(&self) -> String {
        let (without, with): (Vec<String>, Vec<String>) =
            self.requirements().partition(|requirement| requirement.starts_with('!'));
        let without: Vec<String> = without.iter().map(|text| text.replacen('!', "", 1)).collect();
        match (with.is_empty(), without.is_empty()) {
            (false, true) => format!("With {}", listed(&with)),
            (true, _) => format!("Without {}", either(&without)),
            (false, false) => format!("With {}, without {}", listed(&with), either(&without)),
        }
    }

    /// The group that has this selector, if one was saved.
    pub(super) fn group<'g>(&self, saved: &'g SiteGroups) -> Option<&'g SiteGroup> {
        saved.groups.iter().find(|group| Some(&group.selector) == self.selector.as_ref())
    }

    fn requirements(&self) -> impl Iterator<Item = String> {
        self.selector.iter().flat_map(Selector::requirements)
    }

    /// The selector with another requirement.
    fn and(&self, tag: &Tag) -> String {
        match &self.selector {
            Some(selector) => format!("{selector}, {tag}"),
            None => tag.to_string(),
        }
    }

    /// The selector without one of its requirements.
    fn without(&self, requirement: &str) -> String {
        let others: Vec<_> = self.requirements().filter(|other| other != requirement).collect();
        others.join(", ")
    }
}

/// A page of the list with another selector.
pub(super) fn address(view: &SitesView<'_>, selector: &str) -> String {
    view.address(&SiteFilter { selector, ..*view.wanted })
}

/// The list of a team's sites with these tags.
pub(in crate::sites) fn list_of(team: TeamId, selector: &str) -> String {
    let selector: String = byte_serialize(selector.as_bytes()).collect();
    format!("/teams/{team}?selector={selector}")
}

/// A tag, and how many of the sites in the list it selects.
struct Offer<'a> {
    tag: &'a Tag,
    sites: usize,
}

/// The tags that select some of the sites in the list, those that select most of them first, and then by name. A key
/// alone also selects the sites with a value of it.
fn offers<'a>(view: &'a SitesView<'_>) -> Vec<Offer<'a>> {
    let tags = &view.directory.tags;
    let mut having: BTreeMap<u16, usize> = BTreeMap::new();
    for number in view.sites.iter().flat_map(|site| &site.row.tags) {
        *having.entry(*number).or_default() += 1;
    }
    // Keys with values that some sites have. Few keys are tags of their own besides, so few sites are counted again.
    let with_values: BTreeSet<&str> = having
        .keys()
        .filter_map(|number| tags.tag(*number).filter(|tag| tag.value().is_some()))
        .map(Tag::key)
        .collect();
    let with_key = |key: &Tag| {
        let has_it = |number: &u16| tags.tag(*number).is_some_and(|tag| tag.key() == key.as_str());
        view.sites.iter().filter(|site| site.row.tags.iter().any(has_it)).count()
    };
    let offers = having.into_iter().filter_map(|(number, sites)| {
        let tag = tags.tag(number)?;
        let is_key = tag.value().is_none() && with_values.contains(tag.key());
        Some(Offer { tag, sites: if is_key { with_key(tag) } else { sites } })
    });
    let mut offers: Vec<_> = offers.collect();
    if view.tag_filter.is_set() {
        offers.retain(|offer| offer.sites < view.sites.len());
    }
    offers.sort_by(|one, other| other.sites.cmp(&one.sites).then_with(|| one.tag.cmp(other.tag)));
    offers
}

/// The filter above the list: what it requires, each with a cross that removes it, or else the most frequent tags; and
/// a menu of all.
pub(super) fn filter(view: &SitesView<'_>) -> Markup {
    let offers = offers(view);
    html! {
        @if view.tag_filter.is_set() {
            div.chips {
                @for requirement in view.tag_filter.requirements() {
                    a aria-current="true" href=(address(view, &view.tag_filter.without(&requirement))) {
                        span.hide { "Remove the filter " }
                        (requirement.replacen('!', "not ", 1))
                        (Icon::Remove.shape())
                    }
                }
            }
        } @else if !offers.is_empty() {
            div.chips {
                @for Offer { tag, sites } in offers.iter().take(SUGGESTED) {
                    a href=(address(view, tag.as_str())) { (tag) " " b { (grouped(*sites as u64)) } }
                }
            }
        }
        @if view.directory.tags.entries().next().is_some() || !view.tag_filter.text.is_empty() { (menu(view, &offers)) }
    }
}

fn menu(view: &SitesView<'_>, offers: &[Offer<'_>]) -> Markup {
    let error = view.tag_filter.error.map(|error| sentence(&format!("The selector {error}")));
    html! {
        details.menu.tagging open[error.is_some()] {
            summary.btn { (Icon::Tag.shape()) "Tags" }
            div.pop.left {
                form method="get" action=(view.path) {
                    (view.kept(view.wanted.search, ""))
                    label for="selector" { "Sites with these tags" }
                    input #selector name="selector" value=(view.tag_filter.text) placeholder="env:prod, !legacy"
                        aria-describedby="selector-help" aria-invalid=[error.as_ref().map(|_| "true")];
                    @if let Some(error) = &error { p.err role="alert" { (error) } }
                    p.help #selector-help { (SELECTOR_HELP) }
                    button.main { "Filter" }
                }
                @if !offers.is_empty() {
                    hr;
                    @for Offer { tag, sites } in offers.iter().take(OFFERED) {
                        a href=(address(view, &view.tag_filter.and(tag))) {
                            span.grow { (tag) } span.quiet { (grouped(*sites as u64)) }
                        }
                    }
                }
            }
        }
    }
}

/// The tags of a site in the list: one, and how many more. Tags with a value that the filter requires are left out,
/// because all of these sites have them.
pub(super) fn of_site(view: &SitesView<'_>, row: &DirectoryRow) -> Markup {
    let fixed = view.tag_filter.requirements().filter(|requirement| requirement.contains(':'));
    let fixed: Vec<String> = fixed.collect();
    let mut tags = view.directory.tags_of(row);
    tags.retain(|tag| !fixed.iter().any(|fixed| fixed == tag.as_str()));
    html! {
        @if let [first, more @ ..] = &tags[..] {
            span.tag title=(first) { (first.value().unwrap_or(first.as_str())) }
            @if !more.is_empty() {
                span.tag title=(more.iter().map(|tag| tag.as_str()).collect::<Vec<_>>().join(", ")) {
                    "+" (more.len())
                }
            }
        }
    }
}

/// What an empty list says about the filter, with a way to remove each part of it.
pub(super) fn nothing_found(view: &SitesView<'_>) -> Markup {
    let requirements: Vec<_> = view.tag_filter.requirements().collect();
    html! {
        p { b { "No sites " (view.tag_filter.words().to_lowercase()) "." } }
        @if requirements.len() > 1 {
            p {
                @for requirement in &requirements {
                    a href=(address(view, &view.tag_filter.without(requirement))) { "Remove " (requirement) } " "
                }
            }
        }
        p { a href=(address(view, "")) { "Show all sites" } }
    }
}
