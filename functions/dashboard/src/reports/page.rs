//! The report as a page.

use jiff::SignedDuration;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::time;
use vedette_http::access::SiteAccess;
use vedette_http::response::Response;

use super::table::{Row, Table};
use crate::clock::Clock;
use crate::form::FormInput;
use crate::layout::{Heading, NavTab};
use crate::sites::link_out;
use crate::{RequestContext, layout, words};

pub(super) fn page(
    context: RequestContext<'_>,
    access: &SiteAccess,
    table: &Table<'_>,
) -> Response {
    let clock = context.clock(Some(&access.team.team));
    let (site, span) = (&access.stored.site, table.span);
    let mut input = FormInput::default();
    input.put("from", span.from.to_string());
    input.put("to", span.to.to_string());
    let csv = format!("/sites/{}/report.csv?from={}&to={}", site.id, span.from, span.to);
    let content = html! {
        (form(access, &input))
        p.screen.small { a href=(csv) { "Download as CSV" } ", or print this page." }
        p.meta { (link_out(&site.url)) span { (span.from) " to " (span.to) ", UTC days" } }
        (in_short(table, clock))
        (problems(table, clock))
        (days(&table.days))
    };
    respond(context, access, StatusCode::OK, &content)
}

/// The form with what is wrong with it.
pub(super) fn refused(
    context: RequestContext<'_>,
    access: &SiteAccess,
    input: &FormInput,
) -> Response {
    respond(context, access, StatusCode::UNPROCESSABLE_ENTITY, &form(access, input))
}

fn respond(
    context: RequestContext<'_>,
    access: &SiteAccess,
    status: StatusCode,
    content: &Markup,
) -> Response {
    let site = &access.stored.site;
    let title = Heading::new(format!("Report for {}", site.name))
        .below(format!("/teams/{}", site.team), "Sites")
        .below(format!("/sites/{}", site.id), &site.name);
    layout::team_page(context, (&access.team.team, NavTab::Sites), status, title, content)
}

fn form(access: &SiteAccess, input: &FormInput) -> Markup {
    let site = access.stored.site.id;
    html! {
        form.card.filters.screen method="get" action={ "/sites/" (site) "/report" } {
            (input.input("from", "date", "From"))
            (input.input("to", "date", "To"))
            button { "Show report" }
        }
    }
}

fn in_short(table: &Table<'_>, clock: Clock<'_>) -> Markup {
    let known = table.days.iter().filter_map(|row| row.outages);
    let down = known.map(|day| day.down).fold(SignedDuration::ZERO, SignedDuration::saturating_add);
    html! {
        div.card { dl.facts.in {
            dt { "Uptime" }
            dd {
                @match table.uptime.total_uptime_percentage {
                    Some(percentage) => { (percentage) " % of the checks" },
                    None => "no checks",
                }
            }
            @if let Some(outside) = table.uptime.outside_maintenance {
                dt { "Uptime outside maintenance" }
                dd {
                    @match outside.uptime_percentage {
                        Some(percentage) => { (percentage) " % of the checks" },
                        None => "no checks",
                    }
                }
            }
            @if let Some(percentage) = table.uptime.total_met_percentage {
                dt { "Expectations met" } dd { (percentage) " % of the checks" }
            }
            @if let Some(ms) = table.uptime.average_response_time {
                dt { "Slowest response of a day, on average" } dd { (ms) " ms" }
            }
            dt { "Outages" } dd { (table.outages()) }
            dt { "Downtime" } dd { (time::duration(down)) }
            @let others = table.problems.len() - table.outages();
            @if others > 0 { dt { "Other problems" } dd { (others) } }
            @let unchecked = table.unchecked();
            @if !unchecked.is_zero() {
                dt { "Without checks" } dd { (time::duration(unchecked)) ", in which Vedette did not run" }
            }
        } }
        @if let Some(since) = table.known_since {
            p { "Some issues before " (clock.instant(since)) " are no longer known." }
        }
    }
}

fn problems(table: &Table<'_>, clock: Clock<'_>) -> Markup {
    html! {
        section.card {
        header { h2 { "Outages and other problems" } }
        @if table.problems.is_empty() {
            p.in.quiet { "No outages and no other problems." }
        } @else {
            table.t.cards-t {
                (layout::columns("Outages and other problems, oldest first", &["Start", "End", "Length", "Issue"]))
                tbody {
                    @for (issue, problem) in &table.problems {
                        tr {
                            td { (clock.instant(problem.began_at)) }
                            td { @match problem.ended_at { Some(end) => (clock.instant(end)), None => "not yet" } }
                            td { (time::duration(problem.lasted(table.now))) }
                            td {
                                a href={ "/issues/" (issue.id) } {
                                    // The summary of the latest opening.
                                    (words::fingerprint(issue.id.fingerprint()))
                                }
                            }
                        }
                    }
                }
            }
            footer.small { p.quiet { (words::OUTAGE) } }
        }
        }
    }
}

fn days(days: &[Row]) -> Markup {
    let is_empty = |row: &Row| {
        row.uptime.total_checks == 0
            && row.outages.is_none_or(|day| day.outages == 0 && day.down.is_zero())
            && row.unchecked.is_zero()
    };
    let shown: Vec<_> = days.iter().filter(|row| !is_empty(row)).collect();
    html! {
        section.card {
        header { h2 { "Days" } }
        div.scroll tabindex="0" role="region" aria-label="Days" { table.t {
            (layout::columns("UTC days", &["Day", "Uptime", "Successful checks", "Mean response", "Slowest", "Outages", "Downtime"]))
            tbody {
                @for Row { uptime, mean_ms, outages, unchecked } in &shown {
                    tr {
                        th scope="row" { time datetime=(uptime.date) { (uptime.date) } }
                        td {
                            @if let Some(percentage) = uptime.uptime_percentage { (percentage) " %" }
                            @if let Some(percentage) = uptime.outside_maintenance.and_then(|day| day.uptime_percentage) {
                                p.quiet.small { (percentage) " % outside maintenance" }
                            }
                            @if !unchecked.is_zero() { p.quiet.small { (time::duration(*unchecked)) " without checks" } }
                        }
                        td { @if uptime.total_checks > 0 { (uptime.up_checks) " of " (uptime.total_checks) } }
                        td { @if let Some(ms) = mean_ms { (ms) " ms" } }
                        td { @if let Some(ms) = uptime.response_time { (ms) " ms" } }
                        td { @if let Some(day) = outages { (day.outages) } }
                        td { @if let Some(day) = outages.filter(|day| !day.down.is_zero()) { (time::duration(day.down)) } }
                    }
                }
            }
        } }
        @if shown.len() < days.len() { footer.small { p.quiet { "Days without checks are left out." } } }
        }
    }
}
