//! `GET /checks/{check}`: a check with its full result.

use vedette_domain::account::Permission;
use vedette_domain::id::CheckId;
use vedette_http::error::ApiError;
use vedette_http::resource::CheckResource;
use vedette_http::response::{Response, ok};
use vedette_store::StoredCheck;

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let id = context.id("check", CheckId::parse)?;
    let store = &context.app.store;
    let StoredCheck { check, expires_at, .. } = store.check(id).await?.ok_or(ApiError::NotFound)?;
    let access = context.caller.site_of_check(store, id, Permission::View).await?;
    // Past retention a check is gone, even where its row is still to be removed.
    let retention = access.team.retention(context.caller.now);
    if !retention.shows_row(id.created_at(), expires_at) {
        return Err(ApiError::NotFound);
    }
    Ok(ok(&CheckResource::new(&check, &access.stored.site)))
}
