//! A service in a world that does it no favors: sites flap and jobs stop; messages are lost, duplicated, late and out
//! of order; writes are throttled; disks fill; clocks jump; and the process dies at any write and any send.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lambda_http::Body;
use lambda_http::http::{Request, Uri};
use serde_json::{Value, json};
use vedette_actions::enable_channel;
use vedette_checker::at_free_slot;
use vedette_dashboard::{Dashboard, PAGES, find_page};
use vedette_domain::accounts::audit::By;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::channel::{Channel, EventKind, Filter, Target};
use vedette_domain::alerts::channel_state::LEASE;
use vedette_domain::alerts::reader_link::ReaderResponse;
use vedette_domain::checks::check::{Check, Finish, StatusResult, ToolResult};
use vedette_domain::checks::pointer::CheckPointer;
use vedette_domain::checks::tool::Tool;
use vedette_domain::clock::{CLOCK_SKEW, Pause};
use vedette_domain::expectations::Unmet;
use vedette_domain::id::{IssueId, MonitorId, SiteId};
use vedette_domain::issues::record::{self, IssueChange};
use vedette_domain::issues::{Fingerprint, TimelineKey};
use vedette_domain::maintenance::{MaintenanceWindow, Windows};
use vedette_domain::message::{CheckMessage, Message};
use vedette_embedded::Database;
use vedette_notifier::{NOTIFIER, NotifierError};
use vedette_reconciler::{RECONCILE, REDELIVERY, rebuild_all, redeliver_all};
use vedette_routing::serve;
use vedette_runs::{clear_timer, enqueue_alert, record_run};
use vedette_runtime::Destination;
use vedette_store::keys::Owner;
use vedette_store::{Audit, Grant};
use vedette_testkit::channels::{add_channel, chat, mail, webhook};
use vedette_testkit::{Fault, Member, TestLocations, granted, new_team, status_result};
use vedette_tests::{Service, scheduled};

use crate::jobs::Job;
use crate::lives::Counts;
use crate::nature::Nature;
use crate::random::Random;
use crate::receivers::{Receivers, name_of, retry};
use crate::rules;
use crate::windows::{self, maintenance_until};

use self::jobs::JOB;

mod jobs;

/// How much happens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) sites: u64,
    pub(crate) hours: i64,
    /// How many times slower everything happens than in a short life. An hour of a site costs that much less.
    pub(crate) slowness: u32,
}

impl Scale {
    /// A time here that corresponds to this time in a short life.
    fn stretch(self, time: SignedDuration) -> SignedDuration {
        time * i32::try_from(self.slowness).expect("a small number")
    }

    /// The probability per hour, in thousandths, that corresponds to this probability in a short life.
    fn condense(self, per_mille: u64) -> u64 {
        per_mille * u64::from(self.slowness)
    }
}

/// A site, and whether it answers.
struct Watched {
    id: SiteId,
    name: String,
    is_up: bool,
    /// Whether it is as expected while it answers.
    is_healthy: bool,
    /// How many runs in a row opened no issue although other locations were asked.
    held: u32,
}

pub(crate) struct World {
    service: Service,
    /// Other locations, which half of the lives have.
    locations: Option<TestLocations>,
    /// How each of them behaves at the moment.
    natures: [Nature; 2],
    /// Whether home's network is partly broken.
    is_home_broken: bool,
    seed: u64,
    scale: Scale,
    random: Random,
    receivers: Receivers,
    owner: Member,
    sites: Vec<Watched>,
    jobs: Vec<Job>,
    /// Until when the process knows whether it listened to pings, and when it did not.
    known_until: Timestamp,
    deaf: Vec<Pause>,
    is_full: bool,
    channels: Vec<Channel>,
    /// Messages in queues, and when they arrive by a clock that does not jump.
    under_way: Vec<(Timestamp, Message)>,
    /// How far the service's clock is ahead.
    ahead: SignedDuration,
    /// Whether it was set back and channels may still wait until time catches up.
    must_rebuild: bool,
    calm: bool,
    /// Whether no receiver fails today.
    is_good_day: bool,
    counts: Counts,
}

/// The status checks of a day.
#[derive(Debug, Default)]
struct Counted {
    checks: u64,
    up: u64,
    /// In maintenance windows.
    inside: u64,
    up_inside: u64,
}

/// The issues of outages, of which one at most is active.
const OUTAGES: [Fingerprint; 2] = [Fingerprint::StatusDown, Fingerprint::StatusPartial];
/// The issues that status checks decide here.
const STATUS: [Fingerprint; 3] =
    [Fingerprint::StatusDown, Fingerprint::StatusPartial, Fingerprint::StatusExpectation];

/// The address of the dashboard.
const BASE: &str = "https://monitor.test";
/// So many windows are not added to.
const WINDOWS: usize = 6;
/// How many times in a row messages may lead to others at one instant. Every wave of news takes a few of them.
const ROUNDS_MAX: usize = 50;
/// How many messages of each site and heartbeat may be delivered at one instant.
const DELIVERIES_MAX: usize = 50;
/// The time between two passes of redelivery.
const REDELIVERY_EVERY: SignedDuration = SignedDuration::from_mins(5);
const CADENCE: SignedDuration = SignedDuration::from_mins(5);
/// How many times windows that do not recur are waited for in the end.
const HOURS_OF_WINDOWS: usize = 10;
/// After so many checks outside windows, a site has the issues that it should: other locations may hold two of them
/// back.
const CHECKS_TO_DECIDE: usize = 6;
/// The longest wait for a retry or follow-up outside windows.
const TIMER_MAX: SignedDuration = SignedDuration::from_mins(10);
/// More than there can be.
const EVERYTHING: usize = 100_000;
/// How far the service's clock may be ahead, or behind.
const CLOCKS: [SignedDuration; 5] = [
    SignedDuration::ZERO,
    SignedDuration::from_secs(30),
    SignedDuration::from_secs(-30),
    SignedDuration::from_hours(1),
    SignedDuration::from_hours(-1),
];
/// The time between two progress reports.
const DAY: SignedDuration = SignedDuration::from_hours(24);

