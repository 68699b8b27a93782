//! `/teams/{team}/configuration`.

use serde_json::json;
use vedette_domain::configuration::NAME_PATTERN;
use vedette_http::resource::ConfigurationResource;

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;
use crate::{parameters, request};

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "configuration.export",
            summary: "A team as a document",
            description: "An addition to the specification: the settings, sites, channels, groups, \
                          maintenance windows and status pages of the team, in the form in which they \
                          can be applied. Objects without a key get one, and secrets are references to \
                          environment variables.",
            query: vec![parameters::query(
                "name",
                "The name of the document. By default, it is that of the document that manages the \
                 team's objects, or one derived from the team's name.",
                &json!({ "type": "string", "pattern": NAME_PATTERN }),
            )],
            body: None,
            success: Success::ok("The document.", request::exported(schemas)),
        },
        Operation {
            route: "configuration.apply",
            summary: "Apply a document to a team",
            description: "An addition to the specification. Makes the team match the document, or shows the \
                          changes. Omitted fields get their defaults. Omitted lists and settings stay as they are and, \
                          without `prune`, so do omitted objects. A request makes at most 100 changes, each in one \
                          transaction. If some are left, send it again with `lease`. Until none is left, or for a \
                          minute after the last request, requests without the lease get a 409.",
            query: Vec::new(),
            body: Some(request::configuration(schemas)),
            success: Success::ok(
                "What has changed, or would change.",
                schemas.data::<ConfigurationResource>(),
            ),
        },
    ]
}
