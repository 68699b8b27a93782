//! `/teams/{team}/audit-log`.

use serde_json::json;
use vedette_http::paging::CURSOR_MAX;
use vedette_http::resource::AuditEntryResource;

use crate::operation::{Operation, Success};
use crate::parameters;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let before = "Where the page before this one ended, from its link to the next page.";
    let query = vec![
        parameters::query("before", before, &json!({ "type": "string", "maxLength": CURSOR_MAX })),
        parameters::reference("per_page"),
    ];
    let page = schemas.cursor_page::<AuditEntryResource<'static>>();
    vec![Operation {
        route: "audit-log.list",
        summary: "A team's audit log",
        description: "An addition to the specification: who changed settings, sites, tokens, \
                      members, channels, windows, status pages and issues, the newest first. \
                      Entries are kept for 400 days. Use the link to the next page as it is.",
        query,
        body: None,
        success: Success::ok("A page of entries.", page),
    }]
}
