//! `/me`.

use vedette_http::resource::MeResource;

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let schema = schemas.data::<MeResource>();
    vec![Operation {
        route: "me.get",
        summary: "Who is asking",
        description: "The token's owner and their teams, those without an active plan included.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The user and their teams.", schema).followed_by(
            "/data/teams/0/uuid",
            "team",
            &["teams.get", "monitoring.get"],
        ),
    }]
}
