//! The `broken-links` check: crawls a site breadth-first and checks every link on it.
//!
//! The crawl is one task. Its requests run concurrently, but their results are processed one at a
//! time, pages in the order in which they were discovered, so that two crawls of an unchanged site
//! report the same. Dropping the future leaves nothing running.

mod canonical;
mod extract;
mod fetch;
mod frontier;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod ignore;
mod rate_limit;
mod render;
mod reorder;
mod report;
mod robots;
mod sitemap;

mod visit;

#[cfg(test)]
mod tests;

use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use hyper::Method;
use hyper::header::HeaderValue;
use jiff::Timestamp;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::{Instant, sleep_until};
use url::{Position, Url};
use vedette_domain::checks::check::{CheckError, FinishReason, LinksResult};
use vedette_domain::sites::settings::LinksSettings;

use self::canonical::{Base, Reference, canonical};
use self::extract::{Kind, PageLink, PageLinks};
use self::fetch::{Blame, Client};
use self::frontier::{Frontier, Job, LinkId, START_LINK, Scope, State, VisitKind};
use self::ignore::IgnorePaths;
pub use self::rate_limit::CrawlLimiter;
use self::render::Renderer;
use self::reorder::{ReorderBuffer, Ticket};
use self::robots::Robots;
use self::visit::{RobotsOutcome, Visit, VisitOutcome};
use crate::browser::Chromium;
use crate::connectivity::Connectivity;
use crate::request_header::RequestHeader;
use crate::ssrf_guard::SsrfGuard;

/// Default deadline of a whole crawl.
pub const DEADLINE: Duration = vedette_domain::checks::tool::Tool::BrokenLinks.limits().deadline;

/// Bytes of links waiting to be processed at which no further page is fetched.
const MAX_BUFFERED: usize = 16 * 1024 * 1024;

/// How often the URL with which a crawl begins may redirect: as often as browsers follow.
const MAX_ENTRY_REDIRECTS: usize = 20;

/// Links processed between two checks of the time: each is compared with every ignored path.
const BATCH: usize = 16;

/// Limits of a crawl; see [`DEADLINE`] for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrawlBounds {
    /// Pages searched for links.
    pub pages: u32,
    /// Distinct links discovered.
    pub links: u32,
    /// Clicks from the site's URL to the deepest page that is searched.
    pub depth: u32,
    /// Distinct links checked per registered domain, except on the site's own host. A host without
    /// a domain, such as an IP address, counts as one.
    pub links_per_domain: u32,
}

impl Default for CrawlBounds {
    /// What fits into [`DEADLINE`] on a site that answers within 50 ms.
    fn default() -> Self {
        Self { pages: 5_000, links: 75_000, depth: 20, links_per_domain: 500 }
    }
}

/// What to crawl, and how. Not `Debug`: the header's value is a secret.
#[derive(Clone, Copy)]
pub struct LinksProbe<'a> {
    /// The monitored URL, where the crawl starts.
    pub url: &'a Url,
    /// Name and value of the site's request header, sent to the host of `url` only.
    pub header: Option<(&'a str, &'a str)>,
    /// What to ignore: paths ([`probe`] explains their patterns), external links, redirects.
    pub settings: &'a LinksSettings,
    /// Renders pages before their links are read. Without it, pages are read as they arrive.
    pub browser: Option<&'a Chromium>,
    /// The limits of the crawl.
    pub limits: CrawlBounds,
    /// For the whole crawl; see [`DEADLINE`].
    pub deadline: Duration,
    /// Tells the targets' failures from our own. Without it, every failure is a target's.
    pub connectivity: Option<&'a Connectivity>,
    /// When the crawl starts, by our clock; a date in `Retry-After` is compared with it if a response has no `Date`.
    pub now: Timestamp,
}

/// Progress of a crawl.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Pages searched.
    pub pages: u32,
    /// Links with a result, pages included.
    pub links: u32,
    /// Links waiting to be checked.
    pub queued: u32,
    /// Broken links.
    pub found: u32,
}

