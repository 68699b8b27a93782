//! Redirects.

use std::fmt;
use std::ops::ControlFlow;

use hyper::Response;
use hyper::header::{HeaderMap, LOCATION};
use percent_encoding::{AsciiSet, percent_encode};
use url::{ParseError, Url};
use vedette_domain::checks::evidence::Redaction;
use vedette_domain::expectations::quoted;

use crate::ssrf_guard::{ForbiddenReason, without_credentials};

/// The longest URL that is stored, in bytes: as long as a site's own URL may be, and a limit on what a target can make
/// us store.
pub(crate) const MAX_URL: usize = vedette_domain::sites::site_url::MAX_LENGTH;

/// The longest URL that is followed, in bytes. Few servers accept longer ones.
const MAX_FOLLOWED: usize = 8 * 1024;

/// Why no visitor can follow a redirect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeadEnd {
    /// The `Location` is not a URL.
    #[error("redirected to {0}, which is not a URL ({1})")]
    NotUrl(Destination, #[source] ParseError),
    /// It has another scheme, such as `javascript:`.
    #[error("redirected to {0}, which is neither http nor https")]
    Scheme(Destination),
    /// It is longer than [`MAX_FOLLOWED`].
    #[error("redirected to a URL of more than 8 KB")]
    TooLong,
    /// The response has several `Location` headers, which browsers do not follow.
    #[error("the response has several Location headers with different URLs")]
    Ambiguous,
    /// Only this machine can reach the address, or nobody can.
    #[error("redirected to {0}, but {1}")]
    Forbidden(Destination, ForbiddenReason),
}

impl DeadEnd {
    /// The same, without what the target repeats of the request.
    pub(super) fn redacted(self, redaction: &Redaction) -> Self {
        match self {
            Self::NotUrl(to, error) => Self::NotUrl(to.redacted(redaction), error),
            Self::Scheme(to) => Self::Scheme(to.redacted(redaction)),
            Self::Forbidden(to, reason) => Self::Forbidden(to.redacted(redaction), reason),
            Self::TooLong | Self::Ambiguous => self,
        }
    }
}

/// Where a response redirects to, which may not be a URL. `Display` quotes it, without what may be a user name and a
/// password.
#[derive(Debug)]
pub(crate) struct Destination(pub(super) String);

impl Destination {
    /// A quotation is cut, so it must be made of a text from which everything secret has been removed.
    fn redacted(self, redaction: &Redaction) -> Self {
        Self(redaction.apply(&self.0))
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(url) = self;
        let is_slash = |c: char| matches!(c, '/' | '\\');
        let authority = url.find(is_slash).map_or("", |at| url[at..].trim_start_matches(is_slash));
        let (before, authority) = url.split_at(url.len() - authority.len());
        let end = authority.find(['/', '\\', '?', '#']).unwrap_or(authority.len());
        let host = authority[..end].rfind('@').map_or(0, |at| at + 1);
        f.write_str(&quoted(&[before, &authority[host..]].concat()))
    }
}

/// The URLs requested so far. This outlives the request, so that a probe that runs out of time can still say how far it
/// got.
pub(crate) struct RedirectChain<'a> {
    /// The URL that was requested first.
    pub(crate) first: &'a Url,
    /// Where it redirected to, hop by hop. Private, since they may repeat a secret of the request.
    hops: Vec<Url>,
}

impl<'a> RedirectChain<'a> {
    pub(crate) const fn new(first: &'a Url) -> Self {
        Self { first, hops: Vec::new() }
    }

    /// The URL requested last.
    pub(crate) fn current(&self) -> &Url {
        self.hops.last().unwrap_or(self.first)
    }

    pub(crate) const fn is_redirected(&self) -> bool {
        !self.hops.is_empty()
    }

    /// The URLs of the redirects, as they are stored: without what they repeat of the request, and then cut if they are
    /// long.
    pub(crate) fn redirects(&self, redaction: &Redaction) -> Vec<String> {
        self.hops.iter().map(|url| stored(&redaction.apply(url.as_str()))).collect()
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
pub(crate) fn follow_or_keep<B>(
    response: Response<B>,
    url: &Url,
) -> Result<ControlFlow<Response<B>, Url>, DeadEnd> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let next = if is_redirect { location(response.headers(), url)? } else { None };
    Ok(next.map_or(ControlFlow::Break(response), ControlFlow::Continue))
}

/// The `Location` of a response from `url`, without user name, password and fragment. As in browsers, an empty one
/// does not count.
///
/// Bytes outside ASCII are percent-encoded one by one, as Chromium does: the next server gets the bytes that this one
/// wrote, whatever encoding it meant.
pub(crate) fn location(headers: &HeaderMap, url: &Url) -> Result<Option<Url>, DeadEnd> {
    let locations = headers.get_all(LOCATION).iter().map(|value| value.as_bytes().trim_ascii());
    let mut locations = locations.filter(|location| !location.is_empty());
    let Some(location) = locations.next() else { return Ok(None) };
    if locations.any(|other| other != location) {
        return Err(DeadEnd::Ambiguous);
    }
    let location = percent_encode(location, &AsciiSet::EMPTY).to_string();
    let mut next = match url.join(&location) {
        Ok(next) => next,
        Err(error) => return Err(DeadEnd::NotUrl(Destination(location), error)),
    };
    if !matches!(next.scheme(), "http" | "https") {
        return Err(DeadEnd::Scheme(Destination(location)));
    }
    next.set_fragment(None);
    let next = without_credentials(&next);
    if next.as_str().len() > MAX_FOLLOWED { Err(DeadEnd::TooLong) } else { Ok(Some(next)) }
}

/// A URL as it is stored: its beginning, if it is long.
pub(crate) fn stored(url: &str) -> String {
    url[..url.floor_char_boundary(MAX_URL)].to_owned()
}
