//! The HTTP client for the provider. It uses the connections of checks, but only those that nobody else can read.

use std::pin::Pin;
use std::time::Duration;

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use url::Url;
use vedette_probe::exchange::{Bounds, ExchangeError, exchange};
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard, SsrfGuardError};

use super::config::is_private;

/// The limits of one request to the provider.
const BOUNDS: Bounds = Bounds { time: Duration::from_secs(6), bytes: 256 * 1024 };

/// Sends requests to the provider, and only over connections that nobody else can read.
pub(super) struct HttpClient {
    guard: SsrfGuard,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpClientError {
    /// The provider named a URL that is not allowed.
    #[error("it has named an address that is neither https nor on this machine")]
    NotPrivate,
    /// Nothing answers there.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
}

impl HttpClient {
    /// A client as `outbound` describes, but without limits on where the provider may be, because the operator has
    /// named it.
    ///
    /// # Errors
    ///
    /// When the system's resolver, or a root certificate, cannot be used.
    pub(super) fn new(outbound: Outbound) -> Result<Self, SsrfGuardError> {
        let everywhere = ["0.0.0.0/0", "::/0"].into_iter().filter_map(|net| net.parse().ok());
        Ok(Self { guard: SsrfGuard::new(Outbound { allow: everywhere.collect(), ..outbound })? })
    }
}

impl<'c> AsyncHttpClient<'c> for HttpClient {
    type Error = HttpClientError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpClientError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let url = Url::parse(&request.uri().to_string());
            if !url.is_ok_and(|url| is_private(&url)) {
                return Err(HttpClientError::NotPrivate);
            }
            Ok(exchange(&self.guard, request, BOUNDS).await?)
        })
    }
}
