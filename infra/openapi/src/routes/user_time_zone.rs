//! `/me/time-zone`.

use vedette_http::resource::UserTimeZoneResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "user-time-zone.get",
            summary: "The caller's time zone",
            description: "The time zone of the times on the caller's pages and in email to \
                          them; null if none was chosen, so that the zone of each team applies.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The time zone.", schemas.data::<UserTimeZoneResource>()),
        },
        Operation {
            route: "user-time-zone.update",
            summary: "Choose the caller's time zone",
            description: "Accepts a name from the IANA database in any case; null removes the \
                          zone. Quiet time and chats follow the zone of the team. Times in the \
                          API stay in UTC.",
            query: Vec::new(),
            body: Some(request::user_time_zone(schemas)),
            success: Success::ok("The time zone.", schemas.data::<UserTimeZoneResource>()),
        },
    ]
}
