//! What a crawl knows and what it still has to do: pure, and breadth-first.
//!
//! Hosts other than the site's did not ask to be crawled. What is asked of them is limited, and has
//! the form of jobs with pauses between, each of which is one request.

mod host;
mod trap;
mod turns;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use indexmap::IndexMap;
use tokio::time::Instant;
use vedette_domain::check::{BrokenLink, SkippedLinks};

use self::host::Host;
use self::trap::Traps;
use super::canonical::{host_of, origin_of, path_and_query_of, without_www};
use super::extract::{Kind, PageLink};
use super::ignore::IgnorePaths;
use super::robots::Robots;
use super::visit::is_broken;
use super::{Limits, Progress};
use crate::registrable::registrable_domain;

/// Requests under way at all hosts elsewhere.
const ELSEWHERE_REQUESTS: usize = 32;

/// Links to a host elsewhere up to which its `robots.txt` is not asked for.
const FEW_LINKS: u32 = 10;

/// Bytes of rules of hosts elsewhere that are kept. What another `robots.txt` rules is as good as
/// disallowed.
const RULES_LIMIT: usize = 32 * 1024 * 1024;

/// Requests without an answer in a row before an origin elsewhere is given up: each takes up to
/// fifteen seconds, and a host that is gone can have hundreds of links. The site's own hosts are
/// asked to the end.
const GIVEN_UP: u32 = 3;

/// How long a host is left alone where too much is asked of its address.
const TURN_PAUSE: Duration = Duration::from_secs(1);

/// How often a link is asked for again whose server asks us to come back later.
const RETRIES: u8 = 2;

/// Bytes of URLs that are remembered. Reaching it is reaching the limit on links, which at the usual
/// length of URLs comes first.
const TEXT_LIMIT: usize = 32 * 1024 * 1024;

/// Endings of what is no page, to be checked by HEAD rather than fetched.
const FILES: [&str; 44] = [
    "7z", "aac", "apk", "avi", "avif", "bmp", "bz2", "css", "csv", "dmg", "doc", "docx", "eot",
    "epub", "exe", "gif", "gz", "ico", "iso", "jpeg", "jpg", "js", "json", "m4a", "m4v", "mov",
    "mp3", "mp4", "ogg", "pdf", "png", "ppt", "pptx", "rar", "svg", "tar", "tgz", "ttf", "wav",
    "webm", "webp", "woff2", "xlsx", "zip",
];

/// What is crawled and what is left out.
pub(super) struct Scope {
    /// Hosts of the site.
    pub(super) hosts: Vec<String>,
    /// The port of the site's URL as canonical URLs spell it, such as `:8080`; empty for the default
    /// of its scheme.
    pub(super) port: String,
    pub(super) ignore: IgnorePaths,
    pub(super) ignore_external: bool,
    pub(super) ignore_redirects: bool,
}

impl Scope {
    /// Whether a canonical URL is on the site's own host, on whatever port.
    pub(super) fn is_own(&self, url: &str) -> bool {
        let host = host_of(url);
        self.hosts.iter().any(|own| own == host)
    }

    /// Counts the host of `url` as the site's, too, if it is the same name with or without `www.`.
    pub(super) fn adopt(&mut self, url: &str) {
        let host = host_of(url);
        let is_same = |own: &String| without_www(own) == without_www(host);
        if !self.is_own(url) && self.hosts.iter().any(is_same) {
            self.hosts.push(host.to_owned());
        }
    }

    /// Whether a canonical URL is of the site itself: on its own host, and on its own port or on the
    /// default one. What listens on other ports is another thing, to be checked, not searched.
    fn is_site(&self, url: &str) -> bool {
        let port = origin_of(url).rsplit_once(host_of(url)).map_or("", |(_, port)| port);
        self.is_own(url) && (port.is_empty() || port == self.port)
    }
}

/// Names a link, in the order in which the links were met.
pub(super) type LinkId = u32;

/// The site's URL, which comes first. What it answers counts in any case.
pub(super) const START: LinkId = 0;

/// Where a link was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Source {
    /// On the page, or behind the redirect, with this id.
    Link(LinkId),
    /// In the sitemap with this number.
    Sitemap(u32),
}

/// What is to be done next.
#[derive(Debug, PartialEq)]
pub(super) enum Job {
    /// Fetch the `robots.txt` for the origin of this URL; nothing else is asked of it before.
    Robots { origin: u32, url: String },
    /// Visit a link.
    Visit { link: LinkId, url: String, by: Means },
    /// Nothing: a link was settled without a visit, such as by its `robots.txt`. Finding that out can
    /// take a millisecond, and there can be thousands of such links, so whoever asks may have other
    /// things to see to.
    LeftOut,
}

