//! `/teams/{team}/groups`.

use vedette_domain::sites::group::SiteGroupsInput;
use vedette_http::resource::SiteGroupsResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "site-groups.get",
            summary: "The groups of a team's sites",
            description: "An addition to the specification: selectors that the team has saved under a \
                          name. A site is in each group that its tags match.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The groups.", schemas.data::<SiteGroupsResource>()),
        },
        Operation {
            route: "site-groups.update",
            summary: "Replace the groups of a team's sites",
            description: "An addition to the specification. Replaces all groups; an empty list removes \
                          them. The sites stay as they are.",
            query: Vec::new(),
            body: Some(request::body::<SiteGroupsInput>("SiteGroupsUpdate", schemas)),
            success: Success::ok("The groups.", schemas.data::<SiteGroupsResource>()),
        },
    ]
}
