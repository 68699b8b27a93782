//! Changing a section of a team's settings, with the rules of the API.

use vedette_actions::change_monitoring;
use vedette_domain::sites::settings::{TEAM_PATH, parse_team_update};
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, Field};
use vedette_store::TeamWithSettings;

use super::Section;
use super::show::page;
use crate::form::FormInput;
use crate::{RequestContext, layout};

/// Saves a section. Errors appear next to its fields.
pub(crate) async fn update(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let section = Section::parse(context.parameters.value("section")).ok_or(ApiError::NotFound)?;
    let input = FormInput::sent(context.body);
    let mut errors = Errors::new();
    let request = section.request(&team, &input);
    let sent = Field::text(TEAM_PATH, &request);
    let update = parse_team_update(&sent, false, team.plan(), &team.settings, &mut errors);
    let settings = match errors.finish(Some(team.settings.merge(&update))) {
        Ok(settings) => settings,
        Err(refusal) => return page(context, &team, section, Some(input.refused(refusal))),
    };
    let caller = &context.member()?.caller;
    let team = change_monitoring(context.app, team, settings, caller.by()).await?;
    layout::redirect(&format!("/teams/{}/settings/{}?notice=saved", team.id(), section.as_str()))
}
