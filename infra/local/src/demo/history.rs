//! Writes a month of history, as checkers, notifiers and people write it, while a simulated clock runs through the month.
//!
//! A packed check changes nothing but the state of its tool. Such a state is only saved with the next run that changes
//! more, such as one that closes a block.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use vedette_actions::access::Caller;
use vedette_actions::{
    Decision, GrowingTeam, add_channel, add_member, add_window, create_incident, create_site,
    create_status_page, decide, edit_incident,
};
use vedette_domain::accounts::account::{Membership, Role, User};
use vedette_domain::accounts::audit::By;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::channel::discord::Discord;
use vedette_domain::alerts::channel::ntfy::Ntfy;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::webhook::Webhook;
use vedette_domain::alerts::channel::{Filter, SecretUrl, SigningKeys, Target};
use vedette_domain::checks::check::{Finish, Phases, StatusResult, ToolResult};
use vedette_domain::checks::evidence::{Evidence, EvidenceBody, EvidenceRequest};
use vedette_domain::checks::history::block::BlockVersion;
use vedette_domain::checks::run::Run;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{CheckId, SiteId, UserId};
use vedette_domain::issues::note::Note;
use vedette_domain::issues::{Fingerprint, Severity};
use vedette_domain::maintenance::{NewWindow, Recurrence};
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::sites::settings::{HTTPS_PORT, Settings};
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_domain::status_pages::{
    ComponentInput, GroupInput, Impact, IncidentEdit, IncidentStatus, NewIncident, NewPage,
    PageIncident, Slug, StatusPage,
};
use vedette_notifier::send::{OutgoingMessage, SendOutcome, SendReason};
use vedette_notifier::{Recipient, Transport};
use vedette_runs::{record_run, state_after};
use vedette_runtime::config::Service;
use vedette_runtime::{
    App, Clock, Destination, Entropy, Health, LocalQueue, LocalScheduler, Queue, RemoteChecks,
    Scheduler, TxtRecords,
};
use vedette_store::Store;

use super::server::{
    ADDRESS, AUTHORITY, Fault, RECEIVERS, UNAVAILABLE, VALID_DAYS, certificate_ends,
};
use super::sites::{SITES, TOLERATED, place, was_down};

/// Days of history.
pub(super) const DAYS: i64 = 30;
/// The slug of the status page.
const SLUG: &str = "demo";
/// The sites on it, which are the first ones.
const COMPONENTS: usize = 6;
/// How many minutes the weekly maintenance window of the documents takes, and how long before its end they work again.
const WEEKLY: (u32, i64) = (90, 65);
/// Longer delays are those of reminders and retries. There are none in the history.
const SOON: Duration = Duration::from_secs(90);

/// The members: their names and roles. The first one owns the team.
const MEMBERS: [(&str, Role); 3] =
    [("Ada", Role::Owner), ("Ben", Role::Admin), ("Chloe", Role::Member)];

/// What a member did about an outage.
enum Deed {
    Acknowledged,
    Noted(&'static str),
    /// Wrote an update of an incident on the status page. The first update has a title, which starts the incident.
    Wrote(Option<&'static str>, IncidentStatus, &'static str),
}

use Deed::{Acknowledged, Noted, Wrote};
use IncidentStatus::{Identified, Investigating, Resolved};

/// What the members did: how many minutes before the start, the place of the site, and the place of the member.
const DEEDS: [(i64, usize, usize, Deed); 16] = [
    (38_065, place::BLOG, 0, Acknowledged),
    (
        37_840,
        place::BLOG,
        0,
        Noted("The certificate of the database had expired over night. The renewal runs again."),
    ),
    (24_304, place::CHECKOUT, 2, Acknowledged),
    (12_655, place::SHOP, 1, Acknowledged),
    (
        12_650,
        place::SHOP,
        1,
        Wrote(
            Some("The shop is down"),
            Investigating,
            "Pages of the shop don’t load. We’re looking into it.",
        ),
    ),
    (
        12_605,
        place::SHOP,
        1,
        Noted("The disk of the database is full. I’m moving it to a larger one."),
    ),
    (
        12_600,
        place::SHOP,
        1,
        Wrote(None, Identified, "A disk is full. We’re moving the shop to another one."),
    ),
    (
        12_490,
        place::SHOP,
        0,
        Noted("All orders have arrived. We now get a warning when a disk is 80 % full."),
    ),
    (
        12_480,
        place::SHOP,
        1,
        Wrote(None, Resolved, "The shop works again, and all orders have arrived."),
    ),
    (5_398, place::API, 2, Acknowledged),
    (5_360, place::API, 2, Noted("The new release leaks connections. Rolling back.")),
    (3_296, place::HELP, 1, Acknowledged),
    (18, place::CHECKOUT, 1, Acknowledged),
    (
        16,
        place::CHECKOUT,
        1,
        Wrote(
            Some("Payments fail"),
            Investigating,
            "Customers can’t pay at present. Their carts are kept.",
        ),
    ),
    (
        11,
        place::CHECKOUT,
        1,
        Noted(
            "The payment service has run out of memory since the last release. Chloe looks at its logs.",
        ),
    ),
    (
        6,
        place::CHECKOUT,
        1,
        Wrote(
            None,
            Identified,
            "A part of the payment service does not start. We’re working on it.",
        ),
    ),
];

/// A clock that can be set.
#[derive(Clone)]
struct Month(Arc<AtomicI64>);

impl Month {
    fn clock(&self) -> Clock {
        let now = Arc::clone(&self.0);
        Clock::from_fn(move || {
            Timestamp::from_millisecond(now.load(Ordering::Relaxed))
                .unwrap_or(Timestamp::UNIX_EPOCH)
        })
    }

