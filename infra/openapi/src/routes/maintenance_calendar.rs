//! `/teams/{team}/maintenance-calendar`.

use lambda_http::http::StatusCode;
use vedette_http::resource::CalendarResource;

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "maintenance-calendar.get",
            summary: "A team's calendar of maintenance windows",
            description: "An addition to the specification: the secret address of a feed \
                          (iCalendar) with the windows of the next 90 days. Anybody who knows \
                          it can read their names and times.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The feed.", schemas.data::<CalendarResource>()),
        },
        Operation {
            route: "maintenance-calendar.create",
            summary: "Create an address for the calendar",
            description: "An addition to the specification: creates a new address. The previous \
                          one stops working.",
            query: Vec::new(),
            body: None,
            success: Success {
                status: StatusCode::CREATED,
                ..Success::ok("The feed.", schemas.data::<CalendarResource>())
            },
        },
        Operation {
            route: "maintenance-calendar.delete",
            summary: "Revoke the address of the calendar",
            description: "An addition to the specification: revokes the address, which stops working.",
            query: Vec::new(),
            body: None,
            success: Success::no_content("The address was revoked."),
        },
    ]
}
