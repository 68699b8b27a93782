//! The key figures of a site.

use maud::{Markup, html};
use vedette_domain::checks::check::{LinksResult, PerformanceResult, SslResult};
use vedette_domain::checks::history::{COUNTED_DAYS, CheckCount};
use vedette_domain::checks::percentage::Percentage;
use vedette_domain::checks::report::Uptime;
use vedette_domain::checks::tool::Tool;
use vedette_domain::objectives::ObjectivePeriod;
use vedette_http::objectives::BudgetOf;

use super::range::Range;
use super::timings::percentile;
use super::{SiteView, read, tools};
use crate::form::capitalized;
use crate::sites::certificate_days;
use crate::words;

const WEEK: usize = 7;

pub(super) fn part(view: &SiteView<'_>, uptime: &Uptime) -> Markup {
    let tiles = [
        Some(uptime_tile(view, uptime)),
        met_tile(view, uptime),
        response_tile(view),
        certificate_tile(view),
        performance_tile(view),
        links_tile(view),
        budget_tile(view),
    ];
    html! {
        section aria-labelledby="figures" {
            h2 #figures.hide { "Figures" }
            div.tiles { @for tile in tiles.into_iter().flatten() { (tile) } }
        }
    }
}

fn uptime_tile(view: &SiteView<'_>, uptime: &Uptime) -> Markup {
    let up = view.history.timings.iter().filter(|timing| timing.up).count();
    let day = Percentage::of(up as u64, view.history.timings.len() as u64);
    let retention = view.access.team.retention(view.clock.now);
    let status = view.access.stored.tools.get(&Tool::Status);
    let of_days = |days: usize| {
        let days = days.min(retention.days as usize);
        let checks = status.and_then(|status| status.recent_checks(days, retention));
        (checks.and_then(CheckCount::uptime), format!("{days} d"))
    };
    let mut shown = vec![(day, "24 h".to_owned()), of_days(WEEK), of_days(COUNTED_DAYS)];
    if matches!(view.range, Range::Quarter | Range::Year) {
        shown.push((uptime.total_uptime_percentage, view.range.short().to_lowercase()));
    }
    shown.dedup_by(|(_, days), (_, before)| days == before);
    html! {
        div.card.tile {
            h3 { "Uptime" }
            div.quad.pair {
                @for (value, days) in &shown {
                    div {
                        b { @match value { Some(value) => { (value) "\u{202f}%" }, None => (words::unknown()) } }
                        span { (days) }
                    }
                }
            }
        }
    }
}

/// How many checks of the range found all expectations met, if there were any.
fn met_tile(view: &SiteView<'_>, uptime: &Uptime) -> Option<Markup> {
    let met = uptime.total_met_percentage?;
    let newest = view.newest(Tool::Status).map_or(0, |check| check.unmet.len());
    Some(html! {
        div.card.tile {
            h3 { "Expectations met, " (view.range.short().to_lowercase()) }
            p.big { (met) "\u{202f}%" }
            p.quiet.small {
                @match newest {
                    0 => "All met in the newest check",
                    unmet => { (unmet) " not met in the newest check" },
                }
            }
        }
    })
}

fn response_tile(view: &SiteView<'_>) -> Option<Markup> {
    let timings = &view.history.timings;
    let (median, p95) = (percentile(timings, 50)?, percentile(timings, 95)?);
    Some(html! {
        div.card.tile {
            h3 { "Response time, 24 h" }
            div.quad.pair {
                div { b { (words::grouped(median)) "\u{202f}ms" } span { "Median" } }
                div { b { (words::grouped(p95)) "\u{202f}ms" } span { abbr title="95th percentile: 95 of 100 checks took no longer" { "p95" } } }
            }
        }
    })
}

fn certificate_tile(view: &SiteView<'_>) -> Option<Markup> {
    let (_, result) = read::<SslResult>(view.newest(Tool::Ssl))?;
    let days = certificate_days(view.access.stored.tools.get(&Tool::Ssl)?, view.clock.now)?;
    let day = |end: &str| end.split(' ').next().unwrap_or_default().to_owned();
    let end = day(result.valid_to.as_deref()?);
    Some(html! {
        a.card.tile href="#certificate" {
            h3 { "Certificate" }
            p.big { (days) " " small { @if days == 1 { "day left" } @else { "days left" } } }
            p.quiet.small {
                @match &result.first_to_expire {
                    Some(first) => { "Expires " (end) ", its chain " (day(&first.valid_to)) }
                    None => { "Expires " (end) }
                }
            }
        }
    })
}

fn performance_tile(view: &SiteView<'_>) -> Option<Markup> {
    let (_, result) = read::<PerformanceResult>(view.newest(Tool::Performance))?;
    let score = result.speed_metrics.performance_score?;
    let (look, word) = tools::grade(score);
    // The length of the ring is 138.2.
    let drawn = format!("{:.1} 138.2", f64::from(score) * 1.382);
    Some(html! {
        a.card.tile href="#performance" {
            h3 { "Performance" }
            div.row.fix.gm {
                svg class={ "dial " (look.class()) } viewBox="0 0 52 52" role="img" aria-label={ "Score: " (score) " of 100" } {
                    circle cx="26" cy="26" r="22" {}
                    circle.v cx="26" cy="26" r="22" stroke-dasharray=(drawn) transform="rotate(-90 26 26)" {}
                    text x="26" y="31.5" { (score) }
                }
                span.quiet.small { (word) }
            }
        }
    })
}

fn links_tile(view: &SiteView<'_>) -> Option<Markup> {
    let (_, result) = read::<LinksResult>(view.newest(Tool::BrokenLinks))?;
    Some(html! {
        a.card.tile href="#links" {
            h3 { "Broken links" }
            p.big { (result.found) " " small { "of " (result.crawl.links) } }
            p.quiet.small { (words::counted(result.crawled as usize, "page crawled", "pages crawled")) }
        }
    })
}

fn budget_tile(view: &SiteView<'_>) -> Option<Markup> {
    let BudgetOf { objective, window, budget } = view.budget?;
    let cadence = view.settings.tools.cadence_minutes(Tool::Status);
    let left = budget.left_in_words(cadence);
    let is_whole = objective.window(window.to, &view.access.team.team.zone) == window;
    Some(html! {
        div.card.tile {
            h3 { "Error budget, " (objective.percentage) "\u{202f}%" }
            @if budget.is_used_up() {
                p.big.txt.down { "Used up" }
            } @else if let Some((left, word)) = left.rsplit_once(' ') {
                p.big { (left) " " small { (word) } }
            }
            p.quiet.small {
                @if let Err(refusal) = objective.check_cadence(cadence) {
                    (capitalized(&refusal.reason()))
                } @else {
                    @if budget.is_used_up() { (left) " of " } @else { "Of " }
                    (budget.allowed_in_words())
                    @match objective.period {
                        ObjectivePeriod::Month => " this month",
                        period if is_whole => { " in " (period.words()) },
                        _ => { " since " (view.clock.day(window.from)) },
                    }
                }
            }
        }
    })
}
