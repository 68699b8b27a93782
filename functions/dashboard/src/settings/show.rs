//! Showing a team's settings: with a form for each section to who may change them, and without to
//! anybody else.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::account::Permission;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};
use vedette_store::TeamWithSettings;

use super::input::Input;
use super::section::Section;
use crate::Visit;
use crate::layout::{self, Part};

/// A section as somebody filled it in, and why it was not saved.
pub(super) struct Refused {
    pub(super) section: Section,
    pub(super) inputs: Vec<Input>,
    pub(super) why: ValidationError,
}

/// Shows the settings.
pub(crate) async fn show(visit: Visit<'_>) -> Result<Response, ApiError> {
    let team = visit.team(Permission::View).await?;
    page(visit, &team, None)
}

pub(super) fn page(
    visit: Visit<'_>,
    team: &TeamWithSettings,
    refused: Option<Refused>,
) -> Result<Response, ApiError> {
    let role = visit.member()?.caller.role_in(team.id())?;
    let may_change = role.grants(Permission::UpdateMonitoring);
    let query = Query::parse(visit.head.uri.query());
    let saved = query.one_of("saved", Section::parse, &mut Errors::new());
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let plan = team.plan();
    let settings = team.settings.clone().on_plan(plan);
    let content = html! {
        p { "All sites of the team start from these settings; a site may have its own." }
        @if !may_change { p { "Owners and admins of the team can change them." } }
        @for section in Section::all() {
            section {
                h2 id=(section.as_str()) { (section.title()) }
                @if let Some(about) = section.about() { p { (about) } }
                @if saved == Some(section) && refused.is_none() {
                    p.note role="status" { "Saved." }
                }
                @match refused.as_ref().filter(|refused| refused.section == section) {
                    Some(Refused { inputs, why, .. }) => (form(team, section, inputs, Some(why))),
                    None => {
                        @let inputs = section.inputs(&settings, plan);
                        @if may_change {
                            (form(team, section, &inputs, None))
                        } @else {
                            dl { @for input in &inputs { (input.said()) } }
                        }
                    }
                }
            }
        }
    };
    let title = format!("Settings of {}", team.team.name);
    Ok(layout::team_page(visit, (team.id(), Part::Settings), status, &title, &content))
}

fn form(
    team: &TeamWithSettings,
    section: Section,
    inputs: &[Input],
    why: Option<&ValidationError>,
) -> Markup {
    // What is wrong with no field that is shown would be said nowhere else.
    let unplaced = why.filter(|why| !inputs.iter().any(|input| input.has_problem(why)));
    let action = format!("/teams/{}/settings/{}#{}", team.id(), section.as_str(), section.as_str());
    html! {
        // What the service says of a field stands beside it, so the browser need not say it first.
        form method="post" action=(action) novalidate {
            @if why.is_some() { p.error role="alert" { "Nothing was saved." } }
            @if let Some(why) = unplaced { p.error { (why.message()) } }
            @for input in inputs { (input.field(why)) }
            p { button { "Save " (section.title()) } }
        }
    }
}
