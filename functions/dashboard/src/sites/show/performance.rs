//! The results of Lighthouse for a site, now and before.

use maud::{Markup, html};
use vedette_domain::checks::check::{Check, LabMetric, Opportunity, PerformanceResult};
use vedette_domain::checks::report::Performance;

use super::range::Range;
use super::read;
use crate::chart::{self, Plot};
use crate::clock::Clock;
use crate::layout;

/// The most opportunities on a site's page. The check's page shows all.
const OPPORTUNITIES: usize = 10;

pub(super) fn part(
    check: Option<&Check>,
    report: &Performance,
    range: Range,
    clock: Clock<'_>,
) -> Markup {
    let Some((check, result)) = read::<PerformanceResult>(check) else { return Markup::default() };
    let metrics = &result.speed_metrics;
    html! {
      section.card #performance {
        header {
            h2 { "Performance" }
            span.quiet.small { "Checked " (clock.instant(check.id.created_at())) }
        }
        div.in.stack.gm {
        p {
            @match metrics.performance_score {
                Some(score) => { "Lighthouse score " b { (score) } " of 100" },
                None => { "Lighthouse gave no score" },
            }
            "."
        }
        (vitals(&result))
        (over_time(report, range))
        @if !metrics.opportunities.is_empty() {
            h3 { "What would make it faster" }
            (opportunities(metrics.opportunities.iter().take(OPPORTUNITIES)))
        }
        }
      }
    }
}

/// The lab metrics.
fn vitals(result: &PerformanceResult) -> Markup {
    let vitals = &result.speed_metrics.core_web_vitals;
    let metrics: [(&str, &LabMetric, &str); 7] = [
        ("Largest Contentful Paint", &vitals.lcp, "ms"),
        ("First Contentful Paint", &vitals.fcp, "ms"),
        ("Cumulative Layout Shift", &vitals.cls, ""),
        ("Total Blocking Time", &vitals.tbt, "ms"),
        ("Time to First Byte", &vitals.ttfb, "ms"),
        ("Speed Index", &vitals.speed_index, "ms"),
        ("Time to Interactive", &vitals.interactive, "ms"),
    ];
    html! {
        dl.facts {
            @for (name, metric, unit) in metrics {
                @if let Some(value) = metric.value {
                    dt { (name) }
                    dd {
                        @match &metric.display_value {
                            Some(text) => bdi { (text) },
                            None => { (value) " " (unit) },
                        }
                    }
                }
            }
        }
    }
}

/// Audits that did not pass, with their possible savings.
fn opportunities<'a>(of: impl Iterator<Item = &'a Opportunity>) -> Markup {
    html! {
        table {
            (layout::columns("The largest savings first", &["Audit", "Savings"]))
            tbody {
                @for opportunity in of {
                    tr {
                        th scope="row" { bdi { (opportunity.title) } }
                        td {
                            @if let Some(ms) = opportunity.savings.ms { (ms.round()) " ms " }
                            @if let Some(text) = &opportunity.savings.text { bdi { (text) } }
                        }
                    }
                }
            }
        }
    }
}

fn over_time(report: &Performance, range: Range) -> Markup {
    let scores = report.days.iter().enumerate();
    let scores: Vec<(usize, f64)> =
        scores.filter_map(|(place, day)| Some((place, day.performance_score?))).collect();
    let audited = report.days.iter().rev().filter(|day| day.total_checks > 0);
    let label = format!("Lighthouse score of each day of the last {}", range.words());
    html! {
        @if let Some(average) = report.average_performance_score {
            p { "Score over the last " (range.words()) ": " (average) " on average." }
            (chart::plot(&Plot {
                values: &scores,
                upper: &[],
                stack: &[],
                dots: &[],
                marks: &[],
                axis: (0.0, report.days.len() as f64),
                reach: 1,
                top: 100.0,
                unit: "",
                label: &label,
                title: "Of 100",
                bands: &[],
                ticks: &[],
            }))
            details.list {
                summary { "View as table" }
                table {
                    (layout::columns("Averages of each UTC day, the latest first", &["Day", "Score", "Speed Index", "Response time"]))
                    tbody {
                        @for day in audited {
                            tr {
                                th scope="row" { time datetime=(day.date) { (day.date) } }
                                td { @if let Some(score) = day.performance_score { (score) } }
                                td { @if let Some(speed) = day.speed { (speed) " s" } }
                                td { @if let Some(ms) = day.response_time { (ms) " ms" } }
                            }
                        }
                    }
                }
            }
        }
    }
}
