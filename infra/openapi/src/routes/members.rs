//! `/teams/{team}/members`.

use vedette_domain::accounts::account::NewRole;
use vedette_http::resource::MemberResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let list = schemas.list::<MemberResource<'static>>();
    let changed = Success::ok("The member.", schemas.data::<MemberResource<'static>>());
    vec![
        Operation {
            route: "members.list",
            summary: "A team's members",
            description: "An addition to the specification: the members of a team and their roles, \
                          owners first. The list is not paginated.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The members.", list),
        },
        Operation {
            route: "members.update",
            summary: "Change a member's role",
            description: "An addition to the specification: gives a member another role. Only owners \
                          give and take the role of owner, and a team keeps an owner.",
            query: Vec::new(),
            body: Some(request::body::<NewRole>("MemberUpdate", schemas)),
            success: changed,
        },
        Operation {
            route: "members.remove",
            summary: "Remove a member",
            description: "An addition to the specification: removes a member from the team. Every \
                          member may remove themselves, whatever their role and the team's plan. \
                          Only owners remove owners, and a team keeps an owner.",
            query: Vec::new(),
            body: None,
            success: Success::no_content("The user is no longer a member."),
        },
    ]
}
