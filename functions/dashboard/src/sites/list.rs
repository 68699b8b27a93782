//! A team's sites, worst first, with what is wrong above them.

mod alerts;
mod figures;
mod first_visit;
mod groups;
pub(super) mod headline;
mod kept;
pub(super) mod selection;
mod sort;
pub(super) mod tags;
mod teams;

use std::collections::BTreeMap;

use jiff::Timestamp;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use url::form_urlencoded::Serializer;
use vedette_domain::accounts::account::Permission;
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::history::{
    COUNTED_DAYS, DayUptime, RecentDays, Retention, recent_dates,
};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{Partition, SiteId};
use vedette_domain::issues::Severity;
use vedette_domain::sites::group::SiteGroups;
use vedette_domain::sites::list_order::{ListOrder, SortKey};
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::site_state::SiteState;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_http::error::ApiError;
use vedette_http::objectives::BudgetOf;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_runtime::config::Service;
use vedette_store::{Directory, DirectoryRow, IndexRow, Store, TeamWithSettings, Trouble};

use self::alerts::Alerts;
use self::figures::Figures;
use self::groups::Members;
use self::tags::TagFilter;
use super::new::Done;
use super::{failing, word};
use crate::chart::Bar;
use crate::clock::Clock;
use crate::issues::{is_outage, order};
use crate::layout::{Heading, NavTab};
use crate::look::{Icon, Look, TabState};
use crate::paging::{Paging, WantedPage, size_query};
use crate::words::{counted, grouped};
use crate::{RequestContext, chart, layout, words};

/// The most failing sites on a page whose settings are read. The others only show since when they fail.
const FAILING: usize = 16;

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 13] = [
    ("deleted", "Site deleted."),
    ("all-deleted", "Sites deleted."),
    ("all-paused", "Monitoring paused. These sites are no longer checked automatically."),
    ("all-resumed", "Monitoring resumed."),
    ("all-tagged", "Tags changed."),
    (
        "some-changed",
        "Vedette ran out of time before it changed all of these sites. Select them again to change the rest.",
    ),
    (
        "too-many",
        "Nothing was changed because more than 1 000 sites match. Narrow the filter and try again.",
    ),
    ("groups-saved", "Groups saved."),
    ("none-selected", "No sites were selected."),
    ("acknowledged", "Issue acknowledged. Its reminders stop unless it gets worse."),
    ("all-acknowledged", "All issues acknowledged. Their reminders stop unless they get worse."),
    ("some-acknowledged", "1 000 issues acknowledged. Acknowledge the others, too."),
    ("none-open", "Nothing was changed: no issue of these was open any more."),
];

/// The member's team, or a choice if they have several.
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
    let may_create = context.app.service.creates_teams;
    Ok(layout::own_page(context, StatusCode::OK, "Your teams", &teams::choice(&teams, may_create)))
}

/// A site in the list.
struct Listed<'a> {
    row: &'a DirectoryRow,
    state: SiteState,
    /// Its active issues, most severe first.
    issues: Vec<IndexRow>,
    /// Since when its checks fail, if it is failing.
    failing_since: Option<Timestamp>,
}

impl Listed<'_> {
    /// The first failed check of its outage, if it is down. A read of the tool may be older than that of the issue.
    fn down_since(&self, status: Option<&ToolState>) -> Option<Timestamp> {
        let opened_at = self.issues.iter().find(|issue| is_outage(issue))?.opened_at;
        Some(status.and_then(ToolState::down_since).unwrap_or(opened_at))
    }
}

