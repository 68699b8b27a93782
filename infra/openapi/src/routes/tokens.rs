//! `/me/tokens`.

use lambda_http::http::StatusCode;
use vedette_domain::accounts::account::NewToken;
use vedette_http::resource::{NewTokenResource, TokenResource};

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let created = Success {
        status: StatusCode::CREATED,
        ..Success::ok("The new token.", schemas.data::<NewTokenResource<'static>>())
    };
    let list = schemas.list::<TokenResource<'static>>();
    vec![
        Operation {
            route: "tokens.list",
            summary: "The caller's tokens",
            description: "An addition to the specification: the caller's tokens, the newest first, \
                          without their secrets. The list is not paginated.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The tokens.", list),
        },
        Operation {
            route: "tokens.create",
            summary: "Create a token",
            description: "An addition to the specification: creates another token of the caller. \
                          It can have only scopes that the token of the request has, which are \
                          also the default, and it expires no later. The response is the only one \
                          that contains the secret.",
            query: Vec::new(),
            body: Some(request::body::<NewToken>("TokenCreate", schemas)),
            success: created.followed_by("/data/hash", "token", &["tokens.revoke"]),
        },
        Operation {
            route: "tokens.revoke",
            summary: "Revoke a token",
            description: "An addition to the specification: a token of the caller stops working at \
                          once. This can be the token of the request.",
            query: Vec::new(),
            body: None,
            success: Success::no_content("The token was revoked."),
        },
    ]
}
