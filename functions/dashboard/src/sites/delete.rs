//! Deleting a site, with a confirmation.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::delete_site;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use super::link_out;
use crate::layout::{Heading, NavTab};
use crate::{RequestContext, layout};

/// Asks whether to delete a site.
pub(crate) async fn ask_to_delete(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    let site = access.stored.site;
    let content = html! {
        section.card {
            div.in.stack.gm {
                p { "Delete " b { bdi { (site.name) } } ", " (link_out(&site.url)) "?" }
                p.quiet { "Its checks, issues and reports are deleted with it. This can’t be undone. To stop checking it and keep its history, pause it instead." }
                form.row method="post" action={ "/sites/" (site.id) "/delete" } {
                    button.grave { "Delete site" }
                    a.btn href={ "/sites/" (site.id) } { "Cancel" }
                }
            }
        }
    };
    let title = Heading::new("Delete site?")
        .below(format!("/teams/{}", site.team), "Sites")
        .below(format!("/sites/{}", site.id), &site.name);
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
    delete_site(context.app, &access.team.team, &access.stored, caller.by()).await?;
    layout::redirect(&format!("/teams/{}?notice=deleted", access.stored.site.team))
}
