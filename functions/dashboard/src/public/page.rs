//! The page itself. Its heading answers whether everything works; below are the components, planned maintenance and
//! past incidents.

use jiff::ToSpan as _;
use jiff::civil::Date;
use maud::{Markup, html};
use vedette_domain::accounts::plan::cadence_wording;
use vedette_domain::id::ComponentId;
use vedette_domain::sites::site_state::SiteState;
use vedette_domain::status_pages::{
    ComponentState, Impact, IncidentStatus, PageSummary, PublishedComponent, PublishedGroup,
    PublishedIncident, PublishedPage, PublishedUpdate, PublishedWindow,
};
use vedette_domain::time;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use super::context::Shown;
use super::times::Times;
use super::{PublicContext, frame};
use crate::chart::{self, Bar, Bars, bars, uptime_bars};
use crate::form::capitalized;
use crate::layout::initial;
use crate::look::{self, Look, TabState};
use crate::words::{counted, grouped, listed};

/// The page.
pub(super) async fn page(context: PublicContext<'_>) -> Result<Response, ApiError> {
    context.show(|shown| Ok(rendered(shown))).await
}

pub(super) fn rendered(shown: &Shown) -> Response {
    let page = &shown.page;
    let times = Times { zone: &page.zone, now: shown.now };
    let feed = shown.feed();
    let past: Vec<_> =
        page.incidents.iter().filter(|one| one.status == IncidentStatus::Resolved).collect();
    let windows: Vec<_> = page.windows.iter().filter(|window| window.ends_at > shown.now).collect();
    let content = html! {
        div.wrap.pub.stack.l {
            header.row.far {
                span.brand.say { span.face.l.sq aria-hidden="true" { (initial(&page.name)) } bdi { (page.name) } }
                @if let Some(subscribe) = &shown.subscribe { a.btn.s href=(subscribe) { "Subscribe to updates" } }
            }
            (stale(shown, times))
            (summary(shown, times))
            @for incident in page.unresolved().skip(1) { (further(shown, incident, times)) }
            @for (place, group) in page.groups.iter().enumerate() {
                (of_group(group, (place == 0).then(|| legend(page)), page.today))
            }
            @if !windows.is_empty() { (maintenance(shown, &windows, times)) }
            @if !past.is_empty() { (history(shown, &past, times)) }
            footer.row.far.quiet.small {
                span.row { (look::logo(18)) span { "Monitored by Vedette · As of " (times.instant(page.generated_at)) } }
                nav.row aria-label="Formats" {
                    a href=(feed) { "Feed" }
                    a href={ (shown.path) "/badges/state.svg" } { "Badge" }
                    a href={ (shown.path) "/api/v2/summary.json" } { "JSON" }
                }
            }
        }
    };
    let title = format!("{} status", page.name);
    frame::framed((&title, tab_state(shown)), Some(&feed), &content)
}

/// The warning that the page may be out of date.
fn stale(shown: &Shown, times: Times<'_>) -> Markup {
    let published = shown.page.generated_at;
    html! {
        @if shown.is_stale() {
            div.note.issues role="status" {
                (Look::Issues.shape())
                p { b { "This page may be out of date." } " It was last updated at " (times.minute_ago(published)) "." }
            }
        }
    }
}

/// What the browser's tab shows.
fn tab_state(shown: &Shown) -> TabState {
    match shown.page.summary() {
        _ if shown.is_stale() => TabState::Unknown,
        PageSummary::Operational | PageSummary::Maintenance | PageSummary::Degraded => TabState::Up,
        PageSummary::PartialOutage | PageSummary::MajorOutage => TabState::Down,
        PageSummary::Unknown => TabState::Unknown,
    }
}

/// What readers want to know first: the newest incident or, if there is none, the state of everything.
fn summary(shown: &Shown, times: Times<'_>) -> Markup {
    let page = &shown.page;
    let (look, word) = of_summary(page.summary());
    let incident = page.unresolved().next();
    let title = incident.map_or_else(|| sentence(shown), |incident| incident.title.clone());
    html! {
        section class={ "hero tint " (look.class()) } id=[incident.map(|incident| incident.id)] {
            div { span class={ "pill xl " (look.class()) } { (look.shape()) span { (word) } } }
            div {
                h1 { (title) }
                @if let Some(message) = &page.message { p.m1.say.text { (message) } }
                @if incident.is_none() && !shown.is_stale() { (unchanged(shown, times)) }
            }
            @if let Some(incident) = incident { (progress(shown, incident, times)) }
        }
    }
}

