//! The state of a site: since when, and what is wrong.

use jiff::Timestamp;
use maud::{Markup, html};
use vedette_domain::accounts::account::Permission;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::{NotRun, ToolState};
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{Fingerprint, IssueStatus};
use vedette_domain::sites::site_state::SiteState;
use vedette_http::access::SiteAccess;
use vedette_runtime::config::Service;

use super::SiteView;
use crate::look::Look;
use crate::sites::failing;
use crate::words;

/// The state of the site, according to its issues and its newest checks.
pub(super) fn state(service: &Service, access: &SiteAccess, issues: &[Issue]) -> SiteState {
    let active = issues.iter().filter(|issue| issue.lifecycle.is_active());
    let settings = access.settings();
    let tools = &access.stored.tools;
    let runs = |tool| service.runs(tool, &access.team.team, &settings);
    let status = tools.get(&Tool::Status);
    let has_completed = |tool: &ToolState| tool.latest_completed().is_some();
    SiteState::of(
        active.map(|issue| issue.id.fingerprint()),
        status.is_some_and(|status| status.failing_since.is_some()),
        status.is_some_and(|status| status.unchecked().is_some()),
        runs,
        match runs(Tool::Status) {
            true => status.is_some_and(has_completed),
            false => tools.values().any(has_completed),
        },
    )
}

/// Since when the site has been in this state, according to issues and failed checks.
fn since(view: &SiteView<'_>) -> Option<Timestamp> {
    match view.state {
        SiteState::Down => view
            .active()
            .filter(|issue| issue.id.fingerprint() == Fingerprint::StatusDown)
            .map(Issue::first_failed_at)
            .min(),
        SiteState::Failing => view.access.stored.tools.get(&Tool::Status)?.failing_since,
        SiteState::Issues => view.active().map(Issue::first_failed_at).min(),
        SiteState::Unchecked => Some(unchecked(view)?.since),
        SiteState::Up => {
            view.history.issues.iter().filter_map(|issue| view.problem(issue).ended_at).max()
        }
        SiteState::Unknown | SiteState::Paused => None,
    }
}

/// `Down for 14 min`, `Up for 3 d`.
pub(super) fn lasting(view: &SiteView<'_>) -> Option<Markup> {
    let word = match view.state {
        SiteState::Down => "Down for ",
        SiteState::Failing => "Failing for ",
        SiteState::Issues => "Issues for ",
        SiteState::Unchecked => "Can’t be checked for ",
        SiteState::Up => "Up for ",
        SiteState::Unknown | SiteState::Paused => return None,
    };
    let since = since(view)?;
    Some(html! { span { (word) (view.clock.lasting(since)) } })
}

/// What is wrong, at the top of the page.
pub(super) fn notices(view: &SiteView<'_>) -> Markup {
    html! {
        @for issue in view.active() {
            @let look = Look::from(issue.severity());
            div class={ "note " (look.class()) } {
                (look.shape())
                p {
                    b { bdi { (words::headline(issue, &view.access.stored.site, view.clock.now)) } }
                    " for " (view.clock.lasting(issue.first_failed_at())) "."
                    @if issue.status() == IssueStatus::Open { " Not acknowledged." } @else { " Acknowledged." }
                }
                a.btn.s href={ "/issues/" (issue.id) } { "View issue" }
            }
        }
        @if view.state == SiteState::Failing { (failing_notice(view)) }
        @if view.state == SiteState::Unchecked { (unchecked_notice(view)) }
    }
}

/// Why the site can't be checked.
fn unchecked<'a>(view: &SiteView<'a>) -> Option<&'a NotRun> {
    view.access.stored.tools.get(&Tool::Status)?.unchecked()
}

/// Why the site can't be checked, what this means, and what to do about it.
fn unchecked_notice(view: &SiteView<'_>) -> Markup {
    let site = view.access.stored.site.id;
    let newest = view.access.stored.tools.get(&Tool::Status).and_then(|status| status.automatic);
    html! {
        @if let Some(not_run) = unchecked(view) {
            div.note.issues role="status" {
                (Look::NotRun.shape())
                p {
                    b { "Can’t be checked: " bdi { (not_run.message) } "." }
                    " " (remedy(not_run))
                    " Meanwhile, nobody hears of an outage, and no uptime is counted."
                    " After an hour, the owners of the team are notified once."
                }
                @if let Some(newest) = newest { a.btn.s href={ "/checks/" (newest.id()) } { "View check" } }
                @if view.role.grants(Permission::ManageSites) { a.btn.s href={ "/sites/" (site) "/edit" } { "Edit site" } }
            }
        }
    }
}

/// What to do about a check that could not run.
fn remedy(not_run: &NotRun) -> Markup {
    match not_run.code.as_str() {
        "target_forbidden" => html! {
            "Check the URL. If you run this service and mean to check this address, allow it with VEDETTE_ALLOW_TARGETS; otherwise, ask the people who run it."
        },
        "no_route" => {
            html! { "Give the site an IPv4 address, or run this service on a machine with IPv6." }
        }
        "invalid_header" => html! { "Correct the site’s request header." },
        "post_not_proven" => {
            html! { "Add the DNS TXT record that the site’s form shows, or send no POST." }
        }
        "post_limited" => html! { "Check the site less often, or send no POST." },
        _ if not_run.is_of_service() => html! {
            "The cause is this service, not the site. The people who run it have to look into it."
        },
        _ => html! { "If this lasts, ask the people who run this service." },
    }
}

fn failing_notice(view: &SiteView<'_>) -> Markup {
    let status = view.access.stored.tools.get(&Tool::Status);
    let counted = status.and_then(|status| failing::counted(status, &view.settings));
    let next = status.and_then(failing::next_check);
    html! {
        div.note.failing role="status" {
            (Look::Failing.shape())
            p {
                @match counted {
                    Some(counted) => {
                        b { "Failing, " (failing::words(counted, next, view.clock)) "." }
                        " An issue opens after " (counted.1) " failed checks in a row, and people are notified then."
                    }
                    None => {
                        b { "The latest check failed." }
                        " No issue is open."
                    }
                }
            }
        }
    }
}
