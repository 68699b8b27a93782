//! One visit to one URL: the status of a link, and the links of a page.

use std::ops::ControlFlow;
use std::time::Duration;

use encoding_rs::UTF_8;
use hyper::Method;
use hyper::header::HeaderValue;
use tokio::time::Instant;
use url::Url;
use vedette_domain::checks::check::CheckError;

use super::canonical::canonical;
use super::extract::{Extractor, PageLinks};
use super::fetch::{Blame, Client, Coding, CrawlResponse, FetchError, unpack};
use super::render::{Rendered, Renderer};
use super::robots::{self, Robots};
use super::sitemap::{self, Sitemap, SitemapParser};
use crate::http::{CookieJar, MediaType, RedirectChain};
use crate::registrable::registrable_domain;

/// Bytes of a page that are searched for links; the rest is ignored.
const PAGE_LIMIT: usize = 2 * 1024 * 1024;

/// Bytes parsed at a time where the whole page is at hand.
const CHUNK: usize = 16 * 1024;

/// Redirects followed to a `robots.txt` (RFC 9309 asks for five) or a sitemap.
const MAX_REDIRECTS: usize = 5;

/// The pause after a 429 without `Retry-After`.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The outcome of a visit.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) outcome: VisitOutcome,
    /// The target of a redirect.
    pub(super) location: Option<String>,
    /// The cookies that a request to `location` has, if the crawl begins with it.
    pub(super) cookies: Option<HeaderValue>,
    /// The links of a page, if it was searched.
    pub(super) links: Option<PageLinks>,
    /// Who is to blame if there is no response.
    pub(super) blame: Blame,
}

/// What a visit says about a link.
#[derive(Debug)]
pub(super) enum VisitOutcome {
    /// The HTTP status, 0 without a response; and whether it is a redirect.
    Status(u16, bool),
    /// HEAD failed, but GET may succeed.
    Inconclusive,
    /// A response with this status that asks us to come back later.
    RetryLater { status: u16, pause: Duration },
    /// The SSRF guard refuses it.
    Forbidden(CheckError),
    /// It could not be checked, for reasons of ours.
    Unchecked(CheckError),
    /// The name lookup timed out.
    LookupTimedOut,
    /// Not requested: its address has reached its rate limit.
    Throttled,
}

impl Visit {
    fn of(client: &Client<'_>, response: &CrawlResponse, url: &Url) -> Self {
        let redirects = response.is_redirect();
        let outcome = match pause(client, response) {
            Some(pause) => VisitOutcome::RetryLater { status: response.status, pause },
            None => VisitOutcome::Status(response.status, redirects),
        };
        Self {
            outcome,
            location: if redirects { response.location(url).map(String::from) } else { None },
            cookies: None,
            links: None,
            blame: Blame::Target,
        }
    }
}

/// The pause that the server asks for: after a 429, or a 503 with `Retry-After`.
fn pause(client: &Client<'_>, response: &CrawlResponse) -> Option<Duration> {
    match response.status {
        429 => Some(response.retry_after(client).unwrap_or(DEFAULT_RETRY_AFTER)),
        503 => response.retry_after(client),
        _ => None,
    }
}

impl From<FetchError> for Visit {
    fn from(error: FetchError) -> Self {
        let blame = match error {
            FetchError::NoResponse(blame) | FetchError::Unreachable(blame) => blame,
            FetchError::LookupTimedOut => Blame::Unclear,
            _ => Blame::Target,
        };
        let outcome = match error {
            FetchError::NoResponse(_) | FetchError::Unreachable(_) => {
                VisitOutcome::Status(0, false)
            }
            FetchError::Forbidden(error) => VisitOutcome::Forbidden(error),
            FetchError::CheckFailed(error) => VisitOutcome::Unchecked(error),
            FetchError::LookupTimedOut => VisitOutcome::LookupTimedOut,
            FetchError::Throttled => VisitOutcome::Throttled,
        };
        Self { outcome, location: None, cookies: None, links: None, blame }
    }
}

/// Whether the API calls a link with this status broken.
pub(super) const fn is_broken(status: u16) -> bool {
    !matches!(status, 200 | 301 | 302 | 303)
}

