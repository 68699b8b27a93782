//! The document as a whole.

use serde_json::{Map, Value, json};
use vedette_api::ROUTES;

use crate::schemas::Schemas;
use crate::story::Story;
use crate::{addition, parameters, responses, routes, webhooks};

/// The version of the API; its path begins with it.
const VERSION: &str = "1.0.0";
/// The prefix of all routes; the server's URL contains it.
const BASE_PATH: &str = "/api/v1";

const DESCRIPTION: &str = "\
Website monitoring for teams. A team owns sites; a site is a URL that tools check. Checks run on their \
cadence or on demand; automatic checks open and resolve issues. Bodies are JSON. A resource is in \
`data`; a page of a collection also has `links` and `meta`. Times are ISO 8601 in UTC with whole \
seconds: `2026-11-20T09:54:00+00:00`.

Errors are checked in this order: 401, 429 for the token, 403 for a scope, 429 for the user's check \
runs, 413, 404, 402, 403 for a role, 422. A resource of a team that is not the caller's gets a 404. \
Every response to a known token has `X-RateLimit-Limit` and `X-RateLimit-Remaining`, which say how \
many requests are allowed and left in this minute.

Request bodies may have `Content-Encoding: gzip`. Long responses are compressed if `Accept-Encoding` \
allows it. Responses to reads have an `ETag`; if you send it in `If-None-Match` and nothing has \
changed, you get a 304. All other responses are `no-store`.

A known path with another method gets a 405 with `Allow`; an unknown path gets a 404. On AWS, the \
gateway may answer before the service, always with `{\"message\": \"…\"}` and without the service's \
headers: 400 for a request that it cannot read, 413 for a body over 10 MB, 429 without `Retry-After` \
when the stage is throttled, 500 or 503 when a function fails or takes longer than 30 seconds. A \
request line and headers of more than 10,240 bytes get a 431.

Unknown query parameters and unknown fields of a body are ignored, except within \
`monitoring_settings`, where they get a 422. Whitespace around strings is removed.";

/// Builds the document, including examples.
pub async fn document() -> Value {
    let story = Story::play().await;
    let mut schemas = Schemas::new();
    let operations = routes::operations(&mut schemas);
    let webhooks = webhooks::webhooks(&mut schemas, &story);
    let mut named = schemas.into_components();
    named.extend(responses::schemas());

    let mut paths = Map::new();
    for route in ROUTES {
        let Some(operation) = operations.iter().find(|known| known.route == route.name) else {
            continue;
        };
        let path = route.path.strip_prefix(BASE_PATH).unwrap_or(route.path);
        let item = paths.entry(path).or_insert_with(|| path_item(path));
        item[route.method.to_ascii_lowercase()] = operation.describe(route, &story);
    }
    let mut document = json!({
        "openapi": "3.1.1",
        "info": info(),
        "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
        "servers": [server()],
        "security": [{ "token": [] }],
        "tags": routes::tags(),
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": named,
            "parameters": parameters::components(),
            "responses": responses::components(),
            "headers": responses::headers(),
            "securitySchemes": { "token": token() },
        },
    });
    addition::mark(&mut document);
    document
}

fn path_item(path: &str) -> Value {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<_> = names.map(parameters::reference).collect();
    if parameters.is_empty() { json!({}) } else { json!({ "parameters": parameters }) }
}

fn info() -> Value {
    json!({
        "title": "Vedette",
        "version": VERSION,
        "description": DESCRIPTION,
        "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
    })
}

fn server() -> Value {
    json!({
        "url": format!("{{origin}}{BASE_PATH}"),
        "variables": {
            "origin": {
                "default": "http://127.0.0.1:8787",
                "description": "Scheme, host and port of the service.",
            },
        },
    })
}

fn token() -> Value {
    json!({
        "type": "http",
        "scheme": "bearer",
        "description": "A personal access token of a verified user. Each operation names the scope \
                        that the token must have.",
    })
}

/// The text of a document. Equal documents have equal texts.
///
/// # Errors
///
/// Never: every JSON value can be serialized.
pub fn render(mut document: Value) -> serde_json::Result<String> {
    // Whether a map keeps its order depends on the features of other crates in the build.
    document.sort_all_objects();
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::operation::Operation;

    #[test]
    fn every_route_has_one_operation_and_every_operation_a_route() {
        let operations = routes::operations(&mut Schemas::new());
        let described: Vec<_> = operations.iter().map(|operation| operation.route).collect();
        let unique: BTreeSet<_> = described.iter().copied().collect();
        assert_eq!(unique.len(), described.len(), "an operation is described twice");
        assert_eq!(unique, ROUTES.iter().map(|route| route.name).collect());
        let used: BTreeSet<_> = operations.iter().map(Operation::tag).collect();
        let told = routes::tags();
        let told: BTreeSet<_> = told.iter().filter_map(|tag| tag["name"].as_str()).collect();
        assert_eq!(told, used);
    }

    #[tokio::test]
    async fn the_document_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi.json");
        let kept = fs::read_to_string(path).unwrap_or_default();
        let made = render(document().await).expect("text");
        let lines = || kept.lines().zip(made.lines()).enumerate();
        let difference = lines().find(|(_, (kept, made))| kept != made);
        assert!(
            kept == made,
            "openapi.json is stale, run `make openapi`; it first differs at {difference:?}"
        );
    }

    #[tokio::test]
    async fn every_reference_resolves_and_every_component_is_used() {
        let document = document().await;
        let text = document.to_string();
        for part in text.split("\"$ref\":\"#").skip(1) {
            let pointer = part.split('"').next().expect("a pointer");
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        for kind in ["schemas", "parameters", "responses", "headers"] {
            let components = document["components"][kind].as_object().expect("components");
            for name in components.keys() {
                let reference = format!("\"#/components/{kind}/{name}\"");
                assert!(text.contains(&reference), "nobody refers to {kind}/{name}");
            }
        }
    }

    #[tokio::test]
    async fn descriptions_contain_no_rust_syntax() {
        fn descriptions<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(map) => {
                    found.extend(map.get("description").and_then(Value::as_str));
                    map.values().for_each(|value| descriptions(value, found));
                }
                Value::Array(items) => items.iter().for_each(|item| descriptions(item, found)),
                _ => {}
            }
        }
        let document = document().await;
        let mut found = Vec::new();
        descriptions(&document, &mut found);
        for description in found {
            assert!(!description.contains("specification"), "{description:?}");
            for word in ["[`", "](", "::", "`None`", "`Some"] {
                assert!(!description.contains(word), "{description:?} speaks of Rust");
            }
        }
    }
}
