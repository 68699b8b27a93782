//! `/sites/{site}/reports`.

use serde_json::Value;
use vedette_api::{PERFORMANCE_DAYS, UPTIME_DAYS};
use vedette_domain::checks::report::DAYS_MAX;
use vedette_http::resource::{PerformanceResource, UptimeResource};

use crate::operation::{Operation, Success};
use crate::parameters;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "reports.uptime",
            summary: "An uptime report",
            description: "An entry for each UTC day, oldest first and today last, from \
                          automatic, completed status checks.",
            query: vec![days(UPTIME_DAYS)],
            body: None,
            success: Success::ok("The report.", schemas.data::<UptimeResource>()),
        },
        Operation {
            route: "reports.performance",
            summary: "A performance report",
            description: "An entry for each UTC day, oldest first and today last, from \
                          automatic, completed performance checks.",
            query: vec![days(PERFORMANCE_DAYS)],
            body: None,
            success: Success::ok("The report.", schemas.data::<PerformanceResource>()),
        },
    ]
}

fn days(default: u16) -> Value {
    parameters::integer(
        "days",
        1..=u64::from(DAYS_MAX),
        default.into(),
        "The number of days, including today.",
    )
}
