//! `GET /teams/{team}/audit-log`: who changed what, newest first.

use vedette_domain::accounts::audit::AuditEntry;
use vedette_http::error::ApiError;
use vedette_http::paging::{CursorRequest, cursor_page};
use vedette_http::resource::AuditEntryResource;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let query = context.query();
    let wanted = CursorRequest::parse(&query)?;
    let store = &context.app.store;
    let page = store.audit_log(team.id(), wanted.before.as_deref(), wanted.limit()).await?;
    let people: Vec<_> = page.entries.iter().flat_map(AuditEntry::users).collect();
    let users = store.users(people).await?;
    let data: Vec<_> =
        page.entries.iter().map(|entry| AuditEntryResource::new(entry, &users)).collect();
    let path = context.links.to(&format!("/teams/{}/audit-log", team.id()));
    Ok(cursor_page(&data, page.next.as_deref(), &wanted, &path))
}
