//! `/teams/{team}/ping-key`.

use vedette_domain::heartbeats::team_key::PingKeyChoice;
use vedette_http::resource::PingKeyResource;

use crate::operation::{Body, Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "ping-key.get",
            summary: "The ping key of a team",
            description: "An addition to the specification: the key with which jobs ping a heartbeat \
                          by its slug.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The key.", schemas.data::<PingKeyResource>()),
        },
        Operation {
            route: "ping-key.update",
            summary: "Replace the ping key of a team",
            description: "An addition to the specification. Addresses with the key before no longer \
                          work.",
            query: Vec::new(),
            body: Some(Body {
                is_required: false,
                ..request::body::<PingKeyChoice>("PingKeyUpdate", schemas)
            }),
            success: Success::ok("The new key.", schemas.data::<PingKeyResource>()),
        },
    ]
}
