//! A team's sites, the worst first.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use url::form_urlencoded::byte_serialize;
use vedette_domain::accounts::account::Permission;
use vedette_domain::checks::history::{DayUptime, RecentDays, Retention, recent_dates};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::SiteId;
use vedette_domain::sites::site_state::SiteState;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_store::{DirectoryRow, IndexRow, TeamWithSettings, Trouble};

use super::{link_out, state, word};
use crate::layout::NavTab;
use crate::{RequestContext, chart, layout};

/// The sites of a page.
const PAGE: usize = 50;

/// The member's team, or a choice of them.
pub(crate) async fn home(
    context: RequestContext<'_>,
    team: Option<TeamWithSettings>,
) -> Result<Response, ApiError> {
    if let Some(team) = team {
        return list(context, team).await;
    }
    let caller = &context.member()?.caller;
    let teams = caller.memberships.iter().map(|place| place.team);
    let teams = context.app.store.teams(teams, caller.now).await?;
    let content = html! {
        @if teams.is_empty() {
            p { "You belong to no team. Who operates this service adds you to one with:" }
            p { code { "vedette member add" } }
        } @else {
            ul {
                @for team in teams.values() {
                    li { a href={ "/teams/" (team.id()) } { bdi { (team.team.name) } } }
                }
            }
        }
    };
    Ok(layout::own_page(context, StatusCode::OK, "Your teams", &content))
}

/// A site as the list has it.
struct Listed<'a> {
    row: &'a DirectoryRow,
    state: SiteState,
    /// How many issues are active, and since when there are any.
    issues: usize,
    since: Option<Timestamp>,
    /// Since when its checks fail, where that is its state.
    failing_since: Option<Timestamp>,
}

/// The sites of a team.
pub(crate) async fn list(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (store, caller) = (&context.app.store, &context.member()?.caller);
    let may_add = caller.role_in(team.id())?.grants(Permission::ManageSites);
    let directories = &context.dashboard.directories;
    let (rows, trouble) = futures::try_join!(
        directories.read(store, &team.team, caller.now),
        store.trouble(team.id()),
    )?;
    let sites = listed(context, &team, &rows, trouble);

    let query = Query::parse(context.head.uri.query());
    let wanted = query.one_of("state", SiteState::parse, &mut Errors::new());
    let search = query.search("search").unwrap_or_default();
    let number = query.integer("page", 1..=1 << 32, &mut Errors::new()).unwrap_or(1);
    let part = search.to_lowercase();
    let found: Vec<&Listed<'_>> = sites
        .iter()
        .filter(|site| wanted.is_none_or(|state| site.state == state))
        .filter(|site| site.row.contains(&part))
        .collect();
    let skipped = usize::try_from(number - 1).unwrap_or(usize::MAX).saturating_mul(PAGE);
    let shown: Vec<&Listed<'_>> = found.iter().copied().skip(skipped).take(PAGE).collect();
    let partitions: Vec<_> = shown.iter().map(|site| site.row.id.partition()).collect();
    let states = store.tool_states(partitions, Tool::Status).await?;
    let retention = team.retention(caller.now);

    let path = context.head.uri.path();
    let address = |state: Option<SiteState>, page: u64| {
        let search: String = byte_serialize(search.as_bytes()).collect();
        let state = state.map_or("", SiteState::as_str);
        format!("{path}?state={state}&search={search}&page={page}")
    };
    let content = html! {
        (layout::done(context, &[("deleted", "The site is deleted.")]))
        (added(&query))
        @if may_add { p { a href={ "/teams/" (team.id()) "/sites/new" } { "Add sites" } } }
        @if sites.is_empty() {
            p { "No sites are watched yet." }
            @if !may_add { p { "A member of the team can add some." } }
        } @else {
            (filters(&sites, wanted, &address))
            form method="get" action=(path) role="search" {
                @if let Some(state) = wanted { input type="hidden" name="state" value=(state.as_str()); }
                label for="search" { "Name or URL" }
                div.row {
                    input #search type="search" name="search" value=(search);
                    button { "Search" }
                }
            }
            table {
                caption { (found.len()) " of " (sites.len()) " sites, the worst first" }
                thead { tr { th scope="col" { "State" } th scope="col" { "Site" } th scope="col" { "Active issues" } th scope="col" { (RecentDays::MAX) " days" } } }
                tbody {
                    @for site in shown { (row(site, states.get(&site.row.id.partition()), retention)) }
                }
            }
            (layout::other_pages(number, skipped.saturating_add(PAGE) < found.len(), &|page| address(wanted, page)))
        }
    };
    let title = format!("Sites of {}", team.team.name);
    Ok(layout::team_page(context, (team.id(), NavTab::Sites), StatusCode::OK, &title, &content))
}

