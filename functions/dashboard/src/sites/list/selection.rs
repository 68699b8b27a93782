//! Selecting sites of the list: the checkboxes, and the bar with the actions for the selected sites.

use maud::{Markup, html};
use vedette_domain::id::TeamId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::DirectoryRow;

use crate::layout;
use crate::look::Icon;

/// The form that the checkboxes of the list belong to.
const FORM: &str = "selected";

/// The checkbox that selects a site.
pub(super) fn tick(site: &DirectoryRow) -> Markup {
    let id = format!("select-{}", site.id);
    html! {
        input id=(id) type="checkbox" name="site" value=(site.id) form=(FORM);
        label.hide for=(id) { "Select " bdi { (site.name) } }
    }
}

/// The actions for the selected sites of a list. The bar appears when a site is selected.
pub(super) fn bar(list: &List) -> Markup {
    html! {
        form.card.picked id=(FORM) method="post" action=(list.action()) {
            b.picks {}
            span.grow.hide { "With the selected sites:" }
            button.s name="do" value="tag" { (Icon::Tag.shape()) "Tags…" }
            button.s name="do" value="pause" { "Pause monitoring" }
            button.s name="do" value="resume" { "Resume monitoring" }
            button.s.bad name="do" value="delete" { "Delete…" }
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
