//! `/teams/{team}/heartbeats`.

use lambda_http::http::StatusCode;
use serde_json::json;
use vedette_domain::heartbeats::input::{HeartbeatEdit, NewHeartbeat};
use vedette_domain::heartbeats::reports::HeartbeatState;
use vedette_http::resource::{HeartbeatResource, RunResource};

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;
use crate::{parameters, request};

/// Operations on a heartbeat.
const OF_A_HEARTBEAT: &[&str] =
    &["heartbeats.get", "heartbeats.update", "heartbeats.delete", "heartbeats.runs"];

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![list(schemas), create(schemas), get(schemas), update(schemas), delete(), runs(schemas)]
}

fn list(schemas: &mut Schemas) -> Operation {
    let states = json!({ "type": "string", "enum": HeartbeatState::ALL });
    let state = parameters::query("state", "Only heartbeats in this state.", &states);
    Operation {
        route: "heartbeats.list",
        summary: "A team's heartbeats",
        description: "An addition to the specification: the heartbeats by name, with what is known \
                      of their jobs.",
        query: [state].into_iter().chain(parameters::of_pages()).collect(),
        body: None,
        success: Success::ok("The heartbeats.", schemas.page::<HeartbeatResource>()),
    }
}

fn create(schemas: &mut Schemas) -> Operation {
    let created = Success {
        status: StatusCode::CREATED,
        ..Success::ok("The new heartbeat.", schemas.data::<HeartbeatResource>())
    };
    Operation {
        route: "heartbeats.create",
        summary: "Create a heartbeat",
        description: "An addition to the specification. The job pings `ping_url` when it has run. \
                      From the first ping on, an issue opens when a ping is missing, or when the \
                      job reports that it failed. A team may have as many heartbeats as its plan \
                      allows. They do not count as sites.",
        query: Vec::new(),
        body: Some(request::body::<NewHeartbeat>("HeartbeatCreate", schemas)),
        success: created.followed_by("/data/uuid", "heartbeat", OF_A_HEARTBEAT),
    }
}

fn get(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "heartbeats.get",
        summary: "A heartbeat",
        description: "An addition to the specification: a heartbeat with what is known of its job.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The heartbeat.", schemas.data::<HeartbeatResource>()),
    }
}

fn update(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "heartbeats.update",
        summary: "Change, pause or resume a heartbeat",
        description: "An addition to the specification. Fields that are omitted stay as they are. \
                      While a heartbeat is paused, no ping is expected, and a ping resumes it. \
                      Pausing it resolves its open issues.",
        query: Vec::new(),
        body: Some(request::body::<HeartbeatEdit>("HeartbeatUpdate", schemas)),
        success: Success::ok("The changed heartbeat.", schemas.data::<HeartbeatResource>()),
    }
}

fn delete() -> Operation {
    Operation {
        route: "heartbeats.delete",
        summary: "Delete a heartbeat",
        description: "An addition to the specification: deletes the heartbeat with its runs and \
                      issues. Its address no longer works.",
        query: Vec::new(),
        body: None,
        success: Success::no_content("The heartbeat was deleted."),
    }
}

fn runs(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "heartbeats.runs",
        summary: "The runs of a heartbeat's job",
        description: "An addition to the specification: what the job has reported, and which pings \
                      were missing, newest first.",
        query: parameters::of_pages().into(),
        body: None,
        success: Success::ok("The runs.", schemas.page::<RunResource>()),
    }
}
