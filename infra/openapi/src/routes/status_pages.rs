//! `/teams/{team}/status-pages`.

use lambda_http::http::StatusCode;
use vedette_domain::status_pages::{NewPage, PageEdit};
use vedette_http::resource::StatusPageResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

/// Operations on a page.
const OF_A_PAGE: &[&str] = &[
    "status-pages.get",
    "status-pages.update",
    "status-pages.delete",
    "incidents.list",
    "incidents.create",
];

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![list(schemas), create(schemas), get(schemas), update(schemas), delete()]
}

fn list(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "status-pages.list",
        summary: "A team's status pages",
        description: "An addition to the specification: the pages, oldest first.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The pages.", schemas.list::<StatusPageResource>()),
    }
}

fn create(schemas: &mut Schemas) -> Operation {
    let created = Success {
        status: StatusCode::CREATED,
        ..Success::ok("The new page.", schemas.data::<StatusPageResource>())
    };
    Operation {
        route: "status-pages.create",
        summary: "Create a status page",
        description: "An addition to the specification. The page shows readers only the names, \
                      messages and incidents that the team writes for them, the states of its \
                      components and planned maintenance. Admins and owners may create pages, at \
                      most 5 for a team. The page is published within moments.",
        query: Vec::new(),
        body: Some(request::body::<NewPage>("StatusPageCreate", schemas)),
        success: created.followed_by("/data/uuid", "status_page", OF_A_PAGE),
    }
}

fn get(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "status-pages.get",
        summary: "A status page",
        description: "An addition to the specification: the page as the team sees it.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The page.", schemas.data::<StatusPageResource>()),
    }
}

fn update(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "status-pages.update",
        summary: "Change a status page",
        description: "An addition to the specification. Fields that are omitted stay as they are; \
                      `groups` replaces all groups. A component keeps its UUID if the request has \
                      it, or if the component shows the same site as before.",
        query: Vec::new(),
        body: Some(request::body::<PageEdit>("StatusPageUpdate", schemas)),
        success: Success::ok("The changed page.", schemas.data::<StatusPageResource>()),
    }
}

fn delete() -> Operation {
    Operation {
        route: "status-pages.delete",
        summary: "Delete a status page",
        description: "An addition to the specification: deletes the page with its incidents. Other \
                      pages can then use its slug.",
        query: Vec::new(),
        body: None,
        success: Success::no_content("The page was deleted."),
    }
}
