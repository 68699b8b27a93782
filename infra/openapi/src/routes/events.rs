//! `/teams/{team}/events`.

use vedette_http::resource::TeamEventResource;

use crate::operation::{Operation, Success};
use crate::parameters;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let page = schemas.cursor_page::<TeamEventResource<'static>>();
    vec![Operation {
        route: "events.list",
        summary: "A team's events",
        description: "An addition to the specification: the issues of a team's sites that opened and \
                      that were resolved, the newest first. Only the newest 500 events are listed. \
                      Use the link to the next page as it is.",
        query: parameters::of_cursor_pages().into(),
        body: None,
        success: Success::ok("A page of events.", page).followed_by(
            "/data/0/issue_uuid",
            "issue",
            &["issues.get", "issues.evidence"],
        ),
    }]
}
