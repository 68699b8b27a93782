//! `$default`: 405 where another method would do, 404 everywhere else.

use lambda_http::RequestExt as _;
use lambda_http::http::request::Parts;
use vedette_http::error::ApiError;
use vedette_http::validation::{ECHO_MAX, echo};

use crate::ROUTES;

pub(crate) fn refuse(head: &Parts) -> ApiError {
    let path = head.raw_http_path();
    let mut methods: Vec<&str> =
        ROUTES.iter().filter(|route| matches(route.path, path)).map(|route| route.method).collect();
    if methods.is_empty() {
        return ApiError::NotFound;
    }
    methods.sort_unstable();
    ApiError::MethodNotAllowed {
        method: echo(head.method.as_str(), ECHO_MAX).into_owned(),
        allow: methods.join(", "),
    }
}

/// Whether a path has the form of a route's: the same segments, any text where it has a parameter.
fn matches(route: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    let alike = route.split('/').all(|wanted| {
        let Some(part) = parts.next() else { return false };
        part == wanted || (wanted.starts_with('{') && !part.is_empty())
    });
    alike && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use lambda_http::http::{Method, Request};

    use super::*;

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
            let (mut head, ()) = Request::new(()).with_raw_http_path(path).into_parts();
            head.method = Method::from_bytes(method.as_bytes()).expect("a method");
            let found = match refuse(&head) {
                ApiError::MethodNotAllowed { allow, .. } => allow,
                _ => "nothing".to_owned(),
            };
            assert_eq!(found, said, "{method} {path}");
        }
    }
}
