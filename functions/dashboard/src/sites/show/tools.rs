//! The newest check of each tool, in a card each.

use maud::{Markup, html};
use vedette_domain::accounts::plan::cadence_label;
use vedette_domain::checks::check::{Check, LinksResult, PerformanceResult, SslResult};
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record::Issue;
use vedette_domain::sites::site_state::SiteState;

use super::{SiteView, read};
use crate::checks::{NOT_NEEDED, summary_of, without_need};
use crate::look::Look;
use crate::sites::certificate_days;
use crate::{look, words};

pub(super) fn part(view: &SiteView<'_>) -> Markup {
    let site = view.access.stored.site.id;
    html! {
        section.stack.gm {
            div.row.far {
                h2 { "Checks" }
                a.small href={ "/sites/" (site) "/checks" } { "History of checks" }
            }
            div.g5 { @for tool in Tool::ALL { (card(view, tool)) } }
        }
    }
}

/// What the newest check found. The days of a valid certificate are counted from now, as elsewhere on the page.
fn said(view: &SiteView<'_>, check: &Check, look: Look) -> Markup {
    let stored = &view.access.stored;
    let days = stored.tools.get(&Tool::Ssl).filter(|_| check.id.tool() == Tool::Ssl);
    match days.and_then(|state| certificate_days(state, view.clock.now)) {
        Some(days) if look == Look::Up => html! { "Valid, " (days) " days left" },
        _ => summary_of(check, stored),
    }
}

fn card(view: &SiteView<'_>, tool: Tool) -> Markup {
    let latest = view.access.stored.tools.get(&tool).and_then(ToolState::latest);
    let check = latest.and_then(|latest| view.history.checks.get(&latest.id()));
    let settings = &view.settings;
    let is_on = view.runs(tool);
    let waits = view.service.waits_for_browser(tool, &view.access.team.team, settings);
    let title = html! { h3 { (look::tool(tool)) (words::tool(tool)) } };
    let cadence = cadence_label(settings.tools.cadence_minutes(tool));
    match check {
        Some(check) => {
            let active = view.active().filter(|issue| issue.id.fingerprint().tool() == tool);
            let active: Vec<&Issue> = active.collect();
            let (look, word) = match without_need(check, &view.access.stored) {
                Some(_) if active.is_empty() => (Look::Paused, NOT_NEEDED),
                _ => standing(check, &active, view.state == SiteState::Failing),
            };
            html! {
                a.card.tool.flat href={ "/checks/" (check.id) } {
                    div.row { (title) (look.bare(word)) }
                    p { (said(view, check, look)) }
                    p.quiet {
                        (view.clock.ago(check.id.created_at())) " · "
                        @if is_on { (cadence) } @else { "Off" }
                    }
                }
            }
        }
        None => html! {
            div.card.tool {
                div.row { (title) @if is_on || waits { (Look::Pending.bare("Waiting")) } @else { (Look::Paused.bare("Off")) } }
                p.quiet {
                    @if waits { "Waiting for a browser. Install one with " code { "vedette browser install" } "." }
                    @else if is_on { "No check yet." }
                    @else { "No automatic checks." }
                }
                @if is_on { p.quiet { (cadence) } }
            }
        },
    }
}

/// The outcome of a check, in a word.
fn standing(check: &Check, active: &[&Issue], is_failing: bool) -> (Look, &'static str) {
    match check.status {
        CheckStatus::Pending => return (Look::Pending, "Running"),
        CheckStatus::Skipped => return (Look::Paused, "Skipped"),
        CheckStatus::Failed => return (Look::NotRun, "Could not run"),
        CheckStatus::Completed => {}
    }
    if let Some(worst) = active.iter().min_by_key(|issue| issue.severity()) {
        let word = match check.id.tool() {
            Tool::Status => match worst.id.fingerprint() {
                Fingerprint::StatusExpectation => "Not as expected",
                Fingerprint::StatusSlow => "Slow",
                _ => "Down",
            },
            Tool::Ssl | Tool::Dns | Tool::Heartbeat => "Issue",
            Tool::BrokenLinks => "Found",
            Tool::Performance => "Slow",
        };
        return (Look::from(worst.severity()), word);
    }
    match check.id.tool() {
        Tool::Status if is_failing => (Look::Failing, "Failed"),
        Tool::Status => (Look::Up, "Up"),
        Tool::Ssl => match read::<SslResult>(Some(check)) {
            Some((_, SslResult { is_valid: false, .. })) => (Look::Down, "Not valid"),
            Some(_) | None => (Look::Up, "Valid"),
        },
        Tool::Dns => (Look::Up, "Unchanged"),
        Tool::Heartbeat => (Look::Up, "On time"),
        Tool::BrokenLinks => match read::<LinksResult>(Some(check)) {
            Some((_, LinksResult { found: 1.., .. })) => (Look::Issues, "Found"),
            Some(_) | None => (Look::Up, "Fine"),
        },
        Tool::Performance => {
            let score = read::<PerformanceResult>(Some(check))
                .and_then(|(_, result)| result.speed_metrics.performance_score);
            score.map_or((Look::Pending, "No score"), grade)
        }
    }
}

/// The rating of a Lighthouse score.
pub(super) fn grade(score: u32) -> (Look, &'static str) {
    match score {
        90.. => (Look::Up, "Good"),
        50.. => (Look::Issues, "Fair"),
        _ => (Look::Down, "Poor"),
    }
}
