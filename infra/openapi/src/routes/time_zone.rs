//! `/teams/{team}/time-zone`.

use vedette_http::resource::TimeZoneResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "time-zone.get",
            summary: "A team's time zone",
            description: "The time zone in which the team's quiet time is meant and its alerts show \
                          times; `UTC` where nobody has chosen one.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The time zone.", schemas.data::<TimeZoneResource>()),
        },
        Operation {
            route: "time-zone.update",
            summary: "Choose a team's time zone",
            description: "Takes a name of the IANA database in any case; null is UTC. Quiet time and \
                          alerts follow at once, through both clock changes of a year. Times in the API \
                          stay in UTC.",
            query: Vec::new(),
            body: Some(request::time_zone(schemas)),
            success: Success::ok("The time zone.", schemas.data::<TimeZoneResource>()),
        },
    ]
}