/// The sites of a team.
pub(crate) async fn list(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (store, caller) = (&context.app.store, &context.member()?.caller);
    let role = caller.role_in(team.id())?;
    let may_manage = role.grants(Permission::ManageSites);
    if let Some(address) = kept::address(context, team.id()) {
        return layout::redirect(&address);
    }
    let query = Query::parse(context.head.uri.query());
    let tag_filter = TagFilter::parse(&query);
    let wanted = SiteFilter::parse(&query, &tag_filter);
    let (directory, trouble, saved) = futures::try_join!(
        context.dashboard.directories.read(store, &team.team, caller.now),
        store.trouble(team.id()),
        store.site_groups(team.id()),
    )?;
    let (place, attention) = ((&team.team, NavTab::Sites), trouble.attention());
    let done = html! { (layout::notice(context, &NOTICES)) (added(&query)) };
    let Directory { rows, tags } = &*directory;
    if rows.is_empty() {
        let content = html! { (done) (first_visit::part(&team.team, may_manage)) };
        let heading =
            Heading::within(if may_manage { "Add your first site" } else { "No sites yet" })
                .about(TabState::Unknown)
                .framed(attention);
        return Ok(layout::team_page(context, place, StatusCode::OK, heading, &content));
    }
    let active = trouble.issues.clone();
    let mut sites = listed(&context.app.service, &team, rows, trouble);
    let tab = tab_state(&sites);
    let is_selected = tag_filter.selects(tags);
    sites.retain(|site| is_selected(site.row));
    let retention = team.retention(caller.now);
    let shown_groups = if tag_filter.is_set() { &SiteGroups::default() } else { &saved };
    let (budgets, known) = (&context.dashboard.budgets, (&*directory, &*active));
    let budgets = budgets.read(store, &team, shown_groups, known, caller.now).await?;
    let (found, alerts, groups) = futures::try_join!(
        Found::load(store, &wanted, &sites, (retention, caller.now)),
        Alerts::load(store, active, &directory),
        groups::load(store, shown_groups, tags, &sites, retention),
    )?;
    let settings = settings_of_failing(store, &team, &found).await?;
    let view = SitesView {
        team: &team.team,
        path: context.head.uri.path(),
        clock: context.clock(Some(&team.team)),
        may_manage,
        may_act: role.grants(Permission::RunChecks),
        wanted: &wanted,
        tag_filter: &tag_filter,
        directory: &directory,
        sites: &sites,
        found: &found,
        retention,
        settings: &settings,
        alerts: &alerts,
        saved: &saved,
        groups: &groups,
        budgets: &budgets,
        cadence_minutes: team.settings.tools.cadence_minutes(Tool::Status),
        selects_all: query.search("selected") == Some("all"),
    };
    let content = html! { (done) (content(&view)) };
    let heading = heading(&view).about(tab).framed(attention);
    let mut response = layout::team_page(context, place, StatusCode::OK, heading, &content);
    kept::keep(context, team.id(), &query, wanted.selector, &mut response)?;
    Ok(response)
}

/// The sites of a team that match the filter of a list.
pub(super) async fn matching(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
) -> Result<Vec<SiteId>, ApiError> {
    let store = &context.app.store;
    let query = Query::parse(context.head.uri.query());
    let tag_filter = TagFilter::parse(&query);
    let (directory, trouble) = futures::try_join!(
        store.tagged_directory(team.id(), team.team.sites as usize),
        store.trouble(team.id()),
    )?;
    let mut sites = listed(&context.app.service, team, &directory.rows, trouble);
    let is_selected = tag_filter.selects(&directory.tags);
    sites.retain(|site| is_selected(site.row));
    let found = SiteFilter::parse(&query, &tag_filter).of(&sites).into_iter();
    Ok(found.map(|site| site.row.id).collect())
}

/// The settings in force for the first failing sites of the page.
async fn settings_of_failing(
    store: &Store,
    team: &TeamWithSettings,
    found: &Found<'_>,
) -> Result<BTreeMap<Partition, Settings>, ApiError> {
    let failing = found.shown.iter().filter(|site| site.state == SiteState::Failing);
    let failing: Vec<_> = failing.map(|site| site.row.id.partition()).take(FAILING).collect();
    let sites = store.sites(failing).await?.into_iter();
    Ok(sites.map(|(partition, stored)| (partition, team.settings_for(&stored.site))).collect())
}

/// The state of all sites of a team, for the icon of the tab.
fn tab_state(sites: &[Listed<'_>]) -> TabState {
    let critical = |issue: &IndexRow| issue.severity() == Severity::Critical;
    let is_critical = sites.iter().flat_map(|site| &site.issues).any(critical);
    TabState::of(is_critical, sites.iter().map(|site| site.state))
}

/// The heading, which sums up the state of the sites.
fn heading(view: &SitesView<'_>) -> Heading {
    let team = view.team.id;
    let states: Vec<SiteState> = view.sites.iter().map(|site| site.state).collect();
    let whole = view.directory.rows.len();
    let heading = Heading::new(headline::of(&states, whole))
        .awaiting(states.contains(&SiteState::Unknown))
        .lead(html! {
            p.quiet {
                @if view.tag_filter.is_set() {
                    @if let Some(group) = view.tag_filter.group(view.saved) { "Group " bdi { (group.name) } ". " }
                    (view.tag_filter.words()) ". "
                    a href=(tags::address(view, "")) { "Show all " (counted(whole, "site", "sites")) }
                } @else {
                    (headline::rest(&states))
                }
            }
        });
    match view.may_manage {
        false => heading,
        true => heading.actions(html! {
            @if view.tag_filter.is_set() { (groups::action(view)) }
            a.btn.main href={ "/teams/" (team) "/sites/new" } {
                (Icon::Plus.shape()) span { "Add" span.wide { " sites" } }
            }
        }),
    }
}

/// The filter and the order from the request.
#[derive(Debug, Clone, Copy)]
struct SiteFilter<'q> {
    state: Option<SiteState>,
    /// A part of the name or the URL.
    search: &'q str,
    /// Which tags the sites have; empty if it does not matter.
    selector: &'q str,
    order: ListOrder,
    page: WantedPage,
}

