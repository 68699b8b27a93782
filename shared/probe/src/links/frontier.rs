//! The frontier of a crawl: the links it knows and has still to visit, in breadth-first order.
//! Pure.
//!
//! External hosts did not ask to be crawled. So they get few requests: each job is one request,
//! with pauses between.

mod host;
mod schedule;
mod trap;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use indexmap::IndexMap;
use tokio::time::Instant;
use vedette_domain::checks::check::{BrokenLink, SkippedLinks};

use self::host::Host;
use self::trap::Traps;
use super::canonical::{host_of, origin_of, path_and_query_of, without_www};
use super::extract::{Kind, PageLink};
use super::ignore::IgnorePaths;
use super::robots::Robots;
use super::visit::is_broken;
use super::{CrawlBounds, Progress};
use crate::http::stored;
use crate::registrable::registrable_domain;

/// Concurrent requests to all external hosts together.
const MAX_EXTERNAL_REQUESTS: usize = 32;

/// The `robots.txt` of an external host is fetched only if there are more links to it than this.
const ROBOTS_THRESHOLD: u32 = 10;

/// Bytes of rules kept for external hosts. Links under any further `robots.txt` count as
/// disallowed.
const RULES_LIMIT: usize = 32 * 1024 * 1024;

/// Consecutive requests without a response after which an external origin is given up: each takes
/// up to fifteen seconds, and a dead host can have hundreds of links. The site's own hosts are
/// never given up.
const MAX_UNANSWERED: u32 = 3;

/// How long a host is paused when its address has reached its rate limit.
const THROTTLE_PAUSE: Duration = Duration::from_secs(1);

/// How often a link is retried if its server asks us to come back later.
const MAX_RETRIES: u8 = 2;

/// The most bytes of URLs that are kept. Reaching it counts as reaching the limit on links, which comes first with URLs
/// of the usual length.
const TEXT_LIMIT: usize = 32 * 1024 * 1024;

/// Extensions of files that are not pages; they are checked by HEAD, not fetched.
const FILES: [&str; 44] = [
    "7z", "aac", "apk", "avi", "avif", "bmp", "bz2", "css", "csv", "dmg", "doc", "docx", "eot",
    "epub", "exe", "gif", "gz", "ico", "iso", "jpeg", "jpg", "js", "json", "m4a", "m4v", "mov",
    "mp3", "mp4", "ogg", "pdf", "png", "ppt", "pptx", "rar", "svg", "tar", "tgz", "ttf", "wav",
    "webm", "webp", "woff2", "xlsx", "zip",
];

/// What is crawled and what is ignored.
pub(super) struct Scope {
    /// Hosts of the site.
    pub(super) hosts: Vec<String>,
    /// The port of the site's URL as canonical URLs spell it, such as `:8080`; empty for the
    /// scheme's default.
    pub(super) port: String,
    pub(super) ignore: IgnorePaths,
    pub(super) ignore_external: bool,
    pub(super) ignore_redirects: bool,
}

impl Scope {
    /// Whether a canonical URL is on the site's own host, on any port.
    pub(super) fn is_own(&self, url: &str) -> bool {
        let host = host_of(url);
        self.hosts.iter().any(|own| own == host)
    }

    /// Adds the host of `url` to the site if it is the same name with or without `www.`.
    pub(super) fn adopt(&mut self, url: &str) {
        let host = host_of(url);
        let is_same = |own: &String| without_www(own) == without_www(host);
        if !self.is_own(url) && self.hosts.iter().any(is_same) {
            self.hosts.push(host.to_owned());
        }
    }

    /// Whether a canonical URL is part of the site itself: on its own host, and on its own or the
    /// default port. Links to other ports are checked, not searched.
    fn is_site(&self, url: &str) -> bool {
        let port = origin_of(url).rsplit_once(host_of(url)).map_or("", |(_, port)| port);
        self.is_own(url) && (port.is_empty() || port == self.port)
    }
}

/// Identifies a link. Ids follow the order of discovery.
pub(super) type LinkId = u32;

/// The site's URL, which comes first. Its status always counts.
pub(super) const START_LINK: LinkId = 0;

/// Where a link was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Source {
    /// On the page, or as the redirect target, of this link.
    Link(LinkId),
    /// In the sitemap with this index.
    Sitemap(u32),
}

/// What to do next.
#[derive(Debug, PartialEq)]
pub(super) enum Job {
    /// Fetch the `robots.txt` for the origin of this URL, before any other request to it.
    Robots { origin: u32, url: String },
    /// Visit a link.
    Visit { link: LinkId, url: String, by: VisitKind },
    /// A link was resolved without a visit, for example by its `robots.txt`. That can take a
    /// millisecond, and there can be thousands of such links, so the caller may want to yield.
    Skipped,
}

/// How to visit a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum VisitKind {
    /// By HEAD, at first.
    Head,
    /// By GET, after HEAD failed.
    Get,
    /// By GET, and search it as a page.
    Search,
}