    fn set(&self, now: Timestamp) {
        self.0.store(now.as_millisecond(), Ordering::Relaxed);
    }
}

/// The team and everything that its history is written with.
struct History {
    app: App,
    queue: LocalQueue,
    month: Month,
    /// The end of the history.
    end: Timestamp,
    scale: TimeScale,
    team: Team,
    members: Vec<UserId>,
    sites: Vec<SiteId>,
}

/// A tool of a site, whose state may be newer than the stored one.
struct Monitored {
    place: usize,
    run: Run,
    state: ToolState,
    cadence: u32,
    is_saved: bool,
}

impl Monitored {
    /// Moves on to the next run, which the tool's timer or its schedule asks for.
    fn proceed(&mut self, scale: TimeScale) {
        let (site, tool, last) = (self.run.site.id, self.run.tool(), self.run.check.created_at());
        let slot = scale.next_after(site, tool, self.cadence, last);
        let timer = self.state.timer.filter(|timer| last < timer.due && timer.due <= slot);
        self.run.check = match timer {
            Some(timer) => timer.check(site, tool),
            None => CheckId::automatic(site, tool, RunReason::Scheduled, slot),
        };
    }
}

/// Writes the history up to `end` into an empty table.
pub(super) async fn write(store: &Store, service: &Service, end: Timestamp) -> Result<(), Fault> {
    let history = History::begin(store, service, end).await?;
    let mut monitored = history.monitor().await?;
    let page = history.publish().await?;
    let mut deeds = DEEDS.iter().peekable();
    let mut incident = None;
    loop {
        let next = monitored.iter_mut().min_by_key(|next| next.run.check.created_at());
        let Some(next) = next else { return Err("no site".into()) };
        let slot = next.run.check.created_at().min(end);
        while let Some(deed) = deeds.next_if(|(minutes, ..)| history.before(*minutes) < slot) {
            history.act(&page, &mut incident, deed).await?;
        }
        if slot == end {
            break;
        }
        history.record(next).await?;
        next.proceed(history.scale);
    }
    for Monitored { run, state, .. } in monitored.iter().filter(|tool| !tool.is_saved) {
        let state = ToolState { rev: state.rev + 1, ..state.clone() };
        store.put_tool(run.site.id.partition(), run.tool(), &state, end).await?;
    }
    history.month.set(end);
    let reports = ReconcileMessage::Report(history.team.id);
    Ok(vedette_reconciler::handle(&history.app, &reports).await?)
}

impl History {
    /// Creates the team with its members, channels, sites and maintenance windows.
    async fn begin(store: &Store, service: &Service, end: Timestamp) -> Result<Self, Fault> {
        let begin = end - SignedDuration::from_hours(24 * DAYS);
        let month = Month(Arc::new(AtomicI64::new(begin.as_millisecond())));
        let queue = LocalQueue::new();
        let tools = vec![Tool::Status, Tool::Ssl];
        let scale = TimeScale::new(Duration::from_secs(60))?;
        let service = Service {
            tools,
            writes_blocks: Some(BlockVersion::Two),
            time_scale: scale,
            ..service.clone()
        };
        let app = App {
            store: store.clone(),
            queue: Queue::Local(queue.clone()),
            scheduler: Scheduler::Local(LocalScheduler::new(month.clock(), scale)),
            clock: month.clock(),
            entropy: Entropy::system(),
            service,
            health: Health::default(),
            remote_checks: RemoteChecks::default(),
            txt_records: TxtRecords::default(),
        };
        let mut team = Team::new(app.entropy.team_id()?, "Example Shop", Plan::Agency, begin);
        let mut settings = Settings::defaults(team.plan);
        settings.tools.dns.enabled = false;
        settings.tools.broken_links.enabled = false;
        settings.tools.performance.enabled = false;
        let mut members = Vec::new();
        for (name, role) in MEMBERS {
            let user = User {
                id: app.entropy.user_id()?,
                name: name.to_owned(),
                email: format!("{}@shop.example", name.to_lowercase()),
                email_verified_at: Some(begin),
                zone: None,
                created_at: begin,
            };
            store.create_user(&user).await?;
            if role == Role::Owner {
                let owner = Membership { team: team.id, user: user.id, role };
                store.create_team(&team, &settings, &owner).await?;
            } else {
                let team = store.team(team.id, begin).await?.ok_or("no team")?;
                add_member(&app, &team, &user, role, By::operator(begin)).await?;
            }
            members.push(user);
        }
        let sites = Self::add_sites(&app, &team, &members[0]).await?;
        team = store.team(team.id, begin).await?.ok_or("no team")?.team;
        let members = members.into_iter().map(|user| user.id).collect();
        let mut history = Self { app, queue, month, end, scale, team, members, sites };
        history.add_channels().await?;
        history.add_windows(begin).await?;
        Ok(history)
    }

