//! `/teams/{team}/members`.

use vedette_domain::accounts::account::RoleChange;
use vedette_http::resource::MemberResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "members.list",
            summary: "A team's members",
            description: "An addition to the specification: the members of the team with their \
                          roles, owners first. The list is not paginated.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The members.", schemas.list::<MemberResource>()).followed_by(
                "/data/0/uuid",
                "user",
                &["members.update", "members.remove"],
            ),
        },
        Operation {
            route: "members.update",
            summary: "Give a member another role",
            description: "An addition to the specification. Only owners give and take the role of \
                          owner, and a team keeps at least one owner.",
            query: Vec::new(),
            body: Some(request::body::<RoleChange>("MemberUpdate", schemas)),
            success: Success::ok("The member.", schemas.data::<MemberResource>()),
        },
        Operation {
            route: "members.remove",
            summary: "Remove a member",
            description: "An addition to the specification: removes a member from the team. With \
                          their own id, callers leave the team, whatever their role. A team keeps \
                          at least one owner.",
            query: Vec::new(),
            body: None,
            success: Success::no_content("The user is no longer a member."),
        },
    ]
}
