//! `/issues`.

use serde_json::json;
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::input::{NewNote, Snooze};
use vedette_domain::issues::{IssueStatus, Severity};
use vedette_http::resource::{EvidenceResource, IssueResource};

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;
use crate::{parameters, request};

/// Open and acknowledged issues together; what is shown where the client does not say.
const ACTIVE: &str = "active";

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let mut operations = vec![list(schemas), get(schemas), evidence(schemas)];
    operations.extend(DECISIONS.map(|decision| decide(decision, schemas)));
    operations
}

/// Decisions about an issue: the route, a few words, and what is special about them.
const DECISIONS: [(&str, &str, &str); 5] = [
    (
        "issues.acknowledge",
        "Acknowledge an issue",
        "An addition to the specification: says that the caller takes care of an open issue. \
         Nobody is reminded of it any more. 422 if it is not open.",
    ),
    (
        "issues.unacknowledge",
        "Withdraw an acknowledgement",
        "An addition to the specification: opens an acknowledged issue again, so that reminders \
         are sent. 422 if it is not acknowledged.",
    ),
    (
        "issues.resolve",
        "Resolve an issue",
        "An addition to the specification: resolves an active issue. If checks still fail, it \
         opens again, because they count from zero. 422 if it is already resolved.",
    ),
    (
        "issues.snooze",
        "Snooze an issue",
        "An addition to the specification: nobody is reminded of an active issue until a time. \
         Its end is still announced. 422 if it is resolved.",
    ),
    (
        "issues.note",
        "Write a note about an issue",
        "An addition to the specification: adds a note, whatever the state of the issue.",
    ),
];

fn decide(
    (route, summary, description): (&'static str, &'static str, &'static str),
    schemas: &mut Schemas,
) -> Operation {
    let body = match route {
        "issues.snooze" => Some(request::body::<Snooze>("IssueSnooze", schemas)),
        "issues.note" => Some(request::body::<NewNote>("IssueNote", schemas)),
        _ => None,
    };
    let success = Success::ok("The issue.", schemas.data::<IssueResource>());
    Operation { route, summary, description, query: Vec::new(), body, success }
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
    query.push(parameters::query(
        "include",
        "An addition to the specification: `heartbeats` also lists the issues of heartbeats, which \
         are left out otherwise.",
        &json!({ "type": "string", "enum": ["heartbeats"] }),
    ));
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