impl<'q> SiteFilter<'q> {
    fn parse(query: &'q Query, tags: &'q TagFilter) -> Self {
        Self {
            // What is wrong stays in its field alone.
            selector: if tags.is_set() { &tags.text } else { "" },
            state: query.one_of("state", SiteState::parse, &mut Errors::new()),
            search: query.search("search").unwrap_or_default(),
            order: query.one_of("sort", ListOrder::parse, &mut Errors::new()).unwrap_or_default(),
            page: WantedPage::parse(query),
        }
    }

    /// Its fields in queries and forms, empty if they have their usual value. The number of the page is left out.
    fn fields(&self) -> [(&'static str, String); 5] {
        let Self { state, search, selector, order, page } = self;
        let is_usual = *order == ListOrder::default();
        [
            ("state", state.map(SiteState::as_str).unwrap_or_default().to_owned()),
            ("search", (*search).to_owned()),
            ("selector", (*selector).to_owned()),
            ("sort", if is_usual { String::new() } else { order.text() }),
            ("size", page.unusual_size().map(|size| size.to_string()).unwrap_or_default()),
        ]
    }

    /// Those that do not have their usual value.
    fn unusual(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.fields().into_iter().filter(|(_, value)| !value.is_empty())
    }

    /// The same as a query; empty for all sites in their usual order.
    fn query(&self) -> String {
        Serializer::new(String::new()).extend_pairs(self.unusual()).finish()
    }

    /// The team's sites that match the filter.
    fn of<'s>(&self, sites: &'s [Listed<'s>]) -> Vec<&'s Listed<'s>> {
        let part = self.search.to_lowercase();
        sites
            .iter()
            .filter(|site| self.state.is_none_or(|state| site.state == state))
            .filter(|site| site.row.contains(&part))
            .collect()
    }
}

/// The query of the list that a request comes from, which leads back to it.
pub(super) fn query_of(request: &Query) -> String {
    let tags = TagFilter::parse(request);
    SiteFilter::parse(request, &tags).query()
}

/// The sites that match the filter, as far as they are on the page.
struct Found<'s> {
    /// Their order. It is by state if there are too many for the one that was asked for.
    order: ListOrder,
    paging: Paging,
    /// How many match.
    count: usize,
    /// The sites on the page.
    shown: Vec<&'s Listed<'s>>,
    /// The states of their status checks and of their certificate checks.
    states: BTreeMap<Partition, ToolState>,
    certificates: BTreeMap<Partition, ToolState>,
}

impl<'s> Found<'s> {
    async fn load(
        store: &Store,
        wanted: &SiteFilter<'_>,
        sites: &'s [Listed<'s>],
        now: (Retention, Timestamp),
    ) -> Result<Self, ApiError> {
        let mut shown = wanted.of(sites);
        let count = shown.len();
        let paging = wanted.page.of(count);
        let order = if wanted.order.key.sorts(count) { wanted.order } else { ListOrder::default() };
        match order.key.tool() {
            None => sort::by_directory(order, &mut shown),
            Some(tool) => {
                let states = store.tool_states(partitions(&shown), tool).await?;
                sort::by_checks(order, &mut shown, &states, now);
            }
        }
        let shown = shown[paging.range()].to_vec();
        let (states, certificates) = futures::try_join!(
            store.tool_states(partitions(&shown), Tool::Status),
            store.tool_states(partitions(&shown), Tool::Ssl),
        )?;
        Ok(Self { order, paging, count, shown, states, certificates })
    }
}

