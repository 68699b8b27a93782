//! The active and resolved issues of a site.

use maud::{Markup, html};
use vedette_domain::issues::IssueStatus;
use vedette_domain::issues::record::Issue;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_state::SiteState;
use vedette_domain::time;

use super::SiteView;
use crate::{look, words};

pub(super) fn part(view: &SiteView<'_>) -> Markup {
    let issues = &view.history.issues;
    html! {
        section.card {
            header { h2 { "Issues" } @if !issues.is_empty() { span.quiet.small { "Open ones first" } } }
            @if issues.is_empty() {
                p.in.quiet {
                    @if view.state == SiteState::Failing { "No issue has opened yet." }
                    @else { "No issues so far." }
                }
            } @else {
                ul.rows { @for issue in issues { (row(issue, &view.access.stored.site, view)) } }
            }
        }
    }
}

fn row(issue: &Issue, site: &Site, view: &SiteView<'_>) -> Markup {
    let problem = view.problem(issue);
    let since = problem.began_at;
    html! {
        li {
            (look::issue(issue.status(), issue.severity()))
            div.grow {
                a href={ "/issues/" (issue.id) } { bdi { (words::headline(issue, site, view.clock.now)) } }
                p.quiet.small {
                    @match issue.status() {
                        IssueStatus::Open => "Not acknowledged",
                        IssueStatus::Acknowledged => "Acknowledged",
                        IssueStatus::Resolved => {
                            @if issue.lifecycle.resolved_by().is_some() { "Resolved manually" }
                            @else { "Resolved by a check" }
                        }
                    }
                }
            }
            span.quiet.nb.n {
                @match problem.ended_at {
                    Some(_) => (time::duration(problem.lasted(view.clock.now))),
                    None => (view.clock.lasting(since)),
                }
                br;
                span.small { (view.clock.ago(since)) }
            }
        }
    }
}
