//! The `broken-links` check: a breadth-first crawl of a site, and a visit to every link on it.
//!
//! The crawl is one task: requests run beside each other in it, and what they find is taken in one
//! by one, pages in the order in which they were met, so that two crawls of an unchanged site say
//! the same. Dropping it leaves nothing running.

mod canonical;
mod extract;
mod fetch;
mod frontier;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod ignore;
mod render;
mod reorder;
mod report;
mod robots;
mod sitemap;
mod traffic;
mod visit;

#[cfg(test)]
mod tests;

use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use hyper::Method;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::{Instant, sleep_until};
use url::{Position, Url};
use vedette_domain::check::{CheckError, FinishReason, LinksResult};
use vedette_domain::settings::LinksSettings;

use self::canonical::{Base, Reference, canonical};
use self::extract::{Kind, PageLink, PageLinks};
use self::fetch::Client;
use self::frontier::{Frontier, Job, LinkId, Means, START, Scope, State};
use self::ignore::IgnorePaths;
use self::render::Renderer;
use self::reorder::{ReorderBuffer, Ticket};
use self::robots::Robots;
pub use self::traffic::Traffic;
use self::visit::{Rules, Verdict, Visit};
use crate::browser::Chromium;
use crate::guard::Guard;
use crate::request_header::RequestHeader;

/// How long a whole crawl may take, unless the caller has less.
pub const DEADLINE: Duration = vedette_domain::tool::Tool::BrokenLinks.limits().deadline;

/// Bytes of links read but not yet taken in, from which on no further page is fetched.
const HELD: usize = 16 * 1024 * 1024;

/// Links that are taken in at a time: each is held against all that is to be left out.
const STRIDE: usize = 16;

/// What a crawl may take on; see [`DEADLINE`] for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pages that are searched for links.
    pub pages: u32,
    /// Distinct links that are looked at.
    pub links: u32,
    /// Clicks from the site's URL to a page that is still searched.
    pub depth: u32,
    /// Distinct links to one registered domain that are visited, the site's own host aside. A host
    /// without a domain, such as an address, counts as one.
    pub links_per_domain: u32,
}

impl Default for Limits {
    /// What a site that answers within 50 ms has time for within [`DEADLINE`].
    fn default() -> Self {
        Self { pages: 5_000, links: 75_000, depth: 20, links_per_domain: 500 }
    }
}

/// What to crawl, and how. Not `Debug`: the header's value is a secret.
#[derive(Clone, Copy)]
pub struct LinksProbe<'a> {
    /// The monitored URL, where the crawl begins.
    pub url: &'a Url,
    /// Name and value of the site's request header, sent to the host of `url` only.
    pub header: Option<(&'a str, &'a str)>,
    /// What is left out: paths ([`probe`] says how their patterns match), links to other hosts,
    /// redirects of whatever status.
    pub settings: &'a LinksSettings,
    /// Renders pages before their links are read; without, pages are read as they come.
    pub browser: Option<&'a Chromium>,
    /// What the crawl may take on.
    pub limits: Limits,
    /// For the whole crawl; see [`DEADLINE`].
    pub deadline: Duration,
}

/// How far a crawl is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Pages searched.
    pub pages: u32,
    /// Links with a verdict, pages included.
    pub links: u32,
    /// Links that wait for their visit.
    pub queued: u32,
    /// Broken links.
    pub found: u32,
}

