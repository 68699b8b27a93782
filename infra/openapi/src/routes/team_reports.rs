//! `/teams/{team}/reports`.

use serde_json::json;
use vedette_http::resource::TeamReportResource;

use crate::operation::{Operation, Success};
use crate::parameters;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![Operation {
        route: "team-reports.get",
        summary: "A report about a week or a month",
        description: "An addition to the specification: the report about all sites of a team, or \
                      about those of a group. It is made at 6:00 in the time zone of the team on \
                      the day after the period, does not change afterwards, and is kept for 13 \
                      months.",
        query: vec![parameters::query(
            "group",
            "Only the sites that were in this group when the report was made.",
            &json!({ "type": "string" }),
        )],
        body: None,
        success: Success::ok("The report.", schemas.data::<TeamReportResource<'static>>()),
    }]
}