    async fn add_sites(app: &App, team: &Team, owner: &User) -> Result<Vec<SiteId>, Fault> {
        let now = app.clock.now();
        let membership = Membership { team: team.id, user: owner.id, role: Role::Owner };
        let caller = Caller::new(owner.clone(), vec![membership], now);
        let mut ids = Vec::new();
        for (place, known) in SITES.iter().enumerate() {
            let url = SiteUrl::parse(known.url).map_err(|error| error.to_string())?;
            let mut site = Site::new(app.entropy.site_id()?, team.id, url, now);
            known.name.clone_into(&mut site.name);
            site.tags = known.tags();
            if place == place::SEARCH {
                let status = &mut site.overrides.tools.status.settings;
                status.failures_to_open = NonZeroU32::new(TOLERATED);
            }
            let team = app.store.team(team.id, now).await?.ok_or("no team")?;
            let mut team = GrowingTeam::new(team);
            ids.push(create_site(app, &caller, &mut team, site).await?.site.id);
        }
        Ok(ids)
    }

    async fn add_channels(&self) -> Result<(), Fault> {
        let url = |place: usize| SecretUrl::new(format!("https://{}/vedette", RECEIVERS[place]));
        let keys = SigningKeys::new(self.app.entropy.signing_key()?);
        let critical = Filter { severities: [Severity::Critical].into(), ..Filter::default() };
        for (name, target, filter) in [
            ("Operations", Target::Slack(Slack { url: url(0) }), Filter::default()),
            ("Community", Target::Discord(Discord { url: url(1) }), critical.clone()),
            ("Phones on call", Target::Ntfy(Ntfy { url: url(2), token: None }), critical),
            ("Service desk", Target::Webhook(Webhook { url: url(3), keys }), Filter::default()),
        ] {
            let by = By::user(self.members[0], self.app.clock.now());
            add_channel(&self.app, self.team.id, Some(name), target, filter, by).await?;
        }
        Ok(())
    }

