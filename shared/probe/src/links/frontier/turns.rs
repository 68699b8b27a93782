//! Whose turn it is: which request comes next, and what its outcome means for its origin and host.

use std::time::Duration;

use tokio::time::Instant;

use super::host::{Host, OWN};
use super::{
    ELSEWHERE_REQUESTS, FEW_LINKS, Frontier, Job, Link, LinkId, Means, Origin, RETRIES,
    RULES_LIMIT, RobotsState, START, State, TURN_PAUSE, host_elsewhere, is_given_up,
};
use crate::links::canonical::origin_of;
use crate::links::visit::Rules;

impl Frontier {
    pub(super) fn origin(&mut self, url: &str) -> u32 {
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

    pub(super) fn host(&mut self, name: &str) -> u32 {
        match self.hosts.get_index_of(name) {
            Some(at) => at as u32,
            None => self.hosts.insert_full(name.into(), Host::default()).0 as u32,
        }
    }

    /// Counts a link to a host elsewhere. With many, the rules of all its origins are wanted: also
    /// for what was visited before, so that they hold in whatever order things went.
    pub(super) fn count(&mut self, origin: u32) {
        let index = self.origins[origin as usize].host;
        let host = &mut self.hosts[index as usize];
        host.links += 1;
        if index != OWN && host.links == FEW_LINKS + 1 {
            for origin in host.origins.clone() {
                self.list(origin);
            }
        }
    }

    pub(super) fn enqueue(&mut self, link: LinkId, origin: u32) {
        self.progress.queued += 1;
        self.origins[origin as usize].queue.push_back(link);
        self.list(origin);
    }

    /// Puts a link that was under way back to where it came from.
    pub(super) fn put_back(&mut self, id: LinkId) {
        let link = &mut self.links[id as usize];
        link.state = State::Waiting;
        let origin = link.origin;
        self.searching -= u32::from(link.search);
        self.progress.queued += 1;
        self.origins[origin as usize].queue.push_front(id);
        self.leave(origin);
    }

    /// Whether the `robots.txt` of an origin has to be asked for before anything else.
    pub(super) fn wants_rules(&self, origin: &Origin) -> bool {
        let host = &self.hosts[origin.host as usize];
        let has_many_links = origin.host != OWN && host.links > FEW_LINKS;
        matches!(origin.robots, RobotsState::Unknown)
            && (origin.site || has_many_links && !host.is_closed && !is_given_up(origin))
    }

    /// Puts an origin among those of its host that have something to do, if it has.
    pub(super) fn list(&mut self, index: u32) {
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
    pub(super) fn offer(&mut self, index: u32) {
        let host = &mut self.hosts[index as usize];
        if index != OWN && host.has_room(index) && !host.is_listed {
            host.is_listed = true;
            self.ready.push_back(index);
        }
    }

    /// What to do next, if there is anything that may be done now: the site first, the other hosts in
    /// turn, their origins in turn, and the links of each in the order in which they were met.
    pub(in crate::links) fn next_job(&mut self, now: Instant) -> Option<Job> {
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
    pub(in crate::links) fn due(&self, now: Instant) -> Option<Instant> {
        let own = &self.hosts[OWN as usize];
        let own = own.has_room(OWN).then(|| own.not_before(now).unwrap_or(now));
        let has_room = self.elsewhere < ELSEWHERE_REQUESTS;
        let other = self.later.first().filter(|_| has_room).map(|(at, _)| *at);
        own.into_iter().chain(other).min()
    }

    pub(super) fn job_at(&mut self, index: u32, now: Instant) -> Option<Job> {
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

    pub(super) fn job_of(&mut self, index: u32) -> Option<Job> {
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
    pub(super) fn pop(&mut self, index: u32) -> Option<LinkId> {
        let id = self.origins[index as usize].queue.pop_front()?;
        self.progress.queued -= 1;
        Some(id)
    }

    /// What becomes of a link that the `robots.txt` of its origin does not allow.
    pub(super) fn left_out_by_rules(&self, index: u32, id: LinkId) -> Option<State> {
        match &self.origins[index as usize].robots {
            RobotsState::Known(Some(robots)) => {
                (!robots.allow(self.url(id))).then_some(State::DisallowedByRobots)
            }
            RobotsState::Withheld(state) => Some(*state),
            _ => None,
        }
    }

    pub(super) fn visit(&mut self, id: LinkId) -> Job {
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
    pub(in crate::links) fn ruled(
        &mut self,
        index: u32,
        rules: Rules,
        now: Instant,
        deadline: Instant,
    ) {
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
    pub(super) fn rule(&mut self, index: u32, id: LinkId) {
        if let Some(left_out) = self.left_out_by_rules(index, id) {
            if let State::Answered(status, redirects) = self.links[id as usize].state {
                self.progress.links -= 1;
                self.progress.found -= u32::from(self.counts(status, redirects));
            }
            self.links[id as usize].state = left_out;
        }
    }

    /// A visit is over; `searched` says whether it was to a page with links to read.
    pub(in crate::links) fn visited(&mut self, id: LinkId, state: State, searched: bool) {
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
    pub(in crate::links) fn ask_again(&mut self, id: LinkId) {
        self.links[id as usize].by_get = true;
        self.put_back(id);
    }

    /// The server of a link asks for a pause: it rests, and the link is asked for again, a few times.
    /// After that the answer counts on the site; elsewhere it says nothing of the link. A host whose
    /// rest we cannot wait for is left alone, or asked slowly where it is the site's: from then on, the
    /// answer is to the crawler, not to visitors, and says nothing of the link there either.
    pub(in crate::links) fn put_off(
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
    pub(in crate::links) fn wait_for_turn(&mut self, id: LinkId, now: Instant) {
        let origin = &self.origins[self.links[id as usize].origin as usize];
        self.hosts[origin.host as usize].pause_until(now + TURN_PAUSE);
        self.put_back(id);
    }

    /// A request to an origin is over.
    pub(super) fn leave(&mut self, origin: u32) {
        let index = self.origins[origin as usize].host;
        self.hosts[index as usize].leave();
        self.elsewhere -= usize::from(index != OWN);
        self.list(origin);
        self.offer(index);
    }

    /// Says what became of a link.
    pub(super) fn settle(&mut self, id: LinkId, state: State) {
        self.links[id as usize].state = state;
        if let State::Answered(status, redirects) = state {
            self.progress.links += 1;
            self.progress.found += u32::from(self.counts(status, redirects));
        }
    }
}
