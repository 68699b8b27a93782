//! What the handlers of pages work with.

use lambda_http::http::request::Parts;
use vedette_domain::source::Source;
use vedette_http::error::ApiError;
use vedette_http::path::PathParameters;
use vedette_http::source::source;
use vedette_runtime::App;

use crate::Provider;
use crate::session::SignedIn;
use crate::sites::directories::Directories;

/// What the pages of a process have beside the service itself.
#[derive(Debug, Default)]
pub struct Dashboard {
    /// The OpenID provider, if there is one and this process asks it.
    pub(crate) provider: Option<Provider>,
    pub(crate) directories: Directories,
}

impl Dashboard {
    /// The pages, where people may sign in at this provider.
    pub fn new(provider: Option<Provider>) -> Self {
        Self { provider, ..Self::default() }
    }
}

/// What a handler works with.
#[derive(Debug, Clone, Copy)]
pub struct RequestContext<'a> {
    pub(crate) app: &'a App,
    pub(crate) dashboard: &'a Dashboard,
    pub(crate) head: &'a Parts,
    /// The values in the path.
    pub(crate) parameters: &'a PathParameters,
    pub(crate) signed_in: Option<&'a SignedIn>,
    /// The form's fields, as they were sent.
    pub(crate) body: &'a [u8],
}

impl<'a> RequestContext<'a> {
    /// Where the request comes from.
    pub(crate) fn source(&self) -> Source {
        source(self.head, &self.app.service.trusted_proxies)
    }

    /// Who is signed in.
    pub(crate) fn member(&self) -> Result<&'a SignedIn, ApiError> {
        self.signed_in.ok_or(ApiError::Unauthenticated("Nobody is signed in."))
    }
}