impl World {
    pub(crate) async fn begin(seed: u64, scale: Scale) -> Self {
        let mut service = Service::on(Database::in_step().expect("a database")).await;
        service.test.set_clock(windows::start(seed));
        service.test.app.service.base_url = Some(BASE.to_owned());
        let is_checked_remotely = seed.is_multiple_of(2);
        let locations = is_checked_remotely.then(TestLocations::default);
        if let Some(locations) = &locations {
            service.test.app.remote_checks = locations.port();
        }
        let owner = new_team(&service.test, Plan::Agency).await;
        let mut random = Random::new(seed);
        let receivers =
            Receivers::new(Random::new(random.below(u64::MAX)), service.test.faults().clone());
        let mut world = Self {
            service,
            locations,
            natures: [Nature::Honest; 2],
            is_home_broken: false,
            seed,
            scale,
            random,
            receivers,
            owner,
            sites: Vec::new(),
            jobs: Vec::new(),
            known_until: windows::start(seed),
            deaf: Vec::new(),
            is_full: false,
            channels: Vec::new(),
            under_way: Vec::new(),
            ahead: SignedDuration::ZERO,
            must_rebuild: false,
            calm: false,
            is_good_day: false,
            counts: Counts::default(),
        };
        for number in 0..scale.sites {
            world.add_site(number).await;
            world.add_job(number).await;
        }
        for (name, target) in [("chat", chat()), ("mail", mail())] {
            world.add_channel(name, target, Filter::default()).await;
        }
        let all = Filter { events: EventKind::ALL.into(), ..Filter::default() };
        world.add_channel("program", webhook(), all).await;
        for _ in 0..3 {
            world.change_rules().await;
        }
        // Messages from the creation of the sites are not part of this.
        world.service.test.queue.drain(Destination::Reconcile);
        world
    }

    async fn add_site(&mut self, number: u64) {
        let name = format!("site-{number}");
        let off = json!({ "enabled": false });
        let tools = json!({
            "status": { "enabled": true }, "ssl": off, "dns": off, "broken-links": off, "performance": off,
        });
        let (url, tags) = (format!("http://{name}.test"), rules::tags(&mut self.random));
        let settings = json!({ "tools": tools });
        let body =
            json!({ "url": url, "name": name, "tags": tags, "monitoring_settings": settings });
        let path = format!("/teams/{}/sites", self.owner.team);
        let created = self.service.client(&self.owner).post(&path, &body).await;
        assert_eq!(created.status, 201, "{created:?}");
        let id = SiteId::parse(&created.data("uuid")).expect("an id");
        let name = created.data("name");
        self.receivers.lock().sites.insert(name.clone(), id);
        self.sites.push(Watched { id, name, is_up: true, is_healthy: true, held: 0 });
        if number.is_multiple_of(2) {
            self.expect(id, true).await;
        }
    }

    /// Somebody wants a site to say that it is well, or no longer.
    async fn expect(&mut self, site: SiteId, expects: bool) {
        let healthy = json!({ "kind": "json_equals", "pointer": "/status", "value": "ok" });
        let expectations = if expects { vec![healthy] } else { Vec::new() };
        let (path, body) =
            (format!("/sites/{site}/expectations"), json!({ "expectations": expectations }));
        let client = self.service.client(&self.owner);
        let faults = self.service.test.faults().clone();
        if faults.until_crash(Box::pin(client.put(&path, &body))).await.is_none() {
            self.counts.add("deaths", 1_u64);
        }
        self.service.test.queue.drain(Destination::Reconcile);
    }

    async fn add_channel(&mut self, name: &str, target: Target, filter: Filter) {
        let app = &self.service.test.app;
        let channel = add_channel(app, self.owner.team, (name, target), filter).await;
        self.channels.push(channel);
    }

    /// The time of the service's clock.
    fn now(&self) -> Timestamp {
        self.service.test.now()
    }

    /// The time of a clock that does not jump.
    fn steady_now(&self) -> Timestamp {
        self.now() - self.ahead
    }

    /// Simulates some time, and then lets everything come to rest.
    pub(crate) async fn live(&mut self) -> Counts {
        let start = self.steady_now();
        let end = start + SignedDuration::from_hours(self.scale.hours);
        let mut redelivery = start;
        let mut checks = start;
        let mut report = start + DAY;
        while self.steady_now() < end {
            if self.steady_now() >= report {
                self.report(self.steady_now().duration_since(start));
                report += DAY;
                self.turn_day();
            }
            let pause = self.random.one_of(&[1, 5, 20, 60, 120]);
            self.pass(self.scale.stretch(SignedDuration::from_secs(pause)));
            self.act().await;
            self.realign().await;
            self.run_jobs().await;
            if self.steady_now() >= checks {
                checks += self.scale.stretch(CADENCE);
                self.check_all().await;
            }
            self.receive().await;
            if self.steady_now() >= redelivery {
                redelivery += self.scale.stretch(REDELIVERY_EVERY);
                self.redeliver().await;
                self.receive().await;
            }
        }
        self.come_to_rest().await;
        self.judge().await
    }

    /// Prints the progress of a life that lasts for days on standard error.
    fn report(&self, lived: SignedDuration) {
        let counts = self.counts.clone() + self.receivers.lock().counts.clone();
        let (seed, days) = (self.seed, lived.as_hours() / 24);
        #[expect(clippy::print_stderr, reason = "whoever waits for hours sees that it goes on")]
        {
            eprintln!("seed {seed}, day {days}: {counts:?}");
        }
    }

    /// One of the next writes goes wrong.
    fn break_write(&mut self, within: u64) {
        let faults = [Fault::CrashBefore, Fault::CrashAfter, Fault::Conflict, Fault::LoseAnswer];
        let fault = self.random.one_of(&faults);
        self.service.test.faults().on_write(1 + self.random.below(within), fault);
    }

