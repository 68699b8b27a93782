//! The page of a site: its state, its past, and what is wrong with it.

mod certificate;
mod dns;
mod first;
mod issues;
mod links;
mod performance;
mod range;
mod response;
mod standing;
mod tiles;
mod timings;
mod tools;
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
use vedette_domain::checks::report::{Span, is_outage};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::CheckId;
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{Problem, Severity};
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::site_state::SiteState;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::objectives::BudgetOf;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_runtime::config::Service;
use vedette_store::Store;

use self::range::Range;
use self::timings::Timing;
pub(crate) use self::timings::response_times;
use super::list::headline;
use super::list::tags::list_of;
use super::{link_out, word};
use crate::clock::Clock;
use crate::layout::{Heading, NavTab};
use crate::look::{Icon, Look, TabState};
use crate::{RequestContext, layout, maintenance};

/// A page that waits for checks reloads after this many seconds, without a script.
const REFRESH_SECONDS: u16 = 5;
/// The same for the first results of a team's first site.
const FIRST_REFRESH_SECONDS: u16 = 2;
/// The parameter in the URL of the page that shows the first results of a team's first site.
pub(super) const FIRST: &str = "first=1";
/// The page waits for checks no longer than this.
const WAITED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 4] = [
    ("queued", "Checks finished."),
    ("saved", "Saved. Schedules are updated within a minute."),
    ("paused", "Monitoring paused. This site is no longer checked automatically."),
    ("resumed", "Monitoring resumed."),
];

/// Shows a site.
pub(crate) async fn show(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    let mut response = page(context, &access, StatusCode::OK, None).await?;
    if is_first(context) && !first::awaited(context.app, &access).is_empty() {
        response.headers_mut().insert("refresh", HeaderValue::from(FIRST_REFRESH_SECONDS));
    } else if !pending(&access, context.member()?.caller.now).is_empty() {
        response.headers_mut().insert("refresh", HeaderValue::from(REFRESH_SECONDS));
    }
    Ok(response)
}

/// Whether the visitor has just added the team's first site.
fn is_first(context: RequestContext<'_>) -> bool {
    context.head.uri.query().is_some_and(|query| query.split('&').any(|pair| pair == FIRST))
}

/// The tools whose on-demand checks have not ended yet, as long as the page waits for them.
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
        Ok(_) => layout::redirect(&format!("/sites/{}?notice=queued", access.stored.site.id)),
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
    let store = &context.app.store;
    let history = History::load(store, access, span, caller.now).await?;
    let budget = BudgetOf::site(store, access, &history.issues, caller.now).await?;
    let view = SiteView {
        access,
        role: caller.role_in(site.team)?,
        state: standing::state(&context.app.service, access, &history.issues),
        settings: access.settings(),
        service: &context.app.service,
        range,
        span,
        clock: context.clock(Some(&access.team.team)),
        history: &history,
        budget,
    };
    let first = match is_first(context) {
        true => first::part(context, access).await?,
        false => notice(context, &pending(access, caller.now)),
    };
    let content = html! {
        @if let Some(problem) = problem { (layout::problem(problem)) }
        (first)
        (content(&view))
    };
    Ok(layout::team_page(
        context,
        (&access.team.team, NavTab::Sites),
        status,
        heading(&view),
        &content,
    ))
}

