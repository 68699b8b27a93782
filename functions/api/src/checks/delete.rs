//! `DELETE /checks/{check}`: an on-demand check is gone; what it cost stays.

use vedette_domain::account::Permission;
use vedette_domain::id::CheckId;
use vedette_http::access::require;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_store::{StoredCheck, budget, retry_on_conflict};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let id = context.id("check", CheckId::parse)?;
    retry_on_conflict(budget::WRITE, || delete(context, id)).await?;
    Ok(no_content())
}

async fn delete(context: Context<'_>, id: CheckId) -> Result<(), ApiError> {
    let (store, caller) = (&context.app.store, context.caller);
    // What is not there is told before what may not be done: plan, role, then the check itself.
    let StoredCheck { check, has_body, expires_at } =
        store.check(id).await?.ok_or(ApiError::NotFound)?;
    let access = caller.site_of_check(store, id, Permission::View).await?;
    let (site, team) = (&access.stored.site, &access.team);
    if !team.retention(caller.now).shows_row(id.created_at(), expires_at) {
        return Err(ApiError::NotFound);
    }
    require(team, caller.role_in(site.team)?, Permission::RunChecks)?;
    if id.is_automatic() {
        return Err(ApiError::Forbidden("Automatic checks cannot be deleted.".to_owned()));
    }

    let tool = id.tool();
    let state = access.stored.tool(tool)?;
    let closed = match state.closed_day(id.created_at()) {
        Some(date) => store.day(id.partition(), tool, date).await?,
        None => None,
    };
    let older = store.on_demand_before(id).await?;
    let forgotten = state.forget(closed.as_ref(), &check, older);
    Ok(store.delete_check(site, tool, state, &forgotten, has_body, caller.now).await?)
}
