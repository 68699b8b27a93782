//! `--demo`: example sites with a month of history, in a folder of their own.
//!
//! The history is recorded as checkers record it, while a simulated clock runs through the month. After that, the sites
//! are checked like any others. This process itself serves them, on a loopback address that only this mode allows. One
//! of them goes down now and then. The certificate of another is only recorded, and never checked.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use vedette_actions::access::Caller;
use vedette_actions::{
    IncidentError, PageError, SiteError, TeamWithCooldowns, create_incident, create_site,
    create_status_page, edit_incident,
};
use vedette_checker::{Config, EngineConfig};
use vedette_domain::accounts::account::{Membership, Role, User};
use vedette_domain::accounts::audit::By;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::check::{Finish, StatusResult, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::sites::settings::Settings;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_domain::status_pages::{
    ComponentInput, GroupInput, Impact, IncidentEdit, IncidentStatus, NewIncident, NewPage,
    PageIncident, Slug, StatusPage,
};
use vedette_embedded::Folder;
use vedette_runs::record_run;
use vedette_runtime::config::Service;
use vedette_runtime::{
    App, Clock, Entropy, EntropyError, Health, LocalQueue, LocalScheduler, Queue, RemoteChecks,
    Scheduler, TxtRecords,
};
use vedette_store::{Store, StoreError};

/// The address at which the sites are served: a loopback address on which nothing else listens.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 77);
/// The address on machines that do not have that one.
const FALLBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// The file that marks a data folder as the demo's, and says whether its history is complete.
const MARK: &str = "demo";
const COMPLETE: &str = "complete\n";

/// Days of history.
const DAYS: i64 = 30;
/// Hours between two checks of it.
const STEP: i64 = 2;
/// The unreliable site is down for the first number of minutes in each period of the second number.
const DOWN: (i64, i64) = (8, 30);

/// A site, and what happens to it.
struct Story {
    name: &'static str,
    host: &'static str,
    /// Its usual response time in milliseconds.
    usual: f64,
    /// When it was down: from and until this many hours before now.
    was_down: &'static [(i64, i64)],
    /// Whether it goes down now and then.
    is_flaky: bool,
}

const STORIES: [Story; 3] = [
    Story {
        name: "Shop",
        host: "shop.demo.example",
        usual: 182.0,
        was_down: &[(212, 206), (98, 92), (30, 26)],
        is_flaky: true,
    },
    Story {
        name: "Blog",
        host: "blog.demo.example",
        usual: 310.0,
        was_down: &[(642, 630)],
        is_flaky: false,
    },
    Story { name: "Docs", host: "docs.demo.example", usual: 96.0, was_down: &[], is_flaky: false },
];

/// The site whose certificate is about to expire.
const CERTIFICATE: (&str, &str) = ("Payments", "pay.demo.example");
/// How many days its certificate is still valid.
const DAYS_LEFT: i64 = 5;

/// The slug of the status page, which shows the sites of the stories.
const SLUG: &str = "demo";
/// What people wrote about the newest outage of the first site: how many hours before now, and what.
const WRITTEN: [(i64, IncidentStatus, &str); 3] = [
    (30, IncidentStatus::Investigating, "Pages of the shop don’t load. We’re looking into it."),
    (28, IncidentStatus::Identified, "A disk is full. We’re moving the shop to another one."),
    (26, IncidentStatus::Resolved, "The shop works again, and all orders have arrived."),
];

/// Why the demo cannot start.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The folder is used for something else.
    #[error(
        "the data folder {} is not for the demo: choose another one with --data, or start without --demo", .0.display()
    )]
    InUse(PathBuf),
    /// The first start was interrupted while it wrote the history.
    #[error("the demo in {} is incomplete: remove the folder and start again", .0.display())]
    Incomplete(PathBuf),
    /// The folder is the demo's, and the service was started without it.
    #[error(
        "the data folder {} contains the demo: start with --demo, or choose another folder with --data", .0.display()
    )]
    Unwanted(PathBuf),
    /// Nothing can be written, or no address is free.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A site was not created.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The status page was not created.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The incident was not created.
    #[error(transparent)]
    Incident(#[from] IncidentError),
    /// The system provides no randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// A result in the history is invalid.
    #[error(transparent)]
    Result(#[from] serde_json::Error),
    /// A time in the history is invalid.
    #[error(transparent)]
    Time(#[from] jiff::Error),
}

/// Refuses a folder that is not for this mode. `has_table` says whether the folder contains a table.
pub(crate) fn judge(folder: &Path, is_demo: bool, has_table: bool) -> Result<(), DemoError> {
    let mark = fs::read_to_string(folder.join(MARK));
    match (is_demo, mark) {
        (true, Ok(mark)) if has_table && mark != COMPLETE => {
            Err(DemoError::Incomplete(folder.to_owned()))
        }
        (true, Err(_)) if has_table => Err(DemoError::InUse(folder.to_owned())),
        (false, Ok(_)) => Err(DemoError::Unwanted(folder.to_owned())),
        _ => Ok(()),
    }
}

/// Prepares the demo in an empty table or continues it. Returns the socket at which its sites must be served.
pub(crate) async fn begin(
    folder: &Folder,
    store: &Store,
    config: &mut Config,
    now: Timestamp,
) -> Result<TcpListener, DemoError> {
    let listener = listen().await?;
    arrange(listener.local_addr()?, config);
    seed(folder, store, &config.service, now).await?;
    Ok(listener)
}

/// Directs the checks of the demo's sites to the address at which they are served. No other address of this machine is
/// allowed.
fn arrange(address: SocketAddr, config: &mut Config) {
    // Results of other tools are only recorded.
    config.service.tools = vec![Tool::Status];
    config.engines = EngineConfig::default();
    config.outbound.allow = format!("{}/32", address.ip()).parse().into_iter().collect();
    let detours =
        STORIES.iter().filter_map(|story| format!("{}:80:{address}", story.host).parse().ok());
    config.outbound.connect_to = detours.collect();
}

/// Listens on the address at which the sites are served.
async fn listen() -> io::Result<TcpListener> {
    match TcpListener::bind((ADDRESS, 0)).await {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind((FALLBACK, 0)).await,
    }
}

/// Serves the sites until it is dropped.
pub(crate) async fn answer(listener: TcpListener, clock: Clock) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let now = clock.now();
            // A task for each connection, so that a slow client does not delay others.
            tokio::spawn(async move { drop(respond(stream, now).await) });
        }
    }
}

