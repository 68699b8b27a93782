//! How often a site was up.

use maud::{Markup, html};
use vedette_domain::checks::history::DayUptime;
use vedette_domain::checks::report::{Uptime, UptimeDay};
use vedette_domain::id::SiteId;

use super::range::Range;
use crate::{chart, layout};

pub(super) fn part(site: SiteId, report: &Uptime, range: Range) -> Markup {
    let failing = report.days.iter().rev().filter(|day| day.up_checks < day.total_checks);
    let mut failing = failing.peekable();
    let days = match range {
        Range::Day => "today and yesterday".to_owned(),
        other => format!("the last {}", other.words()),
    };
    let of = |day: &UptimeDay| DayUptime::of(day.up_checks, day.total_checks);
    let bars: Vec<DayUptime> = report.days.iter().map(of).collect();
    html! {
        h2 { "Uptime" }
        p {
            @match report.total_uptime_percentage {
                Some(percentage) => { (percentage) " % of the checks of " (days) " found the site up." }
                None => { "There were no status checks in " (days) "." }
            }
        }
        (chart::uptime_bars(&bars))
        p { a href={ "/sites/" (site) "/report" } { "Report by day" } }
        @if failing.peek().is_some() {
            details {
                summary { "Days on which checks found it down" }
                table {
                    (layout::columns("UTC days, the latest first", &["Day", "Uptime", "Checks"]))
                    tbody {
                        @for day in failing {
                            tr {
                                th scope="row" { time datetime=(day.date) { (day.date) } }
                                td { @if let Some(percentage) = day.uptime_percentage { (percentage) " %" } }
                                td { (day.up_checks) " of " (day.total_checks) " up" }
                            }
                        }
                    }
                }
            }
        }
    }
}
