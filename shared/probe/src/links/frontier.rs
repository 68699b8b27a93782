//! What a crawl knows and what it still has to do: pure, and breadth-first.

mod trap;

use std::collections::VecDeque;

use indexmap::IndexMap;
use vedette_domain::check::{BrokenLink, SkippedLinks};

use self::trap::Traps;
use super::canonical::{host_of, origin_of, path_and_query_of};
use super::extract::{Kind, PageLink};
use super::ignore::IgnorePaths;
use super::robots::Robots;
use super::visit::is_broken;
use super::{Limits, Progress};

/// Requests under way at the site.
const SITE_REQUESTS: usize = 16;

/// Requests under way at one origin (scheme, host and port) elsewhere, which did not ask to be
/// checked.
const OTHER_REQUESTS: usize = 4;

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
        let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
        let host = host_of(url);
        if !self.is_own(url) && self.hosts.iter().any(|own| bare(own) == bare(host)) {
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
    /// Visit a link; with `search`, as a page.
    Visit { link: LinkId, url: String, search: bool },
    /// Nothing: a link was left out for its `robots.txt`. Finding that out can take a millisecond,
    /// and there can be thousands of such links, so whoever asks may have other things to see to.
    LeftOut,
}

/// What became of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Waiting,
    UnderWay,
    /// HTTP status, and whether it is a redirect.
    Answered(u16, bool),
    DisallowedByRobots,
    Forbidden,
    Unchecked,
}

struct Link {
    source: Source,
    depth: u32,
    origin: u32,
    /// Whether it is to be searched as a page.
    search: bool,
    state: State,
}

#[derive(Default)]
struct Origin {
    /// Whether it is of the site itself.
    site: bool,
    robots: RobotsState,
    /// Links to visit, in the order in which they were met.
    queue: VecDeque<LinkId>,
    under_way: usize,
    /// Whether it is among those that have something to do.
    is_ready: bool,
}

#[derive(Default)]
enum RobotsState {
    #[default]
    Unknown,
    Asked,
    Known(Option<Robots>),
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
    /// Origins that have something to do now.
    ready: VecDeque<u32>,
    traps: Traps,
    text: usize,
    /// Visits to the site that are under way.
    at_site: usize,
    /// Pages that are being fetched to be searched.
    searching: u32,
    pub(super) cut: Cut,
    pub(super) trapped: u32,
    pub(super) progress: Progress,
}

impl Frontier {
    pub(super) fn new(scope: Scope, limits: Limits) -> Self {
        Self {
            scope,
            limits,
            links: IndexMap::new(),
            sitemaps: Vec::new(),
            origins: IndexMap::new(),
            ready: VecDeque::new(),
            traps: Traps::default(),
            text: 0,
            at_site: 0,
            searching: 0,
            cut: Cut::default(),
            trapped: 0,
            progress: Progress::default(),
        }
    }

