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
        ..Success::ok("The new invitation.", schemas.data::<NewInvitationResource<'static>>())
    };
    vec![
        Operation {
            route: "invitations.list",
            summary: "A team's invitations",
            description: "An addition to the specification: the pending invitations of the team. \
                          The list is not paginated.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The invitations.", schemas.list::<InvitationResource<'static>>()),
        },
        Operation {
            route: "invitations.create",
            summary: "Invite somebody",
            description: "An addition to the specification: reserves a seat for a person, and \
                          emails them a link with which they join. If the service sends no email, \
                          the response has the link. An invitation can be accepted for seven days.",
            query: Vec::new(),
            body: Some(request::body::<NewInvitation>("InvitationCreate", schemas)),
            success: created.followed_by("/data/id", "invitation", &["invitations.withdraw"]),
        },
        Operation {
            route: "invitations.withdraw",
            summary: "Withdraw an invitation",
            description: "An addition to the specification: its link stops working, and its seat \
                          is free again.",
            query: Vec::new(),
            body: None,
            success: Success::no_content("The invitation was withdrawn."),
        },
    ]
}
