//! `/teams/{team}/metrics`.

use vedette_ops::exposition::CONTENT_TYPE;

use crate::operation::{Operation, Success};
use crate::parameters;
use crate::schemas::Schemas;

pub(super) fn operations(_: &mut Schemas) -> Vec<Operation> {
    vec![Operation {
        route: "metrics.get",
        summary: "Metrics of a team",
        description: "An addition to the specification: the state of each site in Prometheus's \
                      text format. Series are labeled with the site's uuid, which \
                      `vedette_site_info` maps to its name and URL. The metrics of a team can be \
                      read once a minute; other requests get a 429. A response has at most 15,000 \
                      series, 13 for each site; the metrics of a larger team get a 413.",
        query: vec![
            parameters::selector(),
            parameters::boolean(
                "tags",
                "An addition to the specification: whether to add `vedette_site_tag` with each \
                 tag of each site.",
            ),
        ],
        body: None,
        success: Success::text("The metrics.", CONTENT_TYPE).limited(),
    }]
}
