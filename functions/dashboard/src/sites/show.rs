//! A site: how it is, how it was, and what is wrong with it.

mod certificate;
mod dns;
mod issues;
mod latest;
mod links;
mod performance;
mod range;
mod response;
mod uptime;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use lambda_http::http::{HeaderValue, StatusCode};
use maud::{Markup, html};
use serde::de::DeserializeOwned;
use vedette_actions::{ActionError, order_checks};
use vedette_domain::accounts::account::{Permission, Role};
use vedette_domain::checks::check::Check;
use vedette_domain::checks::history::{Day, HistoryFilter, day_of};
use vedette_domain::checks::report;
use vedette_domain::checks::report::Span;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::CheckId;
use vedette_domain::issues::record::Issue;
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::site_state::SiteState;
use vedette_http::access::SiteAccess;
use vedette_http::days::shown_days;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_store::Store;

use self::range::Range;
use super::link_out;
use crate::layout::NavTab;
use crate::{RequestContext, layout};

/// A page that waits for checks is asked for again after so many seconds, without a script.
const REFRESH_SECONDS: u16 = 5;
/// Checks are waited for no longer than this.
const WAITED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// What a form did, as the address names it, and in words.
const SAID: [(&str, &str); 4] = [
    ("queued", "The checks are done."),
    ("saved", "Saved. Its schedules follow within a minute."),
    ("paused", "Paused. No tool checks this site by itself any more."),
    ("resumed", "Resumed. The tools that the team enables check this site again."),
];

/// Shows a site.
pub(crate) async fn show(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    let mut response = page(context, &access, StatusCode::OK, None).await?;
    if !pending(&access, context.member()?.caller.now).is_empty() {
        response.headers_mut().insert("refresh", HeaderValue::from(REFRESH_SECONDS));
    }
    Ok(response)
}

/// The tools whose on-demand checks are still to end, as far as they are waited for.
fn pending(access: &SiteAccess, now: Timestamp) -> Vec<Tool> {
    let orders = access.stored.tools.values().filter_map(|state| state.pending);
    let recent = orders.filter(|check| now.duration_since(check.created_at()) < WAITED_FOR);
    recent.map(CheckId::tool).collect()
}

/// Queues a check of each enabled tool.
pub(crate) async fn run(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    match order_checks(context.app, &access, None, context.member()?.caller.now).await {
        Ok(_) => layout::redirect(&format!("/sites/{}?said=queued", access.stored.site.id)),
        Err(ActionError::Refused(refusal)) => {
            let why = refusal.to_string();
            page(context, &access, StatusCode::UNPROCESSABLE_ENTITY, Some(&why)).await
        }
        Err(ActionError::Failed(fault)) => Err(fault.into()),
    }
}

type Checks = BTreeMap<CheckId, Check>;

async fn page(
    context: RequestContext<'_>,
    access: &SiteAccess,
    status: StatusCode,
    problem: Option<&str>,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let site = &access.stored.site;
    let query = Query::parse(context.head.uri.query());
    let range = query.one_of("range", Range::parse, &mut Errors::new()).unwrap_or(Range::Day);
    let span = Span::until(day_of(caller.now), range.days());
    let history = History::load(&context.app.store, access, span, caller.now).await?;
    let view = SiteView {
        access,
        role: caller.role_in(site.team)?,
        state: latest::state(&context.app.service, access, &history.issues),
        range,
        span,
        now: caller.now,
        history: &history,
    };
    let content = html! {
        @if let Some(problem) = problem { p.error role="alert" { (problem) } }
        (notice(context, &pending(access, caller.now)))
        (content(&view))
    };
    Ok(layout::team_page(context, (site.team, NavTab::Sites), status, &site.name, &content))
}

/// What happened to a site.
struct History {
    /// The newest checks of each tool.
    checks: Checks,
    /// The counted days of status checks and of audits.
    watched: Vec<Day>,
    audited: Vec<Day>,
    /// Active ones first, and the latest first among these and among the others.
    issues: Vec<Issue>,
}