/// What the form for new sites has just done.
fn added(query: &Query) -> Markup {
    let count = query.integer("added", 1..=1_000, &mut Errors::new());
    html! {
        @if let Some(count) = count {
            p.note role="status" {
                (count) @if count == 1 { " site is" } @else { " sites are" }
                " watched from now on. The first checks begin within a minute."
            }
        }
    }
}

fn filters(
    sites: &[Listed<'_>],
    wanted: Option<SiteState>,
    address: &dyn Fn(Option<SiteState>, u64) -> String,
) -> Markup {
    let count = |state: SiteState| sites.iter().filter(|site| site.state == state).count();
    let is_chosen = |state: Option<SiteState>| (state == wanted).then_some("page");
    html! {
        nav aria-label="By state" {
            ul.filters {
                li { a href=(address(None, 1)) aria-current=[is_chosen(None)] { "All " (sites.len()) } }
                @for state in SiteState::ALL {
                    li {
                        a href=(address(Some(state), 1)) aria-current=[is_chosen(Some(state))] {
                            (word(state)) " " (count(state))
                        }
                    }
                }
            }
        }
    }
}

fn row(
    Listed { row, state: is, issues, since, failing_since }: &Listed<'_>,
    status: Option<&ToolState>,
    retention: Retention,
) -> Markup {
    let uptime = |date| {
        let state = status.filter(|_| retention.reaches(date));
        state.map_or(DayUptime::Unknown, |state| state.uptime_on(date))
    };
    let days: Vec<DayUptime> = recent_dates(retention.today).map(uptime).collect();
    html! {
        tr {
            td { (state(*is)) }
            td {
                a href={ "/sites/" (row.id) } { bdi { (row.name) } }
                br;
                span.quiet { (link_out(&row.url)) }
            }
            td {
                @if let Some(since) = failing_since {
                    "Checks failing since " (layout::instant(*since))
                    @if *issues > 0 { br; }
                }
                @if let Some(since) = since { (issues) ", since " (layout::instant(*since)) }
            }
            td.days { (chart::uptime_bars(&days)) }
        }
    }
}

/// All sites of a team with their states, the worst first and then by name.
fn listed<'a>(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    rows: &'a [DirectoryRow],
    Trouble { issues, failing }: Trouble,
) -> Vec<Listed<'a>> {
    let mut by_site: BTreeMap<SiteId, Vec<IndexRow>> = BTreeMap::new();
    for issue in issues {
        by_site.entry(issue.site).or_default().push(issue);
    }
    let mut sites: Vec<Listed<'_>> = rows
        .iter()
        .map(|row| {
            let issues = by_site.remove(&row.id).unwrap_or_default();
            let is_enabled = |tool: Tool| {
                row.is_enabled(tool, &team.settings, team.plan())
                    && context.app.service.tools.contains(&tool)
            };
            let active = issues.iter().map(|issue| issue.fingerprint);
            let failing_since = failing.get(&row.id).copied();
            let state = SiteState::of(active, failing_since.is_some(), is_enabled, row.is_checked);
            let since = issues.iter().map(|issue| issue.opened_at).min();
            let failing_since = failing_since.filter(|_| state == SiteState::Failing);
            Listed { row, state, issues: issues.len(), since, failing_since }
        })
        .collect();
    sites.sort_by_cached_key(|site| (site.state, site.row.name.to_lowercase(), site.row.id));
    sites
}