/// Crawls a site, and calls `progress` after each visit.
///
/// The **site** is the host of `url`, on the port of `url` and the default ports. Where `url`
/// redirects to the same name with or without `www.`, that host is the site's own, too. Its pages
/// (HTML behind `a`, `area`, `iframe`, `frame`, refreshes, redirects and sitemaps) are fetched and
/// searched; every other link on them, with what pages are made of (pictures, scripts, styles,
/// media), is visited once by HEAD, and by GET where that fails. `robots.txt` is followed on the
/// site, for other links than pages too; one that cannot be had rules nothing. Addresses that look
/// endless are checked but not searched.
///
/// **Other hosts** did not ask to be crawled, those of the same domain included:
///
/// - Of the links to one registered domain, [`Limits::links_per_domain`] are visited.
/// - A host is asked at most two things at a time, with a pause between.
/// - Where there are more than ten links to a host, its `robots.txt` is followed, too, redirected
///   within its domain at most. One that its server withholds, by silence, 429 or an error of its
///   own, allows nothing; where nobody is there
///   to answer, the links are tried.
/// - All crawls with the same `traffic` together ask an address at most four things at a time, one
///   crawl two, and ten a second, whatever the names for it. What has to wait for that is put off.
///
/// What is not visited for this is not broken, and counted by reason.
///
/// **429**, and 503 with `Retry-After`, ask us to come back later. The host then rests for as long as
/// it says, 30 s at a time and a minute in all, and the link is visited again, twice at most. On the
/// site, its answer counts in the end, as any other: the owner wants to know. But a link is broken by
/// what it answers to a visitor, and a site that asks for more rest than that answers the crawler: it
/// is asked for one thing a second from then on, and what it answers in this way says nothing of the
/// link, as elsewhere, where it never does. Elsewhere, a host that asks for so much rest is asked for
/// nothing more. A 503 that names no time is an answer like any other.
///
/// The site's header goes to its own host only. It may be a `User-Agent`, so that there a further
/// header, `X-Monitored-By`, says who asks; all other hosts see our `User-Agent`.
///
/// With a `browser`, pages are still fetched for their status, and then shown and searched as they
/// stand once they load nothing more, for eight seconds at most. What the browser asks for passes
/// the guard, too.
///
/// A link is **broken** when its first answer is not 200, 301, 302 or 303; 0 stands for no answer,
/// and for what was written as a link and is no URL. Redirects are not followed, but lead to their
/// target as a further link where it is on the site.
///
/// A pattern of **`ignore_paths`** is compared with the path of a link on the site's own host:
///
/// - `*` stands for any run of characters, slashes included.
/// - With a `*`, the pattern describes the whole path: `/blog/*` is all below `/blog/`, `*.pdf` is
///   every path that ends so.
/// - Without, it is a path and everything below it: `/blog` is also `/blog/2026`, but not
///   `/blogger`. The leading slash may be left out.
/// - A pattern with a `?` is compared with path and query, any other with the path alone.
/// - A pattern that starts with `http://` or `https://` is compared with whole URLs in the same
///   way, on any host: `https://social.example/*`.
///
/// What matches is neither crawled nor checked. Upper and lower case differ.
///
/// A crawl that runs out of time completes with what it found. So does one that cannot get past
/// `url`; its `finish_reason` says so. Links that the guard refuses are not connected to, and not
/// broken.
///
/// # Errors
/// When the check could not run, which says nothing of the target: `url` is refused by the guard
/// ([`TARGET_FORBIDDEN`](crate::guard::TARGET_FORBIDDEN)) or cannot be asked for
/// ([`NO_ROUTE`](crate::status::NO_ROUTE), [`NO_SOCKET`](crate::status::NO_SOCKET),
/// [`RESOLVER_UNAVAILABLE`](crate::guard::RESOLVER_UNAVAILABLE)), the header cannot be sent
/// ([`INVALID_HEADER`](crate::INVALID_HEADER)), or the browser does not start
/// ([`BROWSER_UNAVAILABLE`](crate::browser::BROWSER_UNAVAILABLE)).
pub async fn probe(
    guard: &Guard,
    traffic: &Traffic,
    probe: &LinksProbe<'_>,
    progress: impl Fn(Progress),
) -> Result<LinksResult, CheckError> {
    let header = probe.header.map(RequestHeader::parse).transpose()?;
    let started = Instant::now();
    let deadline = started + probe.deadline;
    let client = Client::new(guard, traffic, probe.url, header.as_ref());
    let mut crawl = Crawl::new(probe, traffic);
    let in_time = match probe.browser {
        None => crawl.run(&client, None, deadline, progress).await?,
        Some(chromium) => {
            let crawl = async |renderer: &Renderer<'_>| {
                crawl.run(&client, Some(renderer), deadline, progress).await
            };
            let (home, header) = (probe.url, header.as_ref());
            render::with_browser(guard, chromium, home, header, probe.deadline, crawl).await?
        }
    };
    Ok(crawl.result(probe, started.elapsed(), in_time))
}

