//! `/teams/{team}/status-pages/{status_page}/incidents`.

use lambda_http::http::StatusCode;
use vedette_domain::status_pages::{IncidentEdit, NewIncident};
use vedette_http::resource::IncidentResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

/// Operations on an incident.
const OF_AN_INCIDENT: &[&str] = &["incidents.get", "incidents.update", "incidents.delete"];

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![list(schemas), create(schemas), get(schemas), update(schemas), delete()]
}

fn list(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "incidents.list",
        summary: "The incidents of a status page",
        description: "An addition to the specification: the newest 100 incidents, newest first.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The incidents.", schemas.list::<IncidentResource>()),
    }
}

fn create(schemas: &mut Schemas) -> Operation {
    let created = Success {
        status: StatusCode::CREATED,
        ..Success::ok("The new incident.", schemas.data::<IncidentResource>())
    };
    Operation {
        route: "incidents.create",
        summary: "Publish an incident",
        description: "An addition to the specification. While the incident is not resolved, the \
                      components that it concerns are shown as at least as bad as its impact: \
                      degraded for `minor` and `major`, down for `critical`.",
        query: Vec::new(),
        body: Some(request::body::<NewIncident>("IncidentCreate", schemas)),
        success: created.followed_by("/data/uuid", "incident", OF_AN_INCIDENT),
    }
}

fn get(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "incidents.get",
        summary: "An incident of a status page",
        description: "An addition to the specification: the incident with all its updates.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The incident.", schemas.data::<IncidentResource>()),
    }
}

fn update(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "incidents.update",
        summary: "Change an incident, or publish an update",
        description: "An addition to the specification. `text` adds an update, and `status` \
                      becomes the status of the incident. Other fields that are omitted stay as \
                      they are.",
        query: Vec::new(),
        body: Some(request::body::<IncidentEdit>("IncidentUpdate", schemas)),
        success: Success::ok("The changed incident.", schemas.data::<IncidentResource>()),
    }
}

fn delete() -> Operation {
    Operation {
        route: "incidents.delete",
        summary: "Delete an incident",
        description: "An addition to the specification: deletes the incident with its updates.",
        query: Vec::new(),
        body: None,
        success: Success::no_content("The incident was deleted."),
    }
}
