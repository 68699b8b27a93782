//! How a site is: its state, and what the newest check of each tool said.

use maud::{Markup, html};
use vedette_domain::check::Check;
use vedette_domain::issue::Fingerprint;
use vedette_domain::issue::record::Issue;
use vedette_domain::site_state::SiteState;
use vedette_domain::tool::{CheckStatus, Tool};
use vedette_http::access::SiteAccess;

use super::Checks;
use crate::checks::summary;
use crate::sites::state;
use crate::{Visit, layout};

/// The state, and since when it holds as far as issues tell.
pub(super) fn standing(visit: Visit<'_>, access: &SiteAccess, issues: &[Issue]) -> Markup {
    let active = issues.iter().filter(|issue| issue.lifecycle.is_active());
    let settings = access.settings();
    let is_watched = Tool::ALL
        .into_iter()
        .any(|tool| visit.app.service.runs(tool, &access.team.team, &settings));
    let is_checked = access.stored.tools.values().any(|state| state.latest_completed().is_some());
    let is =
        SiteState::of(active.clone().map(|issue| issue.id.fingerprint()), is_watched, is_checked);
    let since = match is {
        SiteState::Down => active
            .filter(|issue| issue.id.fingerprint() == Fingerprint::StatusDown)
            .map(|issue| issue.lifecycle.opened_at())
            .min(),
        SiteState::Issues => active.map(|issue| issue.lifecycle.opened_at()).min(),
        SiteState::Up => issues.iter().filter_map(|issue| issue.lifecycle.resolved_at()).max(),
        SiteState::Unknown | SiteState::Paused => None,
    };
    html! {
        (state(is))
        @if let Some(since) = since { " since " (layout::instant(since)) }
    }
}

pub(super) fn results(access: &SiteAccess, checks: &Checks, issues: &[Issue]) -> Markup {
    let newest = |tool: Tool| {
        let latest = access.stored.tools.get(&tool)?.latest()?;
        checks.get(&latest.id)
    };
    html! {
        h2 { "Latest results" }
        table {
            (layout::columns("The newest check of each tool", &["Tool", "Result", "When"]))
            tbody {
                @for tool in Tool::ALL {
                    tr {
                        th scope="row" { (tool) }
                        @match newest(tool) {
                            None => { td { "No check yet" } td {} }
                            Some(check) => {
                                td { (result(check, issues)) }
                                td { a href={ "/checks/" (check.id) } { (layout::instant(check.id.created_at())) } }
                            }
                        }
                    }
                }
            }
        }
        p { a href={ "/sites/" (access.stored.site.id) "/checks" } { "History of checks" } }
    }
}

/// What a check says in a few words; of what a tool found, its active issues say most.
fn result(check: &Check, issues: &[Issue]) -> Markup {
    let tool = check.id.tool();
    let mut active = issues
        .iter()
        .filter(|issue| issue.lifecycle.is_active() && issue.id.fingerprint().tool() == tool)
        .peekable();
    html! {
        @if check.status == CheckStatus::Completed && tool != Tool::Status && active.peek().is_some() {
            ul { @for issue in active { li { (issue.summary) } } }
        } @else {
            (summary(check))
        }
    }
}
