//! A site: how it is, how it was, and what is wrong with it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::order_checks;
use vedette_domain::account::Permission;
use vedette_domain::check::{Check, StatusResult};
use vedette_domain::history::{Day, Filter, day_of};
use vedette_domain::id::CheckId;
use vedette_domain::issue::Fingerprint;
use vedette_domain::issue::record::Issue;
use vedette_domain::report::{Span, Uptime, uptime};
use vedette_domain::site_state::SiteState;
use vedette_domain::time;
use vedette_domain::tool::{CheckStatus, Tool};
use vedette_http::access::{SiteAccess, hold_check_runs};
use vedette_http::days::shown_days;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;

use super::{access, link_out, state};
use crate::layout::Part;
use crate::{Visit, chart, layout};

/// The days of the uptime's bars.
const DAYS: u16 = 90;

/// Shows a site.
pub(crate) async fn show(visit: Visit<'_>) -> Result<Response, ApiError> {
    let access = access(visit, Permission::View).await?;
    page(visit, &access, StatusCode::OK, None).await
}

/// Queues a check of each enabled tool.
pub(crate) async fn run(visit: Visit<'_>) -> Result<Response, ApiError> {
    let caller = &visit.member()?.caller;
    hold_check_runs(&visit.app.store, caller.user.id, caller.now).await?;
    let access = access(visit, Permission::RunChecks).await?;
    match order_checks(visit.app, &access, None, caller.now).await {
        Ok(_) => layout::see(&format!("/sites/{}?said=queued", access.stored.site.id)),
        Err(ApiError::Validation(why)) => {
            let why = why.message();
            page(visit, &access, StatusCode::UNPROCESSABLE_ENTITY, Some(&why)).await
        }
        Err(error) => Err(error),
    }
}

async fn page(
    visit: Visit<'_>,
    access: &SiteAccess,
    status: StatusCode,
    problem: Option<&str>,
) -> Result<Response, ApiError> {
    let (store, caller) = (&visit.app.store, &visit.member()?.caller);
    let (site, now) = (&access.stored.site, caller.now);
    let retention = access.team.retention(now);
    let span = Span::until(day_of(now), DAYS);
    let filter = Filter { tool: Some(Tool::Status), from: Some(span.from), ..Filter::default() };
    let latest = access.stored.latest().map(|latest| (latest, retention));
    let (checks, days, mut issues) = futures::try_join!(
        async { Ok(store.checks(latest).await?) },
        shown_days(store, now, access, &filter),
        async { Ok::<_, ApiError>(store.issues_of_site(site.id.partition()).await?) },
    )?;
    issues
        .sort_by_key(|issue| (!issue.lifecycle.is_active(), Reverse(issue.lifecycle.opened_at())));
    let days: Vec<_> = days.into_iter().map(|(_, day)| day).collect();
    let means = chart::last_day(days.iter().flat_map(Day::response_hours), now);

    let query = Query::parse(visit.head.uri.query());
    let is_queued = query.search("said") == Some("queued");
    let may_run = caller.role_in(site.team)?.grants(Permission::RunChecks);
    let may_manage = caller.role_in(site.team)?.grants(Permission::ManageSites);
    let content = html! {
        @if let Some(problem) = problem { p.error role="alert" { (problem) } }
        (said(&query))
        @if is_queued { p.note role="status" { "The checks are queued. Their results show here when they are done." } }
        p { (link_out(&site.url)) }
        p { (standing(visit, access, &checks, &issues)) }
        @if may_run {
            form method="post" action={ "/sites/" (site.id) "/checks" } { button { "Run checks now" } }
        }
        @if may_manage { (manage(access)) }
        (results(access, &checks, &issues))
        (uptime_part(&uptime(span, &days)))
        (response_part(&means, now))
        (issues_part(&issues))
        p { a href={ "/teams/" (site.team) } { "All sites of " bdi { (access.team.team.name) } } }
    };
    Ok(layout::team_page(visit, (site.team, Part::Sites), status, &site.name, &content))
}

/// What a form has just done.
fn said(query: &Query) -> Markup {
    let words = match query.search("said") {
        Some("saved") => Some("Saved. Its schedules follow within a minute."),
        Some("paused") => Some("Paused. No tool checks this site by itself any more."),
        Some("resumed") => Some("Resumed. The tools that the team enables check this site again."),
        _ => None,
    };
    html! { @if let Some(words) = words { p.note role="status" { (words) } } }
}

/// What who manages the site can do with it.
fn manage(access: &SiteAccess) -> Markup {
    let site = &access.stored.site;
    let path = |verb: &str| format!("/sites/{}/{verb}", site.id);
    let is_paused = !Tool::ALL.iter().any(|tool| access.settings().tools.is_enabled(*tool));
    html! {
        div.row {
            a href=(path("edit")) { "Edit" }
            @if is_paused {
                form method="post" action=(path("resume")) { button { "Resume" } }
            } @else {
                form method="post" action=(path("pause")) { button { "Pause" } }
            }
            a href=(path("delete")) { "Delete" }
        }
    }
}

