//! Showing a section of a team's settings: with a form for members who may change them, and as text for others.

use std::borrow::Cow;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use serde_json::Value;
use vedette_domain::accounts::account::Permission;
use vedette_domain::checks::tool::Tool;
use vedette_domain::sites::settings::Settings;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use super::{Part, Section, beside_others};
use crate::RequestContext;
use crate::form::FormInput;
use crate::form::setting::{self, Control};
use crate::layout::{self, Heading, NavTab};
use crate::words::counted;

/// Shows the first section.
pub(crate) async fn show(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    page(context, &team, Section::Tool(Tool::Status), None)
}

/// Shows a section.
pub(crate) async fn section(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let section = Section::parse(context.parameters.value("section")).ok_or(ApiError::NotFound)?;
    page(context, &team, section, None)
}

/// The page of a section; `refused` is the form that was refused.
pub(super) fn page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    section: Section,
    refused: Option<FormInput>,
) -> Result<Response, ApiError> {
    let role = context.member()?.caller.role_in(team.id())?;
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let done = layout::notice(context, &[("saved", "Saved.")]);
    let view = SectionView {
        team,
        section,
        may_change: role.grants(Permission::UpdateMonitoring),
        settings: setting::placed(&team.settings.clone().on_plan(team.plan()))?,
        refused,
    };
    let content = html! { @if view.refused.is_none() { (done) } (content(&view)) };
    let content = beside_others(team.id(), Part::Section(section), &content);
    let heading = Heading::new(section.group()).lead(html! {
        p.quiet {
            @if section.group() == "Monitoring" { "Default settings for every site. A site can override them." }
            @else { "When people are notified of issues, on all channels." }
            @if !view.may_change { " Owners and admins can change them." }
        }
    });
    Ok(layout::team_page(context, (&team.team, NavTab::Settings), status, heading, &content))
}

/// What the page shows.
struct SectionView<'a> {
    team: &'a TeamWithSettings,
    section: Section,
    may_change: bool,
    /// The settings in force, in the structure of the API.
    settings: Value,
    refused: Option<FormInput>,
}

impl SectionView<'_> {
    /// The input of the form; `None` for a member who may only read.
    fn input(&self, controls: &[Control]) -> Option<Cow<'_, FormInput>> {
        match &self.refused {
            Some(input) => Some(Cow::Borrowed(input)),
            None => self.may_change.then(|| Cow::Owned(stored(controls, &self.settings))),
        }
    }
}

fn content(view: &SectionView<'_>) -> Markup {
    let section = view.section;
    let controls = section.controls(view.team.plan());
    let header = html! {
        header { div { h2 { (section.title()) } p.quiet.small { (section.about()) } } }
    };
    html! {
        @match view.input(&controls) {
            Some(input) => {
                (input.unsaved(controls.iter().map(Control::name)))
                // The service shows errors next to the fields, so the browser does not need to.
                form.card method="post" action={ "/teams/" (view.team.id()) "/settings/" (section.as_str()) } novalidate {
                    (header)
                    div.fields { @for control in &controls { (control.shown(&input)) } }
                    footer { (preview(view)) button.main { "Save" } }
                }
            }
            None => section.card {
                (header)
                dl.facts.in { @for control in &controls { (control.summary(&view.settings)) } }
            },
        }
    }
}

/// What the settings mean in practice, if no single setting says so.
fn preview(view: &SectionView<'_>) -> Markup {
    let settings = view.team.settings.clone().on_plan(view.team.plan());
    html! {
        span.small {
            @if view.section == Section::Tool(Tool::Status) && settings.tools.is_enabled(Tool::Status) {
                (notified_after(&settings))
            }
        }
    }
}

/// After how many failures people are notified, and how long that takes at most.
fn notified_after(settings: &Settings) -> String {
    let status = &settings.tools.status;
    let failures = status.settings.failures_to_open.get();
    let cadence = status.cadence_minutes;
    let again = cadence.min(status.settings.confirmation_retry_minutes);
    let minutes = cadence + again * (failures - 1);
    format!(
        "With the saved settings, people are notified after {}, at most about {} after the site goes down.",
        counted(failures as usize, "failed check", "failed checks in a row"),
        counted(minutes as usize, "minute", "minutes"),
    )
}

fn stored(controls: &[Control], settings: &Value) -> FormInput {
    let mut input = FormInput::default();
    controls.iter().for_each(|control| control.fill(&mut input, settings));
    input
}