fn partitions(sites: &[&Listed<'_>]) -> impl Iterator<Item = Partition> {
    sites.iter().map(|site| site.row.id.partition())
}

/// What the page shows.
struct SitesView<'a> {
    team: &'a Team,
    path: &'a str,
    clock: Clock<'a>,
    may_manage: bool,
    may_act: bool,
    wanted: &'a SiteFilter<'a>,
    tag_filter: &'a TagFilter,
    /// All sites of the team, and their tags.
    directory: &'a Directory,
    /// The sites that the filter by tags leaves.
    sites: &'a [Listed<'a>],
    found: &'a Found<'a>,
    /// How far back checks go.
    retention: Retention,
    /// The settings of its failing sites, which say how many failures open an issue.
    settings: &'a BTreeMap<Partition, Settings>,
    alerts: &'a Alerts,
    /// The groups of the team, and their sites, if the list shows them.
    saved: &'a SiteGroups,
    groups: &'a [Members],
    /// The budgets of those that have objectives, by their names.
    budgets: &'a BTreeMap<String, BudgetOf>,
    /// How often the team checks its sites.
    cadence_minutes: u32,
    /// Whether all sites that match the filter are selected, not only those on the page.
    selects_all: bool,
}

impl SitesView<'_> {
    /// The address of the first page with a filter and an order, and with pages of the same size.
    fn address(&self, filter: &SiteFilter<'_>) -> String {
        self.address_without_size(filter) + &size_query(self.found.paging.size())
    }

    fn address_without_size(&self, filter: &SiteFilter<'_>) -> String {
        // These are there even if they are empty. An empty selector gives up the one that the browser keeps.
        let is_named = |(name, value): &(&str, String)| match *name {
            "size" => false,
            "state" | "search" | "selector" => true,
            _ => !value.is_empty(),
        };
        let fields = filter.fields().into_iter().filter(is_named);
        format!("{}?{}", self.path, Serializer::new(String::new()).extend_pairs(fields).finish())
    }

    /// Hidden fields of a form that changes one part of the filter: the other parts, the order and the size of pages.
    fn kept(&self, search: &str, selector: &str) -> Markup {
        let kept = SiteFilter { search, selector, ..*self.wanted };
        html! {
            @for (name, value) in kept.unusual() { input type="hidden" name=(name) value=(value); }
        }
    }

    /// The address of the list with another filter by state.
    fn in_state(&self, state: Option<SiteState>) -> String {
        self.address(&SiteFilter { state, ..*self.wanted })
    }

    fn is_in_maintenance(&self, row: &DirectoryRow) -> bool {
        let (tags, now) = (self.directory.tags_of(row), self.clock.now);
        self.team.windows.until(row.id, tags, now, now).is_some()
    }

    fn status(&self, site: &Listed<'_>) -> Option<&ToolState> {
        self.found.states.get(&site.row.id.partition())
    }

    /// The days that the uptime covers.
    fn counted_days(&self) -> usize {
        COUNTED_DAYS.min(self.retention.days as usize)
    }

    /// A bar for each of a site's last days.
    fn bars(&self, site: &Listed<'_>) -> Vec<Bar> {
        let status = self.status(site);
        let uptime = |date| {
            let state = status.filter(|_| self.retention.reaches(date));
            state.map_or(DayUptime::Unknown, |state| state.uptime_on(date, self.clock.now))
        };
        let days: Vec<_> = recent_dates(self.retention.today).map(uptime).collect();
        chart::bars(&days, site.state)
    }
}

fn content(view: &SitesView<'_>) -> Markup {
    let (count, total) = (view.found.count, view.sites.len());
    html! {
        (counts(view))
        (alerts::part(view))
        (groups::part(view))
        section.stack.gm aria-labelledby="list" {
            h2 #list.hide { "Sites" }
            div.tools {
                form method="get" action=(view.path) role="search" {
                    (view.kept("", view.wanted.selector))
                    div.find {
                        (Icon::Search.shape())
                        label.hide for="search" { "Search by name or URL" }
                        input #search type="search" name="search" value=(view.wanted.search)
                            placeholder="Search sites" aria-keyshortcuts="/";
                        kbd aria-hidden="true" { "/" }
                    }
                    button.hide { "Search" }
                }
                (tags::filter(view))
                (sort::menu(view))
            }
            @if view.found.shown.is_empty() {
                (nothing_found(view))
            } @else {
                div.card { (table(view)) }
                @if view.may_manage { (selection::bar(view)) }
                div.row.far.quiet.small {
                    span { (shown(count, total)) ", sorted by " (sort::word(view.found.order.key)) }
                    (chart::legend(view.found.shown.iter().flat_map(|site| view.bars(site))))
                }
            }
            (view.found.paging.links(&|page| view.address_without_size(view.wanted) + page))
        }
    }
}