/// The history of a site.
struct History {
    /// The newest checks of each tool.
    checks: Checks,
    /// The counted days of status checks and of audits.
    watched: Vec<Day>,
    audited: Vec<Day>,
    /// The status checks of the last 24 hours, oldest first.
    timings: Vec<Timing>,
    /// Active issues first, newest first within each group.
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
            let days = store.shown_days(now, access.into(), &filter).await?;
            Ok::<Vec<_>, ApiError>(days.into_iter().map(|(_, day)| day).collect())
        };
        let retention = access.team.retention(now);
        let wanted = access.stored.latest().chain(access.stored.latest_completed());
        let wanted = wanted.map(|check| (check, retention));
        let partition = access.stored.site.id.partition();
        let whole: Vec<_> = Tool::ALL.into_iter().filter(|tool| is_shown_whole(*tool)).collect();
        let (checks, watched, audited, timings, mut issues) = futures::try_join!(
            async { Ok(store.checks_with_bodies(wanted, &whole).await?) },
            days(Tool::Status),
            days(Tool::Performance),
            async { Ok(timings::load(store, access, now).await?) },
            async { Ok::<_, ApiError>(store.issues_of_site(partition).await?) },
        )?;
        issues.sort_by_key(|issue| {
            (!issue.lifecycle.is_active(), Reverse(issue.lifecycle.opened_at()))
        });
        Ok(Self { checks, watched, audited, timings, issues })
    }
}

/// What the page shows.
struct SiteView<'a> {
    access: &'a SiteAccess,
    /// The role of the signed-in user.
    role: Role,
    state: SiteState,
    /// The settings in force.
    settings: Settings,
    service: &'a Service,
    range: Range,
    span: Span,
    clock: Clock<'a>,
    history: &'a History,
    /// The budget of its objective, if it has one.
    budget: Option<BudgetOf>,
}

impl SiteView<'_> {
    /// The site's active issues.
    fn active(&self) -> impl Iterator<Item = &Issue> {
        self.history.issues.iter().filter(|issue| issue.lifecycle.is_active())
    }

    /// The last opening of one of its issues.
    fn problem(&self, issue: &Issue) -> Problem {
        let status = self.access.stored.tools.get(&Tool::Status).filter(|_| is_outage(issue));
        issue.problem().or_ended(status.and_then(|status| status.monitoring_ended_at))
    }

    /// Whether a tool checks the site by itself.
    fn runs(&self, tool: Tool) -> bool {
        self.service.runs(tool, &self.access.team.team, &self.settings)
    }

    /// The newest completed check of a tool.
    fn newest(&self, tool: Tool) -> Option<&Check> {
        let latest = self.access.stored.tools.get(&tool)?.latest_completed()?;
        self.history.checks.get(&latest.id())
    }
}

fn heading(view: &SiteView<'_>) -> Heading {
    let access = view.access;
    let site = &access.stored.site;
    let newest = access.stored.tools.values().filter_map(ToolState::latest);
    let newest = newest.map(|latest| latest.id().created_at()).max();
    let is_critical = view.active().any(|issue| issue.severity() == Severity::Critical);
    Heading::new(&*site.name)
        .titled(format!("{} {}", site.name, headline::are(1, view.state)))
        .about_one(TabState::of(is_critical, [view.state]))
        .awaiting(view.state == SiteState::Unknown)
        .below(format!("/teams/{}", site.team), "Sites")
        .state(Look::from(view.state).pill(word(view.state)))
        .lead(html! {
            p.meta {
                (link_out(&site.url))
                (standing::lasting(view).unwrap_or_default())
                @if let Some(newest) = newest {
                    span { @if view.state == SiteState::Unchecked { "Tried " } @else { "Checked " } (view.clock.ago(newest)) }
                }
            }
            @if !site.tags.is_empty() {
                p.chips.m1 { @for tag in &site.tags { a href=(list_of(site.team, tag.as_str())) { (tag) } } }
            }
        })
        .actions(html! {
            @if view.role.grants(Permission::RunChecks) {
                form method="post" action={ "/sites/" (site.id) "/checks" } {
                    button.main { (Icon::Run.shape()) "Run checks" }
                }
            }
            (menu(view))
        })
}

