//! `/teams/{team}/outages`.

use serde_json::json;
use vedette_domain::issues::outage::Cause;
use vedette_http::outages::{DAYS_DEFAULT, DAYS_MAX};
use vedette_http::resource::OutageResource;

use crate::operation::{Operation, Success};
use crate::parameters;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let from = format!(
        "The first UTC day. The default is {DAYS_DEFAULT} days before the last one. At most \
         {DAYS_MAX} days can be read at a time."
    );
    let mut query = vec![
        parameters::date("from", &from),
        parameters::date("to", "The last UTC day. The default is today."),
        parameters::query("cause", "Only this kind of failure.", &schemas.of::<Cause>()),
        parameters::query(
            "site",
            "Only sites whose name or URL contains this text, or the site with this id.",
            &json!({ "type": "string" }),
        ),
    ];
    query.push(parameters::selector());
    query.extend(parameters::of_pages());
    let success = Success::ok("A page of outages.", schemas.page::<OutageResource<'static>>())
        .followed_by("/data/0/issue_uuid", "issue", &["issues.get", "issues.evidence"]);
    vec![Operation {
        route: "outages.list",
        summary: "A team's outages",
        description: "An addition to the specification: the outages that overlap some days, the \
                      newest first. An outage is one opening of `status:down`. Only the newest \
                      1,000 outages of the days are counted and listed.",
        query,
        body: None,
        success,
    }]
}
