//! How a site is: its state, and what the newest check of each tool said.

use std::num::NonZeroU32;

use maud::{Markup, html};
use vedette_domain::checks::check::Check;
use vedette_domain::checks::policy::ToolPolicy;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record::Issue;
use vedette_domain::sites::site_state::SiteState;
use vedette_http::access::SiteAccess;
use vedette_runtime::config::Service;

use super::Checks;
use crate::checks::summary;
use crate::{layout, sites};

/// How the site is, as far as its issues and its newest checks tell.
pub(super) fn state(service: &Service, access: &SiteAccess, issues: &[Issue]) -> SiteState {
    let active = issues.iter().filter(|issue| issue.lifecycle.is_active());
    let settings = access.settings();
    let tools = &access.stored.tools;
    SiteState::of(
        active.map(|issue| issue.id.fingerprint()),
        tools.get(&Tool::Status).is_some_and(|status| status.failing_since.is_some()),
        |tool| service.runs(tool, &access.team.team, &settings),
        tools.values().any(|tool| tool.latest_completed().is_some()),
    )
}

/// The state in words, and since when it holds as far as issues and failed checks tell.
pub(super) fn standing(access: &SiteAccess, is: SiteState, issues: &[Issue]) -> Markup {
    let active = issues.iter().filter(|issue| issue.lifecycle.is_active());
    let status = access.stored.tools.get(&Tool::Status);
    let since = match is {
        SiteState::Down => active
            .filter(|issue| issue.id.fingerprint() == Fingerprint::StatusDown)
            .map(|issue| issue.lifecycle.opened_at())
            .min(),
        SiteState::Failing => status.and_then(|status| status.failing_since),
        SiteState::Issues => active.map(|issue| issue.lifecycle.opened_at()).min(),
        SiteState::Up => issues.iter().filter_map(|issue| issue.lifecycle.resolved_at()).max(),
        SiteState::Unknown | SiteState::Paused => None,
    };
    let counted =
        status.filter(|_| is == SiteState::Failing).and_then(|status| counted(status, access));
    html! {
        (sites::state(is))
        @if let Some(since) = since { " since " (layout::instant(since)) }
        @if let Some((failed, of)) = counted {
            ": " (failed) " of " (of) " failed checks until an issue opens"
        }
    }
}

/// How many failed checks there have been of those that open an issue; none where none counts towards
/// one, since a person has resolved the issue, or where the threshold was lowered meanwhile.
fn counted(status: &ToolState, access: &SiteAccess) -> Option<(NonZeroU32, NonZeroU32)> {
    let fingerprint = Fingerprint::StatusDown;
    let failed = status.trackers.get(&fingerprint)?.tracker.failures()?.streak;
    let policy = ToolPolicy::of(Tool::Status, &access.settings());
    let of = policy.thresholds_of(fingerprint).open_after;
    (failed < of).then_some((failed, of))
}

pub(super) fn results(access: &SiteAccess, checks: &Checks, issues: &[Issue]) -> Markup {
    let newest = |tool: Tool| {
        let latest = access.stored.tools.get(&tool)?.latest()?;
        checks.get(&latest.id())
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