    /// An action of people, receivers or machines.
    async fn act(&mut self) {
        if self.random.happens(60) {
            let site = usize::try_from(self.random.below(self.sites.len() as u64)).expect("small");
            self.sites[site].is_up ^= true;
        }
        if self.random.happens(60) {
            let site = usize::try_from(self.random.below(self.sites.len() as u64)).expect("small");
            self.sites[site].is_healthy ^= true;
        }
        if self.random.happens(8) {
            let site = usize::try_from(self.random.below(self.sites.len() as u64)).expect("small");
            let expects = self.random.happens(700);
            self.expect(self.sites[site].id, expects).await;
        }
        if self.random.happens(15) {
            // A data center fails.
            self.sites.iter_mut().for_each(|site| site.is_up = false);
        }
        if self.random.happens(15) {
            self.sites.iter_mut().for_each(|site| site.is_up = true);
        }
        if self.random.happens(40) {
            self.is_home_broken ^= true;
        }
        if self.random.happens(60) {
            let which = usize::try_from(self.random.below(2)).expect("small");
            self.natures[which] = self.random.one_of(&Nature::ALL);
        }
        if self.random.happens(self.scale.condense(40)) {
            let channel = self.channels[usize::try_from(self.random.below(3)).expect("small")].id;
            let after = self.random.happens(300).then_some(Duration::from_secs(60));
            let failing = self.random.happens(600).then(|| retry(after));
            self.receivers.set(channel, failing.filter(|_| !self.is_good_day));
        }
        if self.random.happens(30) {
            self.break_write(6);
        }
        if self.random.happens(50) {
            let crashes = self.random.one_of(&[0, 0, 100, 300]);
            self.receivers.lock().crashes = crashes;
        }
        if self.random.happens(25) {
            self.decide().await;
        }
        if self.random.happens(8) {
            self.change_settings().await;
        }
        if self.random.happens(40) {
            self.change_tags().await;
        }
        if self.random.happens(25) {
            self.change_rules().await;
        }
        if self.random.happens(40) {
            self.maintain().await;
        }
        if self.random.happens(8) {
            let channel = usize::try_from(self.random.below(3)).expect("small");
            self.switch(channel).await;
        }
        if self.random.happens(10) {
            let ahead = self.random.one_of(&CLOCKS);
            self.counts.add("jumps", ahead != self.ahead);
            self.set_ahead(ahead).await;
        }
        if self.random.happens(30) {
            // A disk fills, and somebody makes room.
            let is_full = self.random.happens(200);
            self.counts.add("full disks", is_full);
            self.service.test.faults().refuse_writes(is_full);
            self.is_full = is_full;
        }
        if self.random.happens(15) {
            let job = usize::try_from(self.random.below(self.jobs.len() as u64)).expect("small");
            self.pause(job).await;
        }
        if self.random.happens(8) {
            self.stop().await;
        }
    }

    /// Sets the clock. If it was set back further than clocks may differ, the process rebuilds outstanding work, as it
    /// does on one machine.
    async fn set_ahead(&mut self, ahead: SignedDuration) {
        let by = ahead - self.ahead;
        let app = &self.service.test.app;
        self.service.test.set_clock(app.clock.now() + by);
        self.ahead = ahead;
        self.beat(self.is_full || by > CLOCK_SKEW);
        self.receivers.lock().set_back(self.now());
        if by < -CLOCK_SKEW {
            self.must_rebuild = true;
            self.realign().await;
        }
    }

    /// After the clock was set back, derives again what is outstanding. A process that dies meanwhile repeats it when it
    /// starts, and one that cannot write repeats it until it can.
    async fn realign(&mut self) {
        while self.must_rebuild {
            let (app, faults) = (&self.service.test.app, self.service.test.faults().clone());
            let realigned = Box::pin(async {
                let rebuilt = vedette_notifier::rebuild_waits(app).await;
                // If one of these fails, the next night or the next pass repeats it.
                let _ = vedette_notifier::release(app, app.clock.now()).await;
                let _ = redeliver_all(app).await;
                let _ = rebuild_all(app).await;
                rebuilt.is_ok()
            });
            match faults.until_crash(realigned).await {
                None => self.counts.add("deaths", 1_u64),
                Some(true) => {
                    self.must_rebuild = false;
                    self.see_rules().await;
                    return;
                }
                Some(false) => return,
            }
        }
    }

    /// Disables or enables a channel.
    async fn switch(&mut self, channel: usize) {
        let app = &self.service.test.app;
        let found = app.store.channel((&self.channels[channel]).into()).await;
        let channel = found.expect("read").expect("a channel");
        let faults = self.service.test.faults().clone();
        let switched = match channel.disabled_by_hand("maintenance", app.clock.now()) {
            Some(off) => {
                faults.until_crash(app.store.put_channel(&off, Audit::None)).await.is_some()
            }
            None => {
                let on = Box::pin(enable_channel(app, &channel, By::operator(app.clock.now())));
                faults.until_crash(on).await.is_some()
            }
        };
        self.counts.add("deaths", !switched);
        self.see_rules().await;
    }

    /// Enables all disabled channels.
    async fn switch_all_on(&mut self) {
        let app = &self.service.test.app;
        for channel in &self.channels {
            let found = app.store.channel(channel.into()).await.expect("read");
            let channel = found.expect("a channel");
            if !channel.is_on() {
                let on =
                    Box::pin(enable_channel(app, &channel, By::operator(app.clock.now()))).await;
                on.expect("nobody sends to it");
            }
        }
        self.see_rules().await;
    }

    /// Every other day all receivers work, so that none fails long enough to be given up.
    fn turn_day(&mut self) {
        self.is_good_day ^= true;
        for channel in &self.channels {
            self.receivers.set(channel.id, None);
        }
    }

