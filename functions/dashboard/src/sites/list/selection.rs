//! Selecting sites of the list: the checkboxes, and the bar with the actions for the selected sites.

use maud::{Markup, html};
use vedette_domain::id::TeamId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::DirectoryRow;

use super::SitesView;
use crate::layout;
use crate::look::Icon;
use crate::words::grouped;

/// The most sites that are changed together.
pub(in crate::sites) const SELECTED_MAX: usize = 1_000;
/// The field that selects all sites that match the filter.
pub(in crate::sites) const ALL: &str = "all";
/// The form that the checkboxes of the list belong to.
const FORM: &str = "selected";

/// The checkbox in the head of the list, with which the script selects the page.
pub(super) fn head(view: &SitesView<'_>) -> Markup {
    html! {
        @if view.selects_all { span.hide { "Select" } } @else {
            input #select-page type="checkbox";
            label.hide for="select-page" { "Select all on this page" }
        }
    }
}

/// The checkbox that selects a site. If all sites are selected, a single one cannot be left out.
pub(super) fn tick(view: &SitesView<'_>, site: &DirectoryRow) -> Markup {
    let id = format!("select-{}", site.id);
    html! {
        input id=(id) type="checkbox" name="site" value=(site.id) form=(FORM)
            checked[view.selects_all] disabled[view.selects_all];
        label.hide for=(id) { "Select " bdi { (site.name) } }
    }
}

/// The actions for the selected sites of the list. The bar appears when a site is selected.
pub(super) fn bar(view: &SitesView<'_>) -> Markup {
    let list = List { team: view.team.id, query: view.wanted.query() };
    let (count, page) = (view.found.count, view.address(view.wanted));
    html! {
        form.card.picked id=(FORM) method="post" action=(list.action()) {
            @if view.selects_all {
                input type="hidden" name=(ALL) value="1";
                span.grow { b { "All " (grouped(count as u64)) " selected" } " · " a href=(page) { "Clear" } }
            } @else {
                b.picks {}
                @if count > view.found.shown.len() {
                    a href={ (page) "&selected=all" } { "Select all " (grouped(count as u64)) }
                }
                span.grow.hide { "With the selected sites:" }
            }
            @if view.selects_all && count > SELECTED_MAX {
                span { "Narrow the filter to " (grouped(SELECTED_MAX as u64)) " sites or fewer to change them together." }
            } @else {
                button.s name="do" value="tag" { (Icon::Tag.shape()) "Tags…" }
                button.s name="do" value="acknowledge" { (Icon::Bell.shape()) "Acknowledge" }
                button.s name="do" value="pause" { "Pause monitoring" }
                button.s name="do" value="resume" { "Resume monitoring" }
                button.s.bad name="do" value="delete" { "Delete…" }
            }
        }
    }
}

/// The list in which sites were selected, with its filter.
pub(in crate::sites) struct List {
    pub(in crate::sites) team: TeamId,
    pub(in crate::sites) query: String,
}

impl List {
    /// Where its actions are sent.
    pub(in crate::sites) fn action(&self) -> String {
        with_query(format!("/teams/{}/sites/selected", self.team), &self.query)
    }

    pub(in crate::sites) fn address(&self) -> String {
        with_query(format!("/teams/{}", self.team), &self.query)
    }

    /// Leads back to it with a notice.
    pub(in crate::sites) fn redirect(&self, notice: &str) -> Result<Response, ApiError> {
        let path = format!("/teams/{}?notice={notice}", self.team);
        layout::redirect(&match &*self.query {
            "" => path,
            query => format!("{path}&{query}"),
        })
    }
}

fn with_query(path: String, query: &str) -> String {
    if query.is_empty() { path } else { format!("{path}?{query}") }
}
