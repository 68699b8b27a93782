//! Handlers: async functions that take a context and, if the route has one, a resource.

use std::any::type_name;

use futures::future::BoxFuture;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use crate::Surface;

/// What a handler returns.
pub type HandlerOutcome = Result<Response, ApiError>;

/// A handler with a future of any type. Every `async fn(Context<'_>) -> HandlerOutcome` is a handler without a resource
/// (`A` is `()`), and every `async fn(Context<'_>, R) -> HandlerOutcome` is a handler for an `R` (`A` is `(R,)`).
pub trait Handler<S: Surface, A>: Sync {
    /// Handles a request.
    fn call<'a>(&self, context: S::Context<'a>, arguments: A) -> BoxFuture<'a, HandlerOutcome>;

    /// The path of the function, from its crate.
    fn path(&self) -> &'static str;
}

impl<S, A, F> Handler<S, A> for F
where
    S: Surface,
    F: for<'a> AsyncFunction<'a, S, A> + Sync,
{
    fn call<'a>(&self, context: S::Context<'a>, arguments: A) -> BoxFuture<'a, HandlerOutcome> {
        self.start(context, arguments)
    }

    fn path(&self) -> &'static str {
        type_name::<F>()
    }
}

/// An async function for contexts that live for `'a`: its future may have a type for each `'a`.
pub trait AsyncFunction<'a, S: Surface, A> {
    /// Calls the function.
    fn start(&self, context: S::Context<'a>, arguments: A) -> BoxFuture<'a, HandlerOutcome>;
}

impl<'a, S, F, Fut> AsyncFunction<'a, S, ()> for F
where
    S: Surface,
    F: Fn(S::Context<'a>) -> Fut,
    Fut: Future<Output = HandlerOutcome> + Send + 'a,
{
    fn start(&self, context: S::Context<'a>, (): ()) -> BoxFuture<'a, HandlerOutcome> {
        Box::pin(self(context))
    }
}

impl<'a, S, R, F, Fut> AsyncFunction<'a, S, (R,)> for F
where
    S: Surface,
    F: Fn(S::Context<'a>, R) -> Fut,
    Fut: Future<Output = HandlerOutcome> + Send + 'a,
{
    fn start(&self, context: S::Context<'a>, (resource,): (R,)) -> BoxFuture<'a, HandlerOutcome> {
        Box::pin(self(context, resource))
    }
}