/// Since when the states have been the same, and how soon readers see a change.
fn unchanged(shown: &Shown, times: Times<'_>) -> Markup {
    let Some(since) = shown.page.unchanged_since else { return Markup::default() };
    html! {
        p.quiet {
            "Unchanged since " (times.minute(since)) "."
            @if let Some((shortest, longest)) = shown.page.cadences() {
                " Checked " @if shortest < longest { "at least " } "every " (cadence_wording(longest)) "."
            }
        }
    }
}

/// An incident besides the newest.
fn further(shown: &Shown, incident: &PublishedIncident, times: Times<'_>) -> Markup {
    let look = of_impact(incident.impact);
    html! {
        section class={ "hero tint " (look.class()) } id=(incident.id) {
            div.row.gm { span class={ "pill " (look.class()) } { (look.shape()) span { (incident.status.title()) } } }
            h2 { (incident.title) }
            (progress(shown, incident, times))
        }
    }
}

/// What is known about an incident that is not over.
fn progress(shown: &Shown, incident: &PublishedIncident, times: Times<'_>) -> Markup {
    let concerned = names(shown, &incident.components);
    html! {
        p.quiet.small {
            "Started at " (times.minute_ago(incident.started_at))
            @if let Some(update) = incident.updates.first() { " · Updated at " (times.minute_ago(update.at)) }
            @if let Some(next) = incident.next_update_by { " · Next update by " (times.minute(next)) }
            @if !concerned.is_empty() { " · Affects " (listed(&concerned)) }
        }
        ol.time.rule { @for update in &incident.updates { (of_update(update, times)) } }
    }
}

fn of_update(update: &PublishedUpdate, times: Times<'_>) -> Markup {
    let look = of_status(update.status);
    html! {
        li class=(look.class()) {
            span.dot { (look.shape()) }
            div { p { b { (update.status.title()) } } p.quiet.p0.text { (update.text) } }
            (times.minute(update.at))
        }
    }
}

/// What the bars of all components mean.
fn legend(page: &PublishedPage) -> Markup {
    chart::legend(page.components().flat_map(bars_of))
}

fn of_group(group: &PublishedGroup, legend: Option<Markup>, today: Date) -> Markup {
    html! {
        @if !group.components.is_empty() {
            section.card {
                header {
                    h2 { (group.name.as_deref().unwrap_or("Components")) }
                    @if let Some(legend) = legend { (legend) }
                }
                div.line { @for component in &group.components { (of_component(component, today)) } }
            }
        }
    }
}

fn of_component(component: &PublishedComponent, today: Date) -> Markup {
    let (look, word) = of_state(component.state);
    let failed: Vec<_> = failed_days(component, today).collect();
    html! {
        div.comp id=(component.id) {
            div.row.far { h3 { bdi { (component.name) } } (look.bare(word)) }
            (uptime_bars(&bars_of(component), Bars::OfSite))
            div.ends {
                span { (component.days.len()) " days ago" }
                span {
                    @if let Some(uptime) = component.uptime { (uptime) "\u{202f}% uptime" }
                    @if let Some(ms) = component.response_ms { " · " (grouped(u64::from(ms))) "\u{202f}ms" }
                }
                span { "Today" }
            }
            @if !failed.is_empty() {
                details.list {
                    summary { (counted(failed.len(), "day", "days")) " with downtime or failed checks" }
                    ul {
                        @for (date, says) in &failed {
                            li { span { time datetime=(date) { (date.strftime("%-d %b %Y")) } } span.quiet { (says) } }
                        }
                    }
                }
            }
        }
    }
}

/// The bar of each day of a component.
fn bars_of(component: &PublishedComponent) -> Vec<Bar> {
    let state = match component.state {
        ComponentState::Down => SiteState::Down,
        ComponentState::Operational
        | ComponentState::Unknown
        | ComponentState::Maintenance
        | ComponentState::Degraded => SiteState::Up,
    };
    bars(&component.days, state)
}

/// The days with downtime or failed checks, newest first.
fn failed_days(
    component: &PublishedComponent,
    today: Date,
) -> impl Iterator<Item = (Date, String)> {
    (0_i64..).zip(bars_of(component).into_iter().rev()).filter_map(move |(ago, bar)| {
        let is_listed = bar.is_down() || bar == Bar::Partly;
        is_listed.then(|| (today.saturating_sub(ago.days()), capitalized(bar.words())))
    })
}

