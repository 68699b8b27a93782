//! The time zone of a team, which applies to its quiet time and to the times in its alerts.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::change_time_zone;
use vedette_domain::accounts::account::Permission;
use vedette_domain::accounts::team::Team;
use vedette_domain::input::Input as _;
use vedette_domain::time_zone::{NamedZone, ZoneChoice};
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::TeamWithSettings;

use crate::RequestContext;
use crate::form::{Choice, FormInput};
use crate::layout::{self, Heading, NavTab};
use crate::settings::{Part, beside_others};

/// Shows the zone: with a form for members who may change it, and as text for others.
pub(crate) async fn show(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    page(context, &team, None)
}

/// Saves the zone.
pub(crate) async fn update(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let input = FormInput::sent(context.body);
    let zone = match read(&input) {
        Ok(zone) => zone.unwrap_or_default(),
        Err(refusal) => return page(context, &team, Some(input.refused(refusal))),
    };
    let caller = &context.member()?.caller;
    let team = change_time_zone(context.app, team.team, zone, caller.by()).await?;
    layout::redirect(&format!("/teams/{}/time-zone?notice=saved", team.id))
}

fn page(
    context: RequestContext<'_>,
    found: &TeamWithSettings,
    refused: Option<FormInput>,
) -> Result<Response, ApiError> {
    let team = &found.team;
    let role = context.member()?.caller.role_in(team.id)?;
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let done = layout::notice(context, &[("saved", "Saved.")]);
    let may_change = role.grants(Permission::UpdateMonitoring);
    let content = html! {
        @if refused.is_none() { (done) }
        (content(team, may_change, refused))
    };
    let content = beside_others(team.id, Part::TimeZone, &content);
    let heading = Heading::new("Notifications").lead(html! {
        p.quiet {
            "When and how people are notified of issues, on all channels."
            @if !may_change { " Owners and admins can change it." }
        }
    });
    Ok(layout::team_page(context, (team, NavTab::Settings), status, heading, &content))
}

fn content(team: &Team, may_change: bool, refused: Option<FormInput>) -> Markup {
    let header = html! {
        header {
            div {
                h2 { "Time zone" }
                p.quiet.small { "Quiet time, pages and notifications use this time zone. People can choose another one for their own pages and emails." }
            }
        }
    };
    if !may_change {
        return html! {
            section.card { (header) dl.facts.in { dt { "Time zone" } dd { (team.zone) } } }
        };
    }
    html! {
        form.card method="post" action={ "/teams/" (team.id) "/time-zone" } novalidate {
            (header)
            (control(refused, Some(&team.zone), []))
            footer { button.main { "Save" } }
        }
    }
}

/// The zone of the form, if there is one.
pub(crate) fn read(sent: &FormInput) -> Result<Option<NamedZone>, ValidationError> {
    Ok(ZoneChoice::from_texts(&sent.texts(ZoneChoice::FIELDS))?.time_zone)
}

/// The control, with the form that was refused or else with the chosen zone.
pub(crate) fn control(
    refused: Option<FormInput>,
    chosen: Option<&NamedZone>,
    others: impl IntoIterator<Item = Choice>,
) -> Markup {
    let input = refused.unwrap_or_else(|| {
        let mut input = FormInput::default();
        input.put(ZoneChoice::FIELDS[0].name, chosen.map_or("", NamedZone::name));
        input
    });
    let choices: Vec<_> = others.into_iter().chain(zones()).collect();
    html! {
        (input.unsaved(ZoneChoice::FIELDS.iter().map(|field| field.name)))
        div.fields { @for field in ZoneChoice::FIELDS { (input.chosen(field, &choices)) } }
    }
}

/// All zones, to choose from.
pub(crate) fn zones() -> impl Iterator<Item = Choice> {
    NamedZone::names().into_iter().map(|name| Choice::new(&name, name.clone()))
}