    /// Plans a window that recurs, and one that began a while before the end of the history.
    async fn add_windows(&mut self, begin: Timestamp) -> Result<(), Fault> {
        let night = begin.to_zoned(TimeZone::UTC).date().at(2, 0, 0, 0);
        let current = self.before(50).to_zoned(TimeZone::UTC).datetime();
        for (name, place, starts_at, minutes, recurrence) in [
            (
                "Updates of the servers",
                place::DOCS,
                night + SignedDuration::from_hours(96),
                WEEKLY.0,
                Some(Recurrence::parse("FREQ=WEEKLY")?),
            ),
            ("Move to the new database", place::CRM, current, 480, None),
        ] {
            let sites = Some(BTreeSet::from([self.sites[place]]));
            let (name, starts_at) = (name.to_owned(), Some(starts_at));
            let new =
                NewWindow { name, sites, starts_at, recurrence, ..NewWindow::lasting(minutes) };
            add_window(&self.app, &self.team, new, By::user(self.members[1], begin)).await?;
            self.team = self.app.store.team(self.team.id, begin).await?.ok_or("no team")?.team;
        }
        Ok(())
    }

    /// The tools that run.
    async fn monitor(&self) -> Result<Vec<Monitored>, Fault> {
        let mut monitored = Vec::new();
        for (place, site) in self.sites.iter().enumerate() {
            for &tool in &self.app.service.tools {
                let context = self.app.store.run_context(self.team.id, *site, tool).await?;
                let context = context.ok_or("no site")?;
                let cadence = context.settings.tools.cadence_minutes(tool);
                let before = context.site.created_at - SignedDuration::from_secs(1);
                let check = CheckId::automatic(*site, tool, RunReason::Scheduled, before);
                let (run, state) = context.begin(check, self.scale);
                let mut tool = Monitored { place, run, state, cadence, is_saved: true };
                tool.proceed(self.scale);
                monitored.push(tool);
            }
        }
        Ok(monitored)
    }

    /// Creates the status page. The service publishes it when it starts.
    async fn publish(&self) -> Result<StatusPage, Fault> {
        let components = SITES.iter().zip(&self.sites).take(COMPONENTS);
        let components = components.map(|(known, site)| ComponentInput {
            uuid: None,
            name: known.name.to_owned(),
            site: Some(*site),
            heartbeat: None,
            response_time: true,
            hidden: None,
        });
        let groups = vec![GroupInput { name: None, components: components.collect() }];
        let slug = Slug::parse(SLUG).map_err(|error| error.to_string())?;
        let message = Some("This is a demo. The history of these sites is made up.".to_owned());
        let named = NewPage::named(self.team.name.clone(), slug);
        let new = NewPage { groups: Some(groups), message, ..named };
        let by = By::user(self.members[0], self.app.clock.now());
        Ok(create_status_page(&self.app, &self.team, new, by).await?)
    }

    /// The instant so many minutes before the end.
    fn before(&self, minutes: i64) -> Timestamp {
        self.end - SignedDuration::from_mins(minutes)
    }

    /// Makes a run, and saves it unless a later one saves it as well.
    async fn record(&self, next: &mut Monitored) -> Result<(), Fault> {
        let (run, known) = (&next.run, &SITES[next.place]);
        let slot = run.check.created_at();
        let now = slot + known.response_time(slot);
        self.month.set(now);
        let (finish, evidence) = match run.tool() {
            Tool::Status => {
                let (result, evidence) = self.status(run, next.place, slot);
                (Finish::Completed(ToolResult::Status(result)), Some(evidence))
            }
            _ => (Finish::Completed(certificate(next.place, self.end, slot)?), None),
        };
        if let Some(state) = state_after(&self.app, run, &next.state, &finish) {
            (next.state, next.is_saved) = (state, false);
            return Ok(());
        }
        record_run(&self.app, run, next.state.clone(), &finish, evidence.as_ref()).await?;
        let saved = self.app.store.site_tool(run.site.id.partition(), run.tool()).await?;
        (next.state, next.is_saved) = (saved.ok_or("no site")?.1, true);
        self.notify().await
    }

    /// Notifies the channels of what has changed.
    async fn notify(&self) -> Result<(), Fault> {
        loop {
            let mut waiting = self.queue.drain(Destination::Alerts);
            waiting.retain(|(_, delay)| *delay < SOON);
            if waiting.is_empty() {
                return Ok(());
            }
            for (message, delay) in waiting {
                self.month.set(self.app.clock.now() + delay);
                if let Message::Alert(alert) = message {
                    vedette_notifier::handle(&self.app, &Delivered, &alert).await?;
                }
            }
        }
    }

