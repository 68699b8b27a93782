//! `/teams`.

use vedette_http::resource::TeamResource;

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
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
