//! How often a site was up.

use maud::{Markup, html};
use vedette_domain::id::SiteId;
use vedette_domain::report::Uptime;

use super::range::Range;
use crate::chart;

pub(super) fn part(site: SiteId, report: &Uptime, range: Range) -> Markup {
    let failing = report.days.iter().rev().filter(|day| day.up_checks < day.total_checks);
    let mut failing = failing.peekable();
    let days = match range {
        Range::Day => "today and yesterday".to_owned(),
        other => format!("the last {}", other.words()),
    };
    html! {
        h2 { "Uptime" }
        p {
            @match report.total_uptime_percentage {
                Some(percentage) => { (percentage) " % of the checks of " (days) " found the site up." }
                None => { "There were no status checks in " (days) "." }
            }
        }
        (chart::uptime_bars(&report.days))
        p { a href={ "/sites/" (site) "/report" } { "Report by day" } }
        @if failing.peek().is_some() {
            details {
                summary { "Days on which checks found it down" }
                table {
                    caption { "UTC days, the latest first" }
                    thead { tr { th scope="col" { "Day" } th scope="col" { "Uptime" } th scope="col" { "Checks" } } }
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
