//! Changing a channel's name and its choice of alerts.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::{ActionError, edit_channel};
use vedette_domain::name::parse_name;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_routing::ChannelAccess;

use super::form::{ChannelInput, edit_form};
use crate::RequestContext;
use crate::form::sentence;
use crate::layout::{self, Heading, NavTab};

/// Shows the form.
pub(crate) async fn edit(
    context: RequestContext<'_>,
    access: ChannelAccess,
) -> Result<Response, ApiError> {
    let input = ChannelInput::of(&access.channel);
    Ok(page(context, &access, StatusCode::OK, &input, None))
}

/// Saves the changes.
pub(crate) async fn save(
    context: RequestContext<'_>,
    access: ChannelAccess,
) -> Result<Response, ApiError> {
    let input = ChannelInput::read(context.body);
    let filter = input.filter()?;
    let by = context.member()?.caller.actor();
    let why = match parse_name(&input.name) {
        Err(error) => format!("The name field {error}."),
        Ok(name) => match edit_channel(context.app, &access.channel, name, filter, by).await {
            Ok(()) => {
                let list = format!("/teams/{}/channels?notice=saved", access.team.id());
                return layout::redirect(&list);
            }
            Err(ActionError::Refused(why)) => sentence(&why.to_string()),
            Err(ActionError::Failed(fault)) => return Err(fault.into()),
        },
    };
    let why = ValidationError::new("name", why);
    Ok(page(context, &access, StatusCode::UNPROCESSABLE_ENTITY, &input, Some(&why)))
}

fn page(
    context: RequestContext<'_>,
    ChannelAccess { channel, team }: &ChannelAccess,
    status: StatusCode,
    input: &ChannelInput,
    why: Option<&ValidationError>,
) -> Response {
    let label = channel.target.kind().description().label;
    let lead = html! { p.quiet { (label) " · " bdi { (channel.target.leads_to()) } } };
    let heading = Heading::new(format!("Edit {}", channel.name))
        .below(format!("/teams/{}/channels", team.id()), "Channels")
        .lead(lead);
    let content = edit_form(channel, input, why);
    layout::team_page(context, (&team.team, NavTab::Channels), status, heading, &content)
}
