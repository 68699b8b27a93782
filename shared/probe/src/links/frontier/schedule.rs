//! Scheduling: which request comes next, and what its result means for its origin and host.

use std::time::Duration;

use tokio::time::Instant;

use super::host::{Host, OWN};
use super::{
    Frontier, Job, Link, LinkId, MAX_EXTERNAL_REQUESTS, MAX_RETRIES, Origin, ROBOTS_THRESHOLD,
    RULES_LIMIT, RobotsState, START_LINK, State, THROTTLE_PAUSE, VisitKind, external_host,
    is_given_up,
};
use crate::links::canonical::origin_of;
use crate::links::visit::RobotsOutcome;

impl Frontier {
    pub(super) fn origin(&mut self, url: &str) -> u32 {
        let key = origin_of(url);
        if let Some(at) = self.origins.get_index_of(key) {
            return at as u32;
        }
        let host = if self.scope.is_own(url) { OWN } else { self.host(external_host(url)) };
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

    /// Counts a link to an external host. Beyond the threshold, the rules of all its origins are
    /// fetched and apply to earlier visits as well, so that the order of events does not matter.
    pub(super) fn count(&mut self, origin: u32) {
        let index = self.origins[origin as usize].host;
        let host = &mut self.hosts[index as usize];
        host.links += 1;
        if index != OWN && host.links == ROBOTS_THRESHOLD + 1 {
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

    /// Puts a link that was in flight back at the front of its queue.
    pub(super) fn requeue(&mut self, id: LinkId) {
        let link = &mut self.links[id as usize];
        link.state = State::Waiting;
        let origin = link.origin;
        self.searching -= u32::from(link.search);
        self.progress.queued += 1;
        self.origins[origin as usize].queue.push_front(id);
        self.release(origin);
    }

    /// Whether the `robots.txt` of an origin has to be fetched before anything else.
    pub(super) fn wants_rules(&self, origin: &Origin) -> bool {
        let host = &self.hosts[origin.host as usize];
        let has_many_links = origin.host != OWN && host.links > ROBOTS_THRESHOLD;
        matches!(origin.robots, RobotsState::Unknown)
            && (origin.site || has_many_links && !host.is_closed && !is_given_up(origin))
    }

    /// Queues an origin at its host if it has work.
    pub(super) fn list(&mut self, index: u32) {
        let origin = &self.origins[index as usize];
        let has_work = match origin.robots {
            RobotsState::Requested => false,
            _ => !origin.queue.is_empty() || self.wants_rules(origin),
        };
        if has_work && !origin.is_listed {
            let host = origin.host;
            self.origins[index as usize].is_listed = true;
            self.hosts[host as usize].waiting.push_back(index);
            self.list_host(host);
        }
    }

    /// Queues an external host if it has work and may get another request.
    pub(super) fn list_host(&mut self, index: u32) {
        let host = &mut self.hosts[index as usize];
        if index != OWN && host.has_room(index) && !host.is_listed {
            host.is_listed = true;
            self.ready.push_back(index);
        }
    }

    /// The next job that may be started now: the site first, then the external hosts in turn, their
    /// origins in turn, and the links of each in the order of discovery.
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
        while self.external_requests < MAX_EXTERNAL_REQUESTS
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

    /// When the next job that only has to wait for its time may be started.
    pub(in crate::links) fn due(&self, now: Instant) -> Option<Instant> {
        let own = &self.hosts[OWN as usize];
        let own = own.has_room(OWN).then(|| own.not_before(now).unwrap_or(now));
        let has_room = self.external_requests < MAX_EXTERNAL_REQUESTS;
        let other = self.later.first().filter(|_| has_room).map(|(at, _)| *at);
        own.into_iter().chain(other).min()
    }

    pub(super) fn job_at(&mut self, index: u32, now: Instant) -> Option<Job> {
        let origin = self.hosts[index as usize].waiting.pop_front()?;
        self.origins[origin as usize].is_listed = false;
        let job = self.job_of(origin);
        if let Some(Job::Robots { .. } | Job::Visit { .. }) = job {
            let pause = if index == OWN { Duration::ZERO } else { self.pause };
            self.hosts[index as usize].start_request(now, pause);
            self.external_requests += usize::from(index != OWN);
        }
        self.list(origin);
        self.list_host(index);
        job
    }

    pub(super) fn job_of(&mut self, index: u32) -> Option<Job> {
        let origin = &self.origins[index as usize];
        if self.wants_rules(origin) {
            let (name, origin) = self.origins.get_index_mut(index as usize)?;
            origin.robots = RobotsState::Requested;
            return Some(Job::Robots { origin: index, url: format!("{name}/") });
        }
        let id = self.pop(index)?;
        let origin = &self.origins[index as usize];
        let left_out = if self.hosts[origin.host as usize].is_closed {
            State::RateLimited
        } else if let Some(left_out) = self.skipped_by_rules(index, id) {
            left_out
        } else if is_given_up(origin) && origin.host != OWN {
            // It responded a moment ago, so it may respond to a visitor.
            if origin.has_answered { State::Unchecked } else { State::Answered(0, false) }
        } else {
            return Some(self.visit(id));
        };
        self.record(id, left_out);
        Some(Job::Skipped)
    }

    /// Takes the next link from the queue of an origin.
    pub(super) fn pop(&mut self, index: u32) -> Option<LinkId> {
        let id = self.origins[index as usize].queue.pop_front()?;
        self.progress.queued -= 1;
        Some(id)
    }

    /// The state of a link that the `robots.txt` of its origin disallows.
    pub(super) fn skipped_by_rules(&self, index: u32, id: LinkId) -> Option<State> {
        match &self.origins[index as usize].robots {
            RobotsState::Known(Some(robots)) => {
                (!robots.allow(self.url(id))).then_some(State::DisallowedByRobots)
            }
            RobotsState::Unavailable(state) => Some(*state),
            _ => None,
        }
    }

    pub(super) fn visit(&mut self, id: LinkId) -> Job {
        let link = &mut self.links[id as usize];
        link.state = State::InFlight;
        if link.search {
            if self.progress.pages + self.searching < self.limits.pages {
                self.searching += 1;
            } else {
                self.limits_hit.pages = true;
                link.search = false;
            }
        }
        let by = match link {
            Link { search: true, .. } => VisitKind::Search,
            Link { by_get: true, .. } => VisitKind::Get,
            _ => VisitKind::Head,
        };
        Job::Visit { link: id, url: self.url(id).to_owned(), by }
    }

    /// Sets the rules of an origin. If they are unavailable, everything is allowed on the site,
    /// whose owner has asked for the crawl, and nothing elsewhere.
    pub(in crate::links) fn set_rules(
        &mut self,
        index: u32,
        rules: RobotsOutcome,
        now: Instant,
        deadline: Instant,
    ) {
        let origin = &mut self.origins[index as usize];
        let is_own = origin.host == OWN;
        if matches!(rules, RobotsOutcome::Throttled) && !is_own {
            origin.robots = RobotsState::Unknown;
            self.hosts[origin.host as usize].pause_until(now + THROTTLE_PAUSE);
            self.release(index);
            return;
        }
        origin.robots = match rules {
            RobotsOutcome::Throttled => RobotsState::Known(None),
            RobotsOutcome::Known(Some(robots)) if !is_own => {
                self.rules += robots.size;
                if self.rules > RULES_LIMIT {
                    self.rules -= robots.size;
                    RobotsState::Unavailable(State::DisallowedByRobots)
                } else {
                    origin.has_answered = true;
                    RobotsState::Known(Some(robots))
                }
            }
            RobotsOutcome::Known(robots) => RobotsState::Known(robots),
            RobotsOutcome::Unavailable(pause) => {
                let host = &mut self.hosts[origin.host as usize];
                if let Some(pause) = pause {
                    host.back_off(pause, now, deadline);
                }
                match pause {
                    _ if is_own => RobotsState::Known(None),
                    Some(_) => RobotsState::Unavailable(State::RateLimited),
                    None => RobotsState::Unavailable(State::Unchecked),
                }
            }
        };
        for id in std::mem::take(&mut self.origins[index as usize].awaiting_rules) {
            self.apply_rules(index, id);
        }
        self.release(index);
    }

    /// Applies rules to a link that was visited before they were known.
    pub(super) fn apply_rules(&mut self, index: u32, id: LinkId) {
        if let Some(left_out) = self.skipped_by_rules(index, id) {
            if let State::Answered(status, redirects) = self.links[id as usize].state {
                self.progress.links -= 1;
                self.progress.found -= u32::from(self.is_reported(status, redirects));
            }
            self.links[id as usize].state = left_out;
        }
    }

    /// Records a visit; `searched` says whether it was to a page whose links were read.
    pub(in crate::links) fn record_visit(&mut self, id: LinkId, state: State, searched: bool) {
        let link = &self.links[id as usize];
        let index = link.origin;
        if link.search {
            self.searching -= 1;
            self.progress.pages += u32::from(searched);
        }
        self.record(id, state);
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
                RobotsState::Unknown | RobotsState::Requested => origin.awaiting_rules.push(id),
                RobotsState::Known(_) | RobotsState::Unavailable(_) => self.apply_rules(index, id),
            }
        }
        self.release(index);
    }

    /// HEAD failed: the link is retried by GET.
    pub(in crate::links) fn retry_by_get(&mut self, id: LinkId) {
        self.links[id as usize].by_get = true;
        self.requeue(id);
    }

    /// The server of a link asks us to come back later: the host backs off, and the link is retried
    /// a few times. After that, the status counts on the site; for external links it says nothing.
    /// A host whose back-off takes too long gets no more requests, or, if it is the site's own, is
    /// crawled slowly: it is limiting the crawler, not its visitors, so its status says nothing
    /// about the link.
    pub(in crate::links) fn postpone(
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
        let has_time = host.back_off(pause, now, deadline);
        if has_time && link.postponed < MAX_RETRIES {
            link.postponed += 1;
            self.requeue(id);
        } else if index == OWN {
            if !has_time {
                host.slow_down(now);
            }
            let state = if host.is_slow && id != START_LINK {
                State::RateLimited
            } else {
                State::Answered(status, false)
            };
            self.record_visit(id, state, false);
        } else {
            host.is_closed |= !has_time;
            self.record_visit(id, State::RateLimited, false);
        }
    }

    /// A link was not requested because its address has reached its rate limit: it is requested
    /// later, and so are the host's other links.
    pub(in crate::links) fn throttle(&mut self, id: LinkId, now: Instant) {
        let origin = &self.origins[self.links[id as usize].origin as usize];
        self.hosts[origin.host as usize].pause_until(now + THROTTLE_PAUSE);
        self.requeue(id);
    }

    /// Ends a request to an origin.
    pub(super) fn release(&mut self, origin: u32) {
        let index = self.origins[origin as usize].host;
        self.hosts[index as usize].release();
        self.external_requests -= usize::from(index != OWN);
        self.list(origin);
        self.list_host(index);
    }

    /// Sets the state of a link, and counts it.
    pub(super) fn record(&mut self, id: LinkId, state: State) {
        self.links[id as usize].state = state;
        if let State::Answered(status, redirects) = state {
            self.progress.links += 1;
            self.progress.found += u32::from(self.is_reported(status, redirects));
        }
    }
}
