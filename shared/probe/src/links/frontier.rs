//! What a crawl knows and what it still has to do: pure, and breadth-first.
//!
//! Hosts other than the site's did not ask to be crawled. What is asked of them is limited, and has
//! the form of jobs with pauses between, each of which is one request.

mod host;
mod trap;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use indexmap::IndexMap;
use tokio::time::Instant;
use vedette_domain::check::{BrokenLink, SkippedLinks};

use self::host::{Host, OWN};
use self::trap::Traps;
use super::canonical::{host_of, origin_of, path_and_query_of, without_www};
use super::extract::{Kind, PageLink};
use super::ignore::IgnorePaths;
use super::robots::Robots;
use super::visit::{Rules, is_broken};
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

    fn origin(&mut self, url: &str) -> u32 {
        let key = origin_of(url);
        if let Some(at) = self.origins.get_index_of(key) {
            return at as u32;
        }
        let host = if self.scope.is_own(url) { OWN } else { self.host(host_elsewhere(url)) };
        let origin = Origin { host, site: self.scope.is_site(url), ..Origin::default() };
        let index = self.origins.insert_full(key.into(), origin).0 as u32;
        self.hosts[host as usize].origins.push(index);
        index
    }

    fn host(&mut self, name: &str) -> u32 {
        match self.hosts.get_index_of(name) {
            Some(at) => at as u32,
            None => self.hosts.insert_full(name.into(), Host::default()).0 as u32,
        }
    }

    /// Counts a link to a host elsewhere. With many, the rules of all its origins are wanted: also
    /// for what was visited before, so that they hold in whatever order things went.
    fn count(&mut self, origin: u32) {
        let index = self.origins[origin as usize].host;
        let host = &mut self.hosts[index as usize];
        host.links += 1;
        if index != OWN && host.links == FEW_LINKS + 1 {
            for origin in host.origins.clone() {
                self.list(origin);
            }
        }
    }

    fn enqueue(&mut self, link: LinkId, origin: u32) {
        self.progress.queued += 1;
        self.origins[origin as usize].queue.push_back(link);
        self.list(origin);
    }

    /// Puts a link that was under way back to where it came from.
    fn put_back(&mut self, id: LinkId) {
        let link = &mut self.links[id as usize];
        link.state = State::Waiting;
        let origin = link.origin;
        self.searching -= u32::from(link.search);
        self.progress.queued += 1;
        self.origins[origin as usize].queue.push_front(id);
        self.leave(origin);
    }

    /// Whether the `robots.txt` of an origin has to be asked for before anything else.
    fn wants_rules(&self, origin: &Origin) -> bool {
        let host = &self.hosts[origin.host as usize];
        let has_many_links = origin.host != OWN && host.links > FEW_LINKS;
        matches!(origin.robots, RobotsState::Unknown)
            && (origin.site || has_many_links && !host.is_closed && !is_given_up(origin))
    }

    /// Puts an origin among those of its host that have something to do, if it has.
    fn list(&mut self, index: u32) {
        let origin = &self.origins[index as usize];
        let has_work = match origin.robots {
            RobotsState::Asked => false,
            _ => !origin.queue.is_empty() || self.wants_rules(origin),
        };
        if has_work && !origin.is_listed {
            let host = origin.host;
            self.origins[index as usize].is_listed = true;
            self.hosts[host as usize].waiting.push_back(index);
            self.offer(host);
        }
    }

    /// Puts a host elsewhere among those that have something to do, if it has and may.
    fn offer(&mut self, index: u32) {
        let host = &mut self.hosts[index as usize];
        if index != OWN && host.has_room(index) && !host.is_listed {
            host.is_listed = true;
            self.ready.push_back(index);
        }
    }

    /// What to do next, if there is anything that may be done now: the site first, the other hosts in
    /// turn, their origins in turn, and the links of each in the order in which they were met.
    pub(super) fn next_job(&mut self, now: Instant) -> Option<Job> {
        let own = &self.hosts[OWN as usize];
        if own.has_room(OWN) && own.not_before(now).is_none() {
            return self.job_at(OWN, now);
        }
        while let Some(&(at, index)) = self.later.first()
            && at <= now
        {
            self.later.pop_first();
            self.ready.push_back(index);
        }
        while self.elsewhere < ELSEWHERE_REQUESTS
            && let Some(index) = self.ready.pop_front()
        {
            let host = &mut self.hosts[index as usize];
            if let Some(until) = host.not_before(now) {
                self.later.insert((until, index));
                continue;
            }
            host.is_listed = false;
            if let Some(job) = self.job_at(index, now) {
                return Some(job);
            }
        }
        None
    }

    /// When there is something to do that only has to wait for its time.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let own = &self.hosts[OWN as usize];
        let own = own.has_room(OWN).then(|| own.not_before(now).unwrap_or(now));
        let has_room = self.elsewhere < ELSEWHERE_REQUESTS;
        let other = self.later.first().filter(|_| has_room).map(|(at, _)| *at);
        own.into_iter().chain(other).min()
    }

    fn job_at(&mut self, index: u32, now: Instant) -> Option<Job> {
        let origin = self.hosts[index as usize].waiting.pop_front()?;
        self.origins[origin as usize].is_listed = false;
        let job = self.job_of(origin);
        if let Some(Job::Robots { .. } | Job::Visit { .. }) = job {
            let pause = if index == OWN { Duration::ZERO } else { self.pause };
            self.hosts[index as usize].enter(now, pause);
            self.elsewhere += usize::from(index != OWN);
        }
        self.list(origin);
        self.offer(index);
        job
    }

    fn job_of(&mut self, index: u32) -> Option<Job> {
        let origin = &self.origins[index as usize];
        if self.wants_rules(origin) {
            let (name, origin) = self.origins.get_index_mut(index as usize)?;
            origin.robots = RobotsState::Asked;
            return Some(Job::Robots { origin: index, url: format!("{name}/") });
        }
        let id = self.pop(index)?;
        let origin = &self.origins[index as usize];
        let left_out = if self.hosts[origin.host as usize].is_closed {
            State::RateLimited
        } else if let Some(left_out) = self.left_out_by_rules(index, id) {
            left_out
        } else if is_given_up(origin) && origin.host != OWN {
            // One that was there a moment ago may be there again for a visitor.
            if origin.has_answered { State::Unchecked } else { State::Answered(0, false) }
        } else {
            return Some(self.visit(id));
        };
        self.settle(id, left_out);
        Some(Job::LeftOut)
    }

    /// Takes the next link out of the queue of an origin.
    fn pop(&mut self, index: u32) -> Option<LinkId> {
        let id = self.origins[index as usize].queue.pop_front()?;
        self.progress.queued -= 1;
        Some(id)
    }

    /// What becomes of a link that the `robots.txt` of its origin does not allow.
    fn left_out_by_rules(&self, index: u32, id: LinkId) -> Option<State> {
        match &self.origins[index as usize].robots {
            RobotsState::Known(Some(robots)) => {
                (!robots.allow(self.url(id))).then_some(State::DisallowedByRobots)
            }
            RobotsState::Withheld(state) => Some(*state),
            _ => None,
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
        let by = match link {
            Link { search: true, .. } => Means::Search,
            Link { by_get: true, .. } => Means::Get,
            _ => Means::Head,
        };
        Job::Visit { link: id, url: self.url(id).to_owned(), by }
    }

    /// The rules for an origin are known, or are not to be had: then all of the site is allowed, as
    /// its owner has us crawl it, and nothing elsewhere.
    pub(super) fn ruled(&mut self, index: u32, rules: Rules, now: Instant, deadline: Instant) {
        let origin = &mut self.origins[index as usize];
        let is_own = origin.host == OWN;
        if matches!(rules, Rules::NoTurn) && !is_own {
            origin.robots = RobotsState::Unknown;
            self.hosts[origin.host as usize].pause_until(now + TURN_PAUSE);
            self.leave(index);
            return;
        }
        origin.robots = match rules {
            Rules::NoTurn => RobotsState::Known(None),
            Rules::Known(Some(robots)) if !is_own => {
                self.rules += robots.size;
                if self.rules > RULES_LIMIT {
                    self.rules -= robots.size;
                    RobotsState::Withheld(State::DisallowedByRobots)
                } else {
                    origin.has_answered = true;
                    RobotsState::Known(Some(robots))
                }
            }
            Rules::Known(robots) => RobotsState::Known(robots),
            Rules::Withheld(pause) => {
                let host = &mut self.hosts[origin.host as usize];
                if let Some(pause) = pause {
                    host.rest(pause, now, deadline);
                }
                match pause {
                    _ if is_own => RobotsState::Known(None),
                    Some(_) => RobotsState::Withheld(State::RateLimited),
                    None => RobotsState::Withheld(State::Unchecked),
                }
            }
        };
        for id in std::mem::take(&mut self.origins[index as usize].unruled) {
            self.rule(index, id);
        }
        self.leave(index);
    }

    /// Takes back the verdict on a link that was visited against rules not known yet.
    fn rule(&mut self, index: u32, id: LinkId) {
        if let Some(left_out) = self.left_out_by_rules(index, id) {
            if let State::Answered(status, redirects) = self.links[id as usize].state {
                self.progress.links -= 1;
                self.progress.found -= u32::from(self.counts(status, redirects));
            }
            self.links[id as usize].state = left_out;
        }
    }

    /// A visit is over; `searched` says whether it was to a page with links to read.
    pub(super) fn visited(&mut self, id: LinkId, state: State, searched: bool) {
        let link = &self.links[id as usize];
        let index = link.origin;
        if link.search {
            self.searching -= 1;
            self.progress.pages += u32::from(searched);
        }
        self.settle(id, state);
        let origin = &mut self.origins[index as usize];
        match state {
            State::Answered(0, _) => origin.unanswered += 1,
            State::Answered(..) | State::RateLimited => {
                origin.unanswered = 0;
                origin.has_answered = true;
            }
            _ => {}
        }
        if origin.host != OWN {
            match origin.robots {
                RobotsState::Unknown | RobotsState::Asked => origin.unruled.push(id),
                RobotsState::Known(_) | RobotsState::Withheld(_) => self.rule(index, id),
            }
        }
        self.leave(index);
    }

    /// A visit by HEAD settled nothing: the link is asked for again by GET.
    pub(super) fn ask_again(&mut self, id: LinkId) {
        self.links[id as usize].by_get = true;
        self.put_back(id);
    }

    /// The server of a link asks for a pause: it rests, and the link is asked for again, a few times.
    /// After that the answer counts on the site; elsewhere it says nothing of the link. A host whose
    /// rest we cannot wait for is left alone, or asked slowly where it is the site's: from then on, the
    /// answer is to the crawler, not to visitors, and says nothing of the link there either.
    pub(super) fn put_off(
        &mut self,
        id: LinkId,
        status: u16,
        pause: Duration,
        now: Instant,
        deadline: Instant,
    ) {
        let link = &mut self.links[id as usize];
        let index = self.origins[link.origin as usize].host;
        let host = &mut self.hosts[index as usize];
        let has_time = host.rest(pause, now, deadline);
        if has_time && link.put_off < RETRIES {
            link.put_off += 1;
            self.put_back(id);
        } else if index == OWN {
            if !has_time {
                host.slow_down(now);
            }
            let state = if host.is_slow && id != START {
                State::RateLimited
            } else {
                State::Answered(status, false)
            };
            self.visited(id, state, false);
        } else {
            host.is_closed |= !has_time;
            self.visited(id, State::RateLimited, false);
        }
    }

    /// A link was not asked for, as too much is asked of its address: it is asked for later, and the
    /// others of the host, too.
    pub(super) fn wait_for_turn(&mut self, id: LinkId, now: Instant) {
        let origin = &self.origins[self.links[id as usize].origin as usize];
        self.hosts[origin.host as usize].pause_until(now + TURN_PAUSE);
        self.put_back(id);
    }

    /// A request to an origin is over.
    fn leave(&mut self, origin: u32) {
        let index = self.origins[origin as usize].host;
        self.hosts[index as usize].leave();
        self.elsewhere -= usize::from(index != OWN);
        self.list(origin);
        self.offer(index);
    }

    /// Says what became of a link.
    fn settle(&mut self, id: LinkId, state: State) {
        self.links[id as usize].state = state;
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
