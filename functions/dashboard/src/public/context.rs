//! What the handlers of status pages work with.

use std::fmt::Display;

use jiff::{SignedDuration, Timestamp};
use lambda_http::http::HeaderValue;
use lambda_http::http::header::{HOST, HeaderName, REFERRER_POLICY};
use lambda_http::http::request::Parts;
use vedette_domain::alerts::link;
use vedette_domain::status_pages::{PageAddress, PublishedPage};
use vedette_http::error::ApiError;
use vedette_http::path::PathParameters;
use vedette_http::response::Response;
use vedette_runtime::App;

use crate::session;

const ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// A request for something of a status page.
#[derive(Debug, Clone, Copy)]
pub struct PublicContext<'a> {
    pub(super) app: &'a App,
    pub(super) head: &'a Parts,
    /// The values in the path.
    pub(super) parameters: &'a PathParameters,
}

/// A published page, as a reader asks for it.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) page: PublishedPage,
    /// Its path, without a slash at the end.
    pub(super) path: String,
    /// The address of the service, without a slash at the end.
    pub(super) base: String,
    /// Where readers subscribe to its incidents, if they can.
    pub(super) subscribe: Option<String>,
    /// Whether this process knows that nothing can be saved, so no newer page can be published.
    pub(super) is_frozen: bool,
    pub(super) now: Timestamp,
}

/// A page that is older than this says so. While the service works, pages are published again every hour.
const STALE_AFTER: SignedDuration = SignedDuration::from_hours(2);

impl Shown {
    /// Whether the page may be out of date.
    pub(super) fn is_stale(&self) -> bool {
        self.is_frozen || self.now.duration_since(self.page.generated_at) > STALE_AFTER
    }

    /// The URL of the page.
    pub(super) fn url(&self) -> String {
        format!("{}{}", self.base, self.path)
    }

    /// The URL of a part of the page, such as an incident.
    pub(super) fn url_of(&self, id: impl Display) -> String {
        format!("{}#{id}", self.url())
    }

    /// The path of its feed.
    pub(super) fn feed(&self) -> String {
        format!("{}/history.atom", self.path)
    }
}

impl PublicContext<'_> {
    /// Reads the page that the path names, and answers with what `render` makes of it.
    pub(super) async fn show(
        self,
        render: impl FnOnce(&Shown) -> Result<Response, ApiError>,
    ) -> Result<Response, ApiError> {
        let address =
            PageAddress::parse(self.parameters.value("address")).ok_or(ApiError::NotFound)?;
        let page = self.app.store.published(&address).await?.ok_or(ApiError::NotFound)?;
        let path = link::status_page("", &address);
        let (base, now) = (self.base(), self.app.clock.now());
        // The page may be behind a proxy that knows no other path of the service.
        let subscribe = page.offers_subscriptions.then(|| link::subscribe(&base, &address));
        let is_frozen = self.app.health.cannot_save();
        let shown = Shown { page, path, base, subscribe, is_frozen, now };
        let mut response = render(&shown)?;
        if shown.page.is_unlisted {
            let headers = response.headers_mut();
            headers.insert(ROBOTS_TAG, HeaderValue::from_static("noindex"));
            // Whoever has the link may read the page, so other sites must not see it.
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        }
        Ok(response)
    }

    /// The address of the service, from the configuration or else from the request.
    fn base(&self) -> String {
        if let Some(base) = self.app.service.pages_base() {
            return base.to_owned();
        }
        let host = self.head.headers.get(HOST).and_then(|host| host.to_str().ok());
        let is_secure = session::is_secure(self.app, &self.head.headers);
        let scheme = if is_secure { "https" } else { "http" };
        format!("{scheme}://{}", host.unwrap_or("localhost"))
    }
}
