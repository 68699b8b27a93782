//! `GET /me`: the caller and their teams.

use vedette_http::error::ApiError;
use vedette_http::resource::MeResource;
use vedette_http::response::{Response, ok};

use crate::{Context, teams};

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let teams = teams::list::of_caller(context).await?;
    Ok(ok(&MeResource::new(&context.caller.user, teams)))
}
