//! Before a service on one machine has an account: how to get the link that creates the first one.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use crate::{RequestContext, layout};

/// Whether this service waits for its first user.
pub(crate) async fn is_awaited(context: RequestContext<'_>) -> Result<bool, ApiError> {
    let store = &context.app.store;
    let on_one_machine = context.app.service.own_pages.is_some();
    Ok(on_one_machine && store.setup_link().await?.is_some() && store.all_teams().await?.is_empty())
}

/// How to get the link that creates the first account.
pub(crate) fn how_to_get() -> Markup {
    html! {
        p { "The service prints the link when it starts, on its terminal or in its log. For the packaged service and for a container, these commands show it:" }
        pre data-copy { "sudo journalctl --unit vedette --output cat" }
        pre data-copy { "docker compose logs vedette" }
        p.quiet.small { "Only the newest link works. If you can’t find it, restart the service: it prints a new one." }
    }
}

/// Says how to set up the service.
pub(crate) fn explain(context: RequestContext<'_>) -> Response {
    let content = html! {
        p { "This service has no account yet. You create the first one with a link." }
        (how_to_get())
    };
    layout::page(context, StatusCode::OK, "Set up Vedette", &content)
}
