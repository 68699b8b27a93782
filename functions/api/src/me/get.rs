//! `GET /me`: the caller and their teams.

use serde::Serialize;
use vedette_http::error::ApiError;
use vedette_http::resource::{TeamResource, UserResource};
use vedette_http::response::{Response, ok};

use crate::{Context, teams};

#[derive(Serialize)]
struct Me {
    user: UserResource,
    teams: Vec<TeamResource>,
}

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let teams = teams::list::of_caller(context).await?;
    Ok(ok(&Me { user: UserResource::from(&context.caller.user), teams }))
}
