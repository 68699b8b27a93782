//! `/teams`.

use lambda_http::http::StatusCode;
use vedette_domain::accounts::team::TeamName;
use vedette_http::resource::TeamResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let created = Success {
        status: StatusCode::CREATED,
        ..Success::ok("The new team.", schemas.data::<TeamResource>())
    };
    vec![
        Operation {
            route: "teams.create",
            summary: "Create a team",
            description: "An addition to the specification: creates a team that the caller owns, \
                          with the plan `starter`. A user can create 10 teams, if the operator of \
                          the service allows it; otherwise, the response is a 403.",
            query: Vec::new(),
            body: Some(request::body::<TeamName>("TeamCreate", schemas)),
            success: created.followed_by("/data/uuid", "team", &["teams.get", "teams.update"]),
        },
        Operation {
            route: "teams.update",
            summary: "Rename a team",
            description: "An addition to the specification: only an owner can do this.",
            query: Vec::new(),
            body: Some(request::body::<TeamName>("TeamUpdate", schemas)),
            success: Success::ok("The renamed team.", schemas.data::<TeamResource>()),
        },
        Operation {
            route: "teams.list",
            summary: "The caller's teams",
            description: "All teams of the caller, oldest first, including teams without an \
                          active plan. The list is not paginated.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The teams.", schemas.list::<TeamResource>()).followed_by(
                "/data/0/uuid",
                "team",
                &[
                    "teams.get",
                    "monitoring.get",
                    "monitoring.update",
                    "sites.list",
                    "sites.create",
                    "sites.bulk",
                ],
            ),
        },
        Operation {
            route: "teams.get",
            summary: "A team",
            description: "A team, with what its plan allows and how much of that it uses.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The team.", schemas.data::<TeamResource>()).followed_by(
                "/data/uuid",
                "team",
                &["monitoring.get", "sites.list", "issues.list"],
            ),
        },
    ]
}
