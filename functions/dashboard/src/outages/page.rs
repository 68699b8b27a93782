//! The outages as a page.

use jiff::SignedDuration;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use url::form_urlencoded::byte_serialize;
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::history::{Downtime, day_of, day_start};
use vedette_domain::checks::report::outage_days;
use vedette_domain::id::TeamId;
use vedette_domain::issues::outage::{Cause, OutageRecord};
use vedette_domain::sites::selector::Selector;
use vedette_domain::time;
use vedette_http::outages::{FoundOutage, OUTAGES_MAX, OutageFilter, Outages};
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use crate::chart::{self, Bar, bars_label, day_bars};
use crate::clock::Clock;
use crate::form::{Choice, FormInput, capitalized};
use crate::issues::list;
use crate::layout::{Heading, NavTab};
use crate::look::Look;
use crate::paging::Paging;
use crate::words::{self, counted, grouped, spelled};
use crate::{RequestContext, layout};

pub(super) fn page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    filter: &OutageFilter,
    outages: &Outages,
    paging: Paging,
) -> Response {
    let (id, clock) = (team.id(), context.clock(Some(&team.team)));
    let mut input = FormInput::default();
    input.put("site", filter.site.clone().unwrap_or_default());
    input.put("selector", selector_text(filter));
    input.put("cause", filter.cause.map_or("", Cause::as_str));
    input.put("from", filter.span.from.to_string());
    input.put("to", filter.span.to.to_string());
    let content = html! {
        (list::parts(id, None, None))
        (form(id, &input))
        @if outages.has_more {
            (layout::note(Look::Info, &html! {
                "There are more than " (grouped(OUTAGES_MAX as u64)) " outages. Only the newest are shown and counted. Choose fewer days."
            }))
        }
        (figures(outages))
        (days(&team.team, filter, outages, clock))
        @if !outages.found.is_empty() { (table(outages, &outages.found[paging.range()], clock)) }
        (paging.links(&|page| address(id, "outages", filter) + page))
    };
    let heading = Heading::new(title(filter, outages))
        .lead(lead(filter, outages, clock))
        .actions(html! { a.btn href=(address(id, "outages.csv", filter)) { "CSV" } });
    layout::team_page(context, (&team.team, NavTab::Issues), StatusCode::OK, heading, &content)
}

/// The form with what is wrong with it.
pub(super) fn refused(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    input: &FormInput,
) -> Response {
    let content = html! { (list::parts(team.id(), None, None)) (form(team.id(), input)) };
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    layout::team_page(context, (&team.team, NavTab::Issues), status, "Outages", &content)
}

/// The address of a page with the same filter.
fn address(team: TeamId, name: &str, filter: &OutageFilter) -> String {
    let site = filter.site.as_deref().unwrap_or_default();
    let site: String = byte_serialize(site.as_bytes()).collect();
    let selector: String = byte_serialize(selector_text(filter).as_bytes()).collect();
    let cause = filter.cause.map_or("", Cause::as_str);
    let span = filter.span;
    format!(
        "/teams/{team}/{name}?site={site}&selector={selector}&cause={cause}&from={}&to={}",
        span.from, span.to
    )
}

fn selector_text(filter: &OutageFilter) -> String {
    filter.selector.as_ref().map(Selector::to_string).unwrap_or_default()
}

fn title(filter: &OutageFilter, outages: &Outages) -> String {
    let days = (filter.span.to - filter.span.from).get_days() + 1;
    let days = counted(usize::try_from(days).unwrap_or(0), "day", "days");
    match outages.figures.count {
        0 => format!("No outages in {days}"),
        count => {
            let down = time::duration(outages.figures.down);
            format!("{} in {days}, {down} down", counted(count, "outage", "outages"))
        }
    }
}

fn lead(filter: &OutageFilter, outages: &Outages, clock: Clock<'_>) -> Markup {
    let day = |date| clock.utc_day(day_start(date));
    html! {
        p.quiet {
            (day(filter.span.from)) " to " (day(filter.span.to)) ", UTC days."
            @match outages.figures.open {
                0 => {},
                1 => " One outage is going on.",
                open => { " " (capitalized(&spelled(open))) " outages are going on." },
            }
        }
    }
}