/// Crawls a site, and calls `progress` after each visit.
///
/// The **site** is the host of `url`, on the port of `url` and on the default ports. If `url`
/// redirects to the same name with or without `www.`, that host belongs to the site, too. Its pages
/// (HTML behind `a`, `area`, `iframe`, `frame`, refreshes, redirects and sitemaps) are fetched and
/// searched. Every other link on them, including images, scripts, styles and media, is checked once
/// by HEAD, and by GET if that fails. The site's `robots.txt` is obeyed for all links; one that
/// cannot be fetched forbids nothing. URLs that look like a crawler trap are checked but not
/// searched.
///
/// **External hosts** did not ask to be crawled, including those in the same domain:
///
/// - At most [`CrawlBounds::links_per_domain`] links to one registered domain are checked.
/// - A host gets at most two concurrent requests, with a pause between.
/// - If there are more than ten links to a host, its `robots.txt` is obeyed, too. Redirects are
///   followed within its domain only. One that is unavailable (no response, 429 or a server error)
///   forbids everything; if the host cannot be reached at all, the links are tried.
/// - All crawls with the same `limiter` together send an address at most four requests at a time, and ten a second, no
///   matter under which names. The crawls of one team send it at most two at a time. Requests beyond that are postponed.
///
/// Links that are not checked for these reasons are not broken; they are counted by reason.
///
/// **429**, and 503 with `Retry-After`, ask us to come back later. The host is then left alone for that time, at most
/// 30 s at once and one minute in total, and the link is retried at most twice. On the site itself, the last status
/// counts like any other, because the owner wants to know. But a site that asks for longer pauses is limiting the
/// crawler, not its visitors: from then on it gets one request a second, and such a response says nothing about the
/// link. An external host that asks for longer pauses gets no more requests. A 503 without `Retry-After` is an ordinary
/// status.
///
/// Cookies that the responses up to the first page set are sent to the site's own host until the crawl ends.
///
/// The site's request header is sent to its own host only. It may be a `User-Agent`; there,
/// `X-Monitored-By` identifies us as well. All other hosts see our `User-Agent`.
///
/// With a `browser`, pages are still fetched for their status, and then rendered and searched once
/// they have finished loading, after eight seconds at most. The browser's requests pass the SSRF guard,
/// too.
///
/// A link is **broken** if its first response is not 200, 301, 302 or 303. Status 0 stands for no response, and for a
/// link that is not a URL. Redirects are not followed, but the target becomes another link if it is on the site.
///
/// A pattern in **`ignore_paths`** is compared with the path of a link on the site's own host:
///
/// - `*` matches any run of characters, slashes included.
/// - A pattern with a `*` matches the whole path: `/blog/*` is everything below `/blog/`, `*.pdf` is every path with
///   that extension.
/// - A pattern without one matches a path and everything below it: `/blog` also matches `/blog/2026`, but not
///   `/blogger`. The leading slash is optional.
/// - A pattern with a `?` is compared with path and query, any other with the path alone.
/// - A pattern that starts with `http://` or `https://` is compared with whole URLs, on any host:
///   `https://social.example/*`.
///
/// Links that match are neither crawled nor checked. Patterns are case-sensitive.
///
/// A crawl that runs out of time completes with what it found, and so does one that cannot get past
/// `url`; `finish_reason` says why. Links that the SSRF guard refuses are not requested, and not broken.
///
/// # Errors
/// When the check could not run, which says nothing about the target: `url` is refused by the SSRF guard
/// ([`TARGET_FORBIDDEN`](crate::ssrf_guard::TARGET_FORBIDDEN)) or cannot be requested
/// ([`NO_ROUTE`](crate::status::NO_ROUTE), [`NO_SOCKET`](crate::status::NO_SOCKET),
/// [`RESOLVER_UNAVAILABLE`](crate::ssrf_guard::RESOLVER_UNAVAILABLE)), the header cannot be sent
/// ([`INVALID_HEADER`](crate::INVALID_HEADER)), the browser does not start
/// ([`BROWSER_UNAVAILABLE`](crate::browser::BROWSER_UNAVAILABLE)), or a link could not be reached
/// while this machine had no connection
/// ([`NO_CONNECTIVITY`](crate::connectivity::NO_CONNECTIVITY)).
pub async fn probe(
    guard: &SsrfGuard,
    limiter: &CrawlLimiter,
    probe: &LinksProbe<'_>,
    progress: impl Fn(Progress),
) -> Result<LinksResult, CheckError> {
    let header = probe.header.map(RequestHeader::parse).transpose()?;
    let started = Instant::now();
    let deadline = started + probe.deadline;
    let client = Client::new(guard, limiter, probe.url, header.as_ref(), probe.now);
    let mut crawl = Crawl::new(probe, limiter);
    let in_time = match probe.browser {
        None => crawl.run(guard, &client, None, deadline, progress).await?,
        Some(chromium) => {
            let crawl = async |renderer: &Renderer<'_>| {
                crawl.run(guard, &client, Some(renderer), deadline, progress).await
            };
            let (home, header) = (probe.url, header.as_ref());
            render::with_browser(guard, chromium, home, header, probe.deadline, crawl).await?
        }
    };
    let took = started.elapsed();
    if let Some(unclear) = crawl.unclear() {
        unclear.confirm(guard).await?;
    }
    Ok(crawl.result(probe, took, in_time))
}

