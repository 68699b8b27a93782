//! Redirects.

use std::ops::ControlFlow;

use hyper::Response;
use hyper::header::{HeaderMap, LOCATION};
use url::Url;

use crate::ssrf_guard::without_credentials;

/// The longest URL that is requested, in bytes: as long as a site's own URL may be, and a limit on what a target can
/// make us store.
pub(crate) const MAX_URL: usize = vedette_domain::sites::site_url::MAX_LENGTH;

/// The URLs requested so far. This outlives the request, so that a probe that runs out of time can still say how far it
/// got.
pub(crate) struct RedirectChain<'a> {
    /// The URL that was requested first.
    pub(crate) first: &'a Url,
    /// Where it redirected to, hop by hop.
    pub(crate) hops: Vec<Url>,
}

impl<'a> RedirectChain<'a> {
    pub(crate) const fn new(first: &'a Url) -> Self {
        Self { first, hops: Vec::new() }
    }

    /// The URL requested last.
    pub(crate) fn current(&self) -> &Url {
        self.hops.last().unwrap_or(self.first)
    }

    /// Calls `request` with one URL after the other until it breaks with a final response. `None`
    /// after more than `limit` redirects.
    pub(crate) async fn follow<R, E, F>(
        &mut self,
        limit: usize,
        mut request: impl FnMut(Url) -> F,
    ) -> Result<Option<R>, E>
    where
        F: Future<Output = Result<ControlFlow<R, Url>, E>>,
    {
        loop {
            match request(self.current().clone()).await? {
                ControlFlow::Break(response) => return Ok(Some(response)),
                ControlFlow::Continue(_) if self.hops.len() == limit => return Ok(None),
                ControlFlow::Continue(next) => self.hops.push(next),
            }
        }
    }
}

/// Continues with the redirect of a response from `url`. Any other response is the final one.
pub(crate) fn follow_or_keep<B>(response: Response<B>, url: &Url) -> ControlFlow<Response<B>, Url> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    match location(response.headers(), url).filter(|_| is_redirect) {
        Some(next) => ControlFlow::Continue(next),
        None => ControlFlow::Break(response),
    }
}

/// The `Location` of a response from `url`, without user name, password and fragment. `None` if it is empty, not text,
/// not a URL, or longer than [`MAX_URL`].
pub(crate) fn location(headers: &HeaderMap, url: &Url) -> Option<Url> {
    let location = std::str::from_utf8(headers.get(LOCATION)?.as_bytes()).ok()?.trim();
    let mut next = url.join(location).ok().filter(|_| !location.is_empty())?;
    next.set_fragment(None);
    let next = without_credentials(&next);
    (next.as_str().len() <= MAX_URL).then_some(next)
}
