//! A row of a table of routes.

use lambda_http::http::request::Parts;
use vedette_domain::accounts::account::Permission;
use vedette_http::path::parameters;

use crate::{Endpoint, Surface};

/// A route.
#[derive(Debug)]
pub struct Route<S: Surface> {
    /// Its name, `<resource>.<verb>`, in lowercase with hyphens.
    pub name: &'static str,
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{parameters}`, from the root.
    pub path: &'static str,
    /// Whom it serves.
    pub audience: S::Audience,
    /// What it works on, with the permission that this takes, and its handler.
    pub endpoint: Endpoint<S>,
    /// The Lambda function that serves it, and what that may write.
    pub function: S::Function,
}

impl<S: Surface> Route<S> {
    /// What the caller's role must grant in the team that the resource belongs to.
    pub const fn permission(&self) -> Option<Permission> {
        self.endpoint.permission()
    }
}

/// The row of a table that a request is for, by its method and path.
pub fn find<'t, S: Surface>(table: &'t [Route<S>], head: &Parts) -> Option<&'t Route<S>> {
    let path = head.uri.path();
    let mut routes = table.iter().filter(|route| route.method == head.method.as_str());
    routes.find(|route| parameters(route.path, path).is_some())
}