/// The state of a crawl.
struct Crawl<'a> {
    frontier: Frontier,
    /// The link to the site's first page: its URL, or what that redirects to.
    entry: LinkId,
    /// The visits that led to the entry, with their cookies. The same visit twice is a loop.
    entry_visits: Vec<(LinkId, Option<HeaderValue>)>,
    /// Why the crawl ends if the entry is not a page.
    entry_failure: Option<FinishReason>,
    /// Results of pages; `None` for one that will be requested again.
    order: ReorderBuffer<Option<PageResult>>,
    /// Bytes of links in `order`.
    buffered: usize,
    robots_txt: bool,
    sitemaps: Sitemaps,
    sitemap_urls: u32,
    /// Pages that may have more links than were read.
    partly_read: u32,
    connectivity: Option<&'a Connectivity>,
    /// When a link last had no response for a reason that may be ours, unless this is already being investigated.
    unclear_at: Option<Instant>,
    /// The same, while it is being investigated.
    looking_into: Option<Instant>,
}

/// A link had no response, and it has to be found out whether that is our own fault.
#[derive(Clone, Copy)]
struct Unclear<'a> {
    connectivity: &'a Connectivity,
    at: Instant,
}

impl Unclear<'_> {
    async fn confirm(self, guard: &SsrfGuard) -> Result<(), CheckError> {
        self.connectivity.confirm(guard, self.at, "links could not be reached").await
    }
}

/// What was found at a link that may lead to more links.
struct PageResult {
    link: LinkId,
    status: Option<u16>,
    location: Option<String>,
    cookies: Option<HeaderValue>,
    links: Option<PageLinks>,
}

/// The URLs in sitemaps are processed last, as the source of links that no page has.
enum Sitemaps {
    NotRequested,
    Requested,
    Fetched(Vec<(String, Vec<String>)>),
}

/// A request to make.
enum Task<'a> {
    Connectivity(Unclear<'a>),
    Robots { origin: u32, url: Url },
    Sitemaps(Vec<Url>),
    Check { link: LinkId, url: Url, method: Method },
    Page { link: LinkId, url: Url, is_entry: bool, ticket: Ticket },
}

/// The result of a [`Task`].
enum TaskResult {
    Connectivity(Result<(), CheckError>),
    Robots { origin: u32, url: Url, rules: RobotsOutcome },
    Sitemaps(Vec<(String, Vec<String>)>),
    Check(LinkId, Visit),
    Page(LinkId, Ticket, Visit),
}

/// Runs a task. `clocks` is notified while its page waits for a tab, because that does not make the page late.
async fn run_task(
    guard: &SsrfGuard,
    client: &Client<'_>,
    renderer: Option<&Renderer<'_>>,
    clocks: &UnboundedSender<(Ticket, Option<Instant>)>,
    task: Task<'_>,
) -> TaskResult {
    match task {
        Task::Connectivity(unclear) => TaskResult::Connectivity(unclear.confirm(guard).await),
        Task::Robots { origin, url } => {
            let rules = visit::robots(client, &url).await;
            TaskResult::Robots { origin, url, rules }
        }
        Task::Sitemaps(urls) => TaskResult::Sitemaps(visit::sitemaps(client, urls).await),
        Task::Check { link, url, method } => {
            TaskResult::Check(link, visit::check(client, method, &url).await)
        }
        Task::Page { link, url, is_entry, ticket } => {
            let clock = |since| {
                // Fails once the crawl is over.
                let _ = clocks.send((ticket, since));
            };
            let visit = visit::page(client, renderer, &url, is_entry, clock).await;
            TaskResult::Page(link, ticket, visit)
        }
    }
}

