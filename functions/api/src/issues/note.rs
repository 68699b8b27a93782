//! `POST /issues/{issue}/notes`: adds a note to an issue.

use vedette_actions::Decision;
use vedette_domain::input::Input as _;
use vedette_domain::issues::input::NewNote;
use vedette_http::access::IssueAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use super::decision::carry_out;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    let (new, by) = (NewNote::from_json(context.body)?, context.caller);
    carry_out(context, access, Decision::Note(new.written_by(by.user.id, by.now))).await
}