fn form(team: TeamId, input: &FormInput) -> Markup {
    let any = Choice::new("", "Any cause");
    let causes = Cause::ALL.map(|cause| Choice::new(cause.as_str(), cause.label()));
    let causes: Vec<Choice> = [any].into_iter().chain(causes).collect();
    html! {
        form.card.filters.screen method="get" action={ "/teams/" (team) "/outages" } {
            (input.input("site", "search", "Site"))
            (input.input_like("selector", "Tags", "env:prod, !legacy"))
            (input.select("cause", "Cause", &causes))
            (input.input("from", "date", "From"))
            (input.input("to", "date", "To"))
            button.main { "Show" }
        }
    }
}

fn figures(outages: &Outages) -> Markup {
    let figures = &outages.figures;
    let length = |duration: Option<SignedDuration>| {
        html! {
            @match duration { Some(duration) => (time::duration(duration)), None => (words::unknown()) }
        }
    };
    let figure = |name: &str, value: Markup, note: Option<String>| {
        html! {
            div { span { (name) } p.big { (value) } @if let Some(note) = note { span { (note) } } }
        }
    };
    let unacknowledged = figures.unacknowledged;
    let median =
        figures.median_to_resolve.map(|median| format!("Median {}", time::duration(median)));
    html! {
        div.card.sum4 {
            (figure("Outages", html! { (grouped(figures.count as u64)) }, None))
            (figure("Downtime", html! { (time::duration(figures.down)) }, None))
            (figure(
                "Mean time to acknowledge",
                length(figures.mean_to_acknowledge),
                (unacknowledged > 0).then(|| format!("{} not acknowledged", grouped(unacknowledged as u64))),
            ))
            (figure("Mean time to resolve", length(figures.mean_to_resolve), median))
        }
    }
}

fn days(team: &Team, filter: &OutageFilter, outages: &Outages, clock: Clock<'_>) -> Markup {
    let problems: Vec<_> = outages.found.iter().map(|found| found.outage.problem()).collect();
    let days: Vec<_> = outage_days(filter.span, &problems, clock.now)
        .into_iter()
        .map(|day| {
            let bar = match day.outages {
                0 if day.date < day_of(team.created_at) => Bar::Unknown,
                0 => Bar::Up,
                _ => Bar::Down(Downtime::of_duration(day.down)),
            };
            (bar, day)
        })
        .collect();
    let bars: Vec<Bar> = days.iter().map(|(bar, _)| *bar).collect();
    html! {
        section.card {
            header { h2 { "Downtime per day" } span.quiet.small { (bars_label(&bars)) } }
            div.in {
                (day_bars(&days, clock, &|_| None))
                div.ends {
                    span { (clock.utc_day(day_start(filter.span.from))) }
                    (chart::legend(bars.into_iter()))
                    span { (clock.utc_day(day_start(filter.span.to))) }
                }
            }
        }
    }
}

fn table(outages: &Outages, shown: &[FoundOutage], clock: Clock<'_>) -> Markup {
    html! {
        section.card {
            table.t.cards-t.pairs {
                (layout::columns("Outages, newest first", &["Start", "Length", "Site", "Cause", "Acknowledged", "End"]))
                tbody { @for FoundOutage { outage, name, .. } in shown { (row(outages, outage, name, clock)) } }
            }
            footer.small { p.quiet { (words::OUTAGE) " The means leave out outages that nobody acknowledged or that go on." } }
        }
    }
}

fn row(outages: &Outages, outage: &OutageRecord, name: &str, clock: Clock<'_>) -> Markup {
    let is_open = outage.ended_at.is_none();
    html! {
        tr {
            td.nb { div.only { "Start" } (clock.instant(outage.began_at)) }
            td.nb {
                div.only { "Length" }
                @if is_open { span.txt.down { (clock.lasting(outage.began_at)) " so far" } }
                @else { (time::duration(outage.problem().lasted(clock.now))) }
            }
            td { div.only { "Site" } a href={ "/sites/" (outage.site) } { bdi { (name) } } }
            td { div.only { "Cause" } a.quiet href={ "/issues/" (outage.issue) } { bdi { (outage.detail) } } }
            td {
                div.only { "Acknowledged" }
                @match (outage.acknowledged, outage.acknowledged_after()) {
                    (Some(taken), Some(after)) => { bdi { (outages.responder(taken.by)) } ", after " (time::duration(after)) },
                    _ if is_open => span.quiet { "Nobody yet" },
                    _ => span.quiet { "Nobody" },
                }
            }
            td.nb {
                div.only { "End" }
                @match outage.ended_at { Some(end) => (clock.instant(end)), None => span.quiet { "Open" } }
            }
        }
    }
}
