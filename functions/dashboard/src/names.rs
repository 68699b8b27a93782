//! The names of users and teams, and teams that users create.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{ActionError, create_own_team, rename_team, rename_user};
use vedette_domain::accounts::account::Permission;
use vedette_domain::accounts::team::{Team, TeamName};
use vedette_domain::input::Input as _;
use vedette_domain::wording::sentence;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::TeamWithSettings;

use crate::RequestContext;
use crate::form::FormInput;
use crate::layout::{self, Heading, NEW_TEAM, NavTab};
use crate::settings::{Part, beside_others};

/// The field of all these forms.
const NAME: &str = "name";

/// Shows the user's name in a form.
pub(crate) async fn show_user(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let input = filled_in(&context.member()?.caller.user.name);
    Ok(user_page(context, StatusCode::OK, &input))
}

/// Renames the user.
pub(crate) async fn rename_own(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let input = FormInput::sent(context.body);
    let name = match read(&input) {
        Ok(name) => name,
        Err(why) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Ok(user_page(context, status, &input.refused(why)));
        }
    };
    rename_user(context.app, &context.member()?.caller.user, &name).await?;
    layout::redirect("/name?notice=saved")
}

fn user_page(context: RequestContext<'_>, status: StatusCode, input: &FormInput) -> Response {
    let heading = Heading::new("Your name").lead(
        html! { p.quiet { "Members of your teams see it, for example next to your notes." } },
    );
    layout::own_page(context, status, heading, &form(context, status, "/name", input, "Save"))
}

/// Shows a team's name: in a form for owners, and as text for others.
pub(crate) async fn show_team(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let input = filled_in(&team.team.name);
    team_page(context, &team.team, StatusCode::OK, &input)
}

/// Renames a team.
pub(crate) async fn rename(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let input = FormInput::sent(context.body);
    let name = match read(&input) {
        Ok(name) => name,
        Err(why) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return team_page(context, &team.team, status, &input.refused(why));
        }
    };
    let by = context.member()?.caller.by();
    let team = rename_team(context.app, team.team, &name, by).await?;
    layout::redirect(&format!("/teams/{}/name?notice=saved", team.id))
}

fn team_page(
    context: RequestContext<'_>,
    team: &Team,
    status: StatusCode,
    input: &FormInput,
) -> Result<Response, ApiError> {
    let role = context.member()?.caller.role_in(team.id)?;
    let may_rename = role.grants(Permission::RenameTeam);
    let content = html! {
        @if may_rename {
            (form(context, status, &format!("/teams/{}/name", team.id), input, "Save"))
        } @else {
            section.card { dl.facts.in { dt { "Name" } dd { bdi { (team.name) } } } }
        }
    };
    let heading = Heading::new("Team").lead(html! {
        p.quiet { "Alerts and invitations contain the name." @if !may_rename { " Owners can change it." } }
    });
    let content = beside_others(team.id, Part::Name, &content);
    Ok(layout::team_page(context, (team, NavTab::Settings), status, heading, &content))
}

/// Asks for the name of a new team.
pub(crate) async fn ask_to_create(context: RequestContext<'_>) -> Result<Response, ApiError> {
    hold_creation(context)?;
    Ok(creation_page(context, StatusCode::OK, &FormInput::default()))
}

/// Creates a team that the user owns.
pub(crate) async fn create(context: RequestContext<'_>) -> Result<Response, ApiError> {
    hold_creation(context)?;
    let input = FormInput::sent(context.body);
    let name = match read(&input) {
        Ok(name) => name,
        Err(why) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Ok(creation_page(context, status, &input.refused(why)));
        }
    };
    let owner = context.member()?.caller.user.id;
    match create_own_team(context.app, owner, &name).await {
        Ok(team) => layout::redirect(&format!("/teams/{}", team.id())),
        Err(ActionError::Refused(refusal)) => {
            let why = ValidationError::new(NAME, sentence(&refusal.to_string()));
            Ok(creation_page(context, StatusCode::CONFLICT, &input.refused(why)))
        }
        Err(ActionError::Failed(fault)) => Err(fault.into()),
    }
}

/// Refuses if users may not create teams here.
fn hold_creation(context: RequestContext<'_>) -> Result<(), ApiError> {
    context.app.service.creates_teams.then_some(()).ok_or(ApiError::NotFound)
}

fn creation_page(context: RequestContext<'_>, status: StatusCode, input: &FormInput) -> Response {
    let heading = Heading::new("Create a team").lead(html! {
        p.quiet { "A team has its own sites, channels and members, and the plan " b { (Team::PLAN) } "." }
    });
    layout::own_page(
        context,
        status,
        heading,
        &form(context, status, NEW_TEAM, input, "Create team"),
    )
}

fn filled_in(name: &str) -> FormInput {
    let mut input = FormInput::default();
    input.put(NAME, name);
    input
}

fn read(input: &FormInput) -> Result<String, ValidationError> {
    TeamName::from_texts(&input.texts(TeamName::FIELDS)).map(|sent| sent.name)
}

fn form(
    context: RequestContext<'_>,
    status: StatusCode,
    action: &str,
    input: &FormInput,
    button: &str,
) -> Markup {
    html! {
        @if status == StatusCode::OK { (layout::notice(context, &[("saved", "Saved.")])) }
        form.card method="post" action=(action) {
            div.fields { (input.input(NAME, "text", "Name")) }
            footer { button.main { (button) } }
        }
    }
}