/// A crawl between two visits.
struct Crawl {
    frontier: Frontier,
    /// The link behind which the site is: its URL, or where that redirects to.
    entry: LinkId,
    /// What became of the entry when it is not a page.
    refused: Option<FinishReason>,
    /// Pages; none in the place of one that is asked for again.
    order: ReorderBuffer<Option<Found>>,
    /// Bytes of links in `order`.
    held: usize,
    robots_txt: bool,
    sitemaps: Sitemaps,
    sitemap_urls: u32,
}

/// What was found behind a link that may lead further.
struct Found {
    link: LinkId,
    status: Option<u16>,
    location: Option<String>,
    links: Option<PageLinks>,
}

/// The URLs of sitemaps come in last: they name what no page links to.
enum Sitemaps {
    NotAsked,
    Asked,
    Known(Vec<(String, Vec<String>)>),
}

/// A request to be made.
enum Work {
    Robots { origin: u32, url: Url },
    Sitemaps(Vec<Url>),
    Check { link: LinkId, url: Url, method: Method },
    Page { link: LinkId, url: Url, ticket: Ticket },
}

/// What came of it.
enum Done {
    Robots { origin: u32, url: Url, rules: Rules },
    Sitemaps(Vec<(String, Vec<String>)>),
    Check(LinkId, Visit),
    Page(LinkId, Ticket, Visit),
}

/// Makes a request. Where its page waits for a tab, `clocks` is told, as that is not the page's fault.
async fn work(
    client: &Client<'_>,
    renderer: Option<&Renderer<'_>>,
    clocks: &UnboundedSender<(Ticket, Option<Instant>)>,
    work: Work,
) -> Done {
    match work {
        Work::Robots { origin, url } => {
            let rules = visit::robots(client, &url).await;
            Done::Robots { origin, url, rules }
        }
        Work::Sitemaps(urls) => Done::Sitemaps(visit::sitemaps(client, urls).await),
        Work::Check { link, url, method } => {
            Done::Check(link, visit::check(client, method, &url).await)
        }
        Work::Page { link, url, ticket } => {
            let clock = |since| {
                // Fails once the crawl is over.
                let _ = clocks.send((ticket, since));
            };
            Done::Page(link, ticket, visit::page(client, renderer, &url, clock).await)
        }
    }
}

/// Whether the time is over, after everyone else had their turn.
async fn is_over(deadline: Instant) -> bool {
    tokio::task::yield_now().await;
    Instant::now() >= deadline
}

impl Crawl {
    fn new(probe: &LinksProbe<'_>, traffic: &Traffic) -> Self {
        let scope = Scope {
            hosts: vec![probe.url.host_str().unwrap_or_default().to_owned()],
            port: probe.url[Position::AfterHost..Position::AfterPort].to_owned(),
            ignore: IgnorePaths::new(probe.settings.ignore_paths.iter().map(String::as_str)),
            ignore_external: probe.settings.ignore_external_links,
            ignore_redirects: probe.settings.ignore_redirects,
        };
        let mut frontier = Frontier::new(scope, probe.limits, traffic.pause());
        let entry = frontier.start(&canonical(probe.url.clone()));
        Self {
            frontier,
            entry,
            refused: None,
            order: ReorderBuffer::new(),
            held: 0,
            robots_txt: false,
            sitemaps: Sitemaps::NotAsked,
            sitemap_urls: 0,
        }
    }

