//! `/teams/{team}/maintenance-windows`.

use lambda_http::http::StatusCode;
use vedette_domain::maintenance::{NewWindow, WindowEdit};
use vedette_http::resource::WindowResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

/// Operations on a window.
const OF_A_WINDOW: &[&str] = &[
    "maintenance-windows.get",
    "maintenance-windows.update",
    "maintenance-windows.delete",
    "maintenance-windows.end",
];

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![list(schemas), create(schemas), get(schemas), update(schemas), delete(), end(schemas)]
}

fn list(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "maintenance-windows.list",
        summary: "A team's maintenance windows",
        description: "An addition to the specification: the active windows, then the planned ones \
                      in the order in which they start. In a window, checks of its sites run, but \
                      they neither open nor resolve issues, and no reminders are sent.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The windows.", schemas.list::<WindowResource>()),
    }
}

fn create(schemas: &mut Schemas) -> Operation {
    let created = Success {
        status: StatusCode::CREATED,
        ..Success::ok("The new window.", schemas.data::<WindowResource>())
    };
    Operation {
        route: "maintenance-windows.create",
        summary: "Add or start a maintenance window",
        description: "An addition to the specification. Without `starts_at`, the window starts \
                      now. If a clock change skips the start time, the window starts later by the \
                      time skipped; if the start time occurs twice, the first one counts. A team \
                      can have at most 50 active and planned windows.",
        query: Vec::new(),
        body: Some(request::body::<NewWindow>("MaintenanceWindowCreate", schemas)),
        success: created.followed_by("/data/uuid", "window", OF_A_WINDOW),
    }
}

fn get(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "maintenance-windows.get",
        summary: "A maintenance window",
        description: "An addition to the specification: an active or planned window.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The window.", schemas.data::<WindowResource>()),
    }
}

fn update(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "maintenance-windows.update",
        summary: "Change a maintenance window",
        description: "An addition to the specification. Fields that are omitted stay as they \
                      are.",
        query: Vec::new(),
        body: Some(request::body::<WindowEdit>("MaintenanceWindowUpdate", schemas)),
        success: Success::ok("The changed window.", schemas.data::<WindowResource>()),
    }
}

fn delete() -> Operation {
    Operation {
        route: "maintenance-windows.delete",
        summary: "Delete a maintenance window",
        description: "An addition to the specification: deletes the window with all its \
                      instances. If it is active, it ends.",
        query: Vec::new(),
        body: None,
        success: Success::no_content("The window was removed."),
    }
}

fn end(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "maintenance-windows.end",
        summary: "End a maintenance window now",
        description: "An addition to the specification: ends the active instance. A window that \
                      recurs becomes active again at its next start; any other is removed. 422 if \
                      it is not active.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The window.", schemas.data::<WindowResource>()),
    }
}
