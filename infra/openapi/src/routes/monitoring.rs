//! `/teams/{team}/monitoring`.

use vedette_http::resource::MonitoringResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "monitoring.get",
            summary: "A team's monitoring",
            description: "The settings that all sites of the team start from, and the values \
                          to choose from.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The monitoring.", schemas.data::<MonitoringResource>()),
        },
        Operation {
            route: "monitoring.update",
            summary: "Change a team's monitoring",
            description: "Changes the settings that are sent and keeps the others. Each tool \
                          in the request needs `enabled` and `cadence_minutes`. The plan must \
                          allow the cadence. The schedules of all the team's sites are updated.",
            query: Vec::new(),
            body: Some(request::team_monitoring(schemas)),
            success: Success::ok("The changed monitoring.", schemas.data::<MonitoringResource>()),
        },
    ]
}
