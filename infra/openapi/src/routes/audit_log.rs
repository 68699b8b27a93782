//! `/teams/{team}/audit-log`.

use vedette_http::resource::AuditEntryResource;

use crate::operation::{Operation, Success};
use crate::parameters;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let page = schemas.cursor_page::<AuditEntryResource<'static>>();
    vec![Operation {
        route: "audit-log.list",
        summary: "A team's audit log",
        description: "An addition to the specification: who changed settings, sites, tokens, \
                      members, channels, windows, status pages and issues, the newest first. \
                      Entries are kept for 400 days. Use the link to the next page as it is.",
        query: parameters::of_cursor_pages().into(),
        body: None,
        success: Success::ok("A page of entries.", page),
    }]
}
