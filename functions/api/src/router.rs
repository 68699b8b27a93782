//! Finds the route for a request. On AWS, API Gateway decides with the same paths.

use lambda_http::RequestExt as _;
use lambda_http::http::request::Parts;
use vedette_http::error::ApiError;
use vedette_http::path::PathParameters;
use vedette_http::validation::{ECHO_MAX, echo};
use vedette_routing::{RouteMatch, find};
use vedette_store::Grant;

use crate::routes::ROUTES;
use crate::surface::{Api, ApiAudience, Endpoint, Route};

/// The `$default` route, for unknown paths and methods: 405 if another method would work, otherwise 404.
pub const FALLBACK: Route = Route {
    name: "fallback",
    method: "ANY",
    path: "$default",
    audience: ApiAudience::Nobody(refusal),
    endpoint: Endpoint::None,
    function: &Grant::NONE,
};

const DEFAULT: &Route = &FALLBACK;

/// The route with this name.
pub fn named(name: &str) -> Option<&'static Route> {
    ROUTES.iter().chain([DEFAULT]).find(|route| route.name == name)
}

/// The route for a request, and its head with the path as API Gateway passes it.
pub fn dispatch(head: Parts) -> (RouteMatch<'static, Api>, Parts) {
    let found = find(ROUTES, &head);
    let found = found
        .unwrap_or_else(|| RouteMatch { route: DEFAULT, parameters: PathParameters::default() });
    let path = head.uri.path().to_owned();
    (found, head.with_raw_http_path(path))
}

/// Why a request without a route is not served.
fn refusal(head: &Parts) -> ApiError {
    let path = head.raw_http_path();
    let matching = ROUTES.iter().filter(|route| PathParameters::read(route.path, path).is_some());
    let mut methods: Vec<&str> = matching.map(|route| route.method).collect();
    if methods.is_empty() {
        return ApiError::NotFound;
    }
    methods.sort_unstable();
    ApiError::MethodNotAllowed {
        method: echo(head.method.as_str(), ECHO_MAX).into_owned(),
        allow: methods.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use lambda_http::http::{Method, Request, Uri};

    use super::*;

    fn head(method: &str, path: &str) -> Parts {
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = Method::from_bytes(method.as_bytes()).expect("a method");
        head.uri = Uri::builder().path_and_query(path).build().expect("a path");
        head
    }

    #[test]
    fn every_route_is_found_by_its_own_path() {
        for route in ROUTES {
            let path = route.path.replace(['{', '}'], "");
            let (found, _) = dispatch(head(route.method, &path));
            assert_eq!(found.route.name, route.name);
            let parameters = HashMap::from(found.parameters);
            assert_eq!(parameters.len(), route.path.matches('{').count(), "{path}");
            assert!(parameters.iter().all(|(name, value)| name == value), "{parameters:?}");
            for (method, path) in [(route.method, format!("{path}/")), ("HEAD", path)] {
                let (found, _) = dispatch(super::tests::head(method, &path));
                assert_eq!(found.route.name, FALLBACK.name, "{method} {path}");
            }
        }
    }

    #[test]
    fn a_known_path_says_which_methods_it_has() {
        for (method, path, said) in [
            ("PUT", "/api/v1/sites/x", "DELETE, GET, PATCH"),
            ("HEAD", "/api/v1/me", "GET"),
            ("DELETE", "/api/v1/sites/x/checks", "GET, POST"),
            ("GET", "/api/v1/me/", "nothing"),
            ("GET", "/api/v1/sites//checks", "nothing"),
            ("GET", "/api/v1", "nothing"),
            ("GET", "/", "nothing"),
        ] {
            let (_, head) = dispatch(head(method, path));
            let found = match refusal(&head) {
                ApiError::MethodNotAllowed { allow, .. } => allow,
                _ => "nothing".to_owned(),
            };
            assert_eq!(found, said, "{method} {path}");
        }
    }
}
