//! `POST /issues/{issue}/acknowledge`: says that the caller takes care of an open issue.

use vedette_actions::Decision;
use vedette_http::access::IssueAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use super::decision::carry_out;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    carry_out(context, access, Decision::Acknowledge(context.caller.user.id.into())).await
}
