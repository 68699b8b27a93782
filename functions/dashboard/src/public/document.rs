//! The JSON documents of Statuspage's API, version 2, so that programs that read those read our pages, too.
//!
//! A field for which we have no value is null, except for dates that Statuspage always has: those are the date of the
//! publication.

use serde_json::{Map, Value, json};
use vedette_domain::id::ComponentId;
use vedette_domain::status_pages::{
    ComponentState, IncidentStatus, PageSummary, PublishedIncident, PublishedWindow,
};
use vedette_http::error::ApiError;
use vedette_http::response::{Response, text};

use super::PublicContext;
use super::context::Shown;

/// The document that the path names.
pub(super) async fn document(context: PublicContext<'_>) -> Result<Response, ApiError> {
    let name = context.parameters.value("document");
    parts(name).ok_or(ApiError::NotFound)?;
    context
        .show(|shown| {
            let document = written(name, shown).ok_or(ApiError::NotFound)?;
            Ok(text(document, "application/json"))
        })
        .await
}

/// The document with this name.
pub(super) fn written(name: &str, shown: &Shown) -> Option<String> {
    let parts = [("page", page as Part)].into_iter().chain(parts(name)?.iter().copied());
    let document: Map<String, Value> =
        parts.map(|(name, part)| (name.to_owned(), part(shown))).collect();
    Some(Value::Object(document).to_string())
}

/// A part of a document.
type Part = fn(&Shown) -> Value;

/// What a document contains besides the page.
fn parts(name: &str) -> Option<&'static [(&'static str, Part)]> {
    Some(match name {
        "summary.json" => &[
            ("components", components),
            ("incidents", unresolved),
            ("scheduled_maintenances", maintenances),
            ("status", status),
        ],
        "status.json" => &[("status", status)],
        "components.json" => &[("components", components)],
        "incidents.json" => &[("incidents", incidents)],
        "scheduled-maintenances.json" => &[("scheduled_maintenances", maintenances)],
        _ => return None,
    })
}

/// The page's name within its URL.
fn page_id(shown: &Shown) -> &str {
    shown.path.rsplit('/').next().unwrap_or_default()
}

fn page(shown: &Shown) -> Value {
    json!({
        "id": page_id(shown),
        "name": shown.page.name,
        "url": shown.url(),
        "time_zone": shown.page.zone.name(),
        "updated_at": shown.page.generated_at,
    })
}

fn status(shown: &Shown) -> Value {
    let (indicator, description) = match shown.page.summary() {
        PageSummary::Operational => ("none", "All Systems Operational"),
        PageSummary::Unknown => ("none", "No Data"),
        PageSummary::Maintenance => ("none", "Service Under Maintenance"),
        PageSummary::Degraded => ("minor", "Partially Degraded Service"),
        PageSummary::PartialOutage => ("major", "Partial System Outage"),
        PageSummary::MajorOutage => ("critical", "Major System Outage"),
    };
    json!({ "indicator": indicator, "description": description })
}

/// Each named group, followed by its components.
fn components(shown: &Shown) -> Value {
    Value::Array(all_components(shown).into_iter().map(|(_, fields)| fields).collect())
}

/// Groups and components, those with the ids that they have on the page.
fn all_components(shown: &Shown) -> Vec<(Option<ComponentId>, Value)> {
    let mut all = Vec::new();
    for (number, group) in (1_usize..).zip(&shown.page.groups) {
        let group_id = group.name.as_ref().map(|_| format!("group-{number}"));
        if let (Some(id), Some(name)) = (&group_id, &group.name) {
            let states = group.components.iter().map(|component| component.state);
            let worst = states.max().unwrap_or(ComponentState::Operational);
            let ids: Vec<_> = group.components.iter().map(|component| component.id).collect();
            let mut of_group = fields(shown, (id, name, worst), all.len());
            of_group["group"] = json!(true);
            of_group["components"] = json!(ids);
            all.push((None, of_group));
        }
        for component in &group.components {
            let id = component.id.to_string();
            let mut fields = fields(shown, (&id, &component.name, component.state), all.len());
            fields["group_id"] = json!(group_id);
            all.push((Some(component.id), fields));
        }
    }
    all
}

