//! `DELETE /sites/{site}`: deletes a site at once, with its schedules, checks and issues.

use vedette_actions::delete_site;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    delete_site(context.app, &access.team.team, &access.stored, context.caller.by()).await?;
    Ok(no_content())
}
