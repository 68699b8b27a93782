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
            description: "The time zone of times on the caller's pages and in their emails; null \
                          if none was chosen, so that each team's time zone applies.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The time zone.", schemas.data::<UserTimeZoneResource>()),
        },
        Operation {
            route: "user-time-zone.update",
            summary: "Choose the caller's time zone",
            description: "Accepts an IANA time zone name in any case; null removes the \
                          zone. Quiet time and chat messages follow the team's time zone. Times in the \
                          API stay in UTC.",
            query: Vec::new(),
            body: Some(request::time_zone("UserTimeZoneUpdate", schemas)),
            success: Success::ok("The time zone.", schemas.data::<UserTimeZoneResource>()),
        },
    ]
}