impl History {
    async fn load(
        store: &Store,
        access: &SiteAccess,
        span: Span,
        now: Timestamp,
    ) -> Result<Self, ApiError> {
        let days = async |tool| {
            let filter = HistoryFilter {
                tool: Some(tool),
                from: Some(span.from),
                ..HistoryFilter::default()
            };
            let days = shown_days(store, now, access, &filter).await?;
            Ok::<Vec<_>, ApiError>(days.into_iter().map(|(_, day)| day).collect())
        };
        let retention = access.team.retention(now);
        let wanted = access.stored.latest().chain(access.stored.latest_completed());
        let wanted = wanted.map(|check| (check, retention));
        let partition = access.stored.site.id.partition();
        let whole: Vec<_> = Tool::ALL.into_iter().filter(|tool| is_shown_whole(*tool)).collect();
        let (checks, watched, audited, mut issues) = futures::try_join!(
            async { Ok(store.checks_with_bodies(wanted, &whole).await?) },
            days(Tool::Status),
            days(Tool::Performance),
            async { Ok::<_, ApiError>(store.issues_of_site(partition).await?) },
        )?;
        issues.sort_by_key(|issue| {
            (!issue.lifecycle.is_active(), Reverse(issue.lifecycle.opened_at()))
        });
        Ok(Self { checks, watched, audited, issues })
    }
}

/// What the page shows.
struct SiteView<'a> {
    access: &'a SiteAccess,
    /// The role of who looks at it.
    role: Role,
    state: SiteState,
    range: Range,
    span: Span,
    now: Timestamp,
    history: &'a History,
}

impl SiteView<'_> {
    /// The newest completed check of a tool.
    fn newest(&self, tool: Tool) -> Option<&Check> {
        let latest = self.access.stored.tools.get(&tool)?.latest_completed()?;
        self.history.checks.get(&latest.id())
    }
}

fn content(view: &SiteView<'_>) -> Markup {
    let SiteView { access, role, state, range, history, .. } = *view;
    let History { checks, issues, .. } = history;
    let site = &access.stored.site;
    html! {
        p { (link_out(&site.url)) }
        p { (latest::standing(access, state, issues)) }
        @if role.grants(Permission::RunChecks) {
            form method="post" action={ "/sites/" (site.id) "/checks" } { button { "Run checks now" } }
        }
        @if role.grants(Permission::ManageSites) { (manage(access)) }
        (latest::results(access, checks, issues))
        (range::choice(site.id, range))
        @for tool in Tool::ALL { (part(view, tool)) }
        (issues::part(issues, state))
        @if let Some(notes) = &site.notes { h2 { "Notes" } p.text { (notes) } }
        p { a href={ "/teams/" (site.team) } { "All sites of " bdi { (access.team.team.name) } } }
    }
}

/// What the page has of one tool alone.
fn part(view: &SiteView<'_>, tool: Tool) -> Markup {
    let SiteView { access, range, span, now, history, .. } = *view;
    let History { watched, audited, issues, .. } = history;
    match tool {
        Tool::Status => html! {
            (uptime::part(access.stored.site.id, &report::uptime(span, watched), range))
            (response::part(watched, issues, (range, span), now))
        },
        Tool::Ssl => certificate::part(view.newest(tool)),
        Tool::Dns => dns::part(view.newest(tool), issues),
        Tool::BrokenLinks => links::part(view.newest(tool)),
        Tool::Performance => {
            performance::part(view.newest(tool), &report::performance(span, audited), range)
        }
    }
}

/// Whether the page shows of a tool's newest result also what is kept beside its row.
const fn is_shown_whole(tool: Tool) -> bool {
    match tool {
        Tool::Ssl | Tool::Performance => true,
        Tool::Status | Tool::Dns | Tool::BrokenLinks => false,
    }
}

/// A check's result, if there is one and it has the form of today.
fn read<R: DeserializeOwned>(check: Option<&Check>) -> Option<(&Check, R)> {
    let check = check?;
    Some((check, serde_json::from_value(check.result.clone()?).ok()?))
}

/// What a form has just done, and what is waited for.
fn notice(context: RequestContext<'_>, pending: &[Tool]) -> Markup {
    if !pending.is_empty() {
        let tools: Vec<_> = pending.iter().map(|tool| tool.label()).collect();
        return html! {
            p.note role="status" {
                "Checks are queued or running: " (tools.join(", ")) ". This page shows their results when they are done; it is loaded again every "
                (REFRESH_SECONDS) " seconds."
            }
        };
    }
    layout::done(context, &SAID)
}

/// What who manages the site can do with it.
fn manage(access: &SiteAccess) -> Markup {
    let site = &access.stored.site;
    let path = |verb: &str| format!("/sites/{}/{verb}", site.id);
    let checks = |settings: &Settings| !settings.enabled_tools(access.team.plan()).is_empty();
    html! {
        div.row {
            a href=(path("edit")) { "Edit" }
            @if checks(&access.settings()) {
                form method="post" action=(path("pause")) { button { "Pause" } }
            } @else if checks(&access.team.settings) {
                form method="post" action=(path("resume")) { button { "Resume" } }
            } @else {
                span { "The team enables no tool." }
            }
            a href=(path("delete")) { "Delete" }
        }
    }
}
