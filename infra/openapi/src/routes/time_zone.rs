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
            description: "The time zone of the team's quiet time and of the times in its \
                          alerts; `UTC` if none was chosen.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The time zone.", schemas.data::<TimeZoneResource>()),
        },
        Operation {
            route: "time-zone.update",
            summary: "Choose a team's time zone",
            description: "Accepts an IANA time zone name in any case; null means UTC. \
                          Quiet time and alerts follow at once, and observe daylight saving \
                          time. Times in the API stay in UTC.",
            query: Vec::new(),
            body: Some(request::time_zone("TimeZoneUpdate", schemas)),
            success: Success::ok("The time zone.", schemas.data::<TimeZoneResource>()),
        },
    ]
}
