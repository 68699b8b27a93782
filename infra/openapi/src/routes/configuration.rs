//! `/teams/{team}/configuration`.

use serde_json::json;
use vedette_domain::configuration::KEY_PATTERN;
use vedette_http::resource::ConfigurationResource;

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;
use crate::{parameters, request};

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "configuration.export",
            summary: "A document of everything that a team has",
            description: "An addition to the specification: the settings, sites, channels, groups, \
                          maintenance windows and status pages of the team, in the form in which they \
                          can be applied. Objects without a key get one, and secrets are references to \
                          environment variables.",
            query: vec![parameters::query(
                "name",
                "The name of the document. By default, it is that of the document that manages the \
                 team's objects, or one that follows from the name of the team.",
                &json!({ "type": "string", "maxLength": 64, "pattern": KEY_PATTERN }),
            )],
            body: None,
            success: Success::ok("The document.", request::exported(schemas)),
        },
        Operation {
            route: "configuration.apply",
            summary: "Apply a document to a team",
            description: "An addition to the specification. Makes the team's objects what the document \
                          describes, or shows what would change. A field that the document omits has its \
                          default; lists, settings and objects that it does not have stay as they are. One \
                          request makes at most 100 changes, each in one transaction. If some are left, \
                          send it again with the lease. Another document can be applied to the team as \
                          soon as nothing is left, or a minute after the last request.",
            query: Vec::new(),
            body: Some(request::configuration(schemas)),
            success: Success::ok(
                "What has changed, or would change.",
                schemas.data::<ConfigurationResource>(),
            ),
        },
    ]
}
