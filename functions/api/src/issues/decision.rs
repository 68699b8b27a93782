//! Carries out what a member decides about an issue.

use vedette_actions::{Decision, decide};
use vedette_http::access::IssueAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::IssueWithMonitor;

use super::get;
use crate::Context;

/// Decides about an issue in the name of the caller, and responds with the issue.
pub(super) async fn carry_out(
    context: Context<'_>,
    IssueAccess { stored, team }: IssueAccess,
    decision: Decision,
) -> Result<Response, ApiError> {
    let change = decide(context.app, &team.team, &stored, decision, context.caller.by()).await?;
    let stored = IssueWithMonitor { issue: change.after, ..stored };
    get::handle(context, IssueAccess { stored, team }).await
}