    /// A person acknowledges, resolves or snoozes an issue.
    async fn decide(&mut self) {
        if self.random.happens(400) {
            return Box::pin(self.follow_link()).await;
        }
        let site = usize::try_from(self.random.below(self.sites.len() as u64)).expect("small");
        let site = self.sites[site].id;
        let app = &self.service.test.app;
        let (store, now) = (&app.store, self.service.test.now());
        let mut active = None;
        for fingerprint in STATUS {
            let found = store.issue(site.partition(), fingerprint).await.expect("read");
            active = active.or(found.filter(|issue| issue.lifecycle.is_active()));
        }
        let Some(issue) = active else { return };
        let stored = store.site(site.partition()).await.expect("read").expect("a site");
        let state = &stored.tools[&Tool::Status];
        let by = self.owner.user;
        let until = now + SignedDuration::from_mins(40);
        let (change, tool) = match self.random.below(3) {
            0 => (record::acknowledge(issue, by, now), None),
            1 => (record::snooze(issue, Some(until), now), None),
            _ => {
                let next = state.resolved_by_hand(issue.id.fingerprint(), now);
                (record::resolve(issue, by, now), Some(next))
            }
        };
        let Ok(change) = change else { return };
        let tool = tool.as_ref().map(|next| (Tool::Status, state, next));
        let faults = self.service.test.faults().clone();
        let saved = faults
            .until_crash(store.commit_issue((&stored.site).into(), &change, tool, Audit::None))
            .await;
        if saved.is_some_and(|saved| saved.is_ok()) {
            enqueue_alert(app, stored.site.team, &change).await;
        }
        self.see(site).await;
    }

    /// Somebody follows the link in one of the last messages, which may be about an earlier opening.
    async fn follow_link(&mut self) {
        let links = self.receivers.lock().links.clone();
        let place = self.random.below(links.len().max(1) as u64);
        let Some(url) = links.get(usize::try_from(place).expect("small")) else { return };
        let url: Uri = url.parse().expect("a URL");
        let response = self.random.one_of(&ReaderResponse::ALL);
        let id = url.path().rsplit('/').next().and_then(IssueId::parse).expect("an issue");
        let mut all = self.monitors().into_iter();
        let found = all.find(|(monitor, ..)| monitor.partition() == id.partition());
        let site = found.expect("its site or heartbeat").0;
        let store = &self.service.test.app.store;
        let issue = async || {
            store.issue(id.partition(), id.fingerprint()).await.expect("read").expect("an issue")
        };
        let before = issue().await;
        let request =
            Request::builder().method("POST").uri(format!("{url}&respond={}", response.as_str()));
        let (head, ()) = request.body(()).expect("a request").into_parts();
        let page = find_page(PAGES, &head).expect("a page");
        let (dashboard, app) = (Dashboard::default(), &self.service.test.app);
        let served = serve(&dashboard, app, page, &head, |_| ready(Ok(Body::Empty)));
        let faults = self.service.test.faults().clone();
        let served = faults.until_crash(Box::pin(served)).await;
        let after = issue().await;
        let opening = format!("opening={}&", before.lifecycle.opened_at().as_millisecond());
        let is_current = before.lifecycle.is_active() && url.to_string().contains(&opening);
        if !is_current {
            assert_eq!(after, before, "{url}: another opening");
        } else if served.is_some_and(|response| response.status() == 200) {
            let is_done = match response {
                ReaderResponse::Acknowledge => after.lifecycle.acknowledgement().is_some(),
                ReaderResponse::Snooze(_) => {
                    after.snoozed_until.is_some_and(|until| until > self.now())
                }
            };
            assert!(is_done, "{url}: {response:?} of {after:?}");
            self.counts.add("links", 1_u64);
        }
        self.see(site).await;
    }

    /// Somebody starts or plans a maintenance window, or changes, ends or removes one.
    async fn maintain(&mut self) {
        let now = self.now();
        let windows = self.stored_windows().await;
        let known: Vec<&MaintenanceWindow> = windows.iter().collect();
        let known = match known.is_empty() || self.random.happens(500) && known.len() < WINDOWS {
            true => None,
            false => Some(self.random.one_of(&known)),
        };
        let site = self.random.below(self.sites.len() as u64);
        let site = self.sites[usize::try_from(site).expect("small")].id;
        let path = format!("/teams/{}/maintenance-windows", self.owner.team);
        let (client, slowness) = (self.service.client(&self.owner), self.scale.slowness);
        let faults = self.service.test.faults().clone();
        let done = match known {
            None => {
                let body = windows::planned(&mut self.random, site, now, slowness);
                faults.until_crash(Box::pin(client.post(&path, &body))).await
            }
            Some(window) => {
                let path = format!("{path}/{}", window.id);
                match self.random.below(4) {
                    0 => faults.until_crash(Box::pin(client.delete(&path))).await,
                    1 => {
                        let body = windows::changed(&mut self.random, window, site, now, slowness);
                        faults.until_crash(Box::pin(client.patch(&path, &body))).await
                    }
                    _ => {
                        let path = format!("{path}/end");
                        faults.until_crash(Box::pin(client.post(&path, &json!({})))).await
                    }
                }
            }
        };
        match done {
            None => self.counts.add("deaths", 1_u64),
            Some(answer) => {
                self.counts.add("changed windows", matches!(answer.status, 200..300));
            }
        }
        self.service.test.queue.drain(Destination::Reconcile);
        self.see_windows().await;
    }

    async fn stored_windows(&self) -> Windows {
        let app = &self.service.test.app;
        let team = app.store.team(self.owner.team, app.clock.now()).await.expect("read");
        team.expect("a team").team.windows
    }

    /// The windows in which no check decides anything and nobody is reminded.
    async fn see_windows(&self) {
        let windows = self.stored_windows().await;
        self.receivers.lock().windows = windows;
    }

    /// Somebody gives a site or a heartbeat other tags.
    async fn change_tags(&mut self) {
        let place = usize::try_from(self.random.below(self.sites.len() as u64)).expect("small");
        let mut body = json!({ "tags": rules::tags(&mut self.random) });
        let path = if self.random.happens(500) {
            let Watched { id, name, .. } = &self.sites[place];
            body["url"] = format!("http://{name}.test").into();
            format!("/sites/{id}")
        } else {
            self.jobs[place].path.clone()
        };
        self.patch(&path, &body, "changed tags").await;
        self.see_rules().await;
    }