/// The state of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Waiting,
    InFlight,
    /// The HTTP status, and whether it is a redirect.
    Answered(u16, bool),
    DisallowedByRobots,
    /// Beyond the limit of its domain.
    OverLimit,
    /// Its server asked us to back off.
    RateLimited,
    Forbidden,
    Unchecked,
}

struct Link {
    source: Source,
    depth: u32,
    origin: u32,
    /// Whether it is to be searched as a page.
    search: bool,
    /// Whether HEAD has failed.
    by_get: bool,
    /// How often it was postponed.
    postponed: u8,
    state: State,
}

/// Scheme, host and port.
#[derive(Default)]
struct Origin {
    host: u32,
    /// Whether it is part of the site itself.
    site: bool,
    robots: RobotsState,
    /// Links to visit, in the order of discovery.
    queue: VecDeque<LinkId>,
    /// External links that were visited before the rules were known.
    awaiting_rules: Vec<LinkId>,
    /// Consecutive visits without a response.
    unanswered: u32,
    /// Whether it has ever responded.
    has_answered: bool,
    /// Whether it is in its host's queue of origins with work.
    is_listed: bool,
}

#[derive(Default)]
enum RobotsState {
    #[default]
    Unknown,
    Requested,
    Known(Option<Robots>),
    /// Unavailable; all links get this state.
    Unavailable(State),
}

/// Which limits were reached.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct LimitsHit {
    pub(super) pages: bool,
    pub(super) links: bool,
    pub(super) depth: bool,
}

/// All links of a crawl, each once.
pub(super) struct Frontier {
    pub(super) scope: Scope,
    limits: CrawlBounds,
    links: IndexMap<Box<str>, Link>,
    sitemaps: Vec<String>,
    origins: IndexMap<Box<str>, Origin>,
    hosts: IndexMap<Box<str>, Host>,
    /// Number of external links by registered domain.
    domains: HashMap<Box<str>, u32>,
    /// The time between two requests to an external host.
    pause: Duration,
    /// External hosts with work that may be requested now.
    ready: VecDeque<u32>,
    /// External hosts with work that has to wait.
    later: BTreeSet<(Instant, u32)>,
    /// Requests to external hosts in flight.
    external_requests: usize,
    /// Bytes of the rules of external hosts.
    rules: usize,
    traps: Traps,
    text: usize,
    /// Pages being fetched to be searched.
    searching: u32,
    pub(super) limits_hit: LimitsHit,
    pub(super) trapped: u32,
    pub(super) progress: Progress,
}

impl Frontier {
    pub(super) fn new(scope: Scope, limits: CrawlBounds, pause: Duration) -> Self {
        Self {
            scope,
            limits,
            links: IndexMap::new(),
            sitemaps: Vec::new(),
            origins: IndexMap::new(),
            hosts: IndexMap::from([(Box::from(""), Host::default())]),
            domains: HashMap::new(),
            pause,
            ready: VecDeque::new(),
            later: BTreeSet::new(),
            external_requests: 0,
            rules: 0,
            traps: Traps::default(),
            text: 0,
            searching: 0,
            limits_hit: LimitsHit::default(),
            trapped: 0,
            progress: Progress::default(),
        }
    }

    /// Adds the site's URL, which no page links to and no setting ignores.
    pub(super) fn start(&mut self, url: &str) -> LinkId {
        self.insert(url, Source::Link(START_LINK), 0, true)
    }

    /// Adds a sitemap as a source of links.
    pub(super) fn sitemap(&mut self, url: String) -> Source {
        self.sitemaps.push(url);
        Source::Sitemap(self.sitemaps.len() as u32 - 1)
    }

    /// Adds a link; returns its id unless it is ignored.
    pub(super) fn discover(&mut self, link: PageLink<'_>, source: Source) -> Option<LinkId> {
        let PageLink { url, kind, valid } = link;
        if let Some(id) = self.links.get_index_of(url) {
            if kind == Kind::Page {
                self.upgrade_to_page(id);
            }
            return Some(id as LinkId);
        }
        let own = valid && self.scope.is_own(url);
        if (valid && !own && self.scope.ignore_external) || self.scope.ignore.matches(url, own) {
            return None;
        }
        if self.links.len() >= self.limits.links as usize || self.text + url.len() > TEXT_LIMIT {
            self.limits_hit.links = true;
            return None;
        }
        let depth = match source {
            Source::Link(page) => self.depth(page) + 1,
            Source::Sitemap(_) => 1,
        };
        if !valid {
            return Some(self.insert_resolved(url, source, depth, State::Answered(0, false)));
        }
        if !own && self.exceeds_domain_limit(url) {
            return Some(self.insert_resolved(url, source, depth, State::OverLimit));
        }
        let search =
            kind == Kind::Page && self.scope.is_site(url) && self.is_worth_searching(url, depth);
        Some(self.insert(url, source, depth, search))
    }

