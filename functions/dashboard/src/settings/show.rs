//! Showing a team's settings: with a form for each section to who may change them, and without to
//! anybody else.

use std::borrow::Cow;

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
    let query = Query::parse(context.head.uri.query());
    let saved = query.one_of("saved", Section::parse, &mut Errors::new());
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let view = SettingsView {
        team,
        may_change: role.grants(Permission::UpdateMonitoring),
        saved: saved.filter(|_| refused.is_none()),
        settings: setting::placed(&team.settings.clone().on_plan(team.plan()))?,
        refused,
    };
    let title = format!("Settings of {}", team.team.name);
    let content = content(&view);
    Ok(layout::team_page(context, (team.id(), NavTab::Settings), status, &title, &content))
}

/// What the page shows.
struct SettingsView<'a> {
    team: &'a TeamWithSettings,
    may_change: bool,
    /// The section that has just been saved.
    saved: Option<Section>,
    /// The settings in force, as the API has them.
    settings: Value,
    refused: Option<(Section, FormInput)>,
}

impl SettingsView<'_> {
    /// The form of a section as it is filled in; none for who only reads.
    fn input(&self, section: Section, controls: &[Control]) -> Option<Cow<'_, FormInput>> {
        match &self.refused {
            Some((refused, input)) if *refused == section => Some(Cow::Borrowed(input)),
            _ => self.may_change.then(|| Cow::Owned(stored(controls, &self.settings))),
        }
    }
}

fn content(view: &SettingsView<'_>) -> Markup {
    html! {
        p { "All sites of the team start from these settings; a site may have its own." }
        @if !view.may_change { p { "Owners and admins of the team can change them." } }
        @for section in Section::all() { (section_part(view, section)) }
    }
}

fn section_part(view: &SettingsView<'_>, section: Section) -> Markup {
    let controls = section.controls(view.team.plan());
    html! {
        section {
            h2 id=(section.as_str()) { (section.title()) }
            @if let Some(about) = section.about() { p { (about) } }
            @if view.saved == Some(section) { p.note role="status" { "Saved." } }
            @match view.input(section, &controls) {
                Some(input) => (form(view.team, section, &controls, &input)),
                None => dl { @for control in &controls { (control.summary(&view.settings)) } },
            }
        }
    }
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