    /// Somebody changes the rules of a channel, unless it is that for chat, which gets everything at once.
    async fn change_rules(&mut self) {
        let channel = usize::try_from(1 + self.random.below(2)).expect("small");
        let (random, is_for_people) =
            (&mut self.random, self.channels[channel].target.is_for_people());
        let body = rules::changed(random, is_for_people, self.scale.slowness);
        self.save_rules(channel, &body).await;
    }

    async fn save_rules(&mut self, channel: usize, body: &Value) {
        let path = format!("/teams/{}/channels/{}", self.owner.team, self.channels[channel].id);
        self.patch(&path, body, "changed rules").await;
        self.see_rules().await;
    }

    /// Somebody changes something through the API, and the process may die. Returns whether it is done.
    async fn patch(&mut self, path: &str, body: &Value, what: &'static str) -> bool {
        let client = self.service.client(&self.owner);
        let faults = self.service.test.faults().clone();
        let patched = faults.until_crash(Box::pin(client.patch(path, body))).await;
        self.counts.add("deaths", patched.is_none());
        let is_changed = patched.is_some_and(|answer| matches!(answer.status, 200..300));
        self.counts.add(what, is_changed);
        self.receivers.lock().note(format!("{what} ({is_changed}): {path} {body}"));
        self.service.test.queue.drain(Destination::Reconcile);
        is_changed
    }

    /// The tags and rules that decide who is notified, and the openings that no channel knows yet.
    async fn see_rules(&self) {
        let store = &self.service.test.app.store;
        let channels = store.channels(self.owner.team).await.expect("read");
        let (mut tags, mut waiting) = (BTreeMap::new(), BTreeSet::new());
        for site in &self.sites {
            let stored = store.site(site.id.partition()).await.expect("read").expect("a site");
            tags.insert(site.name.clone(), stored.site.tags);
        }
        for job in &self.jobs {
            let stored = store.heartbeat(job.id.partition()).await.expect("read");
            tags.insert(job.name.clone(), stored.expect("a heartbeat").heartbeat.tags);
        }
        for (id, name, fingerprints) in self.monitors() {
            for fingerprint in fingerprints {
                let entries = store.outbox(id.partition(), *fingerprint).await.expect("read");
                let openings = entries.iter().filter(|of| of.event == Some(EventKind::Opened));
                let name = name_of(name, *fingerprint);
                let opened_at = openings.map(|opening| opening.issue.lifecycle.opened_at());
                waiting.extend(opened_at.map(|opened_at| (name.clone(), opened_at)));
            }
        }
        self.receivers.lock().see_rules(&tags, channels, &waiting);
    }

    async fn change_settings(&mut self) {
        let hour = self.random.below(24);
        let quiet = json!({
            "enabled": self.random.happens(600),
            "starts_at": format!("{hour:02}:00"),
            "ends_at": format!("{:02}:30", (hour + 3) % 24),
        });
        self.save_settings(&quiet, self.random.clone().happens(700)).await;
    }

    async fn save_settings(&mut self, quiet: &serde_json::Value, escalates: bool) {
        let tools = json!({ "ssl": { "enabled": true, "cadence_minutes": 1440 } });
        let escalation = json!({ "enabled": escalates, "intervals": [15, 60, 1440] });
        let settings = json!({ "tools": tools, "quiet_time": quiet, "escalation": escalation });
        let path = format!("/teams/{}/monitoring", self.owner.team);
        let body = json!({ "monitoring_settings": settings });
        self.patch(&path, &body, "changed settings").await;
        let app = &self.service.test.app;
        let team = app.store.team(self.owner.team, app.clock.now()).await.expect("read");
        self.receivers.lock().quiet_time = team.expect("a team").settings.quiet_time;
    }

    /// The sites and heartbeats, with their names and the issues that they may have.
    fn monitors(&self) -> Vec<(MonitorId, &str, &'static [Fingerprint])> {
        let (status, job): (&'static [_], &'static [_]) = (&STATUS, &JOB);
        let sites = self.sites.iter().map(|site| (site.id, &*site.name, status));
        sites.chain(self.jobs.iter().map(|of| (of.id, &*of.name, job))).collect()
    }

    /// What everybody could know about the issues of a site or a heartbeat by now.
    async fn see(&self, monitor: MonitorId) {
        let store = &self.service.test.app.store;
        let mut all = self.monitors().into_iter();
        let found = all.find(|(other, ..)| *other == monitor);
        let (_, name, fingerprints) = found.expect("a site or heartbeat");
        for fingerprint in fingerprints {
            let found = store.issue(monitor.partition(), *fingerprint).await;
            if let Some(issue) = found.expect("read") {
                self.receivers.lock().see(&name_of(name, *fingerprint), &issue);
            }
        }
    }

    /// Sends the runs of the schedules.
    async fn check_all(&mut self) {
        for number in 0..self.sites.len() {
            let site = self.sites[number].id;
            if self.calm || !self.random.happens(30) {
                let message = scheduled(self.owner.team, site, Tool::Status, self.now());
                self.deliver(Message::Check(message)).await;
            }
        }
    }

