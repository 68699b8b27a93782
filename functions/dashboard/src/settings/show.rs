//! Showing a team's settings: with a form for each section to who may change them, and without to
//! anybody else.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use serde_json::Value;
use vedette_domain::accounts::account::Permission;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_store::TeamWithSettings;

use super::section::Section;
use crate::RequestContext;
use crate::form::FormInput;
use crate::form::setting::{self, Control};
use crate::layout::{self, NavTab};

/// Shows the settings.
pub(crate) async fn show(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    page(context, &team, None)
}

/// The page, on which a section may be `refused` as somebody filled it in.
pub(super) fn page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    refused: Option<(Section, FormInput)>,
) -> Result<Response, ApiError> {
    let role = context.member()?.caller.role_in(team.id())?;
    let may_change = role.grants(Permission::UpdateMonitoring);
    let query = Query::parse(context.head.uri.query());
    let saved = query.one_of("saved", Section::parse, &mut Errors::new());
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let settings = setting::placed(&team.settings.clone().on_plan(team.plan()))?;
    let content = html! {
        p { "All sites of the team start from these settings; a site may have its own." }
        @if !may_change { p { "Owners and admins of the team can change them." } }
        @for section in Section::all() {
            @let controls = section.controls(team.plan());
            section {
                h2 id=(section.as_str()) { (section.title()) }
                @if let Some(about) = section.about() { p { (about) } }
                @if saved == Some(section) && refused.is_none() {
                    p.note role="status" { "Saved." }
                }
                @match refused.as_ref().filter(|(refused, _)| *refused == section) {
                    Some((_, input)) => (form(team, section, &controls, input)),
                    None if may_change => (form(team, section, &controls, &stored(&controls, &settings))),
                    None => dl { @for control in &controls { (control.summary(&settings)) } },
                }
            }
        }
    };
    let title = format!("Settings of {}", team.team.name);
    Ok(layout::team_page(context, (team.id(), NavTab::Settings), status, &title, &content))
}

fn stored(controls: &[Control], settings: &Value) -> FormInput {
    let mut input = FormInput::default();
    controls.iter().for_each(|control| control.fill(&mut input, settings));
    input
}

fn form(
    team: &TeamWithSettings,
    section: Section,
    controls: &[Control],
    input: &FormInput,
) -> Markup {
    let action = format!("/teams/{}/settings/{}#{}", team.id(), section.as_str(), section.as_str());
    html! {
        // What the service says of a field stands beside it, so the browser need not say it first.
        form method="post" action=(action) novalidate {
            (input.unsaved(controls.iter().map(Control::name)))
            @for control in controls { (control.shown(input)) }
            p { button { "Save " (section.title()) } }
        }
    }
}