    /// A link that was known as a page's resource turns out to be a page.
    fn upgrade_to_page(&mut self, id: usize) {
        let Some((url, link)) = self.links.get_index(id) else {
            return;
        };
        let is_open = matches!(link.state, State::Waiting | State::Answered(200, _));
        let (url, depth) = (url.clone(), link.depth);
        if link.search
            || !is_open
            || !self.scope.is_site(&url)
            || !self.is_worth_searching(&url, depth)
        {
            return;
        }
        self.links[id].search = true;
        self.revisit(id as LinkId);
    }

    /// Visits a link again if it has been visited.
    pub(super) fn revisit(&mut self, id: LinkId) {
        let link = &mut self.links[id as usize];
        if let State::Answered(status, redirects) = link.state {
            link.state = State::Waiting;
            let origin = link.origin;
            self.progress.links -= 1;
            self.progress.found -= u32::from(self.is_reported(status, redirects));
            self.enqueue(id, origin);
        }
    }

    fn is_worth_searching(&mut self, url: &str, depth: u32) -> bool {
        if is_file(url) {
            return false;
        }
        if depth > self.limits.depth {
            self.limits_hit.depth = true;
            return false;
        }
        if self.traps.is_trap(url) {
            self.trapped += 1;
            return false;
        }
        true
    }

    /// Counts a link to the domain of an external URL; returns whether it is beyond the limit.
    fn exceeds_domain_limit(&mut self, url: &str) -> bool {
        let host = external_host(url);
        let domain = registrable_domain(host).unwrap_or(host);
        if !self.domains.contains_key(domain) {
            self.domains.insert(domain.into(), 0);
        }
        let links = self.domains.get_mut(domain);
        links.is_none_or(|links| {
            *links += 1;
            *links > self.limits.links_per_domain
        })
    }

    fn insert(&mut self, url: &str, source: Source, depth: u32, search: bool) -> LinkId {
        let origin = self.origin(url);
        let state = State::Waiting;
        let link = Link { source, depth, origin, search, by_get: false, postponed: 0, state };
        let id = self.add(url, link);
        self.enqueue(id, origin);
        self.count(origin);
        id
    }

    /// Adds a link that is not visited.
    fn insert_resolved(&mut self, url: &str, source: Source, depth: u32, state: State) -> LinkId {
        let origin = u32::MAX;
        let search = false;
        let link = Link { source, depth, origin, search, by_get: false, postponed: 0, state };
        let id = self.add(url, link);
        self.record(id, state);
        id
    }

    fn add(&mut self, url: &str, link: Link) -> LinkId {
        self.text += url.len();
        self.links.insert_full(url.into(), link).0 as LinkId
    }

    /// Whether a response makes a link count as broken.
    fn is_reported(&self, status: u16, redirects: bool) -> bool {
        is_broken(status) && !(redirects && self.scope.ignore_redirects)
    }

    pub(super) fn url(&self, id: LinkId) -> &str {
        self.links.get_index(id as usize).map_or("", |(url, _)| url)
    }

    pub(super) fn state(&self, id: LinkId) -> State {
        self.links[id as usize].state
    }

    fn depth(&self, id: LinkId) -> u32 {
        self.links[id as usize].depth
    }

    /// The number of links without a result, by reason.
    pub(super) fn skipped(&self) -> SkippedLinks {
        let mut skipped = SkippedLinks::default();
        for link in self.links.values() {
            match link.state {
                State::Answered(..) => {}
                State::DisallowedByRobots => skipped.robots += 1,
                State::OverLimit => skipped.over_limit += 1,
                State::RateLimited => skipped.rate_limited += 1,
                State::Forbidden => skipped.forbidden += 1,
                State::Waiting | State::InFlight | State::Unchecked => skipped.unchecked += 1,
            }
        }
        skipped
    }

    /// The broken links in the order of discovery.
    pub(super) fn broken(&self) -> impl Iterator<Item = BrokenLink> {
        self.links.iter().filter_map(|(url, link)| match link.state {
            State::Answered(status, redirects) if self.is_reported(status, redirects) => {
                let source = match link.source {
                    Source::Link(page) => self.url(page),
                    Source::Sitemap(number) => &self.sitemaps[number as usize],
                };
                Some(BrokenLink { url: stored(url), source: stored(source), status })
            }
            _ => None,
        })
    }
}

/// The host of an external canonical URL, without a trailing dot.
fn external_host(url: &str) -> &str {
    let host = host_of(url);
    host.strip_suffix('.').unwrap_or(host)
}

/// Whether an origin is considered dead.
const fn is_given_up(origin: &Origin) -> bool {
    origin.unanswered >= MAX_UNANSWERED
}

/// Whether a canonical URL has the extension of a file that is not a page.
fn is_file(url: &str) -> bool {
    let path = path_and_query_of(url).split('?').next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((_, ending)) => {
            let ending = ending.to_ascii_lowercase();
            FILES.binary_search(&ending.as_str()).is_ok()
        }
        None => false,
    }
}

#[cfg(test)]
mod tests;
