//! Errors, described by the responses that they result in.

use lambda_http::Body;
use lambda_http::http::StatusCode;
use lambda_http::http::header::{ACCEPT_ENCODING, ETAG, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::{Map, Value, json};
use vedette_http::access::{LIMIT_HEADER, REMAINING_HEADER};
use vedette_http::error::ApiError;
use vedette_http::response::REQUEST_ID_HEADER;

/// An error that any request may get.
pub(crate) struct Refusal {
    name: &'static str,
    description: &'static str,
    /// An example of the error.
    sample: fn() -> ApiError,
    headers: Headers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Headers {
    /// The token was not checked.
    None,
    /// Includes the rate limit of this minute.
    Rate,
    Challenge,
    /// Also includes the accepted encodings.
    Encodings,
    /// Responses of the gateway itself have none of these.
    RetryAfter,
    Unavailable,
    /// The same.
    RequestId,
}

/// All errors, by status.
pub(crate) const REFUSALS: &[Refusal] = &[
    Refusal {
        name: "BadRequest",
        description: "The request cannot be read: it does not have exactly one `Host` header, \
                      or its body is broken.",
        sample: || ApiError::BadRequest("The request body could not be read."),
        headers: Headers::None,
    },
    Refusal {
        name: "RequestTimeout",
        description: "The request body did not arrive in time.",
        sample: || ApiError::RequestTimeout,
        headers: Headers::Rate,
    },
    Refusal {
        name: "Unauthenticated",
        description: "The token is missing, invalid or expired, or its owner's email address \
                      is not verified.",
        sample: || ApiError::Unauthenticated("The access token is missing or invalid."),
        headers: Headers::Challenge,
    },
    Refusal {
        name: "PlanRequired",
        description: "The team has no active plan.",
        sample: || ApiError::PlanRequired,
        headers: Headers::Rate,
    },
    Refusal {
        name: "Forbidden",
        description: "The token lacks the scope, the caller's role in the team does not permit \
                      this, or the resource does not allow it.",
        sample: || ApiError::Forbidden("Your role in this team does not permit this.".to_owned()),
        headers: Headers::Rate,
    },
    Refusal {
        name: "NotFound",
        description: "There is no such resource, or it belongs to a team that the caller is \
                      not a member of.",
        sample: || ApiError::NotFound,
        headers: Headers::Rate,
    },
    Refusal {
        name: "Conflict",
        description: "Something else is being done that excludes this.",
        sample: || {
            ApiError::Conflict("A document is being applied to this team. Try again in a minute.")
        },
        headers: Headers::Rate,
    },
    Refusal {
        name: "PayloadTooLarge",
        description: "The request body is larger than 1 MB, before or after decoding, or the response \
                      would be too large.",
        sample: || ApiError::PayloadTooLarge,
        headers: Headers::Rate,
    },
    Refusal {
        name: "UnsupportedEncoding",
        description: "The request body has an encoding other than gzip.",
        sample: || ApiError::UnsupportedEncoding,
        headers: Headers::Encodings,
    },
    Refusal {
        name: "Invalid",
        description: "The request is well-formed but invalid. `errors` has the messages of \
                      each field; `message` is the first of them, with the number of the \
                      others.",
        sample: || ApiError::invalid("page", "The page field must be an integer."),
        headers: Headers::Rate,
    },
    Refusal {
        name: "TooManyRequests",
        description: "Too many requests in this minute. The gateway's own answer has no \
                      `Retry-After`.",
        sample: || ApiError::TooManyRequests { retry_after: 12 },
        headers: Headers::RetryAfter,
    },
    Refusal {
        name: "InternalError",
        description: "Something is wrong with the service. If the gateway answers, a function \
                      failed.",
        sample: || ApiError::internal(""),
        headers: Headers::RequestId,
    },
    Refusal {
        name: "Unavailable",
        description: "Something that the service needs did not answer, or took too long. Try \
                      again.",
        sample: || ApiError::Unavailable(""),
        headers: Headers::Unavailable,
    },
];

impl Refusal {
    pub(crate) fn status(&self) -> StatusCode {
        (self.sample)().status()
    }

    /// The response of an operation: the shared one, or one with the operation's own examples.
    pub(crate) fn response(&self, examples: &Map<String, Value>) -> Value {
        if examples.is_empty() {
            json!({ "$ref": format!("#/components/responses/{}", self.name) })
        } else {
            self.describe(examples)
        }
    }

    fn describe(&self, examples: &Map<String, Value>) -> Value {
        let schema = match self.status() {
            StatusCode::UNPROCESSABLE_ENTITY => "ValidationError",
            _ => "Error",
        };
        json!({
            "description": self.description,
            "headers": self.headers.describe(),
            "content": { "application/json": {
                "schema": { "$ref": format!("#/components/schemas/{schema}") },
                "examples": examples,
            } },
        })
    }

    fn sample_body(&self) -> Value {
        match (self.sample)().into_response().into_body() {
            Body::Text(text) => serde_json::from_str(&text).unwrap_or_default(),
            _ => Value::Null,
        }
    }
}

impl Headers {
    fn describe(self) -> Value {
        match self {
            Self::None => json!({}),
            Self::Rate => rate_headers(),
            Self::Encodings => {
                let mut headers = rate_headers();
                headers[ACCEPT_ENCODING.as_str()] = header("Encodings");
                headers
            }
            Self::Challenge => json!({ (WWW_AUTHENTICATE.as_str()): header("Challenge") }),
            Self::RetryAfter => json!({ (RETRY_AFTER.as_str()): header("RetryAfter") }),
            Self::Unavailable => json!({
                (RETRY_AFTER.as_str()): header("RetryAfter"),
                (REQUEST_ID_HEADER): header("RequestId"),
            }),
            Self::RequestId => json!({ (REQUEST_ID_HEADER): header("RequestId") }),
        }
    }
}

/// A reference to a header in the components.
pub(crate) fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

/// The headers of every response to a known token.
pub(crate) fn rate_headers() -> Value {
    json!({ (LIMIT_HEADER): header("RateLimit"), (REMAINING_HEADER): header("RateRemaining") })
}

/// These headers, and those of a response that may be cached.
pub(crate) fn kept_headers() -> Value {
    let mut headers = rate_headers();
    headers[ETAG.as_str()] = header("Tag");
    headers
}

/// Not modified: the response for any cached resource that has not changed.
pub(crate) fn not_modified() -> Value {
    json!({ "$ref": "#/components/responses/NotModified" })
}

/// The errors as components, and the responses that are not errors.
pub(crate) fn components() -> Map<String, Value> {
    let not_modified = json!({
        "description": "The response that the client has, as named in `If-None-Match`, is \
                        still current.",
        "headers": kept_headers(),
    });
    let describe = |refusal: &Refusal| {
        let example = json!({ "value": refusal.sample_body() });
        let examples = Map::from_iter([("message".to_owned(), example)]);
        (refusal.name.to_owned(), refusal.describe(&examples))
    };
    let refusals = REFUSALS.iter().map(describe);
    refusals.chain([("NotModified".to_owned(), not_modified)]).collect()
}

/// The headers as components.
pub(crate) fn headers() -> Value {
    json!({
        "RateLimit": {
            "description": "How many requests a minute are allowed: for the token or, when \
                            checks are run, for the user.",
            "required": true,
            "schema": { "type": "integer", "minimum": 1 },
        },
        "RateRemaining": {
            "description": "How many requests are left in this minute.",
            "required": true,
            "schema": { "type": "integer", "minimum": 0 },
        },
        "RetryAfter": {
            "description": "Seconds until another attempt may succeed.",
            "schema": { "type": "integer", "minimum": 1, "maximum": 60 },
        },
        "RequestId": {
            "description": "The request's id in the service's log.",
            "schema": { "type": "string" },
        },
        "Tag": {
            "description": "The tag of the response, for `If-None-Match`.",
            "required": true,
            "schema": { "type": "string" },
        },
        "Encodings": {
            "description": "The supported encoding of request bodies.",
            "required": true,
            "schema": { "type": "string", "const": "gzip" },
        },
        "Location": {
            "description": "The URL of the new resource.",
            "required": true,
            "schema": { "type": "string", "format": "uri" },
        },
        "Challenge": {
            "description": "How to authenticate.",
            "required": true,
            "schema": { "type": "string", "const": "Bearer" },
        },
    })
}

/// The bodies of errors, written by hand because the code that creates them has no types.
pub(crate) fn schemas() -> Map<String, Value> {
    let error = json!({
        "description": "A refusal.",
        "type": "object",
        "properties": { "message": { "description": "For people.", "type": "string" } },
        "required": ["message"],
    });
    let invalid = json!({
        "description": "What is wrong with a request.",
        "type": "object",
        "properties": {
            "message": {
                "description": "The first message, and how many more there are.",
                "type": "string",
            },
            "errors": {
                "description": "The messages of each field, by its dotted path; `body` stands \
                                for the body itself.",
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {
                    "type": "array",
                    "minItems": 1,
                    "items": { "type": "string" },
                },
            },
        },
        "required": ["message", "errors"],
        "additionalProperties": false,
    });
    Map::from_iter([("Error".to_owned(), error), ("ValidationError".to_owned(), invalid)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_send_the_documented_headers() {
        for refusal in REFUSALS {
            let response = (refusal.sample)().into_response();
            let has = |name: &str| response.headers().contains_key(name);
            assert_eq!(has(WWW_AUTHENTICATE.as_str()), refusal.headers == Headers::Challenge);
            let retries = [Headers::RetryAfter, Headers::Unavailable].contains(&refusal.headers);
            assert_eq!(has(RETRY_AFTER.as_str()), retries);
            assert_eq!(has(ACCEPT_ENCODING.as_str()), refusal.headers == Headers::Encodings);
            assert!(refusal.sample_body()["message"].is_string(), "{}", refusal.name);
        }
    }

    #[test]
    fn a_refusal_of_validation_names_its_fields() {
        let schemas = schemas();
        let invalid = REFUSALS.iter().find(|refusal| refusal.name == "Invalid").expect("one");
        let body = invalid.sample_body();
        let keys = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect());
        let known: Option<Vec<String>> = keys(&schemas["ValidationError"]["properties"]);
        assert_eq!(keys(&body), known);
    }
}
