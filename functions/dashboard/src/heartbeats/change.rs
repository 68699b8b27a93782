//! Pausing, resuming and deleting a heartbeat, and replacing the ping key of a team.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::{delete_heartbeat, edit_heartbeat, replace_ping_key};
use vedette_domain::heartbeats::input::HeartbeatEdit;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::HeartbeatAccess;
use vedette_store::TeamWithSettings;

use super::{path, path_of};
use crate::layout::{Heading, NavTab};
use crate::{RequestContext, layout};

/// Stops expecting pings.
pub(crate) async fn pause(
    context: RequestContext<'_>,
    access: HeartbeatAccess,
) -> Result<Response, ApiError> {
    set_paused(context, access, true, "paused").await
}

/// Expects pings again.
pub(crate) async fn resume(
    context: RequestContext<'_>,
    access: HeartbeatAccess,
) -> Result<Response, ApiError> {
    set_paused(context, access, false, "resumed").await
}

async fn set_paused(
    context: RequestContext<'_>,
    HeartbeatAccess { team, stored }: HeartbeatAccess,
    paused: bool,
    notice: &str,
) -> Result<Response, ApiError> {
    let by = context.member()?.caller.by();
    let edit = HeartbeatEdit { paused: Some(paused), ..HeartbeatEdit::default() };
    edit_heartbeat(context.app, &team.team, &stored, edit, by).await?;
    layout::redirect(&format!("{}?notice={notice}", path_of(&stored.heartbeat)))
}

/// Asks whether to delete a heartbeat.
pub(crate) async fn ask_to_delete(
    context: RequestContext<'_>,
    HeartbeatAccess { team, stored }: HeartbeatAccess,
) -> Result<Response, ApiError> {
    let heartbeat = &stored.heartbeat;
    let content = html! {
        section.card {
            div.in.stack.gm {
                p { "Delete " b { bdi { (heartbeat.name) } } "?" }
                p.quiet { "Its runs and issues are deleted with it, and its address stops working. This can’t be undone. To keep its history, pause it instead." }
                form.row method="post" action={ (path_of(heartbeat)) "/delete" } {
                    button.grave { "Delete heartbeat" }
                    a.btn href=(path_of(heartbeat)) { "Cancel" }
                }
            }
        }
    };
    let heading = Heading::new("Delete heartbeat?")
        .below(path(team.id()), "Heartbeats")
        .below(path_of(heartbeat), &heartbeat.name);
    let here = (&team.team, NavTab::Heartbeats);
    Ok(layout::team_page(context, here, StatusCode::OK, heading, &content))
}

/// Deletes a heartbeat.
pub(crate) async fn delete(
    context: RequestContext<'_>,
    HeartbeatAccess { team, stored }: HeartbeatAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    delete_heartbeat(context.app, &team.team, &stored, caller.by()).await?;
    layout::redirect(&format!("{}?notice=deleted", path(team.id())))
}

/// Gives the team a random ping key.
pub(crate) async fn replace_key(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    replace_ping_key(context.app, team.id(), None, caller.by()).await?;
    layout::redirect(&format!("{}?notice=key", path(team.id())))
}
