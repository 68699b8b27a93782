//! The top of the page of a team's first site until its results are there: what is being checked, and where alerts go.

use maud::{Markup, html};
use vedette_domain::accounts::account::Permission;
use vedette_domain::alerts::channel::ChannelKind;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_runtime::App;

use crate::look::Look;
use crate::{RequestContext, layout, words};

/// The tools that run on the site by themselves and have no result yet.
pub(super) fn awaited(app: &App, access: &SiteAccess) -> Vec<Tool> {
    let settings = access.settings();
    let has_result = |tool: &Tool| {
        access.stored.tools.get(tool).is_some_and(|state| ToolState::latest(state).is_some())
    };
    Tool::ALL
        .into_iter()
        .filter(|tool| app.service.runs(*tool, &access.team.team, &settings) && !has_result(tool))
        .collect()
}

pub(super) async fn part(
    context: RequestContext<'_>,
    access: &SiteAccess,
) -> Result<Markup, ApiError> {
    let awaited = awaited(context.app, access);
    let role = context.member()?.caller.role_in(access.team.id())?;
    let asks = role.grants(Permission::ManageChannels)
        && context.app.store.channels(access.team.id()).await?.is_empty();
    Ok(html! {
        (progress(&awaited))
        @if asks { (question(context, access)?) }
    })
}

fn progress(awaited: &[Tool]) -> Markup {
    if awaited.is_empty() {
        return layout::note(
            Look::Up,
            &html! { b { "Monitoring has started." } " All first results are here." },
        );
    }
    let names: Vec<_> = awaited.iter().map(|tool| words::tool(*tool)).collect();
    layout::note(
        Look::Info,
        &html! { b { "Monitoring has started." } " Still checking: " (names.join(", ")) ". Results appear below as they come in." },
    )
}

/// Asks where alerts should go, as long as they go nowhere. It has no input field, because the page keeps reloading.
fn question(context: RequestContext<'_>, access: &SiteAccess) -> Result<Markup, ApiError> {
    let address = &context.member()?.caller.user.email;
    let channels = format!("/teams/{}/channels", access.team.id());
    Ok(html! {
        section.card aria-labelledby="alerts" {
            header { h2 #alerts { "Where should alerts go?" } }
            div.in.stack.gm {
                p.quiet { "Nobody is notified of issues until there is a channel. You can send a test once it is there." }
                div.row {
                    @if context.app.service.sends_mail {
                        form method="post" action=(channels) {
                            input type="hidden" name="kind" value=(ChannelKind::Email);
                            input type="hidden" name="to" value=(address);
                            button.main { "Email " bdi { (address) } }
                        }
                    }
                    a.btn href={ (channels) "#add" } { "Slack, ntfy, webhook and others" }
                }
            }
        }
    })
}
