//! The calendar feed of a team's maintenance windows. Calendar programs send no headers, so its address has a key.
//! Members who manage sites see the address, replace it and withdraw it.

use lambda_http::http::HeaderValue;
use lambda_http::http::header::CACHE_CONTROL;
use maud::{Markup, html};
use vedette_actions::{share_calendar, unshare_calendar};
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::link;
use vedette_domain::id::TeamId;
use vedette_domain::maintenance::calendar as feed;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::{Response, text};
use vedette_store::TeamWithSettings;

use super::path;
use crate::{RequestContext, layout};

/// The feed, for a visitor with its address. With another key, there is none.
pub(crate) async fn calendar(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let id = context.parameters.id("team", TeamId::parse)?;
    let query = Query::parse(context.head.uri.query());
    let given = query.search(link::KEY).unwrap_or_default();
    let now = context.app.clock.now();
    let team = context.app.store.team(id, now).await?.ok_or(ApiError::NotFound)?.team;
    let is_open = team.plan_active && team.calendar.as_ref().is_some_and(|key| key.matches(given));
    if !is_open {
        return Err(ApiError::NotFound);
    }
    let feed = feed(&team.name, &team.windows, team.updated_at, now);
    let mut response = text(feed, "text/calendar; charset=utf-8");
    let may_be_kept = HeaderValue::from_static("private, max-age=300");
    response.headers_mut().insert(CACHE_CONTROL, may_be_kept);
    Ok(response)
}

/// Creates a new address. The previous one no longer works.
pub(crate) async fn share(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let team = share_calendar(context.app, team.team, caller.by()).await?;
    layout::redirect(&format!("{}?notice=shared", path(team.id)))
}

/// Withdraws the address.
pub(crate) async fn unshare(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    unshare_calendar(context.app, &team.team, caller.by()).await?;
    layout::redirect(&format!("{}?notice=unshared", path(team.id())))
}

/// The address, with what can be done about it.
pub(super) fn part(context: RequestContext<'_>, team: &Team) -> Markup {
    let address = |verb: &str| format!("{}/{verb}", path(team.id));
    let base = context.app.service.pages_base().unwrap_or_default();
    html! {
        section.card {
            header { h2 { "Calendar" } }
            div.in.stack.gm {
                @match &team.calendar {
                    Some(key) => {
                        p { "Subscribe to this address in a calendar program. Anybody who has it can see the names and times of the windows." }
                        pre data-copy { code { (link::calendar(base, team.id, key)) } }
                        div.row {
                            form method="post" action=(address("share")) { button { "Replace address" } }
                            form method="post" action=(address("unshare")) { button.bad { "Revoke address" } }
                        }
                    }
                    None => {
                        p.quiet { "Calendar programs can subscribe to the windows at a secret address, which only members see." }
                        form method="post" action=(address("share")) { button { "Create address" } }
                    }
                }
            }
        }
    }
}
