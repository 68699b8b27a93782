//! `/issues`.

use serde_json::json;
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::{IssueStatus, Severity};
use vedette_http::resource::{EvidenceResource, IssueResource};

use crate::operation::{Operation, Success};
use crate::parameters;
use crate::schemas::Schemas;

/// Open and acknowledged issues together; what is shown where the client does not say.
const ACTIVE: &str = "active";

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![list(schemas), get(schemas), evidence(schemas)]
}

fn list(schemas: &mut Schemas) -> Operation {
    let statuses: Vec<_> =
        [ACTIVE].into_iter().chain(IssueStatus::ALL.map(IssueStatus::as_str)).collect();
    let mut query = vec![
        parameters::uuid(
            "team",
            "Only issues of this team. Without it, issues of all teams \
             that the token can read.",
        ),
        parameters::query(
            "status",
            "Only this state; `active` means open or acknowledged.",
            &json!({ "type": "string", "enum": statuses, "default": ACTIVE }),
        ),
        parameters::uuid("site", "Only issues of this site."),
        parameters::query("tool", "Only this tool.", &schemas.of::<Tool>()),
        parameters::query("severity", "Only this severity.", &schemas.of::<Severity>()),
    ];
    query.extend(parameters::of_pages());
    Operation {
        route: "issues.list",
        summary: "Issues",
        description: "Issues of the caller's teams, the last opened first. A team or a site \
                      that is not the caller's gets a 404.",
        query,
        body: None,
        success: Success::ok("A page of issues.", schemas.page::<IssueResource>()),
    }
}

fn get(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "issues.get",
        summary: "An issue",
        description: "An issue with its timeline.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The issue.", schemas.data::<IssueResource>()).followed_by(
            "/data/site/uuid",
            "site",
            &["sites.get", "checks.list"],
        ),
    }
}

fn evidence(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "issues.evidence",
        summary: "The evidence of an issue",
        description: "An addition to the specification: requests and responses of the status \
                      checks of an issue. At most 4 KB of each check are kept, compressed, and \
                      deleted with the site. Costs at most 3 read units more than `GET /issues/{issue}`.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The evidence.", schemas.data::<EvidenceResource>()),
    }
}
