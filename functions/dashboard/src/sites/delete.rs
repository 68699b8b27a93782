//! Deleting a site, which asks first.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::delete_site;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use super::link_out;
use crate::layout::NavTab;
use crate::{RequestContext, layout};

/// Asks whether a site is to be deleted.
pub(crate) async fn ask_to_delete(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    let site = access.stored.site;
    let content = html! {
        p { "Delete " b { bdi { (site.name) } } ", " (link_out(&site.url)) "? Its schedules, checks and issues are deleted with it, for good." }
        form method="post" action={ "/sites/" (site.id) "/delete" } {
            button { "Delete the site with all its history" }
        }
        p { "To check it no more and keep its history, pause it instead." }
        p { a href={ "/sites/" (site.id) } { "Back to the site" } }
    };
    let title = "Delete this site?";
    Ok(layout::team_page(
        context,
        (&access.team.team, NavTab::Sites),
        StatusCode::OK,
        title,
        &content,
    ))
}

/// Deletes a site.
pub(crate) async fn delete(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    delete_site(context.app, &access.stored, caller.actor(), caller.now).await?;
    layout::redirect(&format!("/teams/{}?said=deleted", access.stored.site.team))
}