/// How a link is visited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Means {
    /// By HEAD, at first.
    Head,
    /// By GET, after a HEAD that settled nothing.
    Get,
    /// By GET, to be searched as a page.
    Search,
}

/// What became of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Waiting,
    UnderWay,
    /// HTTP status, and whether it is a redirect.
    Answered(u16, bool),
    DisallowedByRobots,
    /// One too many of its domain.
    OverLimit,
    /// Its server asked to be left alone.
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
    /// Whether HEAD settled nothing.
    by_get: bool,
    /// How often it was put off.
    put_off: u8,
    state: State,
}

/// Scheme, host and port.
#[derive(Default)]
struct Origin {
    host: u32,
    /// Whether it is of the site itself.
    site: bool,
    robots: RobotsState,
    /// Links to visit, in the order in which they were met.
    queue: VecDeque<LinkId>,
    /// Links elsewhere that were visited before the rules were known.
    unruled: Vec<LinkId>,
    /// Visits without an answer since the last one that had one.
    unanswered: u32,
    /// Whether anything was ever answered.
    has_answered: bool,
    /// Whether it is among those of its host that have something to do.
    is_listed: bool,
}

#[derive(Default)]
enum RobotsState {
    #[default]
    Unknown,
    Asked,
    Known(Option<Robots>),
    /// Not to be had, for which this becomes of all links.
    Withheld(State),
}

/// Which limits kept something out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cut {
    pub(super) pages: bool,
    pub(super) links: bool,
    pub(super) depth: bool,
}

/// All the links of a crawl, each once.
pub(super) struct Frontier {
    pub(super) scope: Scope,
    limits: Limits,
    links: IndexMap<Box<str>, Link>,
    sitemaps: Vec<String>,
    origins: IndexMap<Box<str>, Origin>,
    hosts: IndexMap<Box<str>, Host>,
    /// Links elsewhere by registered domain.
    domains: HashMap<Box<str>, u32>,
    /// The time between two requests to a host elsewhere.
    pause: Duration,
    /// Hosts elsewhere that have something to do now.
    ready: VecDeque<u32>,
    /// Hosts elsewhere that have something to do later.
    later: BTreeSet<(Instant, u32)>,
    /// Requests to hosts elsewhere that are under way.
    elsewhere: usize,
    /// Bytes of the rules of hosts elsewhere.
    rules: usize,
    traps: Traps,
    text: usize,
    /// Pages that are being fetched to be searched.
    searching: u32,
    pub(super) cut: Cut,
    pub(super) trapped: u32,
    pub(super) progress: Progress,
}

