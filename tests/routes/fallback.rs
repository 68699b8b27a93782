//! `$default`: paths and methods that do not match a route.

use lambda_http::Body;
use vedette_api::ROUTES;
use vedette_tests::Service;

use crate::support::assert_not_found;

#[tokio::test]
async fn a_known_path_names_its_methods_to_who_tries_another() {
    let service = Service::start().await;
    let client = service.client_with(None);
    let answer = client.send("PUT", "/me", Body::Empty).await;
    insta::assert_snapshot!(answer.shown(), @r#"405 { "message": "The PUT method is not supported for this resource." }"#);
    assert_eq!(answer.header("allow"), "GET");
    assert_eq!(answer.header("content-type"), "application/json");

    for route in ROUTES {
        let mut methods: Vec<_> = ROUTES
            .iter()
            .filter(|other| other.path == route.path)
            .map(|other| other.method)
            .collect();
        methods.sort_unstable();
        let path = route.path.strip_prefix("/api/v1").expect("below the base");
        for method in ["OPTIONS", "HEAD", "PUT"].into_iter().filter(|one| !methods.contains(one)) {
            let answer = client.send(method, path, Body::Empty).await;
            assert_eq!(answer.status, 405, "{method} {path}");
            assert_eq!(answer.header("allow"), methods.join(", "), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn everything_else_is_not_found_with_or_without_a_token() {
    let (service, owner) = Service::with_team().await;
    let paths = [
        "",
        "/",
        "/me/",
        "/Me",
        "/teams/",
        "//teams",
        "/teams/a/sites/",
        "/teams//sites",
        "/sites/a/checks/b",
        "/sites/a/issues",
        "/users",
        "/issues/a/b",
    ];
    for client in [service.client_with(None), service.client(&owner)] {
        for path in paths {
            for method in ["GET", "POST", "DELETE"] {
                let answer = client.send(method, path, "{".into()).await;
                assert_not_found(&answer);
                assert_eq!(answer.header("content-type"), "application/json");
                assert_eq!(answer.header("x-ratelimit-limit"), "");
            }
        }
    }
}