    /// Takes in the site's URL, which no page links to, and no setting leaves out.
    pub(super) fn start(&mut self, url: &str) -> LinkId {
        self.insert(url, Source::Link(0), 0, true)
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
            return Some(self.insert_invalid(url, source, depth));
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

    fn insert(&mut self, url: &str, source: Source, depth: u32, search: bool) -> LinkId {
        let origin = self.origin(url);
        let link = Link { source, depth, origin, search, state: State::Waiting };
        let id = self.add(url, link);
        self.enqueue(id, origin);
        id
    }

    fn insert_invalid(&mut self, text: &str, source: Source, depth: u32) -> LinkId {
        let state = State::Answered(0, false);
        self.progress.links += 1;
        self.progress.found += 1;
        self.add(text, Link { source, depth, origin: u32::MAX, search: false, state })
    }

    fn add(&mut self, url: &str, link: Link) -> LinkId {
        self.text += url.len();
        self.links.insert_full(url.into(), link).0 as LinkId
    }

    fn origin(&mut self, url: &str) -> u32 {
        let key = origin_of(url);
        if let Some(at) = self.origins.get_index_of(key) {
            return at as u32;
        }
        let origin = Origin { site: self.scope.is_site(url), ..Origin::default() };
        self.origins.insert_full(key.into(), origin).0 as u32
    }

    fn enqueue(&mut self, link: LinkId, origin: u32) {
        self.progress.queued += 1;
        self.origins[origin as usize].queue.push_back(link);
        self.offer(origin);
    }

    /// Puts an origin among those that have something to do, if it has and may.
    fn offer(&mut self, index: u32) {
        let origin = &mut self.origins[index as usize];
        let places = if origin.site { SITE_REQUESTS } else { OTHER_REQUESTS };
        if !origin.is_ready
            && !origin.queue.is_empty()
            && origin.under_way < places
            && !matches!(origin.robots, RobotsState::Asked)
        {
            origin.is_ready = true;
            self.ready.push_back(index);
        }
    }

    /// What to do next, if there is anything that may be done now: the origins in turn, and the
    /// links of each in the order in which they were met.
    pub(super) fn next_job(&mut self) -> Option<Job> {
        for _ in 0..self.ready.len() {
            let index = self.ready.pop_front()?;
            let origin = &mut self.origins[index as usize];
            if origin.site && self.at_site >= SITE_REQUESTS {
                self.ready.push_back(index);
                continue;
            }
            origin.is_ready = false;
            if origin.site && matches!(origin.robots, RobotsState::Unknown) {
                let first = *origin.queue.front()?;
                origin.robots = RobotsState::Asked;
                return Some(Job::Robots { origin: index, url: self.url(first).to_owned() });
            }
            let Some(id) = self.pop(index) else {
                continue;
            };
            if !self.is_allowed(index, id) {
                self.links[id as usize].state = State::DisallowedByRobots;
                self.offer(index);
                return Some(Job::LeftOut);
            }
            let origin = &mut self.origins[index as usize];
            origin.under_way += 1;
            self.at_site += usize::from(origin.site);
            self.offer(index);
            return Some(self.visit(id));
        }
        None
    }

    /// Takes the next link out of the queue of an origin.
    fn pop(&mut self, index: u32) -> Option<LinkId> {
        let id = self.origins[index as usize].queue.pop_front()?;
        self.progress.queued -= 1;
        Some(id)
    }

    /// Whether the `robots.txt` of its origin allows a link.
    fn is_allowed(&self, index: u32, id: LinkId) -> bool {
        match &self.origins[index as usize].robots {
            RobotsState::Known(Some(robots)) => robots.allow(self.url(id)),
            _ => true,
        }
    }

    fn visit(&mut self, id: LinkId) -> Job {
        let link = &mut self.links[id as usize];
        link.state = State::UnderWay;
        if link.search {
            if self.progress.pages + self.searching < self.limits.pages {
                self.searching += 1;
            } else {
                self.cut.pages = true;
                link.search = false;
            }
        }
        let search = link.search;
        Job::Visit { link: id, url: self.url(id).to_owned(), search }
    }

    /// The rules for an origin are known.
    pub(super) fn ruled(&mut self, origin: u32, robots: Option<Robots>) {
        self.origins[origin as usize].robots = RobotsState::Known(robots);
        self.offer(origin);
    }

    /// A visit is over; `searched` says whether it was to a page with links to read.
    pub(super) fn visited(&mut self, id: LinkId, state: State, searched: bool) {
        let link = &mut self.links[id as usize];
        link.state = state;
        if link.search {
            self.searching -= 1;
            self.progress.pages += u32::from(searched);
        }
        let origin = link.origin;
        self.origins[origin as usize].under_way -= 1;
        self.at_site -= usize::from(self.origins[origin as usize].site);
        self.offer(origin);
        if let State::Answered(status, redirects) = state {
            self.progress.links += 1;
            self.progress.found += u32::from(self.counts(status, redirects));
        }
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
