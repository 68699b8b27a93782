//! `GET /issues/{issue}`.

use vedette_domain::account::Permission;
use vedette_domain::id::IssueId;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, ok};

use super::show;
use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let id = context.id("issue", IssueId::parse)?;
    let fingerprint = id.fingerprint().ok_or(ApiError::NotFound)?;
    let store = &context.app.store;
    let stored = store.issue(id.partition(), fingerprint).await?;
    let stored = stored.filter(|stored| stored.issue.id == id).ok_or(ApiError::NotFound)?;
    let access = context.caller.site_of_issue(store, id, Permission::View).await?;
    let sites = [(id.partition(), access.sheet)].into();
    let teams = [(access.team.team.id, access.team)].into();
    let shown = show::resources(context, &[stored], &sites, &teams).await?;
    Ok(ok(shown.first().ok_or(ApiError::NotFound)?))
}
