//! `/teams/{team}/invitations`.

use lambda_http::http::StatusCode;
use vedette_domain::accounts::invitation::NewInvitation;
use vedette_http::resource::{InvitationResource, NewInvitationResource};

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let created = Success {
        status: StatusCode::CREATED,
        ..Success::ok("The invitation.", schemas.data::<NewInvitationResource<'static>>())
    };
    let list = schemas.list::<InvitationResource<'static>>();
    vec![
        Operation {
            route: "invitations.list",
            summary: "A team's invitations",
            description: "An addition to the specification: the invitations that nobody has answered \
                          yet. Each takes a seat. The list is not paginated.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The invitations.", list),
        },
        Operation {
            route: "invitations.create",
            summary: "Invite somebody",
            description: "An addition to the specification: invites an address to the team, whether \
                          or not it has an account, and takes a seat. If the service sends email, \
                          the recipient of the address gets the link. Otherwise, the response is the \
                          only one that contains it.",
            query: Vec::new(),
            body: Some(request::body::<NewInvitation>("InvitationCreate", schemas)),
            success: created.followed_by("/data/hash", "invitation", &["invitations.withdraw"]),
        },
        Operation {
            route: "invitations.withdraw",
            summary: "Withdraw an invitation",
            description: "An addition to the specification: an invitation stops working at once, \
                          with all its links, and its seat is free.",
            query: Vec::new(),
            body: None,
            success: Success::no_content("The invitation was withdrawn."),
        },
    ]
}
