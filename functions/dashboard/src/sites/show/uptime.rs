//! The uptime of a site.

use jiff::SignedDuration;
use maud::{Markup, html};
use vedette_domain::checks::history::{DayUptime, Downtime, RecentDays, day_start};
use vedette_domain::checks::report::{OutageDay, Span, Uptime, outage_days, outages, problems};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::time;

use super::SiteView;
use crate::chart::{self, Bar};
use crate::layout;

/// The last days. Those that an outage overlaps link to it.
pub(super) fn part(view: &SiteView<'_>, report: &Uptime) -> Markup {
    let site = &view.access.stored.site;
    let days = days(view);
    let bars: Vec<Bar> = days.iter().map(|(bar, _)| *bar).collect();
    let known = days.iter().map(|(_, day)| day.down);
    let down = known.fold(SignedDuration::ZERO, SignedDuration::saturating_add);
    let all = format!("/teams/{}/outages?site={}", site.team, site.id);
    html! {
        section.card {
            header {
                h2 { (RecentDays::MAX) " days" }
                span.small {
                    @if !down.is_zero() { span.quiet { (time::duration(down)) " down · " } }
                    a href=(all) { "Outages" } " · "
                    a href={ "/sites/" (site.id) "/report" } { "View report" }
                }
            }
            div.in {
                (chart::day_bars(&days, view.clock, &|day| {
                    Some(format!("{all}&from={0}&to={0}", day.date))
                }))
                div.ends {
                    @if let Some((_, first)) = days.first() { span { (view.clock.utc_day(day_start(first.date))) } }
                    (chart::legend(bars.into_iter()))
                    span { "Today" }
                }
                (outside_maintenance(view, report))
                (failed_days(view, report))
            }
        }
    }
}

/// Each of the last days with its bar. The days with outages are those of the issue; for days that its timeline no
/// longer tells of, the item of the tool stores a letter each.
fn days(view: &SiteView<'_>) -> Vec<(Bar, OutageDay)> {
    let status = view.access.stored.tools.get(&Tool::Status);
    let retention = view.access.team.retention(view.clock.now);
    let span = Span::until(retention.today, RecentDays::MAX as u16);
    let ended_at = status.and_then(|status| status.monitoring_ended_at);
    let problems = problems(span, &view.history.issues, ended_at);
    let outages = outage_days(span, &outages(&problems), view.clock.now).into_iter();
    let with_bar = outages.map(|day| {
        let shown = status.filter(|_| retention.reaches(day.date));
        let stored = |status: &ToolState| status.uptime_on(day.date, view.clock.now);
        let uptime = match shown {
            Some(_) if day.outages > 0 => DayUptime::Down(Downtime::of_duration(day.down)),
            shown => shown.map_or(DayUptime::Unknown, stored),
        };
        let bar = match day.date == retention.today {
            true => Bar::today(uptime, view.state),
            false => uptime.into(),
        };
        (bar, day)
    });
    with_bar.collect()
}

/// The uptime outside maintenance windows, if any check of the shown range was in one.
fn outside_maintenance(view: &SiteView<'_>, report: &Uptime) -> Markup {
    let uptime = report.outside_maintenance.and_then(|outside| outside.uptime_percentage);
    html! {
        @if let Some(uptime) = uptime {
            p.quiet.small.m2 {
                "Uptime outside maintenance, " (view.range.days_in_words()) ": " b { (uptime) " %" }
            }
        }
    }
}

/// The days in the shown range on which checks failed.
fn failed_days(view: &SiteView<'_>, report: &Uptime) -> Markup {
    let failing = report.days.iter().rev().filter(|day| day.up_checks < day.total_checks);
    let failing: Vec<_> = failing.collect();
    html! {
        @if !failing.is_empty() {
            details.list.m2 {
                summary { "Days with failed checks, " (view.range.days_in_words()) }
                table {
                    (layout::columns("UTC days with failed checks, the latest first", &["Day", "Uptime", "Checks"]))
                    tbody {
                        @for day in failing {
                            tr {
                                th scope="row" { time datetime=(day.date) { (day.date) } }
                                td { @if let Some(value) = day.uptime_percentage { (value) " %" } }
                                td { (day.total_checks - day.up_checks) " of " (day.total_checks) " failed" }
                            }
                        }
                    }
                }
            }
        }
    }
}