/// Yields to other tasks, then says whether the deadline has passed.
async fn is_past(deadline: Instant) -> bool {
    tokio::task::yield_now().await;
    Instant::now() >= deadline
}

impl<'a> Crawl<'a> {
    fn new(probe: &LinksProbe<'a>, limiter: &CrawlLimiter) -> Self {
        let scope = Scope {
            hosts: vec![probe.url.host_str().unwrap_or_default().to_owned()],
            port: probe.url[Position::AfterHost..Position::AfterPort].to_owned(),
            ignore: IgnorePaths::new(probe.settings.ignore_paths.iter().map(String::as_str)),
            ignore_external: probe.settings.ignore_external_links,
            ignore_redirects: probe.settings.ignore_redirects,
        };
        let mut frontier = Frontier::new(scope, probe.limits, limiter.pause());
        let entry = frontier.start(&canonical(probe.url.clone()));
        Self {
            frontier,
            entry,
            entry_visits: vec![(entry, None)],
            entry_failure: None,
            order: ReorderBuffer::new(),
            buffered: 0,
            robots_txt: false,
            sitemaps: Sitemaps::NotRequested,
            sitemap_urls: 0,
            partly_read: 0,
            connectivity: probe.connectivity,
            unclear_at: None,
            looking_into: None,
        }
    }