impl Frontier {
    pub(super) fn new(scope: Scope, limits: Limits, pause: Duration) -> Self {
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
            elsewhere: 0,
            rules: 0,
            traps: Traps::default(),
            text: 0,
            searching: 0,
            cut: Cut::default(),
            trapped: 0,
            progress: Progress::default(),
        }
    }

    /// Takes in the site's URL, which no page links to, and no setting leaves out.
    pub(super) fn start(&mut self, url: &str) -> LinkId {
        self.insert(url, Source::Link(START), 0, true)
    }

    /// Takes in a sitemap as a source.
    pub(super) fn sitemap(&mut self, url: String) -> Source {
        self.sitemaps.push(url);
        Source::Sitemap(self.sitemaps.len() as u32 - 1)
    }

    /// Takes in a link, and says which it is if it is one to care about.
    pub(super) fn meet(&mut self, link: PageLink<'_>, source: Source) -> Option<LinkId> {
        let PageLink { url, kind, valid } = link;
        if let Some(id) = self.links.get_index_of(url) {
            if kind == Kind::Page {
                self.search_after_all(id);
            }
            return Some(id as LinkId);
        }
        let own = valid && self.scope.is_own(url);
        if (valid && !own && self.scope.ignore_external) || self.scope.ignore.matches(url, own) {
            return None;
        }
        if self.links.len() >= self.limits.links as usize || self.text + url.len() > TEXT_LIMIT {
            self.cut.links = true;
            return None;
        }
        let depth = match source {
            Source::Link(page) => self.depth(page) + 1,
            Source::Sitemap(_) => 1,
        };
        if !valid {
            return Some(self.insert_settled(url, source, depth, State::Answered(0, false)));
        }
        if !own && self.is_one_too_many(url) {
            return Some(self.insert_settled(url, source, depth, State::OverLimit));
        }
        let search =
            kind == Kind::Page && self.scope.is_site(url) && self.is_worth_searching(url, depth);
        Some(self.insert(url, source, depth, search))
    }

    /// A link that was known as a part of a page turns out to be a page itself.
    fn search_after_all(&mut self, id: usize) {
        let Some((url, link)) = self.links.get_index(id) else {
            return;
        };
        let is_open = matches!(link.state, State::Waiting | State::Answered(200, _));
        let (url, depth, origin) = (url.clone(), link.depth, link.origin);
        if link.search
            || !is_open
            || !self.scope.is_site(&url)
            || !self.is_worth_searching(&url, depth)
        {
            return;
        }
        let link = &mut self.links[id];
        link.search = true;
        if let State::Answered(..) = link.state {
            link.state = State::Waiting;
            self.progress.links -= 1;
            self.enqueue(id as LinkId, origin);
        }
    }

    fn is_worth_searching(&mut self, url: &str, depth: u32) -> bool {
        if is_file(url) {
            return false;
        }
        if depth > self.limits.depth {
            self.cut.depth = true;
            return false;
        }
        if self.traps.is_trap(url) {
            self.trapped += 1;
            return false;
        }
        true
    }

    /// Whether enough links of the domain of a canonical URL elsewhere were met, without this one.
    fn is_one_too_many(&mut self, url: &str) -> bool {
        let host = host_elsewhere(url);
        let domain = registrable_domain(host).unwrap_or(host);
        if !self.domains.contains_key(domain) {
            self.domains.insert(domain.into(), 0);
        }
        let met = self.domains.get_mut(domain);
        met.is_none_or(|met| {
            *met += 1;
            *met > self.limits.links_per_domain
        })
    }

    fn insert(&mut self, url: &str, source: Source, depth: u32, search: bool) -> LinkId {
        let origin = self.origin(url);
        let state = State::Waiting;
        let link = Link { source, depth, origin, search, by_get: false, put_off: 0, state };
        let id = self.add(url, link);
        self.enqueue(id, origin);
        self.count(origin);
        id
    }

    /// Takes in a link that is not visited.
    fn insert_settled(&mut self, url: &str, source: Source, depth: u32, state: State) -> LinkId {
        let origin = u32::MAX;
        let search = false;
        let link = Link { source, depth, origin, search, by_get: false, put_off: 0, state };
        let id = self.add(url, link);
        self.settle(id, state);
        id
    }

    fn add(&mut self, url: &str, link: Link) -> LinkId {
        self.text += url.len();
        self.links.insert_full(url.into(), link).0 as LinkId
    }

    /// Whether an answer makes a link count as broken.
    fn counts(&self, status: u16, redirects: bool) -> bool {
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

    /// The links that have no verdict, by reason.
    pub(super) fn skipped(&self) -> SkippedLinks {
        let mut skipped = SkippedLinks::default();
        for link in self.links.values() {
            match link.state {
                State::Answered(..) => {}
                State::DisallowedByRobots => skipped.robots += 1,
                State::OverLimit => skipped.over_limit += 1,
                State::RateLimited => skipped.rate_limited += 1,
                State::Forbidden => skipped.forbidden += 1,
                State::Waiting | State::UnderWay | State::Unchecked => skipped.unchecked += 1,
            }
        }
        skipped
    }

    /// The broken links in the order in which they were met.
    pub(super) fn broken(&self) -> impl Iterator<Item = BrokenLink> {
        self.links.iter().filter_map(|(url, link)| match link.state {
            State::Answered(status, redirects) if self.counts(status, redirects) => {
                let source = match link.source {
                    Source::Link(page) => self.url(page),
                    Source::Sitemap(number) => &self.sitemaps[number as usize],
                };
                Some(BrokenLink { url: url.to_string(), source: source.to_owned(), status })
            }
            _ => None,
        })
    }
}

/// The host of a canonical URL elsewhere, whose final dot makes no other host.
fn host_elsewhere(url: &str) -> &str {
    let host = host_of(url);
    host.strip_suffix('.').unwrap_or(host)
}

/// Whether what is left to visit there will not be answered either.
const fn is_given_up(origin: &Origin) -> bool {
    origin.unanswered >= GIVEN_UP
}

/// Whether a canonical URL ends like something that is no page.
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
