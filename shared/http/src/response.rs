//! Answers: JSON bodies under the API's envelope.

use lambda_http::Body;
use lambda_http::http::header::{CONTENT_TYPE, LOCATION};
use lambda_http::http::{HeaderValue, StatusCode};
use serde::Serialize;

/// An answer to a client.
pub type Response = lambda_http::http::Response<Body>;

/// A single resource or a plain list: `{ "data": … }`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Data<T> {
    /// What was asked for.
    data: T,
}

/// An answer with a JSON body.
pub fn json<T: Serialize>(status: StatusCode, body: &T) -> Response {
    // Our bodies are made of strings, numbers and maps with string keys: they have a JSON form.
    let text = serde_json::to_string(body).unwrap_or_default();
    let mut response = Response::new(Body::Text(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// 200 with `{ "data": … }`.
pub fn ok<T: Serialize>(data: &T) -> Response {
    json(StatusCode::OK, &Data { data })
}

/// 201 with `{ "data": … }` of what is at `location` from now on.
pub fn created<T: Serialize>(data: &T, location: &str) -> Response {
    let mut response = json(StatusCode::CREATED, &Data { data });
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// 202 with `{ "data": … }`.
pub fn accepted<T: Serialize>(data: &T) -> Response {
    json(StatusCode::ACCEPTED, &Data { data })
}

/// 204 without a body.
pub fn no_content() -> Response {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
