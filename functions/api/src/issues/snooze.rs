//! `POST /issues/{issue}/snooze`: stops reminders of an issue for a while, or resumes them.

use vedette_actions::Decision;
use vedette_domain::input::Input as _;
use vedette_domain::issues::input::Snooze;
use vedette_http::access::IssueAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use super::decision::carry_out;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    let Snooze { until } = Snooze::from_json(context.body)?;
    if until.is_some_and(|until| until <= context.caller.now) {
        return Err(ApiError::invalid("until", "The until field must be in the future."));
    }
    carry_out(context, access, Decision::Snooze(until)).await
}
