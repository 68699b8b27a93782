//! The figures of a site at a glance.

use maud::{Markup, html};
use vedette_domain::checks::check::{LinksResult, PerformanceResult, SslResult};
use vedette_domain::checks::report::Uptime;
use vedette_domain::checks::tool::Tool;

use super::range::Range;
use super::{SiteView, read, tools};
use crate::words;

pub(super) fn part(view: &SiteView<'_>, uptime: &Uptime) -> Markup {
    let tiles = [
        Some(uptime_tile(uptime, view.range)),
        response_tile(view),
        certificate_tile(view),
        performance_tile(view),
        links_tile(view),
    ];
    html! {
        section aria-labelledby="figures" {
            h2 #figures.hide { "Figures" }
            div.tiles { @for tile in tiles.into_iter().flatten() { (tile) } }
        }
    }
}

/// A percentage: 100 only where nothing failed, and rounded down below that.
pub(super) fn percentage(value: f64) -> String {
    if value >= 100.0 {
        "100".to_owned()
    } else {
        format!("{:.2}", (value * 100.0).floor() / 100.0)
    }
}

fn uptime_tile(uptime: &Uptime, range: Range) -> Markup {
    let (up, total) = uptime
        .days
        .iter()
        .fold((0, 0), |(up, total), day| (up + day.up_checks, total + day.total_checks));
    html! {
        div.card.tile {
            h3 { "Uptime, " (range.days_in_words()) }
            p.big {
                @match uptime.total_uptime_percentage {
                    Some(value) => { (percentage(value)) " %" },
                    None => (words::unknown()),
                }
            }
            p.quiet.small {
                @if total == 0 { "No status checks yet" }
                @else if up == total { "All " (words::grouped(total)) " checks succeeded" }
                @else { (words::grouped(total - up)) " of " (words::grouped(total)) " checks failed" }
            }
        }
    }
}

fn response_tile(view: &SiteView<'_>) -> Option<Markup> {
    let days = view.history.watched.iter().filter(|day| day.sums.up > 0);
    let today = days.max_by_key(|day| day.date)?;
    let mean = today.mean_response_ms()?;
    Some(html! {
        div.card.tile {
            h3 { "Response time" }
            p.big { (words::grouped(mean)) " " small { "ms" } }
            p.quiet.small { "Mean of the latest day" }
        }
    })
}

fn certificate_tile(view: &SiteView<'_>) -> Option<Markup> {
    let (_, result) = read::<SslResult>(view.newest(Tool::Ssl))?;
    let end = result.valid_to.as_deref()?;
    let day = end.split(' ').next().unwrap_or_default();
    Some(html! {
        a.card.tile href="#certificate" {
            h3 { "Certificate" }
            p.big { (result.days_left) " " small { @if result.days_left == 1 { "day left" } @else { "days left" } } }
            p.quiet.small { "Expires " (day) }
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

#[cfg(test)]
mod tests {
    use super::percentage;

    #[test]
    fn one_hundred_is_said_only_where_nothing_failed() {
        assert_eq!([100.0, 99.999, 99.95, 0.0].map(percentage), ["100", "99.99", "99.95", "0.00"]);
    }
}