/// Other actions on the site.
fn menu(view: &SiteView<'_>) -> Markup {
    let SiteView { access, role, .. } = view;
    let (site, team) = (&access.stored.site, &access.team.team);
    let path = |verb: &str| format!("/sites/{}/{verb}", site.id);
    let checks = |settings: &Settings| !settings.enabled_tools(access.team.plan()).is_empty();
    let may_manage = role.grants(Permission::ManageSites);
    html! {
        details.menu {
            summary.btn.sq { span.hide { "Site actions" } (Icon::More.shape()) }
            div.pop {
                @if may_manage {
                    a href=(path("edit")) { (Icon::Edit.shape()) "Edit site" }
                    @if checks(&view.settings) {
                        form method="post" action=(path("pause")) { button { (Icon::Pause.shape()) "Pause monitoring" } }
                    } @else if checks(&access.team.settings) {
                        form method="post" action=(path("resume")) { button { (Icon::Play.shape()) "Resume monitoring" } }
                    } @else {
                        p.head { "The team has turned off all checks." }
                    }
                    @if maintenance::until(team, (site.id, &site.tags), view.clock).is_none() { (maintenance::menu(site)) }
                }
                a href=(path("checks")) { (Icon::Note.shape()) "History of checks" }
                a href=(path("report")) { (Icon::Print.shape()) "Report" }
                a href={ "/teams/" (team.id) "/channels?site=" (site.id) } { (Icon::Bell.shape()) "Who is notified" }
                @if may_manage {
                    hr;
                    a.bad href=(path("delete")) { (Icon::Delete.shape()) "Delete site…" }
                }
            }
        }
    }
}

fn content(view: &SiteView<'_>) -> Markup {
    let SiteView { access, span, history, .. } = view;
    let site = &access.stored.site;
    let uptime = report::uptime(*span, &history.watched);
    html! {
        (maintenance::notice(&access.team.team, (site.id, &site.tags), view.clock))
        (standing::notices(view))
        (layout::managed(site.managed_by.as_ref()))
        (tiles::part(view, &uptime))
        (response::part(view))
        (uptime::part(view, &uptime))
        (tools::part(view))
        (issues::part(view))
        @for tool in Tool::ALL { (part(view, tool)) }
        @if let Some(notes) = &site.notes {
            section.card { header { h2 { "Notes" } } p.in.text { (notes) } }
        }
    }
}

/// The part of the page about one tool.
fn part(view: &SiteView<'_>, tool: Tool) -> Markup {
    let History { audited, issues, .. } = view.history;
    match tool {
        // Uptime and response times are shown above.
        Tool::Status | Tool::Heartbeat => Markup::default(),
        Tool::Ssl => certificate::part(view.newest(tool), &view.access.stored, view.clock),
        Tool::Dns => dns::part(view.newest(tool), issues, view.clock),
        Tool::BrokenLinks => links::part(view.newest(tool), view.clock),
        Tool::Performance => performance::part(
            view.newest(tool),
            &report::performance(view.span, audited),
            view.range,
            view.clock,
        ),
    }
}

/// Whether the page also shows the part of a tool's newest result that is stored apart from its row.
const fn is_shown_whole(tool: Tool) -> bool {
    match tool {
        Tool::Ssl | Tool::Performance => true,
        Tool::Status | Tool::Dns | Tool::BrokenLinks | Tool::Heartbeat => false,
    }
}

/// A check's result, if there is one and it has the current form.
fn read<R: DeserializeOwned>(check: Option<&Check>) -> Option<(&Check, R)> {
    let check = check?;
    Some((check, serde_json::from_value(check.result.clone()?).ok()?))
}

/// What a form has just done, and what the page waits for.
fn notice(context: RequestContext<'_>, pending: &[Tool]) -> Markup {
    if !pending.is_empty() {
        let tools: Vec<_> = pending.iter().map(|tool| tool.label()).collect();
        return html! {
            (layout::note(Look::Info, &html! {
                b { "Checking now: " (tools.join(", ")) "." }
                " This page reloads every " (REFRESH_SECONDS) " seconds until the results are in."
            }))
        };
    }
    layout::notice(context, &NOTICES)
}
