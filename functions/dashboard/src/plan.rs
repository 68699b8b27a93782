//! What a team's plan allows, and how much of it the team uses.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::accounts::plan::cadence_label;
use vedette_domain::checks::tool::Tool;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use crate::RequestContext;
use crate::form::capitalized;
use crate::layout::{self, NavTab};
use crate::settings::{Part, beside_others};
use crate::words;

/// Shows the plan and its usage.
pub(crate) async fn show(
    context: RequestContext<'_>,
    found: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (team, plan) = (&found.team, found.plan());
    let limits = plan.limits();
    let tools: Vec<&str> = plan.allowed_tools().into_iter().map(words::tool).collect();
    let slower = Tool::ALL
        .into_iter()
        .filter(|tool| plan.minimum_cadence_minutes(*tool) > limits.minimum_cadence_minutes);
    let content = html! {
        section.card { header { h2 { (capitalized(plan.as_str())) } } dl.facts.in {
            dt { "Plan" } dd { (capitalized(plan.as_str())) }
            dt { "Sites" } dd { (used(team.sites, limits.sites)) }
            dt { "Seats" }
            dd {
                (used(team.seats_taken(), limits.seats)) ": "
                (counted(team.members, "member")) ", "
                (counted(team.pending_invitations(), "pending invitation"))
            }
            dt { "On-demand checks this month" }
            dd { (used(found.manual_checks, Some(limits.manual_checks_per_month))) }
            dt { "Fastest checks" }
            dd {
                (cadence_label(limits.minimum_cadence_minutes))
                @for tool in slower {
                    "; " (words::tool(tool)) ": "
                    (cadence_label(plan.minimum_cadence_minutes(tool)).to_lowercase())
                }
            }
            dt { "History" } dd { (counted(limits.history_retention_days, "day")) }
            dt { "Tools" } dd { (tools.join(", ")) }
        } footer.small { "To change the plan, ask the operator of this service." } }
    };
    let title = "Plan";
    let content = beside_others(team.id, Part::Plan, &content);
    Ok(layout::team_page(context, (team, NavTab::Plan), StatusCode::OK, title, &content))
}

fn used(used: u32, limit: Option<u32>) -> Markup {
    html! {
        (used)
        @match limit {
            Some(limit) => { " of " (limit) },
            None => " (no limit)",
        }
    }
}

fn counted(number: u32, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}