async fn respond(mut stream: TcpStream, now: Timestamp) -> io::Result<()> {
    let (mut head, mut part) = (Vec::new(), [0; 1_024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < 16 * 1_024 {
        match stream.read(&mut part).await? {
            0 => return Ok(()),
            read => head.extend_from_slice(&part[..read]),
        }
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let asked = |story: &&Story| head.contains(&format!("host: {}", story.host));
    let is_down = STORIES.iter().find(asked).is_some_and(|story| story.is_flaky && is_down(now));
    let (status, body) = match is_down {
        true => ("503 Service Unavailable", "Down for a few minutes."),
        false => ("200 OK", "A site of Vedette's demo."),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await
}

/// Whether the unreliable site is down at an instant.
fn is_down(now: Timestamp) -> bool {
    let (minutes, of) = DOWN;
    now.as_second().div_euclid(60).rem_euclid(of) < minutes
}

/// A clock that can be set.
#[derive(Clone)]
struct Month(Arc<AtomicI64>);

impl Month {
    fn clock(&self) -> Clock {
        let now = Arc::clone(&self.0);
        Clock::from_fn(move || {
            Timestamp::from_second(now.load(Ordering::Relaxed)).unwrap_or(Timestamp::UNIX_EPOCH)
        })
    }

    fn set(&self, now: Timestamp) {
        self.0.store(now.as_second(), Ordering::Relaxed);
    }
}

/// Writes a month of history up to now into an empty table.
async fn seed(
    folder: &Folder,
    store: &Store,
    service: &Service,
    now: Timestamp,
) -> Result<(), DemoError> {
    if !store.all_teams().await?.is_empty() {
        return Ok(());
    }
    fs::write(folder.path().join(MARK), "incomplete\n")?;
    let begin = now - SignedDuration::from_hours(24 * DAYS);
    let month = Month(Arc::new(AtomicI64::new(begin.as_second())));
    let service = Service { tools: Tool::ALL.to_vec(), writes_blocks: true, ..service.clone() };
    let app = App {
        store: store.clone(),
        queue: Queue::Local(LocalQueue::new()),
        scheduler: Scheduler::Local(LocalScheduler::new(month.clock(), service.time_scale)),
        clock: month.clock(),
        entropy: Entropy::system(),
        service,
        health: Health::default(),
        remote_checks: RemoteChecks::default(),
        txt_records: TxtRecords::default(),
    };
    let team = Owned::new(&app, begin).await?;
    let mut sites = Vec::new();
    for story in &STORIES {
        let url = format!("http://{}/", story.host);
        sites.push((story, team.add(&app, story.name, &url, Tool::Status).await?));
    }
    let page = team.publish(&app, &sites).await?;
    let (name, host) = CERTIFICATE;
    let certified = team.add(&app, name, &format!("https://{host}/"), Tool::Ssl).await?;
    for hour in (0..24 * DAYS).rev().step_by(STEP.unsigned_abs().try_into().unwrap_or(1)) {
        month.set(now - SignedDuration::from_hours(hour));
        for (story, site) in &sites {
            end(&app, &team, *site, Tool::Status, ToolResult::Status(status(story, hour))).await?;
        }
        if hour % 24 == 1 {
            let left = DAYS_LEFT + hour / 24;
            let result = certificate(host, app.clock.now(), left)?;
            end(&app, &team, certified, Tool::Ssl, result).await?;
        }
    }
    write_incident(&app, &page, |hours| month.set(now - SignedDuration::from_hours(hours))).await?;
    Ok(fs::write(folder.path().join(MARK), COMPLETE)?)
}

/// Writes about the newest outage at the times of its updates. `go_back` sets the clock to so many hours before now.
async fn write_incident(
    app: &App,
    page: &StatusPage,
    go_back: impl Fn(i64),
) -> Result<(), DemoError> {
    let mut written: Option<PageIncident> = None;
    for (hours, status, text) in WRITTEN {
        go_back(hours);
        let by = By::operator(app.clock.now());
        let text = text.to_owned();
        written = Some(match &written {
            None => {
                let concerned = page.components().take(1).map(|component| component.id);
                let new = NewIncident {
                    impact: Impact::Major,
                    status,
                    components: Some(concerned.collect()),
                    ..NewIncident::about("The shop is down".to_owned(), text)
                };
                create_incident(app, page, new, by).await?
            }
            Some(before) => {
                let (status, text) = (Some(status), Some(text));
                let edit = IncidentEdit { status, text, ..IncidentEdit::default() };
                edit_incident(app, page, before, edit, by).await?
            }
        });
    }
    go_back(0);
    Ok(())
}

/// Creates the team that owns the sites.
struct Owned {
    caller: Caller,
    team: Team,
}

impl Owned {
    async fn new(app: &App, now: Timestamp) -> Result<Self, DemoError> {
        let user = User {
            id: app.entropy.user_id()?,
            name: "Ada".to_owned(),
            email: "ada@demo.example".to_owned(),
            email_verified_at: Some(now),
            zone: None,
            created_at: now,
        };
        app.store.create_user(&user).await?;
        let team = Team::new(app.entropy.team_id()?, "Demo shop", Plan::Agency, now);
        let owner = Membership { team: team.id, user: user.id, role: Role::Owner };
        app.store.create_team(&team, &Settings::defaults(team.plan), &owner).await?;
        Ok(Self { caller: Caller { user, memberships: vec![owner], now }, team })
    }

    /// Creates the status page. The service publishes it when it starts.
    async fn publish(
        &self,
        app: &App,
        sites: &[(&Story, SiteId)],
    ) -> Result<StatusPage, DemoError> {
        let components = sites.iter().map(|(story, site)| ComponentInput {
            uuid: None,
            name: story.name.to_owned(),
            site: *site,
            response_time: true,
        });
        let groups = vec![GroupInput { name: None, components: components.collect() }];
        let slug = Slug::parse(SLUG).map_err(|error| io::Error::other(error.to_string()))?;
        let message = Some("This is a demo. The history of these sites is made up.".to_owned());
        let named = NewPage::named(self.team.name.clone(), slug);
        let new = NewPage { groups: Some(groups), message, ..named };
        let by = By::operator(app.clock.now());
        Ok(create_status_page(app, &self.team, new, by).await?)
    }

    /// Adds a site on which one tool runs.
    async fn add(&self, app: &App, name: &str, url: &str, only: Tool) -> Result<SiteId, DemoError> {
        let now = app.clock.now();
        let url = SiteUrl::parse(url).map_err(|error| io::Error::other(error.to_string()))?;
        let mut site = Site::new(app.entropy.site_id()?, self.team.id, url, now);
        name.clone_into(&mut site.name);
        let tools = &mut site.overrides.tools;
        tools.status.enabled = Some(only == Tool::Status);
        tools.ssl.enabled = Some(only == Tool::Ssl);
        tools.dns.enabled = Some(false);
        tools.broken_links.enabled = Some(false);
        tools.performance.enabled = Some(false);
        let read = app.store.team(self.team.id, now).await?;
        let read = read.ok_or_else(|| io::Error::other("the team is gone"))?;
        let mut team = TeamWithCooldowns::new(read);
        Ok(create_site(app, &self.caller, &mut team, site).await?.site.id)
    }
}

/// Saves a scheduled run of this instant with a result.
async fn end(
    app: &App,
    team: &Owned,
    site: SiteId,
    tool: Tool,
    result: ToolResult,
) -> Result<(), DemoError> {
    let check = CheckId::automatic(site, tool, RunReason::Scheduled, app.clock.now());
    let context = app.store.run_context(team.team.id, site, tool).await?;
    let context = context.ok_or_else(|| io::Error::other("the site is gone"))?;
    let (run, state) = context.begin(check, app.service.time_scale);
    record_run(app, &run, state, &Finish::Completed(result), None).await?;
    Ok(())
}

/// The result of a check: slower by day than by night, a little different each time, and sometimes down.
fn status(story: &Story, hour: i64) -> StatusResult {
    let is_down = story.was_down.iter().any(|(from, until)| (*until..*from).contains(&hour));
    let of_day = ((hour % 24) as f64 / 24.0 * std::f64::consts::TAU).cos();
    let noise = (hour * 7_919 + story.usual as i64 * 31) % 97;
    let noise = noise as f64 / 97.0;
    let time = story.usual * (1.0 + 0.25 * of_day + 0.3 * noise * noise);
    let url = format!("http://{}/", story.host);
    StatusResult {
        up: !is_down,
        code: if is_down { 503 } else { 200 },
        effective_url: url.clone(),
        url,
        response_time: (time * 10.0).round() / 10.0,
        redirected: false,
        redirect_count: 0,
        redirects: Vec::new(),
        error: None,
        judged: None,
    }
}

/// The result of a check of a certificate that is still valid for this many days.
fn certificate(host: &str, now: Timestamp, left: i64) -> Result<ToolResult, DemoError> {
    let day = |days: i64| -> Result<String, jiff::Error> {
        let at = now.checked_add(SignedDuration::from_hours(24 * days))?;
        Ok(at.strftime("%Y-%m-%d 00:00:00").to_string())
    };
    let result = json!({
        "domain": host, "ip": ADDRESS.to_string(), "is_valid": true, "failure_type": null,
        "failure_message": null, "issuer": "Demo CA", "issued_to": host,
        "valid_from": day(left - 90)?, "valid_to": day(left + 1)?, "days_left": left,
        "subject": format!("CN={host}"), "serial_number": "01", "fingerprint": "02", "verified": true,
        "info": null,
    });
    Ok(ToolResult::Ssl(Box::new(serde_json::from_value(result)?)))
}

#[cfg(test)]
mod tests {
    use vedette_domain::issues::Fingerprint;
    use vedette_embedded::{Database, Fsync, Reached, reach};

    use super::*;

    #[tokio::test]
    async fn an_empty_table_gets_a_month_once() {
        let temporary = tempfile::tempdir().expect("a folder");
        let Ok(Reached::Free(folder)) = reach(temporary.path()).await else {
            panic!("nobody else has it");
        };
        let database = Database::open(&folder, Fsync::EverySecond).await.expect("a database");
        let store = database.store();
        let service = Service::read(&|_| None).expect("nothing needs to be set");
        let now = Timestamp::from_second(1_795_000_000).expect("an instant");
        for _ in 0..2 {
            seed(&folder, &store, &service, now).await.expect("written");
        }
        let team = store.all_teams().await.expect("teams")[0];
        let sites = store.directory(team, 10).await.expect("sites");
        assert_eq!(sites.len(), 4);
        let mut issues = store.issue_index(team, true).await.expect("issues");
        issues.extend(store.issue_index(team, false).await.expect("issues"));
        let count =
            |fingerprint| issues.iter().filter(|row| row.fingerprint == fingerprint).count();
        assert_eq!(count(Fingerprint::SslExpiring), 1);
        assert!(count(Fingerprint::StatusDown) >= 2, "{issues:?}");
        let pages = store.status_pages(team).await.expect("pages");
        let [page] = &pages[..] else { panic!("{pages:?}") };
        assert_eq!(page.components().count(), STORIES.len());
        let incidents = store.incidents(team, page.id).await.expect("incidents");
        let [incident] = &incidents[..] else { panic!("{incidents:?}") };
        let hours = incident.updates.iter().map(|update| now.duration_since(update.at).as_hours());
        assert!(hours.eq(WRITTEN.map(|(hours, ..)| hours)), "{incident:?}");
        assert!(judge(temporary.path(), true, true).is_ok());
        database.close().await;
    }

    #[test]
    fn a_folder_is_the_demos_or_it_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        assert!(judge(path, true, false).is_ok() && judge(path, false, true).is_ok());
        assert!(matches!(judge(path, true, true), Err(DemoError::InUse(_))));
        fs::write(path.join(MARK), "incomplete\n").expect("written");
        assert!(matches!(judge(path, true, true), Err(DemoError::Incomplete(_))));
        fs::write(path.join(MARK), COMPLETE).expect("written");
        assert!(judge(path, true, true).is_ok());
        assert!(matches!(judge(path, false, true), Err(DemoError::Unwanted(_))));
    }

    #[tokio::test]
    async fn one_demo_site_is_down_from_time_to_time() {
        let listener = listen().await.expect("an address");
        let address = listener.local_addr().expect("an address");
        let up = Timestamp::from_second(60 * 30 * 1_000 + 60 * DOWN.0).expect("an instant");
        let down = Timestamp::from_second(60 * 30 * 1_000).expect("an instant");
        let now = Month(Arc::new(AtomicI64::new(0)));
        let answering = tokio::spawn(answer(listener, now.clock()));
        for (host, at, code) in [
            ("shop.demo.example", up, "200"),
            ("shop.demo.example", down, "503"),
            ("docs.demo.example", down, "200"),
        ] {
            now.set(at);
            let mut stream = TcpStream::connect(address).await.expect("connected");
            let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("read");
            assert_eq!(answer.split(' ').nth(1), Some(code), "{host}");
        }
        answering.abort();
    }
}