/// How many of all sites match.
fn shown(count: usize, total: usize) -> String {
    if count == total {
        return counted(total, "site", "sites");
    }
    format!("{} of {}", grouped(count as u64), counted(total, "site", "sites"))
}

fn nothing_found(view: &SitesView<'_>) -> Markup {
    let SiteFilter { state, search, .. } = view.wanted;
    html! {
        div.card {
            div.empty {
                @if view.sites.is_empty() {
                    (tags::nothing_found(view))
                } @else {
                    p {
                        b {
                            @if search.is_empty() { "No sites in this state." }
                            @else {
                                "No sites"
                                @if view.tag_filter.is_set() { " with these tags" }
                                " match “" bdi { (search) } "”"
                                @if state.is_some() { " in this state" }
                                "."
                            }
                        }
                    }
                    p { a href={ (view.path) "?selector=" } { "Show all sites" } }
                }
            }
        }
    }
}

fn table(view: &SitesView<'_>) -> Markup {
    html! {
        table.sites {
            caption.hide { (shown(view.found.count, view.sites.len())) ", sorted by " (sort::word(view.found.order.key)) }
            colgroup {
                @if view.may_manage { col.c-sel; }
                col.c-st; col; col.c-resp; col.c-up; col.c-cert; col.c-90; col.c-chk;
            }
            thead {
                tr {
                    @if view.may_manage { th.c-sel { (selection::head(view)) } }
                    (sort::heading(view, SortKey::State, "", &html! { "State" }))
                    (sort::heading(view, SortKey::Name, "", &html! { "Site" }))
                    (sort::heading(view, SortKey::Response, "", &html! { "Response, 24 h" }))
                    (sort::heading(view, SortKey::Uptime, "n", &html! { "Uptime, " (view.counted_days()) " d" }))
                    (sort::heading(view, SortKey::Certificate, "n c-cert", &html! { "Certificate" }))
                    th.c-90 scope="col" { span.n90 { (RecentDays::MAX) } span.n45 { (RecentDays::MAX / 2) } " days" }
                    (sort::heading(view, SortKey::Checked, "n c-chk", &html! { "Last check" }))
                }
            }
            tbody { @for site in &view.found.shown { (row(view, site)) } }
        }
    }
}

/// What the form for new sites has just done.
fn added(query: &Query) -> Markup {
    let count = |name| query.integer(name, 0..=1_000, &mut Errors::new()).unwrap_or(0);
    let [created, watched, https, http] =
        ["added", "watched", "https", "http"].map(|name| usize::try_from(count(name)).unwrap_or(0));
    Done { created, watched, https, http }.shown()
}

/// The number of sites in each state, each with a link that filters by the state.
fn counts(view: &SitesView<'_>) -> Markup {
    let count = |state: SiteState| view.sites.iter().filter(|site| site.state == state).count();
    let chosen = view.wanted.state;
    // The link of the active filter removes it.
    let other = |state| if chosen == Some(state) { None } else { Some(state) };
    html! {
        nav.card.counts aria-label="Filter by state" {
            a.all href=(view.in_state(None)) aria-current=[chosen.is_none().then_some("true")] {
                span.pill.bare.on.ink { "All sites" } b { (grouped(view.sites.len() as u64)) }
            }
            @for state in SiteState::ALL {
                @let count = count(state);
                @if count > 0 || !matches!(state, SiteState::Unknown | SiteState::Unchecked) {
                    a class=[(count == 0).then_some("zero")] href=(view.in_state(other(state)))
                        aria-current=[(chosen == Some(state)).then_some("true")] {
                        (Look::from(state).counted(short_word(state), count)) b { (grouped(count as u64)) }
                    }
                }
            }
        }
    }
}

/// A state as one short word.
const fn short_word(state: SiteState) -> &'static str {
    match state {
        SiteState::Unknown => "New",
        other => word(other),
    }
}

