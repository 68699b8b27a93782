//! `GET /issues/{issue}`.

use vedette_http::access::IssueAccess;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, ok};

use super::show;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    IssueAccess { stored, team }: IssueAccess,
) -> Result<Response, ApiError> {
    let teams = [(team.id(), team)].into();
    let shown = show::resources(context, &[stored], &teams).await?;
    Ok(ok(shown.first().ok_or(ApiError::NotFound)?))
}