    /// Does what a member did.
    async fn act(
        &self,
        page: &StatusPage,
        incident: &mut Option<PageIncident>,
        (minutes, place, member, deed): &(i64, usize, usize, Deed),
    ) -> Result<(), Fault> {
        let (app, now, user) = (&self.app, self.before(*minutes), self.members[*member]);
        let by = By::user(user, now);
        self.month.set(now);
        let partition = self.sites[*place].partition();
        let issue = app.store.issue(partition, Fingerprint::StatusDown).await?.ok_or("no issue")?;
        let decision = match deed {
            Acknowledged => Decision::Acknowledge(user.into()),
            Noted(text) => Decision::Note(Note { at: now, by: user, text: (*text).to_owned() }),
            Wrote(title, status, text) => {
                *incident = Some(match (title, incident.as_ref()) {
                    (None, Some(before)) => {
                        let (status, text) = (Some(*status), Some((*text).to_owned()));
                        let edit = IncidentEdit { status, text, ..IncidentEdit::default() };
                        edit_incident(app, page, before, edit, by).await?
                    }
                    _ => {
                        let concerned = page.components().nth(*place).map(|component| component.id);
                        let title = title.unwrap_or_default().to_owned();
                        let new = NewIncident {
                            impact: Impact::Major,
                            status: *status,
                            components: Some(concerned.into_iter().collect()),
                            started_at: Some(issue.problem().began_at),
                            ..NewIncident::about(title, (*text).to_owned())
                        };
                        create_incident(app, page, new, by).await?
                    }
                });
                return Ok(());
            }
        };
        let read = app.store.issue_with_monitor(issue.id).await?.ok_or("no issue")?;
        decide(app, &self.team, &read, decision, by).await?;
        self.notify().await
    }

    /// The result of a status check, and what it saw.
    fn status(&self, run: &Run, place: usize, slot: Timestamp) -> (StatusResult, Evidence) {
        let known = &SITES[place];
        let in_work = place == place::DOCS
            && run
                .maintenance_until(slot)
                .is_some_and(|end| end.duration_since(slot) > SignedDuration::from_mins(WEEKLY.1));
        let up = !was_down(place, self.end.duration_since(slot)) && !in_work;
        let (code, status, text) = match up {
            true => (200, "200 OK", format!("<!doctype html>\n<title>{}</title>\n", known.name)),
            false => (503, "503 Service Unavailable", UNAVAILABLE.to_owned()),
        };
        let evidence = Evidence {
            requests: vec![EvidenceRequest { url: known.url.to_owned(), code: Some(code) }],
            address: Some((ADDRESS, HTTPS_PORT).into()),
            status_line: Some(format!("HTTP/1.1 {status}")),
            headers: Vec::new(),
            lacks_headers: false,
            body: Some(EvidenceBody {
                bytes: text.len() as u64,
                text: Some(text),
                is_cut: false,
                sha256: None,
            }),
            error: None,
            timing: known.timing(slot),
        };
        let result = StatusResult {
            up,
            code,
            effective_url: known.url.to_owned(),
            url: known.url.to_owned(),
            response_time: known.response_time(slot).as_micros() as f64 / 1_000.0,
            redirected: false,
            redirect_count: 0,
            redirects: Vec::new(),
            error: None,
            phases: Phases::of(evidence.timing),
            judged: None,
        };
        (result, evidence)
    }
}

/// A transport to receivers that accepted everything.
struct Delivered;

impl Transport for Delivered {
    async fn send(
        &self,
        _: Recipient<'_>,
        _: &OutgoingMessage,
        _: SendReason,
        _: Timestamp,
    ) -> SendOutcome {
        SendOutcome::DELIVERED
    }
}

/// The result of a check of a certificate.
fn certificate(place: usize, end: Timestamp, now: Timestamp) -> Result<ToolResult, Fault> {
    let known = &SITES[place];
    let until = certificate_ends(known.certificate, end);
    let date = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M:%S").to_string();
    let result = json!({
        "domain": known.host(), "ip": null, "is_valid": true, "failure_type": null,
        "failure_message": null, "issuer": AUTHORITY, "issued_to": known.host(),
        "valid_from": date(until - SignedDuration::from_hours(24 * VALID_DAYS)), "valid_to": date(until),
        "days_left": until.duration_since(now).as_hours() / 24, "subject": format!("CN={}", known.host()),
        "serial_number": null, "fingerprint": null, "verified": true, "info": null,
    });
    Ok(ToolResult::Ssl(Box::new(serde_json::from_value(result)?)))
}
