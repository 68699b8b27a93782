//! The page of an issue. Nobody is signed in, so it shows nothing of the issue, and looks for none.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_domain::id::IssueId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use crate::{Visit, layout};

/// Says where an issue can be read.
pub(crate) async fn show(visit: Visit<'_>) -> Result<Response, ApiError> {
    let issue = IssueId::parse(visit.value("issue")).ok_or(ApiError::NotFound)?;
    let content = html! {
        p { "Issues cannot be read in a browser yet. The API and the command line show them:" }
        p { code { "GET /api/v1/issues/" (issue) } }
        p { code { "vedette issue show " (issue) } }
    };
    Ok(layout::page(StatusCode::OK, "Where to read this issue", &content))
}