type Checks = BTreeMap<CheckId, Check>;

/// The state, and since when it holds as far as issues tell.
fn standing(visit: Visit<'_>, access: &SiteAccess, checks: &Checks, issues: &[Issue]) -> Markup {
    let active = issues.iter().filter(|issue| issue.lifecycle.is_active());
    let settings = access.settings();
    let is_watched = Tool::ALL
        .into_iter()
        .any(|tool| visit.app.service.runs(tool, &access.team.team, &settings));
    let is_checked = checks.values().any(|check| check.status == CheckStatus::Completed);
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

fn results(access: &SiteAccess, checks: &Checks, issues: &[Issue]) -> Markup {
    let newest = |tool: Tool| {
        let latest = access.stored.tools.get(&tool)?.latest()?;
        checks.get(&latest.id)
    };
    html! {
        h2 { "Latest results" }
        table {
            caption { "The newest check of each tool" }
            thead { tr { th scope="col" { "Tool" } th scope="col" { "Result" } th scope="col" { "When" } } }
            tbody {
                @for tool in Tool::ALL {
                    tr {
                        th scope="row" { (tool) }
                        @match newest(tool) {
                            None => { td { "No check yet" } td {} }
                            Some(check) => {
                                td { (result(check, issues)) }
                                td { (layout::instant(check.id.created_at())) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What a check says in a few words. Of what a tool found, its active issues say most.
fn result(check: &Check, issues: &[Issue]) -> Markup {
    let tool = check.id.tool();
    let mut active = issues
        .iter()
        .filter(|issue| issue.lifecycle.is_active() && issue.id.fingerprint().tool() == tool)
        .peekable();
    let error = check.error.as_ref().map(|error| error.message.as_str());
    match check.status {
        CheckStatus::Pending => html! { "Queued or running" },
        CheckStatus::Skipped => {
            html! { "Skipped: plan, settings or this deployment do not have it" }
        }
        CheckStatus::Failed => html! { "Could not run: " (error.unwrap_or("no reason is known")) },
        CheckStatus::Completed if tool == Tool::Status => {
            let read = check.result.clone().and_then(|result| serde_json::from_value(result).ok());
            match read {
                Some(StatusResult { code: 0, error, .. }) => {
                    html! { "No answer" @if let Some(error) = error { ": " (error) } }
                }
                Some(StatusResult { code, response_time, .. }) => {
                    html! { "HTTP " (code) " in " (response_time.round()) " ms" }
                }
                None => html! { "Done" },
            }
        }
        CheckStatus::Completed if active.peek().is_some() => {
            html! { ul { @for issue in active { li { (issue.summary) } } } }
        }
        CheckStatus::Completed => html! { "Nothing wrong" },
    }
}

fn uptime_part(report: &Uptime) -> Markup {
    let failing = report.days.iter().rev().filter(|day| day.up_checks < day.total_checks);
    let mut failing = failing.peekable();
    html! {
        h2 { "Uptime" }
        p {
            @match report.total_uptime_percentage {
                Some(percentage) => { (percentage) " % of the checks of the last " (DAYS) " days found the site up." }
                None => { "There were no status checks in the last " (DAYS) " days." }
            }
        }
        (chart::uptime_bars(&report.days))
        @if failing.peek().is_some() {
            details {
                summary { "Days on which checks found it down" }
                table {
                    caption { "UTC days, the latest first" }
                    thead { tr { th scope="col" { "Day" } th scope="col" { "Uptime" } th scope="col" { "Checks" } } }
                    tbody {
                        @for day in failing {
                            tr {
                                th scope="row" { time datetime=(day.date) { (day.date) } }
                                td { @if let Some(percentage) = day.uptime_percentage { (percentage) " %" } }
                                td { (day.up_checks) " of " (day.total_checks) " up" }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn response_part(means: &BTreeMap<i64, u64>, now: Timestamp) -> Markup {
    html! {
        h2 { "Response time" }
        @if means.is_empty() {
            p { "There were no status checks in the last 24 hours." }
        } @else {
            p {
                "The last 24 hours by hour, up to "
                (means.values().max().copied().unwrap_or_default()) " ms on average."
            }
            (chart::response_line(means))
            details {
                summary { "As a table" }
                table {
                    caption { "Mean response time of each hour" }
                    thead { tr { th scope="col" { "From" } th scope="col" { "Mean" } } }
                    tbody {
                        @for (&place, mean) in means.iter().rev() {
                            tr { th scope="row" { (layout::instant(chart::hour_of_place(place, now))) } td { (mean) " ms" } }
                        }
                    }
                }
            }
        }
    }
}

fn issues_part(issues: &[Issue]) -> Markup {
    html! {
        h2 { "Issues" }
        @if issues.is_empty() {
            p { "Nothing was ever wrong." }
        } @else {
            table {
                caption { "Active ones first" }
                thead { tr { th scope="col" { "Issue" } th scope="col" { "Status" } th scope="col" { "Opened" } th scope="col" { "Lasted" } } }
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