/// Checks a link that is not to be searched.
///
/// HEAD saves both sides the body, but many servers implement it wrongly or not at all: if it
/// fails, the link is retried by GET, and that result counts.
pub(super) async fn check(client: &Client<'_>, method: Method, url: &Url) -> Visit {
    let is_head = method == Method::HEAD;
    match client.send(method, url, &client.cookies).await {
        Ok(response) => {
            let mut visit = Visit::of(client, &response, url);
            response.finish(client).await;
            if let VisitOutcome::Status(status, false) = visit.outcome
                && is_head
                && is_broken(status)
            {
                visit.outcome = VisitOutcome::Inconclusive;
            }
            visit
        }
        // It counts once GET has no response either.
        Err(FetchError::NoResponse(_)) if is_head => Visit {
            outcome: VisitOutcome::Inconclusive,
            location: None,
            cookies: None,
            links: None,
            blame: Blame::Target,
        },
        Err(error) => error.into(),
    }
}

/// Fetches a page and extracts its links, from the HTML as it arrived or from the page as `renderer` shows it. `clock`
/// is called when the page starts to wait for a tab, and when it has one. The crawl keeps the cookies of its entry.
pub(super) async fn page(
    client: &Client<'_>,
    renderer: Option<&Renderer<'_>>,
    url: &Url,
    is_entry: bool,
    clock: impl Fn(Option<Instant>),
) -> Visit {
    let mut response = match client.send(Method::GET, url, &client.cookies).await {
        Ok(response) => response,
        Err(error) => return error.into(),
    };
    let mut visit = Visit::of(client, &response, url);
    if is_entry {
        response.keep_cookies(url, &client.cookies);
        visit.cookies = response.location(url).and_then(|next| client.cookies.header(&next));
    }
    let media_type = response.media_type();
    if response.status == 200 && (media_type.is_html() || media_type.is("application/xhtml+xml")) {
        let mut extractor = Extractor::new(media_type);
        let (mut packed, mut is_whole) = (Vec::new(), false);
        let codings = response.codings();
        match &codings {
            Ok(codings) if codings.is_empty() => {
                is_whole = response.read(PAGE_LIMIT, |bytes| extractor.write(bytes)).await;
            }
            Ok(_) => (packed, is_whole) = body(&mut response, PAGE_LIMIT).await,
            // It cannot be read.
            Err(_) => {}
        }
        // One page at a time, so that only one decoder with its window is in memory.
        let _permit = client.parsing.lock().await;
        if let Ok(codings) = codings
            && !packed.is_empty()
        {
            let mut html = Vec::new();
            // Of a corrupt page, what can be read counts.
            let read = unpack(&codings, &packed, PAGE_LIMIT, |bytes| html.extend_from_slice(bytes));
            is_whole &= read == Ok(true);
            drop(packed);
            // In small chunks, so that a page made to be slow to parse blocks nothing.
            write(&mut extractor, &html).await;
        }
        tokio::task::yield_now().await;
        let mut links = extractor.finish(url);
        links.is_cut |= !is_whole;
        visit.links = Some(links);
    }
    response.finish(client).await;
    if let (Some(renderer), Some(links)) = (renderer, &mut visit.links)
        && let Some(Rendered { url, html }) = renderer.render(url, clock).await
    {
        let _permit = client.parsing.lock().await;
        let mut extractor = Extractor::new(MediaType::html_in(UTF_8));
        write(&mut extractor, &html.as_bytes()[..html.floor_char_boundary(PAGE_LIMIT)]).await;
        *links = extractor.finish(&url);
        links.is_cut |= html.len() > PAGE_LIMIT;
    }
    visit
}

/// Writes a page in chunks, and yields between them.
async fn write(extractor: &mut Extractor, html: &[u8]) {
    for piece in html.chunks(CHUNK) {
        tokio::task::yield_now().await;
        extractor.write(piece);
    }
}

/// The outcome of fetching a `robots.txt`.
pub(super) enum RobotsOutcome {
    /// Its rules; `None` if there are none, or the host cannot be reached.
    Known(Option<Robots>),
    /// No response, a server error, or a request to come back after this time.
    Unavailable(Option<Duration>),
    /// Not requested: the address has reached its rate limit.
    Throttled,
}

/// The `robots.txt` for `url`. If it is denied, invalid, or redirected to another domain, it counts as absent.
pub(super) async fn robots(client: &Client<'_>, url: &Url) -> RobotsOutcome {
    let Ok(url) = url.join("/robots.txt") else {
        return RobotsOutcome::Known(None);
    };
    let domain = domain_of(&url).to_owned();
    match file(client, &url, robots::SIZE_LIMIT, |next| domain_of(next) == domain).await {
        Ok(text) => RobotsOutcome::Known(text.and_then(|text| Robots::parse(&text))),
        Err(FileError::Unavailable(pause)) => RobotsOutcome::Unavailable(pause),
        Err(FileError::Unreachable) => RobotsOutcome::Known(None),
        Err(FileError::Throttled) => RobotsOutcome::Throttled,
    }
}

