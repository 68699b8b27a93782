//! `DELETE /checks/{check}`: an on-demand check is gone; what it cost stays.

use vedette_http::access::CheckAccess;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_store::StoredCheck;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: CheckAccess,
) -> Result<Response, ApiError> {
    let store = &context.app.store;
    let StoredCheck { check, has_body, .. } = access.stored;
    let id = check.id;
    if id.is_automatic() {
        return Err(ApiError::Forbidden("Automatic checks cannot be deleted.".to_owned()));
    }

    let tool = id.tool();
    let state = access.site.stored.tool(tool)?;
    let closed = match state.closed_day(id.created_at()) {
        Some(date) => store.day(id.partition(), tool, date).await?,
        None => None,
    };
    let older = store.on_demand_before(id).await?;
    let forgotten = state.forget(closed.as_ref(), &check, older);
    let (site, now) = (&access.site.stored.site, context.caller.now);
    store.delete_check(site, tool, state, &forgotten, has_body, now).await?;
    Ok(no_content())
}
