//! One visit to one URL: what a link leads to, and what a page holds.

use std::ops::ControlFlow;
use std::time::Duration;

use hyper::Method;
use tokio::time::Instant;
use url::Url;
use vedette_domain::check::CheckError;

use super::canonical::canonical;
use super::extract::{Extractor, PageLinks, charset};
use super::fetch::{Answer, Client, Coding, NoAnswer, unpack};
use super::render::{Rendered, Renderer};
use super::robots::{self, Robots};
use super::sitemap::{self, Reading, Sitemap};
use crate::http::RedirectChain;
use crate::registrable::registrable_domain;

/// Bytes of a page that are searched for links; the rest is ignored.
const PAGE_LIMIT: usize = 2 * 1024 * 1024;

/// Bytes of a page that are read at a time, where all of it is there.
const PIECE: usize = 16 * 1024;

/// Redirects that are followed to a `robots.txt` (RFC 9309 asks for five) or a sitemap.
const REDIRECTS: usize = 5;

/// How long a server is left alone that says there were too many requests, and not for how long.
const REST: Duration = Duration::from_secs(1);

/// What a visit found.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) verdict: Verdict,
    /// Where it redirects to.
    pub(super) location: Option<String>,
    /// The links on it, where it is a page and was to be searched.
    pub(super) links: Option<PageLinks>,
}

/// What a visit says of a link.
#[derive(Debug)]
pub(super) enum Verdict {
    /// HTTP status, 0 where no answer came; and whether it is a redirect.
    Status(u16, bool),
    /// HEAD found it broken, or was not answered, which GET may be.
    Unsettled,
    /// An answer with this status that asks us to come back later.
    Busy { status: u16, pause: Duration },
    /// Not connected to.
    Forbidden(CheckError),
    /// Could not be checked, for reasons of ours.
    Unchecked(CheckError),
    /// Its name was not looked up in time.
    Unresolved,
    /// Not asked for, as too much is asked of its address at the moment.
    NoTurn,
}

impl Visit {
    fn of(answer: &Answer, url: &Url) -> Self {
        let redirects = answer.is_redirect();
        let verdict = match pause(answer) {
            Some(pause) => Verdict::Busy { status: answer.status, pause },
            None => Verdict::Status(answer.status, redirects),
        };
        Self {
            verdict,
            location: if redirects { answer.location(url).map(String::from) } else { None },
            links: None,
        }
    }
}

/// How long the server asks to be left alone: where there were too many requests, or it is out of
/// service and says until when.
fn pause(answer: &Answer) -> Option<Duration> {
    match answer.status {
        429 => Some(answer.retry_after().unwrap_or(REST)),
        503 => answer.retry_after(),
        _ => None,
    }
}

impl From<NoAnswer> for Visit {
    fn from(error: NoAnswer) -> Self {
        let verdict = match error {
            NoAnswer::Silent | NoAnswer::Unreachable => Verdict::Status(0, false),
            NoAnswer::Forbidden(error) => Verdict::Forbidden(error),
            NoAnswer::Unable(error) => Verdict::Unchecked(error),
            NoAnswer::Unresolved => Verdict::Unresolved,
            NoAnswer::NoTurn => Verdict::NoTurn,
        };
        Self { verdict, location: None, links: None }
    }
}

/// Whether a link with this status is broken, by the words of the API.
pub(super) const fn is_broken(status: u16) -> bool {
    !matches!(status, 200 | 301 | 302 | 303)
}

/// Checks a link that is not to be searched.
///
/// HEAD spares both sides the body, but many servers answer it wrongly or not at all: what it finds
/// broken is unsettled, to be asked for again by GET, and that counts.
pub(super) async fn check(client: &Client<'_>, method: Method, url: &Url) -> Visit {
    let is_head = method == Method::HEAD;
    match client.send(method, url).await {
        Ok(answer) => {
            let mut visit = Visit::of(&answer, url);
            answer.finish(client).await;
            if let Verdict::Status(status, false) = visit.verdict
                && is_head
                && is_broken(status)
            {
                visit.verdict = Verdict::Unsettled;
            }
            visit
        }
        Err(NoAnswer::Silent) if is_head => {
            Visit { verdict: Verdict::Unsettled, location: None, links: None }
        }
        Err(error) => error.into(),
    }
}

/// Fetches a page and searches it: as it came, or as `renderer` shows it. `clock` is told when the page
/// begins to wait for a tab, and when it has one.
pub(super) async fn page(
    client: &Client<'_>,
    renderer: Option<&Renderer<'_>>,
    url: &Url,
    clock: impl Fn(Option<Instant>),
) -> Visit {
    let mut answer = match client.send(Method::GET, url).await {
        Ok(answer) => answer,
        Err(error) => return error.into(),
    };
    let mut visit = Visit::of(&answer, url);
    if answer.status == 200 && is_html(answer.media_type()) {
        let mut extractor = Extractor::new(charset(answer.content_type()));
        let coding = answer.coding();
        let mut packed = Vec::new();
        if coding == Coding::Identity {
            answer.read(PAGE_LIMIT, |bytes| extractor.write(bytes)).await;
        } else {
            packed = body(&mut answer, PAGE_LIMIT).await;
        }
        // One at a time, so that one decoder with its window is there, however many pages wait.
        let _turn = client.reading.lock().await;
        if !packed.is_empty() {
            let mut html = Vec::new();
            unpack(coding, &packed, PAGE_LIMIT, |bytes| html.extend_from_slice(bytes));
            drop(packed);
            // As if it arrived, so that a page made to be hard to read holds up nothing.
            write(&mut extractor, &html).await;
        }
        tokio::task::yield_now().await;
        visit.links = Some(extractor.finish(url));
    }
    answer.finish(client).await;
    if let (Some(renderer), Some(links)) = (renderer, &mut visit.links)
        && let Some(Rendered { url, html }) = renderer.render(url, clock).await
    {
        let _turn = client.reading.lock().await;
        let mut extractor = Extractor::new(Some("utf-8"));
        write(&mut extractor, &html.as_bytes()[..html.floor_char_boundary(PAGE_LIMIT)]).await;
        *links = extractor.finish(&url);
    }
    visit
}