    /// What still has to be found out about our own connection.
    fn unclear(&self) -> Option<Unclear<'a>> {
        let at = self.unclear_at.or(self.looking_into)?;
        Some(Unclear { connectivity: self.connectivity?, at })
    }

    /// Crawls until nothing is left or the deadline passes. Returns whether it finished in time.
    async fn run(
        &mut self,
        guard: &SsrfGuard,
        client: &Client<'_>,
        renderer: Option<&Renderer<'_>>,
        deadline: Instant,
        progress: impl Fn(Progress),
    ) -> Result<bool, CheckError> {
        let (clocks, mut set_clocks) = mpsc::unbounded_channel();
        let mut in_flight = FuturesUnordered::new();
        loop {
            while self.buffered < MAX_BUFFERED
                && let Some(next) = self.next_task(deadline).await
            {
                in_flight.push(run_task(guard, client, renderer, &clocks, next));
            }
            // This runs beside the crawl, because it may have to wait. One at a time is enough: a later one includes
            // the earlier.
            if self.looking_into.is_none()
                && let Some(unclear) = self.unclear()
            {
                self.looking_into = self.unclear_at.take();
                let task = Task::Connectivity(unclear);
                in_flight.push(run_task(guard, client, renderer, &clocks, task));
            }
            let due = self.frontier.due(Instant::now()).filter(|_| self.buffered < MAX_BUFFERED);
            if in_flight.is_empty() && due.is_none() && Instant::now() < deadline {
                if self.process_sitemaps(deadline).await {
                    continue;
                }
                return Ok(true);
            }
            let wake_at = self.order.next_deadline().into_iter().chain(due).min();
            tokio::select! {
                biased;
                () = sleep_until(deadline) => return Ok(false),
                Some(done) = in_flight.next() => {
                    if let Some(urls) = self.process_result(done, deadline).await? {
                        let task = Task::Sitemaps(urls);
                        in_flight.push(run_task(guard, client, renderer, &clocks, task));
                    }
                    progress(self.frontier.progress);
                }
                Some((ticket, since)) = set_clocks.recv() => self.order.set_clock(ticket, since),
                () = sleep_until(wake_at.unwrap_or(deadline)), if wake_at.is_some() => {}
            }
            while let Some(found) = self.order.pop(Instant::now()) {
                let Some(found) = found else {
                    continue;
                };
                self.buffered -= found.links.as_ref().map_or(0, PageLinks::size);
                self.process_page(found, deadline).await;
            }
        }
    }

    /// The next request, if one may be made now and there is time left.
    async fn next_task(&mut self, deadline: Instant) -> Option<Task<'a>> {
        loop {
            let now = Instant::now();
            match self.frontier.next_job(now)? {
                // Canonical URLs always parse.
                Job::Robots { origin, url } => {
                    let Ok(url) = url.parse() else {
                        self.frontier.set_rules(origin, RobotsOutcome::Known(None), now, deadline);
                        continue;
                    };
                    return Some(Task::Robots { origin, url });
                }
                Job::Skipped => {
                    if is_past(deadline).await {
                        return None;
                    }
                }
                Job::Visit { link, url, by } => {
                    let Ok(url) = url.parse() else {
                        self.frontier.record_visit(link, State::Answered(0, false), false);
                        continue;
                    };
                    return Some(match by {
                        VisitKind::Search => {
                            let is_entry = link == self.entry;
                            Task::Page { link, url, is_entry, ticket: self.order.reserve(now) }
                        }
                        VisitKind::Head => Task::Check { link, url, method: Method::HEAD },
                        VisitKind::Get => Task::Check { link, url, method: Method::GET },
                    });
                }
            }
        }
    }

    /// Processes the result of a task. Returns sitemaps to fetch.
    async fn process_result(
        &mut self,
        done: TaskResult,
        deadline: Instant,
    ) -> Result<Option<Vec<Url>>, CheckError> {
        match done {
            TaskResult::Connectivity(confirmed) => {
                self.looking_into = None;
                confirmed?;
            }
            TaskResult::Robots { origin, url, rules } => {
                let mut sitemaps = None;
                if self.frontier.scope.is_own(url.as_str()) {
                    let robots = match &rules {
                        RobotsOutcome::Known(robots) => robots.as_ref(),
                        RobotsOutcome::Unavailable(_) | RobotsOutcome::Throttled => None,
                    };
                    self.robots_txt |= robots.is_some();
                    sitemaps = self.sitemaps_of(&url, robots);
                }
                self.frontier.set_rules(origin, rules, Instant::now(), deadline);
                return Ok(sitemaps);
            }
            TaskResult::Sitemaps(sitemaps) => self.sitemaps = Sitemaps::Fetched(sitemaps),
            TaskResult::Check(link, visit) => {
                self.note_blame(visit.blame);
                self.record_outcome(link, visit.outcome, false, deadline)?;
            }
            TaskResult::Page(link, ticket, visit) => {
                let Visit { outcome, location, cookies, links, blame } = visit;
                self.note_blame(blame);
                self.record_outcome(link, outcome, links.is_some(), deadline)?;
                let status = match self.frontier.state(link) {
                    State::Waiting => {
                        self.order.insert(ticket, None);
                        return Ok(None);
                    }
                    State::Answered(status, _) => Some(status),
                    _ => None,
                };
                self.buffered += links.as_ref().map_or(0, PageLinks::size);
                self.partly_read += u32::from(links.as_ref().is_some_and(|links| links.is_cut));
                let found = PageResult { link, status, location, cookies, links };
                if let Some(Some(late)) = self.order.insert(ticket, Some(found)) {
                    self.buffered -= late.links.as_ref().map_or(0, PageLinks::size);
                    self.process_page(late, deadline).await;
                }
            }
        }
        Ok(None)
    }

    fn note_blame(&mut self, blame: Blame) {
        if blame == Blame::Unclear {
            self.unclear_at = Some(Instant::now());
        }
    }

    /// Records the outcome of a visit. An error means that the check cannot run.
    fn record_outcome(
        &mut self,
        link: LinkId,
        outcome: VisitOutcome,
        searched: bool,
        deadline: Instant,
    ) -> Result<(), CheckError> {
        let state = match outcome {
            VisitOutcome::Inconclusive => {
                self.frontier.retry_by_get(link);
                return Ok(());
            }
            VisitOutcome::RetryLater { status, pause } => {
                self.frontier.postpone(link, status, pause, Instant::now(), deadline);
                return Ok(());
            }
            VisitOutcome::Throttled => {
                self.frontier.throttle(link, Instant::now());
                return Ok(());
            }
            VisitOutcome::Status(status, redirects) => State::Answered(status, redirects),
            VisitOutcome::Forbidden(error) | VisitOutcome::Unchecked(error)
                if link == START_LINK =>
            {
                return Err(error);
            }
            VisitOutcome::LookupTimedOut if link == START_LINK => State::Answered(0, false),
            VisitOutcome::Forbidden(_) => State::Forbidden,
            VisitOutcome::Unchecked(_) | VisitOutcome::LookupTimedOut => State::Unchecked,
        };
        self.frontier.record_visit(link, state, searched);
        Ok(())
    }

    /// The sitemaps to fetch, once: those that the first `robots.txt` lists on the site's host, or
    /// the one at the default location.
    fn sitemaps_of(&mut self, url: &Url, robots: Option<&Robots>) -> Option<Vec<Url>> {
        if !matches!(self.sitemaps, Sitemaps::NotRequested) {
            return None;
        }
        self.sitemaps = Sitemaps::Requested;
        let named = robots.into_iter().flat_map(Robots::sitemaps);
        let mut urls: Vec<Url> = named
            .filter_map(|sitemap| url.join(sitemap).ok())
            .filter(|sitemap| self.frontier.scope.is_own(sitemap.as_str()))
            .take(sitemap::FILES_LIMIT)
            .collect();
        if urls.is_empty() {
            urls.extend(url.join("/sitemap.xml"));
        }
        Some(urls)
    }

    /// Adds the links of a page or the target of a redirect to the frontier, as far as time allows.
    async fn process_page(&mut self, found: PageResult, deadline: Instant) {
        let PageResult { link, status, location, cookies, links } = found;
        if link == self.entry && links.is_none() {
            self.resolve_entry(status, location, cookies);
        } else if let Some(location) = location
            && self.frontier.scope.is_own(&location)
        {
            self.discover_redirect_target(link, &location);
        }
        let source = frontier::Source::Link(link);
        for (number, further) in links.iter().flat_map(PageLinks::iter).enumerate() {
            if number % BATCH == BATCH - 1 && is_past(deadline).await {
                return;
            }
            self.frontier.discover(further, source);
        }
    }

    fn discover_redirect_target(&mut self, link: LinkId, location: &str) -> Option<LinkId> {
        let target = PageLink { url: location, kind: Kind::Page, valid: true };
        self.frontier.discover(target, frontier::Source::Link(link))
    }

    /// The entry is not a page: continues with its redirect target, or sets why the crawl ends.
    fn resolve_entry(
        &mut self,
        status: Option<u16>,
        location: Option<String>,
        cookies: Option<HeaderValue>,
    ) {
        self.entry_failure = Some(match location {
            Some(location) => {
                self.frontier.scope.adopt(&location);
                if !self.frontier.scope.is_own(&location) {
                    FinishReason::RedirectedAway
                } else {
                    let target = self.discover_redirect_target(self.entry, &location);
                    let visit = target.map(|target| (target, cookies));
                    match visit.filter(|visit| !self.entry_visits.contains(visit)) {
                        Some(visit) if self.entry_visits.len() <= MAX_ENTRY_REDIRECTS => {
                            self.entry = visit.0;
                            self.frontier.revisit(self.entry);
                            self.entry_visits.push(visit);
                            return;
                        }
                        _ => FinishReason::Unreachable,
                    }
                }
            }
            None if status == Some(200) => FinishReason::NotHtml,
            None => FinishReason::Unreachable,
        });
    }

    /// Adds the URLs of the sitemaps once all pages are known. Returns whether there is work.
    async fn process_sitemaps(&mut self, deadline: Instant) -> bool {
        let Sitemaps::Fetched(sitemaps) = &mut self.sitemaps else {
            return false;
        };
        let sitemaps = std::mem::take(sitemaps);
        if self.frontier.progress.pages == 0 {
            return false;
        }
        for (sitemap, pages) in sitemaps {
            let Ok(url) = sitemap.parse() else {
                continue;
            };
            let base = Base::new(&url, None, encoding_rs::UTF_8);
            let source = self.frontier.sitemap(sitemap);
            for (number, page) in pages.into_iter().enumerate() {
                if number % BATCH == BATCH - 1 && is_past(deadline).await {
                    return true;
                }
                if let Reference::Web(url) = base.resolve(&page)
                    && self.frontier.scope.is_own(&url)
                {
                    self.sitemap_urls += 1;
                    let link = PageLink { url: &url, kind: Kind::Page, valid: true };
                    self.frontier.discover(link, source);
                }
            }
        }
        self.frontier.progress.queued > 0
    }
}
