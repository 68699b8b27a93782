//! The pages where members manage a status page: its incidents with a form for a new one, and an incident with a form
//! for its next update.

use jiff::civil::DateTime;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use serde_json::{Map, Value};
use vedette_domain::accounts::account::Permission;
use vedette_domain::id::IncidentId;
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::status_pages::{Impact, IncidentEdit, NewIncident, PageIncident, StatusPage};
use vedette_domain::time_zone::NamedZone;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::{IncidentAccess, StatusPageAccess};
use vedette_store::TeamWithSettings;

use super::{path, path_of, public};
use crate::RequestContext;
use crate::clock::Clock;
use crate::form::{Choice, FormInput, capitalized};
use crate::layout::{self, Heading, NavTab};
use crate::look::Look;
use crate::words::counted;

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 4] = [
    ("saved", "Status page saved."),
    ("written", "Incident published."),
    ("updated", "Update published."),
    ("removed", "Incident deleted."),
];
/// The fields of an update.
const UPDATED: [&str; 3] = ["status", "text", "next_update_by"];

/// Shows the incidents.
pub(crate) async fn show(
    context: RequestContext<'_>,
    access: StatusPageAccess,
) -> Result<Response, ApiError> {
    page(context, &access.team, &access.page, None).await
}

/// Shows an incident.
pub(crate) async fn incident(
    context: RequestContext<'_>,
    access: IncidentAccess,
) -> Result<Response, ApiError> {
    page_of(context, &access, None)
}

/// Publishes an incident.
pub(crate) async fn create_incident(
    context: RequestContext<'_>,
    StatusPageAccess { team, page: of }: StatusPageAccess,
) -> Result<Response, ApiError> {
    let sent = FormInput::sent(context.body);
    let caller = &context.member()?.caller;
    let created = async {
        let new = NewIncident::from_texts(&texts(&sent, fields_of_new(), &team.team.zone))?;
        Ok(vedette_actions::create_incident(context.app, &of, new, caller.by()).await?)
    };
    match created.await {
        Ok(_) => layout::redirect(&format!("{}?notice=written", path_of(&of))),
        Err(ApiError::Validation(refusal)) => {
            page(context, &team, &of, Some(sent.refused(refusal))).await
        }
        Err(error) => Err(error),
    }
}

/// Publishes an update of an incident.
pub(crate) async fn update_incident(
    context: RequestContext<'_>,
    access: IncidentAccess,
) -> Result<Response, ApiError> {
    let IncidentAccess { team, page: of, incident } = &access;
    let sent = FormInput::sent(context.body);
    let caller = &context.member()?.caller;
    let updated = async {
        let edit = IncidentEdit::from_texts(&texts(&sent, fields_of_update(), &team.team.zone))?;
        Ok(vedette_actions::edit_incident(context.app, of, incident, edit, caller.by()).await?)
    };
    match updated.await {
        Ok(_) => layout::redirect(&format!("{}?notice=updated", path_of(of))),
        Err(ApiError::Validation(refusal)) => {
            page_of(context, &access, Some(sent.refused(refusal)))
        }
        Err(error) => Err(error),
    }
}

/// Deletes an incident.
pub(crate) async fn delete_incident(
    context: RequestContext<'_>,
    IncidentAccess { page: of, incident, .. }: IncidentAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    vedette_actions::delete_incident(context.app, &of, &incident, caller.by()).await?;
    layout::redirect(&format!("{}?notice=removed", path_of(&of)))
}

/// The texts in these fields. Times are those of the team's clocks.
fn texts<'f>(
    sent: &FormInput,
    fields: impl Iterator<Item = &'f InputField>,
    zone: &NamedZone,
) -> Map<String, Value> {
    let mut texts = sent.texts(fields);
    let local = sent.text("next_update_by").parse::<DateTime>().ok();
    if let Some(instant) = local.and_then(|local| zone.instant_of(local)) {
        texts.insert("next_update_by".to_owned(), instant.to_string().into());
    }
    texts
}

/// The fields of a new incident, which starts now.
fn fields_of_new() -> impl Iterator<Item = &'static InputField> {
    NewIncident::FIELDS.iter().filter(|field| field.name != "started_at")
}

fn fields_of_update() -> impl Iterator<Item = &'static InputField> {
    IncidentEdit::FIELDS.iter().filter(|field| UPDATED.contains(&field.name))
}