/// Writes all that is there as if it arrived.
async fn write(extractor: &mut Extractor, html: &[u8]) {
    for piece in html.chunks(PIECE) {
        tokio::task::yield_now().await;
        extractor.write(piece);
    }
}

/// What came of asking for a `robots.txt`.
pub(super) enum Rules {
    /// What it says; nothing where there is none, or nobody to answer.
    Known(Option<Robots>),
    /// The server was silent, in trouble, or asked to be left alone for so long.
    Withheld(Option<Duration>),
    /// It was not asked for, as too much is asked of its address at the moment.
    NoTurn,
}

/// The `robots.txt` that rules over `url`. One that is refused, one that cannot be read, and one that
/// is said to be in another domain, is as good as absent.
pub(super) async fn robots(client: &Client<'_>, url: &Url) -> Rules {
    let Ok(url) = url.join("/robots.txt") else {
        return Rules::Known(None);
    };
    let domain = domain_of(&url).to_owned();
    match file(client, &url, robots::SIZE_LIMIT, |next| domain_of(next) == domain).await {
        Ok(text) => Rules::Known(text.and_then(|text| Robots::parse(&text))),
        Err(NoFile::Withheld(pause)) => Rules::Withheld(pause),
        Err(NoFile::Unreachable) => Rules::Known(None),
        Err(NoFile::NoTurn) => Rules::NoTurn,
    }
}

/// What the sitemaps at `urls` name, with the sitemap of each; those of an index included.
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
            let mut reading = Reading::new(&text);
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

/// Why a file cannot be had.
enum NoFile {
    /// The server was silent, in trouble, or asked to be left alone for so long.
    Withheld(Option<Duration>),
    /// Nobody is there to answer, or may be asked.
    Unreachable,
    /// Too much is asked of its address at the moment.
    NoTurn,
}

impl From<NoAnswer> for NoFile {
    fn from(error: NoAnswer) -> Self {
        match error {
            NoAnswer::Silent => Self::Withheld(None),
            NoAnswer::Unreachable
            | NoAnswer::Unresolved
            | NoAnswer::Forbidden(_)
            | NoAnswer::Unable(_) => Self::Unreachable,
            NoAnswer::NoTurn => Self::NoTurn,
        }
    }
}

/// The domain that `url` is in, which is its host where nobody registered one.
fn domain_of(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    registrable_domain(host).unwrap_or(host)
}

/// The file at `url`, unpacked, up to `limit` bytes; none where there is none. Redirects are followed
/// to where `may_follow` says: hosts elsewhere are asked for what a page links to.
async fn file(
    client: &Client<'_>,
    url: &Url,
    limit: usize,
    may_follow: impl Fn(&Url) -> bool,
) -> Result<Option<Vec<u8>>, NoFile> {
    let may_follow = &may_follow;
    let request = |url: Url| async move {
        let mut answer = client.send(Method::GET, &url).await?;
        if answer.is_redirect() {
            let next = answer.location(&url).filter(may_follow);
            answer.finish(client).await;
            return Ok(next.map_or(ControlFlow::Break(None), ControlFlow::Continue));
        }
        if let Some(pause) = pause(&answer) {
            return Err(NoFile::Withheld(Some(pause)));
        }
        let (status, coding) = (answer.status, answer.coding());
        let bytes = if status == 200 { body(&mut answer, limit).await } else { Vec::new() };
        answer.finish(client).await;
        match status {
            200 => Ok(ControlFlow::Break(Some(unpacked(coding, bytes, limit)))),
            500.. => Err(NoFile::Withheld(None)),
            _ => Ok(ControlFlow::Break(None)),
        }
    };
    Ok(RedirectChain::new(url).follow(REDIRECTS, request).await?.flatten())
}

async fn body(answer: &mut Answer, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    answer.read(limit, |piece| bytes.extend_from_slice(piece)).await;
    bytes
}

/// The content of a body, which may be packed by the protocol, and be a packed file, too.
fn unpacked(coding: Coding, bytes: Vec<u8>, limit: usize) -> Vec<u8> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let coding = match coding {
        Coding::Identity if bytes.starts_with(&GZIP) => Coding::Gzip,
        Coding::Identity => return bytes,
        coding => coding,
    };
    let mut content = Vec::new();
    unpack(coding, &bytes, limit, |piece| content.extend_from_slice(piece));
    if content.starts_with(&GZIP) {
        let mut file = Vec::new();
        unpack(Coding::Gzip, &content, limit, |piece| file.extend_from_slice(piece));
        return file;
    }
    content
}

/// Whether a body of this media type is searched for links; one without is, as browsers do.
fn is_html(media_type: &str) -> bool {
    ["", "text/html", "application/xhtml+xml"].iter().any(|it| media_type.eq_ignore_ascii_case(it))
}
