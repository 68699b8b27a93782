//! One check, whole.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use serde_json::Value;
use vedette_domain::checks::check::{Check, CheckError};
use vedette_http::access::CheckAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use super::{cause, summary, value};
use crate::layout::NavTab;
use crate::{RequestContext, layout};

/// Shows a check with its result.
pub(crate) async fn show(
    context: RequestContext<'_>,
    access: CheckAccess,
) -> Result<Response, ApiError> {
    let (check, site) = (&access.stored.check, &access.site.stored.site);
    let id = check.id;
    let content = html! {
        p {
            a href={ "/sites/" (site.id) } { bdi { (site.name) } } ", "
            a href={ "/sites/" (site.id) "/checks?type=" (id.tool()) } { "all checks of this tool" }
        }
        dl {
            dt { "Status" } dd { (check.status.as_str()) }
            dt { "In short" } dd { (summary(check)) }
            dt { "Cause" } dd { (cause(id)) }
            (times(check))
        }
        @if let Some(error) = &check.error { (failure(error)) }
        @if let Some(result) = check.result.as_ref().and_then(Value::as_object) {
            h2 { "Result" }
            (value::fields(result))
        }
    };
    let title = format!("{} check", id.tool().label());
    Ok(layout::team_page(
        context,
        (&access.site.team.team, NavTab::Sites),
        StatusCode::OK,
        title,
        &content,
    ))
}

fn times(check: &Check) -> Markup {
    html! {
        dt { "Created" } dd { (layout::instant(check.id.created_at())) }
        @if let Some(end) = check.completed_at { dt { "Ended" } dd { (layout::instant(end)) } }
    }
}

fn failure(error: &CheckError) -> Markup {
    html! {
        h2 { "Error" }
        p { bdi { (error.message) } }
        dl { dt { "Code" } dd { bdi { (error.code) } } }
        @if let Some(data) = error.data.as_object() { (value::fields(data)) }
    }
}