fn fields(shown: &Shown, (id, name, state): (&str, &str, ComponentState), place: usize) -> Value {
    let status = match state {
        // Statuspage has no word for a component that nobody has checked.
        ComponentState::Operational | ComponentState::Unknown => "operational",
        ComponentState::Maintenance => "under_maintenance",
        ComponentState::Degraded => "degraded_performance",
        ComponentState::Down => "major_outage",
    };
    json!({
        "id": id,
        "name": name,
        "status": status,
        "created_at": shown.page.generated_at,
        "updated_at": shown.page.generated_at,
        "position": place + 1,
        "description": null,
        "showcase": false,
        "start_date": null,
        "group_id": null,
        "page_id": page_id(shown),
        "group": false,
        "only_show_if_degraded": false,
    })
}

/// The components with these ids, in the order of the page.
fn concerned(shown: &Shown, ids: &[ComponentId]) -> Vec<Value> {
    let all = all_components(shown).into_iter();
    let concerned = all.filter(|(id, _)| id.is_some_and(|id| ids.contains(&id)));
    concerned.map(|(_, fields)| fields).collect()
}

fn incidents(shown: &Shown) -> Value {
    shown.page.incidents.iter().map(|incident| of_incident(shown, incident)).collect()
}

fn unresolved(shown: &Shown) -> Value {
    shown.page.unresolved().map(|incident| of_incident(shown, incident)).collect()
}

fn of_incident(shown: &Shown, incident: &PublishedIncident) -> Value {
    let oldest_first = (1_usize..).zip(incident.updates.iter().rev());
    let mut updates: Vec<_> = oldest_first
        .map(|(number, update)| {
            json!({
                "id": format!("{}-{number}", incident.id),
                "status": update.status.as_str(),
                "body": update.text,
                "incident_id": incident.id,
                "created_at": update.at,
                "updated_at": update.at,
                "display_at": update.at,
                "affected_components": null,
                "deliver_notifications": true,
                "custom_tweet": null,
                "tweet_id": null,
            })
        })
        .collect();
    updates.reverse();
    let since = |wanted| {
        let found = incident.updates.iter().rev().find(|update| update.status == wanted);
        found.map(|update| update.at)
    };
    json!({
        "id": incident.id,
        "name": incident.title,
        "status": incident.status.as_str(),
        "created_at": incident.started_at,
        "updated_at": incident.updates.first().map_or(incident.started_at, |update| update.at),
        "monitoring_at": since(IncidentStatus::Monitoring),
        "resolved_at": incident.resolved_at,
        "impact": incident.impact.as_str(),
        "shortlink": shown.url_of(incident.id),
        "started_at": incident.started_at,
        "page_id": page_id(shown),
        "incident_updates": updates,
        "components": concerned(shown, &incident.components),
    })
}

fn maintenances(shown: &Shown) -> Value {
    let left = shown.page.windows.iter().filter(|window| window.ends_at > shown.now);
    left.map(|window| of_window(shown, window)).collect()
}

fn of_window(shown: &Shown, window: &PublishedWindow) -> Value {
    let is_active = window.is_active(shown.now);
    json!({
        "id": window.id,
        "name": window.name,
        "status": if is_active { "in_progress" } else { "scheduled" },
        "created_at": shown.page.generated_at,
        "updated_at": shown.page.generated_at,
        "monitoring_at": null,
        "resolved_at": null,
        "impact": "maintenance",
        "shortlink": shown.url_of(&window.id),
        "started_at": window.starts_at,
        "page_id": page_id(shown),
        "incident_updates": [],
        "components": concerned(shown, &window.components),
        "scheduled_for": window.starts_at,
        "scheduled_until": window.ends_at,
    })
}
