//! A client of the API. Its requests go to the real handlers, with the routing of the gateway.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use lambda_http::http::header::CONTENT_TYPE;
use lambda_http::http::{HeaderMap, Request};
use lambda_http::{Body, RequestExt as _};
use serde_json::Value;
use vedette_api::{answer_within, dispatch, grants_of, named};
use vedette_runtime::App;

use crate::{Member, granted};

/// A client with a token, or without one. Each route has only its AWS grants.
#[derive(Debug)]
pub struct Client<'a> {
    app: &'a App,
    authorization: Option<String>,
    headers: Vec<(&'static str, String)>,
    holds_to_grants: bool,
    left: Duration,
}

/// What a client received.
#[derive(Debug, Clone)]
pub struct ApiResponse {
    /// Status code.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The body; null if there is none, and a string if it is not JSON.
    pub body: Value,
    /// How long the handler took.
    pub took: Duration,
}

impl<'a> Client<'a> {
    /// A client with a member's token.
    pub fn new(app: &'a App, member: &Member) -> Self {
        Self::with_authorization(app, Some(&format!("Bearer {}", member.secret)))
    }

    /// A client with this `Authorization` header, or without one.
    pub fn with_authorization(app: &'a App, authorization: Option<&str>) -> Self {
        let authorization = authorization.map(str::to_owned);
        let left = Duration::MAX;
        Self { app, authorization, headers: Vec::new(), holds_to_grants: true, left }
    }

    /// The same client, with an additional header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The same client, whose routes may do everything: checking grants takes time that a measurement must not include.
    #[must_use]
    pub fn without_grants(mut self) -> Self {
        self.holds_to_grants = false;
        self
    }

    /// The same client, for requests whose invocation has only this much time left.
    #[must_use]
    pub const fn with_time(mut self, left: Duration) -> Self {
        self.left = left;
        self
    }

    /// GETs a path below `/api/v1`, query included.
    pub async fn get(&self, path: &str) -> ApiResponse {
        self.send("GET", path, Body::Empty).await
    }

    /// POSTs a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> ApiResponse {
        self.send("POST", path, Body::Text(body.to_string())).await
    }

    /// PATCHes with a JSON body.
    pub async fn patch(&self, path: &str, body: &Value) -> ApiResponse {
        self.send("PATCH", path, Body::Text(body.to_string())).await
    }

    /// PUTs a JSON body.
    pub async fn put(&self, path: &str, body: &Value) -> ApiResponse {
        self.send("PUT", path, Body::Text(body.to_string())).await
    }

    /// DELETEs a path.
    pub async fn delete(&self, path: &str) -> ApiResponse {
        self.send("DELETE", path, Body::Empty).await
    }

    /// Calls a route by its name, with path parameters, query and JSON body.
    pub async fn call(
        &self,
        route: &str,
        parameters: &[(&str, impl AsRef<str>)],
        query: &str,
        body: Option<&Value>,
    ) -> ApiResponse {
        let route = named(route).expect("a route");
        let mut path = route.path.to_owned();
        for (name, value) in parameters {
            path = path.replace(&format!("{{{name}}}"), value.as_ref());
        }
        let body = body.map_or(Body::Empty, |body| Body::Text(body.to_string()));
        self.request(route.method, &format!("{path}?{query}"), body).await
    }

    /// Sends any request to a path below `/api/v1`.
    pub async fn send(&self, method: &str, path: &str, body: Body) -> ApiResponse {
        self.request(method, &format!("/api/v1{path}"), body).await
    }

    async fn request(&self, method: &str, path: &str, body: Body) -> ApiResponse {
        let mut request =
            Request::builder().method(method).uri(format!("https://monitor.test{path}"));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let (head, body) = request.body(body).expect("a request").into_parts();
        let (found, head) = dispatch(head);
        let (route, head) =
            (found.route, head.with_path_parameters(HashMap::from(found.parameters)));
        let request = Request::from_parts(head, body);
        let began = Instant::now();
        // Boxed: without optimization, a test that awaits many of these futures would be too large
        // for its stack.
        let answered = Box::pin(answer_within(self.app, route, request, self.left));
        let response = if self.holds_to_grants {
            granted(grants_of(route), answered).await
        } else {
            answered.await
        };
        let took = began.elapsed();
        let (parts, body) = response.into_parts();
        let is_json =
            parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
        let body = match body {
            Body::Text(text) if !is_json => Value::String(text),
            Body::Text(text) => serde_json::from_str(&text).expect("json"),
            Body::Binary(packed) => {
                serde_json::from_reader(GzDecoder::new(&*packed)).expect("json, with gzip")
            }
            _ => Value::Null,
        };
        ApiResponse { status: parts.status.as_u16(), headers: parts.headers, body, took }
    }
}

impl ApiResponse {
    /// A header's text; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The text of a field of `data`.
    pub fn data(&self, field: &str) -> String {
        self.body["data"][field].as_str().unwrap_or_default().to_owned()
    }
}
