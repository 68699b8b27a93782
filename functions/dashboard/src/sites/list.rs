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
use vedette_domain::id::{Partition, SiteId, TeamId};
use vedette_domain::sites::site_state::SiteState;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_runtime::config::Service;
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
    Ok(layout::own_page(context, StatusCode::OK, "Your teams", &choice(&teams)))
}

fn choice(teams: &BTreeMap<TeamId, TeamWithSettings>) -> Markup {
    html! {
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
    }
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
    let query = Query::parse(context.head.uri.query());
    let wanted = Wanted::parse(&query);
    let (rows, trouble) = futures::try_join!(
        context.dashboard.directories.read(store, &team.team, caller.now),
        store.trouble(team.id()),
    )?;
    let sites = listed(&context.app.service, &team, &rows, trouble);
    let found = wanted.of(&sites);
    let partitions = found.shown.iter().map(|site| site.row.id.partition());
    let states = store.tool_states(partitions, Tool::Status).await?;
    let view = SitesView {
        team: team.id(),
        path: context.head.uri.path(),
        may_add: caller.role_in(team.id())?.grants(Permission::ManageSites),
        wanted: &wanted,
        sites: &sites,
        found: &found,
        recent: found.recent_days(&states, team.retention(caller.now)),
    };
    let content = html! {
        (layout::done(context, &[("deleted", "The site is deleted.")]))
        (added(&query))
        (content(&view))
    };
    let title = format!("Sites of {}", team.team.name);
    Ok(layout::team_page(context, (team.id(), NavTab::Sites), StatusCode::OK, &title, &content))
}

/// Which sites somebody asks for.
struct Wanted<'q> {
    state: Option<SiteState>,
    /// A part of the name or the URL.
    search: &'q str,
    page: u64,
}

impl<'q> Wanted<'q> {
    fn parse(query: &'q Query) -> Self {
        Self {
            state: query.one_of("state", SiteState::parse, &mut Errors::new()),
            search: query.search("search").unwrap_or_default(),
            page: query.integer("page", 1..=1 << 32, &mut Errors::new()).unwrap_or(1),
        }
    }

    /// Those of the team's sites that are asked for.
    fn of<'s>(&self, sites: &'s [Listed<'s>]) -> Found<'s> {
        let part = self.search.to_lowercase();
        let found: Vec<&Listed<'_>> = sites
            .iter()
            .filter(|site| self.state.is_none_or(|state| site.state == state))
            .filter(|site| site.row.contains(&part))
            .collect();
        let skipped = usize::try_from(self.page - 1).unwrap_or(usize::MAX).saturating_mul(PAGE);
        Found {
            count: found.len(),
            has_more: skipped.saturating_add(PAGE) < found.len(),
            shown: found.into_iter().skip(skipped).take(PAGE).collect(),
        }
    }
}

/// Sites that were asked for.
struct Found<'s> {
    count: usize,
    /// Those of the page, and whether there is another page.
    shown: Vec<&'s Listed<'s>>,
    has_more: bool,
}

impl Found<'_> {
    /// How often each site of the page was up on each of the last days, as far as that is kept.
    fn recent_days(
        &self,
        states: &BTreeMap<Partition, ToolState>,
        retention: Retention,
    ) -> Vec<Vec<DayUptime>> {
        let days = |site: &&Listed<'_>| {
            let status = states.get(&site.row.id.partition());
            let uptime = |date| {
                let state = status.filter(|_| retention.reaches(date));
                state.map_or(DayUptime::Unknown, |state| state.uptime_on(date))
            };
            recent_dates(retention.today).map(uptime).collect()
        };
        self.shown.iter().map(days).collect()
    }
}

/// What the page shows.
struct SitesView<'a> {
    team: TeamId,
    path: &'a str,
    may_add: bool,
    wanted: &'a Wanted<'a>,
    /// All sites of the team.
    sites: &'a [Listed<'a>],
    found: &'a Found<'a>,
    /// For each site of the page the uptime of the last days.
    recent: Vec<Vec<DayUptime>>,
}

impl SitesView<'_> {
    fn address(&self, state: Option<SiteState>, page: u64) -> String {
        let search: String = byte_serialize(self.wanted.search.as_bytes()).collect();
        let state = state.map_or("", SiteState::as_str);
        format!("{}?state={state}&search={search}&page={page}", self.path)
    }
}

fn content(view: &SitesView<'_>) -> Markup {
    let SitesView { team, may_add, wanted, found, .. } = view;
    html! {
        @if *may_add { p { a href={ "/teams/" (team) "/sites/new" } { "Add sites" } } }
        @if view.sites.is_empty() {
            p { "No sites are watched yet." }
            @if !may_add { p { "A member of the team can add some." } }
        } @else {
            (filters(view))
            form method="get" action=(view.path) role="search" {
                @if let Some(state) = wanted.state { input type="hidden" name="state" value=(state.as_str()); }
                label for="search" { "Name or URL" }
                div.row {
                    input #search type="search" name="search" value=(wanted.search);
                    button { "Search" }
                }
            }
            table {
                caption { (found.count) " of " (view.sites.len()) " sites, the worst first" }
                thead { tr { th scope="col" { "State" } th scope="col" { "Site" } th scope="col" { "Active issues" } th scope="col" { (RecentDays::MAX) " days" } } }
                tbody {
                    @for (site, recent) in found.shown.iter().zip(&view.recent) { (row(site, recent)) }
                }
            }
            (layout::other_pages(wanted.page, found.has_more, &|page| view.address(wanted.state, page)))
        }
    }
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

fn filters(view: &SitesView<'_>) -> Markup {
    let count = |state: SiteState| view.sites.iter().filter(|site| site.state == state).count();
    let is_chosen = |state: Option<SiteState>| (state == view.wanted.state).then_some("page");
    html! {
        nav aria-label="By state" {
            ul.filters {
                li {
                    a href=(view.address(None, 1)) aria-current=[is_chosen(None)] {
                        "All " (view.sites.len())
                    }
                }
                @for state in SiteState::ALL {
                    li {
                        a href=(view.address(Some(state), 1)) aria-current=[is_chosen(Some(state))] {
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
    recent: &[DayUptime],
) -> Markup {
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
            td.days { (chart::uptime_bars(recent)) }
        }
    }
}

/// All sites of a team with their states, the worst first and then by name.
fn listed<'a>(
    service: &Service,
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
                row.is_enabled(tool, &team.settings, team.plan()) && service.tools.contains(&tool)
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
