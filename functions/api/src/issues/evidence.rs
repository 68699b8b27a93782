//! `GET /issues/{issue}/evidence`.

use vedette_http::access::IssueAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::EvidenceResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    IssueAccess { stored, .. }: IssueAccess,
) -> Result<Response, ApiError> {
    let evidence = context.app.store.evidence(stored.issue.id).await?;
    Ok(ok(&EvidenceResource::from(evidence)))
}
