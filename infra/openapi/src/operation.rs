//! One operation: a route from the client's point of view.

use lambda_http::http::header::LOCATION;
use lambda_http::http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use vedette_api::Route;
use vedette_domain::accounts::account::Role;

use crate::responses;
use crate::story::Story;

/// What the document says about a route, in addition to the route itself.
pub(crate) struct Operation {
    /// The route's name.
    pub(crate) route: &'static str,
    /// A few words.
    pub(crate) summary: &'static str,
    /// Whole sentences.
    pub(crate) description: &'static str,
    /// Query parameters.
    pub(crate) query: Vec<Value>,
    /// The request's body.
    pub(crate) body: Option<Body>,
    /// The response.
    pub(crate) success: Success,
}

/// A request body.
pub(crate) struct Body {
    pub(crate) is_required: bool,
    pub(crate) schema: Value,
}

/// The response to a successful request.
pub(crate) struct Success {
    pub(crate) status: StatusCode,
    pub(crate) description: &'static str,
    /// `None` if there is no body.
    pub(crate) schema: Option<Value>,
    /// The type of the body.
    pub(crate) media_type: &'static str,
    pub(crate) links: Vec<Link>,
    /// Whether the client gets a 413 instead if the response would be too large.
    pub(crate) is_limited: bool,
}

/// An operation that can follow, with a value from the response.
pub(crate) struct Link {
    /// The name of its route.
    pub(crate) to: &'static str,
    /// The path or query parameter that takes the value.
    pub(crate) parameter: &'static str,
    /// Where the response contains the value, as a JSON pointer.
    pub(crate) from: &'static str,
}

impl Success {
    /// 200 with a body.
    pub(crate) fn ok(description: &'static str, schema: Value) -> Self {
        let (status, media_type) = (StatusCode::OK, "application/json");
        Self {
            status,
            description,
            schema: Some(schema),
            media_type,
            links: Vec::new(),
            is_limited: false,
        }
    }

    /// 200 with a text.
    pub(crate) fn text(description: &'static str, media_type: &'static str) -> Self {
        Self { media_type, ..Self::ok(description, json!({ "type": "string" })) }
    }

    /// 204.
    pub(crate) fn no_content(description: &'static str) -> Self {
        let (status, media_type) = (StatusCode::NO_CONTENT, "application/json");
        Self { status, description, schema: None, media_type, links: Vec::new(), is_limited: false }
    }

    /// The same response, whose size is limited.
    pub(crate) fn limited(self) -> Self {
        Self { is_limited: true, ..self }
    }

    /// The same response; the value at `from` is a parameter of these operations.
    pub(crate) fn followed_by(
        mut self,
        from: &'static str,
        parameter: &'static str,
        routes: &[&'static str],
    ) -> Self {
        self.links.extend(routes.iter().map(|to| Link { to, parameter, from }));
        self
    }
}

impl Operation {
    /// The group that shows the operation: its resource.
    pub(crate) fn tag(&self) -> &'static str {
        self.route.split('.').next().unwrap_or(self.route)
    }

    /// The operation as JSON, with its examples from the story.
    pub(crate) fn describe(&self, route: &Route, story: &Story) -> Value {
        let mut operation = json!({
            "operationId": self.route,
            "tags": [self.tag()],
            "summary": self.summary,
            "description": self.prose(route),
            "responses": self.responses(route, story),
        });
        if let Some(scope) = route.audience.scope() {
            operation["security"] = json!([{ "token": [scope.as_str()] }]);
        }
        if !self.query.is_empty() {
            operation["parameters"] = json!(self.query);
        }
        if let Some(body) = &self.body {
            operation["requestBody"] = json!({
                "required": body.is_required,
                "content": { "application/json": {
                    "schema": body.schema,
                    "examples": story.requests(self.route),
                } },
            });
        }
        operation
    }

    fn prose(&self, route: &Route) -> String {
        let scope = route.audience.scope().map(|scope| format!("Scope: `{}`.", scope.as_str()));
        let roles = route.permission().map(|permission| {
            let granted = Role::ALL.into_iter().filter(|role| role.grants(permission));
            let names: Vec<_> = granted.map(Role::as_str).collect();
            format!("Roles: {}.", names.join(", "))
        });
        let parts = [Some(self.description.to_owned()), scope, roles];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }

    fn responses(&self, route: &Route, story: &Story) -> Map<String, Value> {
        let mut all = Map::new();
        let status = self.success.status;
        all.insert(status.as_str().to_owned(), self.success.describe(route, story));
        if route.method == Method::GET {
            all.insert(StatusCode::NOT_MODIFIED.as_str().to_owned(), responses::not_modified());
        }
        let is_filtered = !self.query.is_empty();
        let has_body = self.body.is_some();
        // A path or a filter names a team.
        let has_team = route.permission().is_some() && (route.path.contains('{') || is_filtered);
        for refusal in responses::REFUSALS {
            let occurs = match refusal.status() {
                StatusCode::PAYMENT_REQUIRED => has_team,
                StatusCode::NOT_FOUND => has_team || route.path.contains('{'),
                StatusCode::CONFLICT => self.route == "configuration.apply",
                StatusCode::REQUEST_TIMEOUT | StatusCode::UNSUPPORTED_MEDIA_TYPE => has_body,
                StatusCode::PAYLOAD_TOO_LARGE => has_body || self.success.is_limited,
                StatusCode::UNPROCESSABLE_ENTITY => has_body || is_filtered,
                _ => true,
            };
            let told = story.answers(self.route, refusal.status());
            if occurs || !told.is_empty() {
                all.insert(refusal.status().as_str().to_owned(), refusal.response(&told));
            }
        }
        all
    }
}

impl Success {
    fn describe(&self, route: &Route, story: &Story) -> Value {
        let is_kept = route.method == Method::GET;
        let mut headers =
            if is_kept { responses::kept_headers() } else { responses::rate_headers() };
        if self.status == StatusCode::CREATED {
            headers[LOCATION.as_str()] = responses::header("Location");
        }
        let mut response = json!({ "description": self.description, "headers": headers });
        if let Some(schema) = &self.schema {
            response["content"] = json!({ (self.media_type): {
                "schema": schema,
                "examples": story.answers(route.name, self.status),
            } });
        }
        if !self.links.is_empty() {
            let links = self.links.iter().map(|link| (link.to.to_owned(), link.describe()));
            response["links"] = links.collect::<Map<_, _>>().into();
        }
        response
    }
}

impl Link {
    fn describe(&self) -> Value {
        json!({
            "operationId": self.to,
            "parameters": { (self.parameter): format!("$response.body#{}", self.from) },
        })
    }
}
