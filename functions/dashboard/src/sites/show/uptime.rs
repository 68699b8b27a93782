//! The uptime of a site.

use jiff::ToSpan as _;
use maud::{Markup, html};
use vedette_domain::checks::history::{DayUptime, RecentDays, day_of, recent_dates};
use vedette_domain::checks::report::Uptime;
use vedette_domain::checks::tool::Tool;
use vedette_domain::sites::site_state::SiteState;

use super::SiteView;
use crate::{chart, layout};

/// The last days, which the item of the tool stores as a letter each.
pub(super) fn part(view: &SiteView<'_>, report: &Uptime) -> Markup {
    let status = view.access.stored.tools.get(&Tool::Status);
    let retention = view.access.team.retention(view.clock.now);
    let uptime = |date| {
        let state = status.filter(|_| retention.reaches(date));
        state.map_or(DayUptime::Unknown, |state| state.uptime_on(date))
    };
    let bars: Vec<DayUptime> = recent_dates(retention.today).map(uptime).collect();
    let is_failing = view.state == SiteState::Failing;
    let first = day_of(view.clock.now).saturating_sub((RecentDays::MAX as i64 - 1).days());
    html! {
        section.card {
            header {
                h2 { (RecentDays::MAX) " days" }
                a.small href={ "/sites/" (view.access.stored.site.id) "/report" } { "View report" }
            }
            div.in {
                (chart::uptime_bars(&bars, is_failing, chart::Bars::OfSite))
                div.ends {
                    span { (first.strftime("%-d %b")) }
                    (chart::legend(is_failing))
                    span { "Today" }
                }
                (outside_maintenance(view, report))
                (failed_days(view, report))
            }
        }
    }
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
