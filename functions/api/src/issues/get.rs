//! `GET /issues/{issue}`.

use vedette_domain::account::Permission;
use vedette_domain::id::IssueId;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, ok};

use super::show;
use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let id = context.id("issue", IssueId::parse)?;
    let store = &context.app.store;
    let found = store.issue_with_site(id).await?.ok_or(ApiError::NotFound)?;
    let team = context.caller.team(store, found.site.team, Permission::View).await?;
    let teams = [(team.id(), team)].into();
    let shown = show::resources(context, &[found], &teams).await?;
    Ok(ok(shown.first().ok_or(ApiError::NotFound)?))
}
