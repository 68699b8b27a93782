//! The page of one check.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize as _;
use serde_json::Value;
use vedette_domain::checks::check::{Check, CheckError, StatusResult};
use vedette_domain::checks::tool::Tool;
use vedette_http::access::CheckAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use super::outcome::CheckOutcome;
use super::{cause, summary_of, value};
use crate::clock::Clock;
use crate::form::capitalized;
use crate::issues::evidence::phases;
use crate::layout::{Heading, NavTab};
use crate::{RequestContext, layout, words};

/// Shows a check with its result.
pub(crate) async fn show(
    context: RequestContext<'_>,
    access: CheckAccess,
) -> Result<Response, ApiError> {
    let (check, site) = (&access.stored.check, &access.site.stored.site);
    let id = check.id;
    let settings = access.site.settings();
    let now = context.member()?.caller.now;
    let outcome = CheckOutcome::of(check, site, &settings, now);
    let content = html! {
        section.card {
            header { h2 { (summary_of(check, &access.site.stored)) } }
            dl.facts.in {
                dt { "Outcome" } dd { (outcome.map_or("Running", CheckOutcome::word)) }
                dt { "Reason" } dd { (cause(id)) }
                @if check.in_maintenance { dt { "Maintenance" } dd { "Yes, so the check neither opened nor resolved an issue" } }
                (times(check, context.clock(Some(&access.site.team.team))))
            }
            footer.small {
                a href={ "/sites/" (site.id) "/checks?type=" (id.tool()) } { "All checks of this tool" }
            }
        }
        @if !check.unmet.is_empty() {
            section.card {
                header { h2 { "Not as expected" } }
                ul.in.stack { @for unmet in &check.unmet { li { bdi { (capitalized(&unmet.message)) } "." } } }
            }
        }
        (timing(check))
        @if let Some(error) = &check.error { (failure(error)) }
        @if let Some(result) = check.result.as_ref().and_then(Value::as_object) {
            section.card { header { h2 { "Result" } } div.in { (value::fields(result)) } }
        }
    };
    let title = Heading::new(format!("{} check", words::tool(id.tool())))
        .below(format!("/teams/{}", site.team), "Sites")
        .below(format!("/sites/{}", site.id), &site.name);
    Ok(layout::team_page(
        context,
        (&access.site.team.team, NavTab::Sites),
        StatusCode::OK,
        title,
        &content,
    ))
}

fn times(check: &Check, clock: Clock<'_>) -> Markup {
    html! {
        dt { "Created" } dd { (clock.second(check.id.created_at())) }
        @if let Some(end) = check.completed_at { dt { "Ended" } dd { (clock.second(end)) } }
    }
}

/// How long the phases of a status check took.
fn timing(check: &Check) -> Markup {
    let result = check.result.as_ref().filter(|_| check.id.tool() == Tool::Status);
    let result = result.and_then(|result| StatusResult::deserialize(result).ok());
    let Some(known) = result.and_then(|result| result.phases_with_rest()) else {
        return Markup::default();
    };
    html! { section.card { header { h2 { "Timing" } } div.in { (phases(known)) } } }
}

fn failure(error: &CheckError) -> Markup {
    html! {
        section.card {
            header { h2 { "Why the check could not run" } }
            div.in.stack.gm {
                p { bdi { (error.message) } }
                @if let Some(data) = error.data.as_object() { (value::fields(data)) }
            }
        }
    }
}