async fn page(
    context: RequestContext<'_>,
    found: &TeamWithSettings,
    of: &StatusPage,
    refused: Option<FormInput>,
) -> Result<Response, ApiError> {
    let team = &found.team;
    let role = context.member()?.caller.role_in(team.id)?;
    let may_write = role.grants(Permission::WriteIncidents);
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let store = &context.app.store;
    let incidents = store.incidents(team.id, of.id).await?;
    let subscribers = match of.offers_subscriptions {
        true => Some(store.subscriptions(of.id).await?),
        false => None,
    };
    let (over, open): (Vec<_>, Vec<_>) = incidents.iter().partition(|one| one.is_resolved());
    let clock = context.clock(Some(team));
    let content = html! {
        @if refused.is_none() { (layout::notice(context, &NOTICES)) }
        (layout::managed(of.managed_by.as_ref()))
        @for incident in &open { (one((of, clock), incident, may_write, &Markup::default())) }
        @if may_write { (new_incident(of, refused)) }
        @if !over.is_empty() {
            section.stack {
                h2 { "Past incidents" }
                @for incident in &over { (one((of, clock), incident, may_write, &Markup::default())) }
            }
        }
    };
    let may_manage = role.grants(Permission::ManageStatusPages);
    let heading = Heading::new(of.name.clone())
        .below(path(team.id), "Status pages")
        .lead(html! {
            p.quiet {
                (public(context, of))
                @if let Some(all) = subscribers {
                    " · " (counted(all as usize, "subscriber", "subscribers"))
                }
            }
        })
        .actions(html! { @if may_manage { a.btn href={ (path_of(of)) "/edit" } { "Edit page" } } });
    Ok(layout::team_page(context, (team, NavTab::StatusPages), status, heading, &content))
}

/// The page of an incident, with the form for its next update.
fn page_of(
    context: RequestContext<'_>,
    IncidentAccess { team, page: of, incident }: &IncidentAccess,
    refused: Option<FormInput>,
) -> Result<Response, ApiError> {
    let team = &team.team;
    let role = context.member()?.caller.role_in(team.id)?;
    let may_write = role.grants(Permission::WriteIncidents);
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let form = html! { @if may_write { (next_update(of, incident, refused)) } };
    let content = one((of, context.clock(Some(team))), incident, false, &form);
    let heading =
        Heading::new("Incident").below(path(team.id), "Status pages").below(path_of(of), &of.name);
    Ok(layout::team_page(context, (team, NavTab::StatusPages), status, heading, &content))
}

/// The address of the page of an incident.
fn path_of_incident(of: &StatusPage, incident: IncidentId) -> String {
    format!("{}/incidents/{incident}", path_of(of))
}

/// An incident with its updates, a link to the form for the next one if it is elsewhere, and what follows.
fn one(
    (of, clock): (&StatusPage, Clock<'_>),
    incident: &PageIncident,
    has_link: bool,
    below: &Markup,
) -> Markup {
    let concerned: Vec<&str> = of
        .components()
        .filter(|component| incident.components.contains(&component.id))
        .map(|component| component.name.as_str())
        .collect();
    html! {
        section.card id=(incident.id) {
            header {
                h3 { bdi { (incident.title) } }
                (look(incident).pill(incident.status().title()))
            }
            p.in.quiet.small {
                "Impact: " (capitalized(incident.impact.as_str()))
                @if !concerned.is_empty() { " · " (concerned.join(", ")) }
                " · Started " (clock.instant(incident.started_at))
                @if let Some(by) = incident.next_update_by.filter(|_| !incident.is_resolved()) {
                    " · Next update by " (clock.instant(by))
                }
            }
            ul.rows {
                @for update in incident.updates.iter().rev() {
                    li.w.top0 {
                        div.grow {
                            b { (update.status.title()) }
                            @for line in update.text.lines() { p { bdi { (line) } } }
                        }
                        span.quiet.small { (clock.instant(update.at)) }
                    }
                }
            }
            @if has_link {
                footer { a.btn.s href=(path_of_incident(of, incident.id)) { "Write update" } }
            }
            (below)
        }
    }
}

fn next_update(of: &StatusPage, incident: &PageIncident, refused: Option<FormInput>) -> Markup {
    let address = path_of_incident(of, incident.id);
    let input = refused.unwrap_or_else(|| {
        let mut input = FormInput::default();
        input.put("status", incident.status().as_str());
        input
    });
    html! {
        form method="post" action=(address) novalidate {
            (input.unsaved(UPDATED.into_iter()))
            div.fields { @for field in fields_of_update() { (input.control(field)) } }
            footer { button.main { "Publish update" } }
        }
        details {
            summary.in { "Delete incident…" }
            form.in method="post" action={ (address) "/delete" } {
                p { b { "Readers no longer see it." } }
                button.grave { "Delete incident" }
            }
        }
    }
}

fn new_incident(of: &StatusPage, refused: Option<FormInput>) -> Markup {
    let input = refused.unwrap_or_else(|| FormInput::defaults(fields_of_new()));
    let components: Vec<_> = of
        .components()
        .map(|component| {
            let hidden = if component.is_hidden { " (hidden)" } else { "" };
            Choice::new(component.id, format!("{}{hidden}", component.name))
        })
        .collect();
    html! {
        form.card method="post" action={ (path_of(of)) "/incidents" } novalidate {
            header { h2 { "Write incident" } }
            (input.uncreated("Incident", fields_of_new().map(|field| field.name)))
            div.fields {
                @for field in fields_of_new() {
                    @if field.name == "components" { (input.chosen(field, &components)) }
                    @else { (input.control(field)) }
                }
            }
            footer { button.main { "Publish incident" } }
        }
    }
}

fn look(incident: &PageIncident) -> Look {
    match (incident.is_resolved(), incident.impact) {
        (true, _) => Look::Up,
        (false, Impact::None) => Look::Info,
        (false, Impact::Minor) => Look::Issues,
        (false, Impact::Major | Impact::Critical) => Look::Down,
    }
}
