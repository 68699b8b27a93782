//! What is wrong with a site, and what was.

use maud::{Markup, html};
use vedette_domain::issues::record::Issue;
use vedette_domain::sites::site_state::SiteState;
use vedette_domain::time;

use crate::layout;

pub(super) fn part(issues: &[Issue], state: SiteState) -> Markup {
    html! {
        h2 { "Issues" }
        @if issues.is_empty() {
            p {
                @if state == SiteState::Failing { "No issue has been opened." }
                @else { "Nothing was ever wrong." }
            }
        } @else {
            table {
                (layout::columns("Active ones first", &["Issue", "Status", "Opened", "Lasted"]))
                tbody {
                    @for issue in issues {
                        tr {
                            td { a href={ "/issues/" (issue.id) } { (issue.summary) } }
                            td { (issue.status()) }
                            td { (layout::instant(issue.lifecycle.opened_at())) }
                            td {
                                @if let Some(end) = issue.lifecycle.resolved_at() {
                                    (time::duration(end.duration_since(issue.lifecycle.opened_at())))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