/// The URLs in the sitemaps at `urls`, by sitemap. Sitemap indexes are followed.
pub(super) async fn sitemaps(client: &Client<'_>, urls: Vec<Url>) -> Vec<(String, Vec<String>)> {
    let mut waiting = urls;
    let mut found = Vec::new();
    let mut bytes = 0;
    let mut at = 0;
    while at < waiting.len() && at < sitemap::FILES_LIMIT && bytes < sitemap::TEXT_LIMIT {
        let url = waiting[at].clone();
        at += 1;
        let at_home = |next: &Url| client.is_own(next);
        let Ok(Some(text)) = file(client, &url, sitemap::SIZE_LIMIT, at_home).await else {
            continue;
        };
        let Sitemap { pages, sitemaps } = {
            let text = sitemap::text(&text);
            let mut reading = SitemapParser::new(&text);
            while reading.step() {
                tokio::task::yield_now().await;
            }
            reading.finish()
        };
        bytes += pages.iter().map(String::len).sum::<usize>();
        for further in sitemaps.iter().filter_map(|further| url.join(further).ok()) {
            if further.host() == url.host() && !waiting.contains(&further) {
                waiting.push(further);
            }
        }
        found.push((canonical(url), pages));
    }
    found
}

/// Why a file cannot be fetched.
enum FileError {
    /// No response, a server error, or a request to come back after this time.
    Unavailable(Option<Duration>),
    /// The host cannot be reached, or is not allowed.
    Unreachable,
    /// The address has reached its rate limit.
    Throttled,
}

impl From<FetchError> for FileError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::NoResponse(_) => Self::Unavailable(None),
            FetchError::Unreachable(_)
            | FetchError::LookupTimedOut
            | FetchError::Forbidden(_)
            | FetchError::CheckFailed(_) => Self::Unreachable,
            FetchError::Throttled => Self::Throttled,
        }
    }
}

/// The registered domain of `url`, or its host if there is none.
fn domain_of(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    registrable_domain(host).unwrap_or(host)
}

/// The decoded file at `url`, up to `limit` bytes; `None` if there is none. Follows redirects only if `may_follow`
/// allows it, because external hosts get only the requests that pages ask for. Cookies last for these redirects: the
/// crawl's would depend on how far it is.
async fn file(
    client: &Client<'_>,
    url: &Url,
    limit: usize,
    may_follow: impl Fn(&Url) -> bool,
) -> Result<Option<Vec<u8>>, FileError> {
    let (may_follow, cookies) = (&may_follow, &CookieJar::default());
    let request = |url: Url| async move {
        let mut response = client.send(Method::GET, &url, cookies).await?;
        response.keep_cookies(&url, cookies);
        if response.is_redirect() {
            let next = response.location(&url).filter(may_follow);
            response.finish(client).await;
            return Ok(next.map_or(ControlFlow::Break(None), ControlFlow::Continue));
        }
        if let Some(pause) = pause(client, &response) {
            return Err(FileError::Unavailable(Some(pause)));
        }
        let (status, codings) = (response.status, response.codings());
        let (bytes, _) =
            if status == 200 { body(&mut response, limit).await } else { Default::default() };
        response.finish(client).await;
        match status {
            // What cannot be decoded is taken for empty.
            200 => Ok(ControlFlow::Break(Some(
                codings.map_or_else(|_| Vec::new(), |codings| unpacked(&codings, bytes, limit)),
            ))),
            500.. => Err(FileError::Unavailable(None)),
            _ => Ok(ControlFlow::Break(None)),
        }
    };
    Ok(RedirectChain::new(url).follow(MAX_REDIRECTS, request).await?.flatten())
}

/// Up to `limit` bytes of a body, and whether that was all.
async fn body(response: &mut CrawlResponse, limit: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let is_whole = response.read(limit, |piece| bytes.extend_from_slice(piece)).await;
    (bytes, is_whole)
}

/// Decodes a body, and a compressed file inside it.
fn unpacked(codings: &[Coding], bytes: Vec<u8>, limit: usize) -> Vec<u8> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let decoded = |codings: &[Coding], bytes: &[u8]| {
        let mut content = Vec::new();
        let _ = unpack(codings, bytes, limit, |piece| content.extend_from_slice(piece));
        content
    };
    let mut content = if codings.is_empty() { bytes } else { decoded(codings, &bytes) };
    // A file may be compressed once more on its way, although no header says so.
    for _ in 0..2 {
        if content.starts_with(&GZIP) {
            content = decoded(&[Coding::Gzip], &content);
        }
    }
    content
}
