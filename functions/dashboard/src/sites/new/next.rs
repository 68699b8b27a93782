//! What follows for new sites: how often they are checked, and who is notified.

use maud::{Markup, html};
use vedette_domain::accounts::account::Permission;
use vedette_domain::accounts::plan::cadence_label;
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::checks::tool::Tool;
use vedette_http::error::ApiError;
use vedette_store::TeamWithSettings;

use crate::{RequestContext, words};

pub(super) async fn part(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
) -> Result<Markup, ApiError> {
    let mut channels = context.app.store.channels(team.id()).await?;
    channels.sort_by_key(|channel| (channel.created_at, channel.id));
    let may_manage =
        context.member()?.caller.role_in(team.id())?.grants(Permission::ManageChannels);
    Ok(html! {
        section.card {
            header {
                h2 { "What happens next" }
                a.small href={ "/teams/" (team.id()) "/settings" } { "Team settings" }
            }
            dl.facts.in {
                @for (tool, cadence) in checks(context, team) {
                    dt { (words::tool(tool)) } dd { (cadence) }
                }
                dt { "Notifications" } dd { (notified(&team.team, &channels, may_manage)) }
            }
        }
    })
}

/// How often each tool checks the sites of a team that set nothing of their own.
fn checks(context: RequestContext<'_>, team: &TeamWithSettings) -> Vec<(Tool, String)> {
    let settings = team.settings.clone().on_plan(team.plan());
    let runs = |tool: &Tool| context.app.service.runs(*tool, &team.team, &settings);
    let cadence = |tool| (tool, cadence_label(settings.tools.cadence_minutes(tool)));
    Tool::ALL.into_iter().filter(runs).map(cadence).collect()
}

fn notified(team: &Team, channels: &[Channel], may_manage: bool) -> Markup {
    let page = format!("/teams/{}/channels", team.id);
    html! {
        @if channels.is_empty() {
            "Nobody is notified of issues until there is a channel."
            @if may_manage { " " a href=(page) { "Add a channel" } }
        } @else {
            @for (place, channel) in channels.iter().enumerate() {
                @if place > 0 { ", " }
                a href={ (page) "#" (channel.id) } { bdi { (channel.name) } }
                @if channel.disabled.is_some() { " (disabled)" }
                @else if !channel.is_on() { " (waiting for confirmation)" }
            }
        }
    }
}
