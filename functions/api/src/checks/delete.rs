//! `DELETE /checks/{check}`: deletes an on-demand check, without giving its quota back.

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

    let state = access.site.stored.tool(id.tool())?;
    let closed = store.closed_day(state, id).await?;
    let older = store.on_demand_before(id).await?;
    let deletion = state.delete_check(closed.as_ref(), &check, older);
    let (site, now) = (&access.site.stored.site, context.caller.now);
    store.delete_check(site, &deletion, has_body, now).await?;
    Ok(no_content())
}
