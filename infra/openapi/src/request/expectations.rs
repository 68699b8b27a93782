//! The expectations of a site, as a request sends them.

use serde_json::{Value, json};
use vedette_domain::expectations::{
    CONTENT_TYPE_DEFAULT, CONTENT_TYPE_MAX, EXPECTATIONS_MAX, EXPECTED_TEXT_MAX, IssuePolicies,
    IssuePolicy, POST_BODY_MAX, RESPONSE_TIME_MAX, RequestMethod, SEVERITIES, STREAK_MAX,
};
use vedette_domain::sites::settings::HEADER_NAME_MAX;

use super::NOT_BLANK;
use crate::operation::Body;
use crate::schemas::Schemas;

/// The name of a header.
const HEADER_NAME: &str = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
/// A type and a subtype, and perhaps parameters.
const CONTENT_TYPE: &str = r"^[!#$&^_.+0-9A-Za-z-]+/[!#$&^_.+0-9A-Za-z-]+ *(;[ -~]*)?$";
/// A JSON pointer, RFC 6901.
const POINTER: &str = "^(/([^~]|~[01])*)?$";

/// What a site's status checks expect.
pub(crate) fn expectations(schemas: &mut Schemas) -> Body {
    let schema = json!({
        "type": "object",
        "properties": {
            "method": {
                "description": "The method of the request. Expectations about the body need `GET` or `POST`.",
                "type": "string",
                "enum": RequestMethod::ALL,
                "default": RequestMethod::default(),
            },
            "post": post(),
            "expectations": {
                "description": "What is expected. An empty list expects nothing.",
                "type": "array",
                "maxItems": EXPECTATIONS_MAX,
                "items": { "oneOf": one_of_each() },
            },
            "issues": policies(),
        },
        "required": ["expectations"],
        "additionalProperties": false,
    });
    Body { is_required: true, schema: schemas.named("ExpectationsUpdate", schema) }
}

fn post() -> Value {
    json!({
        "description": "What to post, for the method `POST` only. Omitted fields stay as they are.",
        "type": "object",
        "properties": {
            "content_type": {
                "description": "The value of `Content-Type`.",
                "type": "string",
                "pattern": CONTENT_TYPE,
                "maxLength": CONTENT_TYPE_MAX,
                "default": CONTENT_TYPE_DEFAULT,
            },
            "body": {
                "description": "The body, at most 4 KB in UTF-8. It may contain secrets, so no \
                                response contains it.",
                "type": "string",
                "minLength": 1,
                "maxLength": POST_BODY_MAX,
                "writeOnly": true,
            },
        },
        "additionalProperties": false,
    })
}

fn one_of_each() -> Vec<Value> {
    let text = |description: &str| {
        json!({
            "description": description,
            "type": "string",
            "pattern": NOT_BLANK,
            "maxLength": EXPECTED_TEXT_MAX,
        })
    };
    let name = json!({
        "description": "The name of the header, in any case.",
        "type": "string",
        "pattern": HEADER_NAME,
        "maxLength": HEADER_NAME_MAX,
    });
    let pointer = json!({
        "description": "A JSON pointer (RFC 6901). The empty one is the whole body.",
        "type": "string",
        "pattern": POINTER,
        "maxLength": EXPECTED_TEXT_MAX,
    });
    let value = json!({
        "description": "The value. Numbers are compared by value: `1` equals `1.0`.",
        "type": ["string", "number", "boolean", "null"],
        "maxLength": EXPECTED_TEXT_MAX,
    });
    let max_ms = json!({
        "description": "The time from the start of the first request to the head of the \
                        response, in milliseconds.",
        "type": "integer",
        "minimum": 1,
        "maximum": RESPONSE_TIME_MAX,
    });
    let kind = |kind: &str, description: &str, fields: Value| {
        let mut schema = json!({
            "description": description,
            "type": "object",
            "properties": fields,
            "additionalProperties": false,
        });
        schema["properties"]["kind"] = json!({ "type": "string", "const": kind });
        let names = schema["properties"].as_object().into_iter().flatten();
        schema["required"] = names.map(|(name, _)| name.clone()).collect();
        schema
    };
    vec![
        kind(
            "body_contains",
            "The first 512 KB of the body contain a text.",
            json!({ "text": text("The text, which is case-sensitive.") }),
        ),
        kind(
            "body_lacks",
            "The first 512 KB of the body do not contain a text.",
            json!({ "text": text("The text, which is case-sensitive.") }),
        ),
        kind(
            "header_equals",
            "A header has a value.",
            json!({ "name": name, "value": text("The whole value.") }),
        ),
        kind(
            "header_contains",
            "A header contains a text.",
            json!({ "name": name, "value": text("The text.") }),
        ),
        kind(
            "json_equals",
            "The body is JSON of at most 64 KB and 32 levels, and has a value at a pointer.",
            json!({ "pointer": pointer, "value": value }),
        ),
        kind(
            "response_time",
            "The response takes no longer than this; otherwise the site is slow.",
            json!({ "max_ms": max_ms }),
        ),
    ]
}

fn policies() -> Value {
    let IssuePolicies { expectation, slow } = IssuePolicies::default();
    json!({
        "description": "When issues open and resolve, and how severe they are.",
        "type": "object",
        "properties": {
            "expectation": policy("The issue `status:expectation`.", expectation),
            "slow": policy("The issue `status:slow`.", slow),
        },
        "additionalProperties": false,
    })
}

fn policy(description: &str, default: IssuePolicy) -> Value {
    json!({
        "description": description,
        "type": "object",
        "properties": {
            "severity": { "type": "string", "enum": SEVERITIES, "default": default.severity },
            "failures_to_open": {
                "description": "How many checks in a row must fail before it opens.",
                "type": "integer",
                "minimum": 1,
                "maximum": STREAK_MAX,
                "default": default.failures_to_open,
            },
            "successes_to_resolve": {
                "description": "How many checks in a row must succeed before it resolves.",
                "type": "integer",
                "minimum": 1,
                "maximum": STREAK_MAX,
                "default": default.successes_to_resolve,
            },
        },
        "additionalProperties": false,
    })
}
