//! Changing a channel: its name, its choice of alerts, and where it leads.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::{ActionError, edit_channel};
use vedette_domain::alerts::channel::ChannelInput;
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_routing::ChannelAccess;

use super::form::{DESTINATION, edit_form, read_edit};
use crate::RequestContext;
use crate::form::{FormInput, sentence};
use crate::layout::{self, Heading, NavTab};

/// Shows the form.
pub(crate) async fn edit(
    context: RequestContext<'_>,
    access: ChannelAccess,
) -> Result<Response, ApiError> {
    let mut input = FormInput::default();
    input.fill("", ChannelInput::FIELDS, &access.channel.filter)?;
    input.put("name", &*access.channel.name);
    Ok(page(context, &access, StatusCode::OK, &input))
}

/// Saves the changes.
pub(crate) async fn save(
    context: RequestContext<'_>,
    access: ChannelAccess,
) -> Result<Response, ApiError> {
    let sent = FormInput::sent(context.body);
    let by = context.member()?.caller.by();
    let channel = &access.channel;
    let why = match read_edit(&sent, channel.target.kind()) {
        Err(why) => why,
        Ok((to, edit)) => {
            let name = edit.name.as_deref().unwrap_or(&channel.name);
            let changed = (name, edit.filter(&channel.filter));
            match edit_channel(context.app, channel, changed, to, by).await {
                Ok(()) => {
                    let list = format!("/teams/{}/channels?notice=saved", access.team.id());
                    return layout::redirect(&list);
                }
                Err(ActionError::Refused(why)) => {
                    let field = match why {
                        ChannelRefusal::UrlTaken(_) => DESTINATION,
                        _ => "name",
                    };
                    ValidationError::new(field, sentence(&why.to_string()))
                }
                Err(ActionError::Failed(fault)) => return Err(fault.into()),
            }
        }
    };
    Ok(page(context, &access, StatusCode::UNPROCESSABLE_ENTITY, &sent.refused(why)))
}

fn page(
    context: RequestContext<'_>,
    ChannelAccess { channel, team }: &ChannelAccess,
    status: StatusCode,
    input: &FormInput,
) -> Response {
    let label = channel.target.kind().description().label;
    let lead = html! { p.quiet { (label) " · " bdi { (channel.target.leads_to()) } } };
    let heading = Heading::new(format!("Edit {}", channel.name))
        .below(format!("/teams/{}/channels", team.id()), "Channels")
        .lead(lead);
    let content = html! {
        (layout::managed(channel.managed_by.as_ref()))
        (edit_form(channel, input))
    };
    layout::team_page(context, (&team.team, NavTab::Channels), status, heading, &content)
}