fn maintenance(shown: &Shown, windows: &[&PublishedWindow], times: Times<'_>) -> Markup {
    html! {
        section.card {
            header { h2 { "Scheduled maintenance" } }
            ul.rows {
                @for window in windows {
                    @let word = if window.is_active(shown.now) { "In progress" } else { "Scheduled" };
                    li.top0 id=(window.id) {
                        (Look::Maintenance.pill(word))
                        div.grow {
                            b { bdi { (window.name) } }
                            p.quiet {
                                (times.range(window.starts_at, window.ends_at))
                                @let concerned = names(shown, &window.components);
                                @if !concerned.is_empty() { " · Affects " (listed(&concerned)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn history(shown: &Shown, past: &[&PublishedIncident], times: Times<'_>) -> Markup {
    html! {
        section.stack.gm {
            h2 { "Past incidents" }
            div.card {
                ul.rows {
                    @for incident in past {
                        li.top0 id=(incident.id) {
                            div.grow {
                                b { bdi { (incident.title) } }
                                (ended(shown, incident, times))
                            }
                            (Look::Up.bare("Resolved"))
                        }
                    }
                }
            }
        }
    }
}

/// When an incident was and what was written last; everything else that was written unfolds.
fn ended(shown: &Shown, incident: &PublishedIncident, times: Times<'_>) -> Markup {
    let ended = incident.resolved_at.unwrap_or(incident.started_at);
    let concerned = names(shown, &incident.components);
    html! {
        p.quiet.small {
            (times.range(incident.started_at, ended)) ", " (time::duration(ended.duration_since(incident.started_at)))
            @if !concerned.is_empty() { " · Affected " (listed(&concerned)) }
        }
        @if let Some(last) = incident.updates.first() { p.small.text { (last.text) } }
        @if incident.updates.len() > 1 {
            details.list {
                summary { (counted(incident.updates.len(), "update", "updates")) }
                ol.time.m1 { @for update in &incident.updates { (of_update(update, times)) } }
            }
        }
    }
}

/// The names of the components with these ids.
fn names(shown: &Shown, ids: &[ComponentId]) -> Vec<String> {
    ids.iter().filter_map(|id| Some(shown.page.component(*id)?.name.clone())).collect()
}

/// The heading if nobody has written about an incident: what the states of the components say.
fn sentence(shown: &Shown) -> String {
    let affected = |wanted, one: &str, many: &str| {
        let all = shown.page.components();
        let mut names = all.filter(|one| one.state == wanted).map(|one| &one.name);
        match (names.next(), names.count()) {
            (Some(only), 0) => format!("{only} {one}"),
            (_, others) => {
                let total = counted(shown.page.components().count(), "component", "components");
                format!("{} of {total} {many}", others + 1)
            }
        }
    };
    match shown.page.summary() {
        PageSummary::Operational => "Everything is up".to_owned(),
        PageSummary::Unknown => "No data".to_owned(),
        PageSummary::Maintenance => {
            affected(ComponentState::Maintenance, "is under maintenance", "are under maintenance")
        }
        PageSummary::Degraded => affected(ComponentState::Degraded, "is degraded", "are degraded"),
        PageSummary::PartialOutage => affected(ComponentState::Down, "is down", "are down"),
        PageSummary::MajorOutage => "Everything is down".to_owned(),
    }
}

const fn of_summary(summary: PageSummary) -> (Look, &'static str) {
    match summary {
        PageSummary::Operational => (Look::Up, "Up"),
        PageSummary::Unknown => (Look::Pending, "No data"),
        PageSummary::Maintenance => (Look::Maintenance, "Maintenance"),
        PageSummary::Degraded => (Look::Issues, "Degraded"),
        PageSummary::PartialOutage => (Look::Down, "Partial outage"),
        PageSummary::MajorOutage => (Look::Down, "Major outage"),
    }
}

const fn of_state(state: ComponentState) -> (Look, &'static str) {
    match state {
        ComponentState::Operational => (Look::Up, "Up"),
        ComponentState::Unknown => (Look::Pending, "No data"),
        ComponentState::Maintenance => (Look::Maintenance, "Maintenance"),
        ComponentState::Degraded => (Look::Issues, "Degraded"),
        ComponentState::Down => (Look::Down, "Down"),
    }
}

const fn of_impact(impact: Impact) -> Look {
    match impact {
        Impact::None => Look::Info,
        Impact::Minor => Look::Issues,
        Impact::Major | Impact::Critical => Look::Down,
    }
}

const fn of_status(status: IncidentStatus) -> Look {
    match status {
        IncidentStatus::Investigating => Look::Down,
        IncidentStatus::Identified => Look::Issues,
        IncidentStatus::Monitoring => Look::Info,
        IncidentStatus::Resolved => Look::Up,
    }
}
