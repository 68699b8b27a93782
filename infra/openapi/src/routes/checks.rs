//! `/checks` and `/sites/{site}/checks`.

use lambda_http::http::StatusCode;
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_http::resource::CheckResource;

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;
use crate::{parameters, request};

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![list(schemas), create(schemas), get(schemas), delete()]
}

fn list(schemas: &mut Schemas) -> Operation {
    let mut query = Vec::from(parameters::of_pages());
    query.extend([
        parameters::query("type", "Only this tool.", &schemas.of::<Tool>()),
        parameters::query("status", "Only this state.", &schemas.of::<CheckStatus>()),
        parameters::boolean("automatic", "Only automatic checks, or only on-demand checks."),
        parameters::query("run_reason", "Only this reason.", &schemas.of::<RunReason>()),
        parameters::date("from", "Only checks created on this UTC day or later."),
        parameters::date(
            "to",
            "Only checks created on this UTC day or earlier; not before `from`.",
        ),
    ]);
    Operation {
        route: "checks.list",
        summary: "A site's checks",
        description: "The history of a site, newest first, as far back as the plan keeps it.",
        query,
        body: None,
        success: Success::ok("A page of checks.", schemas.page::<CheckResource>()),
    }
}

fn create(schemas: &mut Schemas) -> Operation {
    let accepted = Success {
        status: StatusCode::ACCEPTED,
        ..Success::ok("The queued checks, in the requested order.", schemas.list::<CheckResource>())
    };
    Operation {
        route: "checks.create",
        summary: "Run checks on demand",
        description: "Queues all of the checks or none. Each tool must be enabled on the site \
                      and included in the plan, have no pending on-demand check, and have \
                      passed its on-demand cadence. Each check counts against the month's \
                      quota. Results do not open or resolve issues. Each user may send ten \
                      requests a minute, including refused ones.",
        query: Vec::new(),
        body: Some(request::check_run(schemas)),
        success: accepted.followed_by("/data/0/uuid", "check", &["checks.get", "checks.delete"]),
    }
}

fn get(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "checks.get",
        summary: "A check",
        description: "A check with its full result.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The check.", schemas.data::<CheckResource>()),
    }
}

fn delete() -> Operation {
    Operation {
        route: "checks.delete",
        summary: "Delete a check",
        description: "Only on-demand checks can be deleted; an automatic check gets a 403. \
                      Deleting a check changes neither the month's quota nor when the tool may \
                      run again.",
        query: Vec::new(),
        body: None,
        success: Success::no_content("The check was deleted."),
    }
}
