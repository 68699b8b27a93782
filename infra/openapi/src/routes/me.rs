//! `/me`.

use vedette_http::resource::MeResource;

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let schema = schemas.data::<MeResource>();
    vec![Operation {
        route: "me.get",
        summary: "The token's owner",
        description: "The token's owner and their teams, including teams without an active plan.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The user and their teams.", schema).followed_by(
            "/data/teams/0/uuid",
            "team",
            &["teams.get", "monitoring.get"],
        ),
    }]
}
