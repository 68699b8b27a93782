//! Parameters of paths and queries.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};
use vedette_domain::reports::PERIOD_PATTERN;
use vedette_domain::sites::selector::{SELECTOR_MAX, SELECTOR_PATTERN};
use vedette_http::paging::{CURSOR_MAX, PAGE_MAX, PER_PAGE_DEFAULT, PER_PAGE_MAX};

/// The path parameters, and what they name.
const IN_PATHS: [(&str, &str); 10] = [
    ("team", "One of the caller's teams."),
    ("site", "A site of one of the caller's teams."),
    ("check", "A check of a site of one of the caller's teams."),
    ("issue", "An issue of a site of one of the caller's teams."),
    ("channel", "A channel of the team."),
    ("window", "A maintenance window of the team."),
    ("heartbeat", "A heartbeat of the team."),
    ("status_page", "A status page of the team."),
    ("incident", "An incident of the status page."),
    ("user", "A member of the team."),
];

fn in_path(name: &str, description: &str, schema: &Value) -> Value {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": description,
        "schema": schema,
    })
}

/// A reference to a path parameter, by its name in the path.
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

/// The parameters that are shared by paths and pages.
pub(crate) fn components() -> Map<String, Value> {
    let in_paths = IN_PATHS.map(|(name, description)| {
        let schema = json!({ "type": "string", "format": "uuid" });
        let description = format!("{description} Anything other than its UUID gets a 404.");
        (name.to_owned(), in_path(name, &description, &schema))
    });
    let hash = json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" });
    let token = in_path("token", "The hash of one of the caller's tokens.", &hash);
    let invitation = in_path("invitation", "The hash of an invitation to the team.", &hash);
    let period = json!({ "type": "string", "pattern": PERIOD_PATTERN });
    let period = in_path(
        "period",
        "A month, such as `2026-11`, or a week of ISO 8601, such as `2026-W48`. Anything else gets a 404.",
        &period,
    );
    let page = integer("page", 1..=PAGE_MAX, 1, "The page of the collection.");
    let per_page = integer(
        "per_page",
        1..=PER_PAGE_MAX,
        PER_PAGE_DEFAULT,
        "The maximum number of entries \
         on the page.",
    );
    let others = [
        ("token", token),
        ("invitation", invitation),
        ("period", period),
        ("page", page),
        ("per_page", per_page),
    ];
    let others = others.map(|(name, parameter)| (name.to_owned(), parameter));
    in_paths.into_iter().chain(others).collect()
}

/// The parameters of every paginated collection.
pub(crate) fn of_pages() -> [Value; 2] {
    ["page", "per_page"].map(reference)
}

/// The parameters of every collection that is read from its newest entry on.
pub(crate) fn of_cursor_pages() -> [Value; 2] {
    let before = "Where the page before this one ended, from its link to the next page.";
    let schema = json!({ "type": "string", "maxLength": CURSOR_MAX });
    [query("before", before, &schema), reference("per_page")]
}

/// An integer with its default.
pub(crate) fn integer(
    name: &str,
    bounds: RangeInclusive<u64>,
    default: u64,
    description: &str,
) -> Value {
    let (min, max) = bounds.into_inner();
    let schema = json!({ "type": "integer", "minimum": min, "maximum": max, "default": default });
    query(name, description, &schema)
}

/// A filter by the tags of sites.
pub(crate) fn selector() -> Value {
    let description = "An addition to the specification: only sites whose tags match, as in \
                       `env:prod, team in (shop,web), !legacy`. Commas mean *and*, a key alone \
                       matches each of its values, and `!` excludes.";
    query(
        "selector",
        description,
        &json!({ "type": "string", "maxLength": SELECTOR_MAX, "pattern": SELECTOR_PATTERN }),
    )
}

/// A boolean, also written as 1 or 0.
pub(crate) fn boolean(name: &str, description: &str) -> Value {
    query(name, description, &json!({ "type": "boolean" }))
}

/// A day.
pub(crate) fn date(name: &str, description: &str) -> Value {
    query(name, description, &json!({ "type": "string", "format": "date" }))
}

/// A UUID.
pub(crate) fn uuid(name: &str, description: &str) -> Value {
    query(name, description, &json!({ "type": "string", "format": "uuid" }))
}

/// A query parameter with any value that a schema allows.
pub(crate) fn query(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}