    /// Takes the sent messages, and delivers those that have arrived by now.
    async fn receive(&mut self) {
        let (mut rounds, mut count) = (0, 0);
        loop {
            self.send_off();
            let now = self.steady_now();
            let (arrived, later): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.under_way).into_iter().partition(|(at, _)| *at <= now);
            self.under_way = later;
            if arrived.is_empty() {
                return;
            }
            (rounds, count) = (rounds + 1, count + arrived.len());
            self.assert_it_ends(rounds, count, &arrived);
            for (_, message) in arrived {
                self.deliver(message).await;
            }
        }
    }

    /// Messages lead to others, but not endlessly: each of them costs money.
    fn assert_it_ends(&self, rounds: usize, count: usize, arrived: &[(Timestamp, Message)]) {
        let most = DELIVERIES_MAX * (self.sites.len() + self.jobs.len());
        if rounds <= ROUNDS_MAX && count <= most {
            return;
        }
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for (_, message) in arrived {
            *kinds.entry(format!("{message:?}")).or_default() += 1;
        }
        panic!(
            "messages lead to others without end: {count} were delivered in {rounds} rounds at {}, and now {kinds:#?}",
            self.now()
        );
    }

    /// Applies the faults of queues to messages.
    fn send_off(&mut self) {
        let now = self.steady_now();
        let sent: Vec<_> = Destination::ALL
            .into_iter()
            .flat_map(|queue| self.service.test.queue.drain(queue))
            .collect();
        for (message, delay) in sent {
            let at = now + SignedDuration::try_from(delay).expect("a short time");
            if self.calm {
                self.under_way.push((at, message));
                continue;
            }
            let copies = self.random.one_of(&[0, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
            for _ in 0..copies {
                let late = self.random.one_of(&[0, 0, 0, 0, 3, 30, 400]);
                self.under_way.push((at + SignedDuration::from_secs(late), message.clone()));
            }
            let last = self.under_way.len();
            if last > 1 {
                let other = usize::try_from(self.random.below(last as u64)).expect("small");
                self.under_way.swap(last - 1, other);
            }
        }
    }

    /// Delivers a message to a process that may die while it handles it. Half of these deaths lose all other messages
    /// too.
    async fn deliver(&mut self, message: Message) {
        let faults = self.service.test.faults().clone();
        let done = match &message {
            Message::Check(check) => faults.until_crash(Box::pin(self.check(check))).await,
            Message::Reconcile(maintenance) => {
                let kept = vedette_reconciler::handle(&self.service.test.app, maintenance);
                let kept = granted([&RECONCILE, &Grant::NONE], Box::pin(kept));
                let kept = faults.until_crash(kept).await.map(|kept| kept.is_ok());
                self.see_look(maintenance, kept == Some(true)).await;
                kept
            }
            Message::Alert(alert) => {
                let app = &self.service.test.app;
                let notified = Box::pin(vedette_notifier::handle(app, &self.receivers, alert));
                let notified =
                    faults.until_crash(granted([&NOTIFIER, &Grant::NONE], notified)).await;
                let is_saved = matches!(notified, Some(Ok(())));
                self.receivers.end_pass(is_saved);
                if let Some(Err(NotifierError::Message(error))) = &notified {
                    panic!("{error}");
                }
                notified.map(|notified| notified.is_ok())
            }
            Message::Mail(_) => panic!("nobody asked for it"),
        };
        if done.is_none() {
            self.counts.add("deaths", 1_u64);
            if let Message::Check(check) = &message {
                // It may have been saved.
                self.see(check.site).await;
                let site = self.sites.iter_mut().find(|site| site.id == check.site);
                site.expect("a site").held = 0;
            }
            if self.random.happens(500) {
                self.under_way.clear();
                self.send_off();
                self.under_way.clear();
            }
        }
        if done != Some(true) {
            // The queue delivers it again.
            let again = self.steady_now() + SignedDuration::from_secs(5);
            self.under_way.push((again, message));
        }
    }

    /// Sets what other locations answer about a site that answers them with this code.
    fn instruct_locations(&self, code: u16) {
        let Some(locations) = &self.locations else { return };
        locations.take_questions();
        for (name, nature) in ["eu-west-1", "us-east-1"].into_iter().zip(self.natures) {
            let (answer, after) = nature.answer(code);
            locations.sees_after(name, answer, after);
        }
    }

    /// Whether other locations were asked about the run that was just saved.
    fn was_asked(&self) -> bool {
        self.locations.as_ref().is_some_and(|locations| !locations.take_questions().is_empty())
    }

    /// Checks the rule of confirmation after a run: no outage is reported without asking other locations, and each is
    /// reported at the third run at which they are asked, whatever they say.
    async fn hold_to_bound(&mut self, number: usize, is_down: bool, issues: &[IssueChange]) {
        let was_asked = self.was_asked();
        for IssueChange { after, .. } in issues.iter().filter(|_| self.locations.is_some()) {
            if after.id.fingerprint() == Fingerprint::StatusDown && after.lifecycle.is_active() {
                assert!(was_asked, "an outage was reported without asking");
                match after.context["confirmation"].as_str() {
                    Some("confirmed") => self.counts.add("confirmed", 1_u64),
                    Some("unconfirmed") => self.counts.add("unconfirmed", 1_u64),
                    other => panic!("an outage was reported as {other:?}"),
                }
            }
        }
        let partition = self.sites[number].id.partition();
        let mut active = 0;
        for fingerprint in OUTAGES {
            let found = self.service.test.app.store.issue(partition, fingerprint).await;
            let issue = found.expect("read");
            active += u32::from(issue.is_some_and(|issue| issue.lifecycle.is_active()));
        }
        assert!(active <= 1, "one of the two at most");
        let site = &mut self.sites[number];
        if active == 0 && is_down && was_asked {
            site.held += 1;
            self.counts.add("held", 1_u64);
            assert!(site.held <= 2, "an outage was silenced");
        } else if active > 0 || !is_down {
            site.held = 0;
        }
    }

    /// A run whose target answers according to the world's state.
    async fn check(&mut self, message: &CheckMessage) -> bool {
        let app = &self.service.test.app;
        let found = app.store.run_context(message.team, message.site, message.tool).await;
        let Ok(Some(context)) = found else { return found.is_ok() };
        if context.state.wants(message.check_id(), app.clock.now()).is_err() {
            return true;
        }
        let message = match at_free_slot(app, *message, &context.state).await {
            Ok(Some(message)) => message,
            dropped => return dropped.is_ok(),
        };
        let evaluated_before = context.state.evaluated;
        let (run, state) = context.begin(message.check_id(), app.service.time_scale);
        if run.tool() != Tool::Status {
            return clear_timer(app, &run.site, run.tool(), &state).await.is_ok();
        }
        let found = self.sites.iter().position(|site| site.id == message.site);
        let number = found.expect("a site");
        let elsewhere = if self.sites[number].is_up { 200 } else { 503 };
        let is_cut_off = self.is_home_broken && self.random.happens(700);
        let code = if is_cut_off { 0 } else { elsewhere };
        self.instruct_locations(elsewhere);
        let (app, site) = (&self.service.test.app, &self.sites[number]);
        let unmet = || Unmet {
            fingerprint: Fingerprint::StatusExpectation,
            message: "expected \"ok\" at /status, got \"degraded\"".to_owned(),
        };
        let is_judged = code == 200 && !run.site.expectations.is_empty();
        let judged = is_judged.then(|| (!site.is_healthy).then(unmet).into_iter().collect());
        let result = status_result(&format!("http://{}", site.name), code, 1.0);
        let finish = Finish::Completed(ToolResult::Status(StatusResult { judged, ..result }));
        match record_run(app, &run, state, &finish, None).await {
            Ok(vedette_runs::Recorded::Saved { check, issues }) => {
                self.assert_maintenance(message.site, &check, evaluated_before, &issues).await;
                for IssueChange { after, .. } in &issues {
                    let (name, what) = (&self.sites[number].name, after.id.fingerprint());
                    let line = format!("{} {name}: {what} is {:?}", self.now(), after.status());
                    self.receivers.lock().note(line);
                }
                if !issues.is_empty() {
                    self.see(message.site).await;
                }
                self.hold_to_bound(number, code != 200, &issues).await;
                true
            }
            recorded => {
                // It may have been saved before.
                self.sites[number].held = 0;
                let is_done = recorded.is_ok();
                self.see(message.site).await;
                is_done
            }
        }
    }

    /// Checks the rule of windows after a run: a check in a window is marked and decides nothing, and every other
    /// check is an observation.
    async fn assert_maintenance(
        &mut self,
        site: SiteId,
        check: &Check,
        before: Option<CheckPointer>,
        issues: &[IssueChange],
    ) {
        let (slot, now) = (check.id.created_at(), self.now());
        let (from, to) = (slot.min(now), slot.max(now));
        let until = maintenance_until(&self.receivers.lock().windows, site, from, to);
        assert_eq!(check.in_maintenance, until.is_some(), "{from} to {to}, until {until:?}");
        let found = self.service.test.app.store.site_tool(site.partition(), Tool::Status).await;
        let (_, state) = found.expect("read").expect("a site");
        if check.in_maintenance {
            self.counts.add("in windows", 1_u64);
            assert!(issues.is_empty(), "decided in a window: {issues:?}");
            assert_eq!(state.evaluated, before, "observed in a window");
            assert!(!self.was_asked(), "locations were asked in a window");
        } else {
            let evaluated = state.evaluated.map(|evaluated| evaluated.id);
            assert_eq!(evaluated, Some(check.id), "not observed");
        }
    }

    async fn redeliver(&mut self) {
        let faults = self.service.test.faults().clone();
        let pass = Box::pin(vedette_reconciler::redeliver(&self.service.test.app));
        let pass = granted([&REDELIVERY, &Grant::NONE], pass);
        if faults.until_crash(pass).await.is_none() {
            self.counts.add("deaths", 1_u64);
        }
    }

    /// Nothing goes wrong any more, and everything outstanding is done.
    async fn come_to_rest(&mut self) {
        self.calm = true;
        self.is_home_broken = false;
        self.receivers.heal();
        self.service.test.faults().forget();
        self.service.test.faults().refuse_writes(false);
        self.is_full = false;
        self.set_ahead(SignedDuration::ZERO).await;
        self.realign().await;
        let never = json!({ "enabled": false, "starts_at": "01:00", "ends_at": "02:00" });
        self.save_settings(&never, false).await;
        // The lease of a process that died while it sent has expired.
        self.pass(LEASE);
        self.switch_all_on().await;
        self.save_rules(1, &json!({ "repeat_minutes": null })).await;
        self.end_maintenance().await;
        self.rest_jobs().await;
        // After so many hours of failures, the longest wait is equally long, and longer with jitter; and none of the
        // receivers fails for days.
        for _ in 0..12 + 3 * self.scale.hours.min(48) {
            self.pass(SignedDuration::from_mins(60));
            self.redeliver().await;
            self.receive().await;
        }
    }

    /// Removes the windows that recur, waits until the others are over, and lets the next checks decide.
    async fn end_maintenance(&mut self) {
        let windows = self.stored_windows().await;
        for window in windows.iter().filter(|window| window.rule.is_some()) {
            let path = format!("/teams/{}/maintenance-windows/{}", self.owner.team, window.id);
            let removed = self.service.client(&self.owner).delete(&path).await;
            assert_eq!(removed.status, 204, "{removed:?}");
        }
        self.see_windows().await;
        for _ in 0..HOURS_OF_WINDOWS {
            let windows = self.stored_windows().await;
            let next = windows.iter().filter_map(|window| window.next_after(self.now()));
            let next = next.map(|next| next.end).max();
            let ends = windows.iter().filter_map(|window| window.active_at(self.now()));
            let Some(end) = ends.map(|active| active.end).chain(next).max() else { break };
            self.pass(end.duration_since(self.now()));
            self.redeliver().await;
            self.receive().await;
        }
        for _ in 0..CHECKS_TO_DECIDE {
            self.pass(CADENCE);
            self.check_all().await;
            self.receive().await;
        }
        for site in &self.sites {
            self.assert_decided(site).await;
        }
    }

    /// After enough checks outside windows, a site has the issues that it should, and no retry or follow-up waits
    /// for the end of a window any more.
    async fn assert_decided(&self, site: &Watched) {
        let (store, partition) = (&self.service.test.app.store, site.id.partition());
        let mut active = BTreeSet::new();
        for fingerprint in STATUS {
            let found = store.issue(partition, fingerprint).await.expect("read");
            active.extend(found.filter(|issue| issue.lifecycle.is_active()).map(|_| fingerprint));
        }
        let is_out = OUTAGES.iter().any(|outage| active.contains(outage));
        assert_eq!(is_out, !site.is_up, "{}: {active:?}", site.name);
        let (stored, state) =
            store.site_tool(partition, Tool::Status).await.expect("read").expect("a site");
        if site.is_up {
            let is_unexpected = !stored.expectations.is_empty() && !site.is_healthy;
            let known = active.contains(&Fingerprint::StatusExpectation);
            assert_eq!(known, is_unexpected, "{}: {active:?}", site.name);
        }
        let latest = self.now() + TIMER_MAX;
        assert!(state.timer.is_none_or(|timer| timer.due <= latest), "{:?}", state.timer);
    }

    /// Compares the uptime of a site, which is counted, with its checks: over all of them, and outside windows.
    async fn assert_counted(&self, site: &Watched) {
        let client = self.service.client(&self.owner);
        let mut days: BTreeMap<String, Counted> = BTreeMap::new();
        for page in 1.. {
            let query =
                format!("type=status&automatic=true&status=completed&per_page=100&page={page}");
            let listed = client.get(&format!("/sites/{}/checks?{query}", site.id)).await;
            let checks = listed.body["data"].as_array().expect("checks");
            for check in checks {
                let day = check["created_at"].as_str().expect("a time")[..10].to_owned();
                let is_up = u64::from(check["result"]["up"] == true);
                let is_inside = u64::from(check["in_maintenance"] == true);
                let counted = days.entry(day).or_default();
                counted.checks += 1;
                counted.up += is_up;
                counted.inside += is_inside;
                counted.up_inside += is_up * is_inside;
            }
            if checks.len() < 100 {
                break;
            }
        }
        let report = client.get(&format!("/sites/{}/reports/uptime?days=365", site.id)).await;
        for day in report.body["data"]["days"].as_array().expect("days") {
            let date = &day["date"].as_str().expect("a day")[..10];
            let Counted { checks, up, inside, up_inside } = days.remove(date).unwrap_or_default();
            assert_eq!([&day["total_checks"], &day["up_checks"]], [checks, up], "{date}");
            let outside = &day["outside_maintenance"];
            let reported = [&outside["total_checks"], &outside["up_checks"]].map(Value::as_u64);
            let expected = (inside > 0).then_some([checks - inside, up - up_inside]);
            assert_eq!(reported, expected.map_or([None; 2], |of| of.map(Some)), "{date}");
        }
        assert!(days.is_empty(), "not reported: {days:?}");
    }

    /// Compares the sent messages with what happened.
    async fn judge(&self) -> Counts {
        let store = &self.service.test.app.store;
        let mut counts = self.counts.clone() + self.receivers.lock().counts.clone();
        let mut left_out = BTreeSet::new();
        let all = self.monitors().into_iter().flat_map(|(id, name, fingerprints)| {
            fingerprints.iter().map(move |fingerprint| (id, name, *fingerprint))
        });
        for (id, name, fingerprint) in all {
            let found = store.issue(id.partition(), fingerprint).await;
            let Some(issue) = found.expect("read") else { continue };
            counts.add("partial", fingerprint == Fingerprint::StatusPartial);
            counts.add("unexpected", fingerprint == Fingerprint::StatusExpectation);
            counts.add("missed", fingerprint == Fingerprint::HeartbeatDown);
            counts.add("long", fingerprint == Fingerprint::HeartbeatRunningLong);
            let name = name_of(name, fingerprint);
            let receivers = self.receivers.lock();
            let mut happened = Vec::new();
            for entry in issue.timeline.entries() {
                match entry.key {
                    TimelineKey::Opened => happened.push("issue.opened"),
                    TimelineKey::Resolved => happened.push("issue.resolved"),
                    TimelineKey::Acknowledged => {}
                }
            }
            counts.add("transitions", happened.len() as u64);
            for pair in happened.windows(2) {
                assert_ne!(pair[0], pair[1], "opened and resolved alternate");
            }
            for channel in &self.channels {
                receivers.judge(channel.id, &name);
                if receivers.is_left_out(channel.id, &name) {
                    let row = (format!("D#{}#{}", channel.team, channel.id), issue.id);
                    left_out.insert((row.0, format!("I#{}", row.1)));
                    counts.add("left out", 1_u64);
                }
            }
        }
        for site in &self.sites {
            self.assert_counted(site).await;
        }
        for job in &self.jobs {
            self.assert_kept(job).await;
        }
        self.assert_nothing_is_outstanding(&left_out).await;
        counts
    }

    /// Outstanding work has a due time, and in the end nothing is outstanding. Only what channels know about the issues
    /// that are `left_out` is kept.
    async fn assert_nothing_is_outstanding(&self, left_out: &BTreeSet<(String, String)>) {
        let dump = self.service.test.table.dump().await;
        let mut left = BTreeMap::new();
        for ((pk, sk), item) in &dump {
            let is_outstanding = sk.starts_with("O#") || sk.starts_with("Q#");
            let is_untold = sk.starts_with("I#") && pk.starts_with("D#") && item["told"].is_null();
            let is_untold = is_untold && !left_out.contains(&(pk.clone(), sk.clone()));
            if is_outstanding && pk.starts_with(['S', 'D']) || is_untold {
                left.insert((pk, sk), item);
            }
        }
        assert!(left.is_empty(), "{left:#?}");
        let outstanding = self.service.test.app.store.overdue(Timestamp::MAX, EVERYTHING).await;
        let mut owners: Vec<_> =
            outstanding.expect("read").into_iter().map(|of| of.owner).collect();
        // Issues that are active are followed up, heartbeats are awaited, and the next report is made.
        let goes_on = |owner: &Owner| {
            matches!(owner, Owner::Tool(..) | Owner::Deadline(_) | Owner::Reports(_))
        };
        owners.retain(|owner| !owner.as_ref().is_some_and(goes_on));
        assert!(owners.is_empty(), "{owners:?}");
    }

    pub(crate) fn log(&self) -> String {
        self.receivers.lock().log()
    }
}
