//! The whole service, in the order in which its parts start and stop.

use std::io;
use std::net::{self, IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{debug, error, warn};
use vedette_checker::{Config, Engines, SsrfGuardError};
use vedette_dashboard::{Dashboard, Provider, ProviderConfig};
use vedette_domain::alerts::link;
use vedette_domain::checks::history::block::BlockVersion;
use vedette_embedded::{
    Database, DatabaseError, Expiry, Folder, FolderError, Priority, Reached, Report, Watch, reach,
};
use vedette_notifier::send::{SendConfig, Sender};
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_probe::txt::TxtResolver;
use vedette_runtime::health::Notice;
use vedette_runtime::{
    App, Clock, Destination, Entropy, Health, LocalQueue, LocalScheduler, PrivateTargets, Queue,
    RemoteChecks, RemoteLocations, Scheduler, TxtRecords,
};

use crate::access::{self, Access, AccessError, AccessLink, TokenAccess};
use crate::agents::Agents;
use crate::background;
use crate::clock::ClockWatch;
use crate::console::Console;
use crate::data_folder;
use crate::demo::{self, DemoError};
use crate::expiry;
use crate::gateway::{self, Gateway};
use crate::hosts::Hosts;
use crate::metrics::Metrics;
use crate::operator;
use crate::options::Options;
use crate::pauses;
use crate::places;
use crate::profiles;
use crate::supervisor;
use crate::worker::{self, Worker};

/// Longer than the gateway and the workers give to running work.
const GRACE: Duration = Duration::from_secs(7);

/// The running service. Dropping it stops it at once; [`Service::stop`] lets work finish.
pub struct Service {
    listen: SocketAddr,
    metrics_listen: Option<SocketAddr>,
    base_url: String,
    pages_url: String,
    access: Access,
    stop: DropGuard,
    /// Canceled when a service that could not write at its start could do so after a restart.
    can_write: CancellationToken,
    health: Health,
    /// Ends with the background work, which may be interrupted at any point.
    rounds: JoinSet<()>,
    /// Gateway and workers. They finish their work when they are asked to stop.
    loops: JoinSet<()>,
    database: Database,
    /// Last, so that the folder stays locked until everything above is gone.
    folder: Folder,
}

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data folder is unusable or in use.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The address is in use.
    #[error("cannot listen on {address} (--listen chooses another address)")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The table's file is unusable.
    #[error("the table cannot be opened")]
    Database(#[from] DatabaseError),
    /// The demo cannot be set up.
    #[error("the demo cannot be set up")]
    Demo(#[from] DemoError),
    /// No access could be prepared.
    #[error("no way to sign in can be set up")]
    Access(#[from] AccessError),
    /// The checks cannot run.
    #[error("the check engines cannot be set up")]
    Engines(#[from] SsrfGuardError),
    /// The system provides no thread.
    #[error("the live log cannot be written")]
    Console(#[source] io::Error),
}

impl Service {
    /// Starts everything. When it returns, the API answers.
    ///
    /// # Errors
    ///
    /// When the data folder, an address or the table is not available; nothing is left running.
    pub async fn start(
        options: Options,
        config: Config,
        send: SendConfig,
        provider: Option<ProviderConfig>,
    ) -> Result<Self, StartError> {
        Self::start_on(&mut None, options, config, send, provider).await
    }

    /// Starts everything on this socket; if there is none yet, on a new one, which is then there for another start.
    pub(crate) async fn start_on(
        socket: &mut Option<net::TcpListener>,
        options: Options,
        mut config: Config,
        mut send: SendConfig,
        provider: Option<ProviderConfig>,
    ) -> Result<Self, StartError> {
        let folder = open_folder(&options).await?;
        let sockets = Sockets::open(socket, &options)?;
        data_folder::examine_table(&folder).await?;
        let database = Database::open(&folder, options.fsync).await?;
        let table_socket = table_socket(&folder, &database)?;

        let (clock, entropy) = (Clock::system(), Entropy::system());
        let (store, start) = (database.store(), clock.now());
        let clock_watch =
            ClockWatch::begin(&store, clock.clone()).await.map_err(DatabaseError::from)?;
        let demo_server = match options.demo {
            true => Some(demo::begin(&folder, &store, &mut config, &mut send, start).await?),
            false => None,
        };
        let (token, is_demo) = (options.token, options.demo);
        let access = access::prepare(&store, &clock, &entropy, &folder, token, is_demo).await?;

        adapt(&mut config, &mut send, &options, &sockets);
        config.service.id = Some(folder.id());
        if let Some(profiles) = profiles::prepare(folder.path()) {
            config.engines.keep_browser_files_in(&profiles);
        }
        let Config { service, outbound, engines } = config;
        let base_url = service.own_url.clone().unwrap_or_default();
        let pages_url = service.pages_base().unwrap_or_default().to_owned();
        let queue = LocalQueue::new();
        let scheduler = LocalScheduler::new(clock.clone(), service.time_scale);
        let app = App {
            store,
            queue: Queue::Local(queue.clone()),
            scheduler: Scheduler::Local(scheduler.clone()),
            clock,
            entropy,
            service,
            health: Health::default(),
            remote_checks: RemoteChecks::default(),
            txt_records: TxtRecords::from_fn(TxtResolver::of_the_system().into_fn()),
        };
        background::report(&app.health, &database.refusals().borrow(), app.clock.now());
        let dashboard = dashboard(provider, &outbound, options.demo)?;
        let guard = Arc::new(SsrfGuard::new(send.receivers)?);
        let sender = Sender::new(guard, send.mail).reporting_to(app.health.clone());
        let mut worker = Worker {
            app,
            queue,
            engines: Arc::new(Engines::new(outbound, engines)?),
            sender: Arc::new(sender),
            console: Console::start(options.quiet).map_err(StartError::Console)?,
            counters: Arc::default(),
            stop: CancellationToken::new(),
        };
        let agents = ask_agents(&mut worker).await?;
        let Worker { app, counters, stop, .. } = &worker;
        let (health, stop) = (app.health.clone(), stop.clone());

        let interactive = App { store: database.store_for(Priority::Interactive), ..app.clone() };
        let hosts = Hosts::new(options.hosts, app.service.base_url.as_deref());
        let gateway =
            Gateway::new(interactive, dashboard, hosts, Arc::clone(&agents), Arc::clone(counters));
        let loops = spawn_loops(&worker, gateway, sockets.gateway);

        let mut rounds = spawn_rounds(&worker, scheduler, agents, start);
        let can_write = watch_data(&mut rounds, app, &database, &folder, clock_watch);
        if let Some(server) = demo_server {
            rounds.spawn(server.serve(app.clock.clone()));
        }
        if let Some(operator) = options.operator_url {
            rounds.spawn(operator::notify(app.clone(), Arc::clone(&worker.sender), operator));
        }
        let metrics = Metrics {
            counters: Arc::clone(counters),
            queue: worker.queue.clone(),
            health: health.clone(),
            start,
        };
        if let Some(socket) = table_socket {
            serve_table(&mut rounds, socket, &database, metrics.clone(), pages_url.clone());
        }
        if let Some(listener) = sockets.metrics {
            rounds.spawn(metrics.serve(listener));
        }
        Ok(Self {
            listen: sockets.listen,
            metrics_listen: sockets.metrics_listen,
            base_url,
            pages_url,
            access,
            stop: stop.drop_guard(),
            can_write,
            health,
            rounds,
            loops,
            database,
            folder,
        })
    }

    /// The address of the API.
    pub const fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// The address of the metrics, if they have one.
    pub const fn metrics_listen(&self) -> Option<SocketAddr> {
        self.metrics_listen
    }

    /// The API's base URL.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The address of the pages for browsers, without a slash at the end.
    pub fn pages_url(&self) -> &str {
        &self.pages_url
    }

    /// The problems that keep the service from working.
    pub fn notices(&self) -> Vec<Notice> {
        self.health.notices()
    }

    /// Waits until a service that could not write when it started, and so only reads, would be able to write after a
    /// restart. Any other service waits forever, because it recovers by itself.
    pub async fn can_write_again(&self) {
        self.can_write.cancelled().await;
    }

    /// Waits until the table has answered, even with an error: a restart does not free a full disk.
    pub(crate) async fn table_answers(&self) {
        if let Err(error) = self.database.store().clock().await {
            debug!(%error, "the table answers with an error");
        }
    }

    /// The file with the token for scripts, if one was requested.
    pub fn token_file(&self) -> PathBuf {
        self.folder.token()
    }

    pub(crate) const fn token(&self) -> &TokenAccess {
        &self.access.token
    }

    /// A one-time link with which the first user creates an account; `None` if there is a team.
    pub fn setup_link(&self) -> Option<String> {
        match &self.access.link {
            Some(AccessLink::Setup(secret)) => Some(link::setup(&self.pages_url, secret)),
            Some(AccessLink::SignIn(_)) | None => None,
        }
    }

    /// A one-time link that signs in the only user; `None` if there are several.
    pub fn sign_in_link(&self) -> Option<String> {
        match &self.access.link {
            Some(AccessLink::SignIn(secret)) => Some(link::sign_in(&self.pages_url, secret)),
            Some(AccessLink::Setup(_)) | None => None,
        }
    }

    /// Stops the service: it accepts nothing new, gives running work a few seconds, and closes the table.
    pub async fn stop(mut self) {
        drop(self.stop);
        self.rounds.shutdown().await;
        let ended = async {
            while let Some(ended) = self.loops.join_next().await {
                if let Err(error) = ended {
                    error!(%error, "a part of the service panicked");
                }
            }
        };
        if timeout(GRACE, ended).await.is_err() {
            warn!("the shutdown interrupted a part of the service");
        }
        self.loops.shutdown().await;
        if timeout(GRACE, self.database.close()).await.is_err() {
            warn!("could not close the table in time");
        }
        drop(self.folder);
    }
}

/// Creates and locks the data folder, unless another service uses it or it is not for this mode.
async fn open_folder(options: &Options) -> Result<Folder, StartError> {
    Folder::make(&options.data)?;
    let has_table = Folder::has_data(&options.data).map_err(DemoError::from)?;
    demo::judge(&options.data, options.demo, has_table)?;
    let Reached::Free(folder) = reach(&options.data).await? else {
        return Err(FolderError::InUse(options.data.clone()).into());
    };
    Ok(folder)
}

/// The sockets of the gateway and of the metrics, with their addresses.
struct Sockets {
    gateway: TcpListener,
    listen: SocketAddr,
    metrics: Option<TcpListener>,
    metrics_listen: Option<SocketAddr>,
}

impl Sockets {
    fn open(socket: &mut Option<net::TcpListener>, options: &Options) -> Result<Self, StartError> {
        let open = |address, socket: io::Result<net::TcpListener>| {
            let opened = socket
                .and_then(|socket| Ok((socket.local_addr()?, TcpListener::from_std(socket)?)));
            opened.map_err(|source| StartError::Listen { address, source })
        };
        let address = options.address();
        let gateway = match socket {
            Some(socket) => socket.try_clone(),
            None => gateway::bind(address).and_then(|bound| {
                supervisor::keep(&bound);
                socket.insert(bound).try_clone()
            }),
        };
        let (listen, gateway) = open(address, gateway)?;
        let metrics = options.metrics.map(|address| open(address, gateway::bind(address)));
        let (metrics_listen, metrics) = metrics.transpose()?.unzip();
        Ok(Self { gateway, listen, metrics, metrics_listen })
    }
}

/// The socket for the command line. A service that can only read does without it, if the folder has no room for it.
fn table_socket(folder: &Folder, database: &Database) -> Result<Option<UnixListener>, StartError> {
    match vedette_embedded::listen(folder) {
        // Nobody can sign in, but people who are signed in can read.
        Err(error) if database.refusals().borrow().is_read_only => {
            warn!(%error, "the vedette command cannot reach this service: its socket could not be created");
            Ok(None)
        }
        listening => Ok(Some(listening?)),
    }
}

/// Adapts the configuration to a service that is one process and listens on these sockets.
fn adapt(config: &mut Config, send: &mut SendConfig, options: &Options, sockets: &Sockets) {
    let Config { service, outbound, .. } = config;
    service.time_scale = options.minute;
    service.own_url = Some(base_url(service.base_url.as_deref(), sockets.listen));
    // No other version runs at the same time.
    service.writes_blocks = Some(BlockVersion::Two);
    service.creates_teams = true;
    service.own_pages = own_pages(sockets.listen);
    service.sends_mail = send.mail.reaches_people();
    // A user who may add a site must not make the service call itself.
    for listener in [Some(sockets.listen), sockets.metrics_listen].into_iter().flatten() {
        outbound.own_listeners.push(listener);
        send.receivers.own_listeners.push(listener);
    }
}

fn dashboard(
    provider: Option<ProviderConfig>,
    outbound: &Outbound,
    is_demo: bool,
) -> Result<Dashboard, SsrfGuardError> {
    let provider = provider.map(|config| Provider::new(config, outbound.clone())).transpose()?;
    let dashboard = Dashboard::new(provider).reaching(outbound.clone()).on_one_machine();
    Ok(if is_demo { dashboard.of_demo() } else { dashboard })
}

/// Lets the worker ask agents to confirm an outage.
async fn ask_agents(worker: &mut Worker) -> Result<Arc<Agents>, StartError> {
    let agents = Arc::new(Agents::new(&worker.app, worker.stop.clone()));
    agents.read().await.map_err(DatabaseError::from)?;
    let remote_checks = RemoteChecks::new(Arc::clone(&agents) as Arc<dyn RemoteLocations>);
    let private_targets = Arc::clone(&worker.engines) as Arc<dyn PrivateTargets>;
    worker.app.remote_checks = remote_checks.sparing(private_targets);
    Ok(agents)
}

/// Starts the gateway, and a worker for each queue.
fn spawn_loops(worker: &Worker, gateway: Gateway, socket: TcpListener) -> JoinSet<()> {
    let mut loops = JoinSet::new();
    loops.spawn(Arc::new(gateway).serve(socket, worker.stop.clone()));
    let files = places::files();
    for destination in Destination::ALL {
        let places = places::places(destination, files);
        loops.spawn(worker.clone().consume(destination, places));
    }
    loops
}

/// Starts the background work that sends and restores messages, and watches the connections.
fn spawn_rounds(
    worker: &Worker,
    scheduler: LocalScheduler,
    agents: Arc<Agents>,
    start: Timestamp,
) -> JoinSet<()> {
    let Worker { app, engines, sender, .. } = worker;
    let mut rounds = JoinSet::new();
    rounds.spawn(worker::schedule(app.clone(), scheduler));
    rounds.spawn(background::rebuild_daily(app.clone(), start));
    rounds.spawn(background::redeliver(app.clone()));
    rounds.spawn(background::send_held_mail(app.clone(), Arc::clone(sender)));
    rounds.spawn(background::watch_connection(app.clone(), Arc::clone(engines)));
    rounds.spawn(agents.watch());
    rounds
}

/// Watches the table, its folder and the clock. Returns what is canceled when a service that only reads could write
/// after a restart.
fn watch_data(
    rounds: &mut JoinSet<()>,
    app: &App,
    database: &Database,
    folder: &Folder,
    clock: ClockWatch,
) -> CancellationToken {
    let can_write = CancellationToken::new();
    // Until the first beat, no deadline of a heartbeat passes.
    app.health.record_listening(Timestamp::MIN, Vec::new());
    rounds.spawn(background::watch_table(
        app.clone(),
        database.clone(),
        folder.write_trial(),
        can_write.clone(),
    ));
    rounds.spawn(data_folder::watch(app.clone(), Watch::new(folder)));
    rounds.spawn(expiry::forget(clock.clone(), Expiry::new(database.clone())));
    rounds.spawn(pauses::watch(app.clone(), clock.stopped));
    rounds.spawn(clock.run(app.clone()));
    can_write
}

/// Serves the command line: the table, reports, and messages that it passes on.
fn serve_table(
    rounds: &mut JoinSet<()>,
    socket: UnixListener,
    database: &Database,
    metrics: Metrics,
    pages_url: String,
) {
    let queue = metrics.queue.clone();
    let receive = move |passed_on: &[u8]| worker::receive(&queue, passed_on);
    let report = move |report| match report {
        Report::Health => serde_json::to_vec(&metrics.health.notices()).unwrap_or_default(),
        Report::Metrics => metrics.text().into_bytes(),
        Report::Pages => pages_url.clone().into_bytes(),
    };
    rounds.spawn(vedette_embedded::serve(socket, database.clone(), report, receive));
}

/// The configured base URL, or one that works on this machine.
fn base_url(configured: Option<&str>, listen: SocketAddr) -> String {
    match configured {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None if listen.ip().is_unspecified() => {
            format!("http://127.0.0.1:{}/api/v1", listen.port())
        }
        None => format!("http://{listen}/api/v1"),
    }
}

/// The pages under their own name, for browsers on this machine: a cookie for 127.0.0.1 goes to every service that
/// listens there, on any port. Browsers resolve every name under `localhost` to this machine.
fn own_pages(listen: SocketAddr) -> Option<String> {
    let is_here = match listen.ip() {
        IpAddr::V4(ip) => ip == Ipv4Addr::LOCALHOST || ip.is_unspecified(),
        IpAddr::V6(ip) => ip == Ipv6Addr::LOCALHOST || ip.is_unspecified(),
    };
    is_here.then(|| format!("http://vedette.localhost:{}", listen.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_a_name_of_their_own_where_browsers_know_it() {
        let own = |address: &str| own_pages(address.parse().expect("an address"));
        let named = Some("http://vedette.localhost:8787".to_owned());
        for here in ["127.0.0.1:8787", "[::1]:8787", "0.0.0.0:8787", "[::]:8787"] {
            assert_eq!(own(here), named, "{here}");
        }
        // The name may lead to a different address.
        for other in ["127.0.0.2:8787", "192.168.1.7:8787"] {
            assert_eq!(own(other), None, "{other}");
        }
    }
}