    /// Crawls until nothing is left, or the time is over; says whether it was not.
    async fn run(
        &mut self,
        client: &Client<'_>,
        renderer: Option<&Renderer<'_>>,
        deadline: Instant,
        progress: impl Fn(Progress),
    ) -> Result<bool, CheckError> {
        let (clocks, mut set_clocks) = mpsc::unbounded_channel();
        let mut under_way = FuturesUnordered::new();
        loop {
            while self.held < HELD
                && let Some(next) = self.next_work(deadline).await
            {
                under_way.push(work(client, renderer, &clocks, next));
            }
            let due = self.frontier.due(Instant::now()).filter(|_| self.held < HELD);
            if under_way.is_empty() && due.is_none() && Instant::now() < deadline {
                if self.take_in_sitemaps(deadline).await {
                    continue;
                }
                return Ok(true);
            }
            let wake_at = self.order.next_deadline().into_iter().chain(due).min();
            tokio::select! {
                biased;
                () = sleep_until(deadline) => return Ok(false),
                Some(done) = under_way.next() => {
                    if let Some(urls) = self.done(done, deadline).await? {
                        under_way.push(work(client, renderer, &clocks, Work::Sitemaps(urls)));
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
                self.held -= found.links.as_ref().map_or(0, PageLinks::size);
                self.take_in(found, deadline).await;
            }
        }
    }

    /// The next request to be made, if there is one that may be made now, and time left.
    async fn next_work(&mut self, deadline: Instant) -> Option<Work> {
        loop {
            let now = Instant::now();
            match self.frontier.next_job(now)? {
                // What is canonical can be parsed.
                Job::Robots { origin, url } => {
                    let Ok(url) = url.parse() else {
                        self.frontier.ruled(origin, Rules::Known(None), now, deadline);
                        continue;
                    };
                    return Some(Work::Robots { origin, url });
                }
                Job::LeftOut => {
                    if is_over(deadline).await {
                        return None;
                    }
                }
                Job::Visit { link, url, by } => {
                    let Ok(url) = url.parse() else {
                        self.frontier.visited(link, State::Answered(0, false), false);
                        continue;
                    };
                    return Some(match by {
                        Means::Search => Work::Page { link, url, ticket: self.order.reserve(now) },
                        Means::Head => Work::Check { link, url, method: Method::HEAD },
                        Means::Get => Work::Check { link, url, method: Method::GET },
                    });
                }
            }
        }
    }

    /// Takes in what a request brought; gives sitemaps to be fetched.
    async fn done(
        &mut self,
        done: Done,
        deadline: Instant,
    ) -> Result<Option<Vec<Url>>, CheckError> {
        match done {
            Done::Robots { origin, url, rules } => {
                let mut sitemaps = None;
                if self.frontier.scope.is_own(url.as_str()) {
                    let robots = match &rules {
                        Rules::Known(robots) => robots.as_ref(),
                        Rules::Withheld(_) | Rules::NoTurn => None,
                    };
                    self.robots_txt |= robots.is_some();
                    sitemaps = self.sitemaps_of(&url, robots);
                }
                self.frontier.ruled(origin, rules, Instant::now(), deadline);
                return Ok(sitemaps);
            }
            Done::Sitemaps(sitemaps) => self.sitemaps = Sitemaps::Known(sitemaps),
            Done::Check(link, visit) => self.judge(link, visit.verdict, false, deadline)?,
            Done::Page(link, ticket, visit) => {
                let Visit { verdict, location, links } = visit;
                self.judge(link, verdict, links.is_some(), deadline)?;
                let status = match self.frontier.state(link) {
                    State::Waiting => {
                        self.order.insert(ticket, None);
                        return Ok(None);
                    }
                    State::Answered(status, _) => Some(status),
                    _ => None,
                };
                self.held += links.as_ref().map_or(0, PageLinks::size);
                let found = Found { link, status, location, links };
                if let Some(Some(late)) = self.order.insert(ticket, Some(found)) {
                    self.held -= late.links.as_ref().map_or(0, PageLinks::size);
                    self.take_in(late, deadline).await;
                }
            }
        }
        Ok(None)
    }

    /// Takes in what a visit says of a link; an error where it says that the check cannot run.
    fn judge(
        &mut self,
        link: LinkId,
        verdict: Verdict,
        searched: bool,
        deadline: Instant,
    ) -> Result<(), CheckError> {
        let state = match verdict {
            Verdict::Unsettled => {
                self.frontier.ask_again(link);
                return Ok(());
            }
            Verdict::Busy { status, pause } => {
                self.frontier.put_off(link, status, pause, Instant::now(), deadline);
                return Ok(());
            }
            Verdict::NoTurn => {
                self.frontier.wait_for_turn(link, Instant::now());
                return Ok(());
            }
            Verdict::Status(status, redirects) => State::Answered(status, redirects),
            Verdict::Forbidden(error) | Verdict::Unchecked(error) if link == START => {
                return Err(error);
            }
            Verdict::Unresolved if link == START => State::Answered(0, false),
            Verdict::Forbidden(_) => State::Forbidden,
            Verdict::Unchecked(_) | Verdict::Unresolved => State::Unchecked,
        };
        self.frontier.visited(link, state, searched);
        Ok(())
    }

    /// The sitemaps to fetch, once: those that the first `robots.txt` names on the site's host, or
    /// the one at the usual place.
    fn sitemaps_of(&mut self, url: &Url, robots: Option<&Robots>) -> Option<Vec<Url>> {
        if !matches!(self.sitemaps, Sitemaps::NotAsked) {
            return None;
        }
        self.sitemaps = Sitemaps::Asked;
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

    /// Takes in the links of a page, or the target of a redirect; what there is time for.
    async fn take_in(&mut self, found: Found, deadline: Instant) {
        let Found { link, status, location, links } = found;
        if link == self.entry && links.is_none() {
            self.enter(status, location);
        } else if let Some(location) = location
            && self.frontier.scope.is_own(&location)
        {
            self.meet_target(link, &location);
        }
        let source = frontier::Source::Link(link);
        for (number, further) in links.iter().flat_map(PageLinks::iter).enumerate() {
            if number % STRIDE == STRIDE - 1 && is_over(deadline).await {
                return;
            }
            self.frontier.meet(further, source);
        }
    }

    fn meet_target(&mut self, link: LinkId, location: &str) -> Option<LinkId> {
        let target = PageLink { url: location, kind: Kind::Page, valid: true };
        self.frontier.meet(target, frontier::Source::Link(link))
    }

    /// The entry is no page: goes on to where it redirects to, or says why the crawl ends.
    fn enter(&mut self, status: Option<u16>, location: Option<String>) {
        self.refused = Some(match location {
            Some(location) => {
                self.frontier.scope.adopt(&location);
                if !self.frontier.scope.is_own(&location) {
                    FinishReason::RedirectedAway
                } else {
                    match self.meet_target(self.entry, &location) {
                        // Not a loop.
                        Some(target) if target > self.entry => {
                            self.entry = target;
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

    /// Takes in the URLs of the sitemaps, once all pages are known; says whether there is work.
    async fn take_in_sitemaps(&mut self, deadline: Instant) -> bool {
        let Sitemaps::Known(sitemaps) = &mut self.sitemaps else {
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
                if number % STRIDE == STRIDE - 1 && is_over(deadline).await {
                    return true;
                }
                if let Reference::Web(url) = base.resolve(&page)
                    && self.frontier.scope.is_own(&url)
                {
                    self.sitemap_urls += 1;
                    let link = PageLink { url: &url, kind: Kind::Page, valid: true };
                    self.frontier.meet(link, source);
                }
            }
        }
        self.frontier.progress.queued > 0
    }
}