fn row(view: &SitesView<'_>, site: &Listed<'_>) -> Markup {
    let status = view.status(site);
    let newest = status.and_then(ToolState::latest);
    let look = Look::from(site.state);
    let figures = Figures::of(view, site, status);
    let is_wrong = site.state <= SiteState::Unchecked;
    html! {
        tr class=(look.class()) {
            @if view.may_manage { td.c-sel { (selection::tick(view, site.row)) } }
            td.c-st { @if is_wrong { (look.pill(word(site.state))) } @else { (look.bare(short_word(site.state))) } }
            td.c-site {
                div.l1.row.fix {
                    a.name.cut href={ "/sites/" (site.row.id) } { bdi { (site.row.name) } }
                    (tags::of_site(view, site.row))
                    @if view.is_in_maintenance(site.row) { span.tag { "Maintenance" } }
                }
                div.host.cut title=(site.row.url) {
                    @if let Some(reason) = reason(view, site, status) {
                        span class={ "txt " (look.class()) } { (reason) } " · "
                    }
                    (short(&site.row.url))
                }
                div.only.a { (figures.response) }
                div.only.b { (figures.uptime) }
            }
            td.c-resp { div.resp { (figures.sparkline) span { (figures.response) } } }
            td.c-up.n { (figures.uptime) }
            td.c-cert.n { (figures.certificate) }
            td.c-90 {
                (chart::uptime_bars(&view.bars(site), chart::Bars::OfList))
            }
            td.c-chk.n.quiet {
                @match newest {
                    Some(newest) => (view.clock.ago(newest.id().created_at())),
                    None => (words::unknown()),
                }
            }
        }
    }
}

/// What is wrong with a site, in a few words.
fn reason(view: &SitesView<'_>, site: &Listed<'_>, status: Option<&ToolState>) -> Option<Markup> {
    match site.state {
        SiteState::Down => {
            let since = site.down_since(status)?;
            Some(html! { "Down for " (view.clock.lasting(since)) (why(status)) })
        }
        SiteState::Failing => {
            let settings = view.settings.get(&site.row.id.partition());
            let counted =
                status.zip(settings).and_then(|(status, own)| failing::counted(status, own));
            let next = status.and_then(failing::next_check);
            Some(match (counted, site.failing_since) {
                (Some(counted), _) => {
                    html! { (failing::words(counted, next, view.clock)) (why(status)) }
                }
                (None, Some(since)) => {
                    html! { "Failing for " (view.clock.lasting(since)) (why(status)) }
                }
                (None, None) => return None,
            })
        }
        SiteState::Issues => {
            let first = site.issues.first()?;
            let more = site.issues.len() - 1;
            Some(html! {
                (words::fingerprint(first.fingerprint))
                @if more > 0 { ", " (more) " more" }
            })
        }
        SiteState::Unchecked => {
            let not_run = status?.unchecked()?;
            Some(html! {
                "For " (view.clock.lasting(not_run.since)) " · " bdi { (not_run.message) }
            })
        }
        SiteState::Unknown | SiteState::Up | SiteState::Paused => None,
    }
}

/// Why the newest status check failed: ` · HTTP 503`.
fn why(status: Option<&ToolState>) -> Markup {
    let failure = status.and_then(|status| status.failure.as_deref());
    html! { @if let Some(failure) = failure { " · " bdi { (failure) } } }
}

/// A URL without its scheme, which most share.
fn short(url: &SiteUrl) -> &str {
    let text = url.as_str();
    let text = text.strip_prefix("https://").unwrap_or(text);
    text.strip_suffix('/').unwrap_or(text)
}

/// All sites of a team with their states, worst first and then by name.
fn listed<'a>(
    service: &Service,
    team: &TeamWithSettings,
    rows: &'a [DirectoryRow],
    Trouble { issues, failing, unchecked }: Trouble,
) -> Vec<Listed<'a>> {
    let mut by_site: BTreeMap<SiteId, Vec<IndexRow>> = BTreeMap::new();
    for issue in issues {
        by_site.entry(issue.monitor).or_default().push(issue);
    }
    let mut sites: Vec<Listed<'_>> = rows
        .iter()
        .map(|row| {
            let mut issues = by_site.remove(&row.id).unwrap_or_default();
            issues.sort_by_key(order);
            let is_enabled = |tool: Tool| service.runs_on(tool, row, team);
            let active = issues.iter().map(|issue| issue.fingerprint);
            let failing_since = failing.get(&row.id).copied();
            let is_judged = row.is_judged(is_enabled);
            let is_unchecked = unchecked.contains_key(&row.id);
            let is_failing = failing_since.is_some();
            let state = SiteState::of(active, is_failing, is_unchecked, is_enabled, is_judged);
            let failing_since = failing_since.filter(|_| state == SiteState::Failing);
            Listed { row, state, issues, failing_since }
        })
        .collect();
    sites.sort_by_cached_key(|site| (site.state, site.row.name.to_lowercase(), site.row.id));
    sites
}
