//! `/sites/{site}/expectations`.

use vedette_domain::expectations::ExpectationsInput;
use vedette_http::resource::ExpectationsResource;

use crate::operation::{Operation, Success};
use crate::request;
use crate::schemas::Schemas;

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![
        Operation {
            route: "expectations.get",
            summary: "What a site's status checks expect",
            description: "An addition to the specification: the conditions that the response to a \
                          status check must meet. By default, the list is empty. \
                          `ownership_record` is the DNS record that the owner of the host must \
                          publish before checks can send POST requests.",
            query: Vec::new(),
            body: None,
            success: Success::ok("The expectations.", schemas.data::<ExpectationsResource>()),
        },
        Operation {
            route: "expectations.update",
            summary: "Replace what a site's status checks expect",
            description: "An addition to the specification. Replaces all expectations; what is \
                          omitted gets its default. They apply to checks that begin afterwards. \
                          They do not affect `up` and the uptime report. An issue about something \
                          that is no longer expected resolves with the next check. The method POST \
                          is refused with 422 unless the host has the `ownership_record`; each \
                          check looks for it again.",
            query: Vec::new(),
            body: Some(request::body::<ExpectationsInput>("ExpectationsUpdate", schemas)),
            success: Success::ok("The expectations.", schemas.data::<ExpectationsResource>()),
        },
    ]
}
