//! Test support: an [`App`] on DynamoDB embedded in memory, a clock that stands still until it is moved, ids that are
//! the same in every run, faults and a meter between the SDK and the table, a client of the API, runs without an
//! engine, and emulators of everything that the service connects to: web servers, a resolver, a registry, an OpenID
//! provider, AWS, and the runtime of a Lambda function.

pub mod aws;
pub mod channels;
mod client;
mod faults;
mod granted;
pub mod lambda;
mod meter;
mod name_services;
pub mod open_id;
mod people;
mod remote_checks;
mod runs;
mod snapshot;
pub mod status_pages;
mod table;
mod web_server;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::checks::history::block::BlockVersion;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::Tool;
use vedette_domain::source::TrustedProxies;
use vedette_embedded::{Database, store};
use vedette_probe::ssrf_guard::Outbound;
use vedette_runtime::config::Service;
use vedette_runtime::{
    App, Clock, Entropy, Health, LocalQueue, LocalScheduler, Queue, RemoteChecks, Scheduler,
    TxtRecords,
};

pub use client::{ApiResponse, Client};
pub use faults::{Fault, Faults};
pub use granted::granted;
pub use meter::{Meter, PACKED_CHECK, Spent};
pub use name_services::NameServices;
pub use people::{Member, member_of, new_team, new_token, store_team};
pub use remote_checks::TestLocations;
pub use runs::{status_evidence, status_result};
pub use snapshot::{for_each_object, laid_out};
pub use table::TestTable;
pub use web_server::WebServer;

/// When every test begins.
pub const START: &str = "2026-11-20T09:54:00Z";

/// An app for one test, alone with its table.
#[derive(Debug)]
pub struct TestApp {
    /// What handlers work with.
    pub app: App,
    /// Its queues.
    pub queue: LocalQueue,
    /// Its table.
    pub table: TestTable,
    clock: Arc<AtomicI64>,
}

impl TestApp {
    /// An app at [`START`], whose table is in memory.
    pub async fn start() -> Self {
        Self::on(Database::memory().expect("a database")).await
    }

    /// An app at [`START`], on a database that has no table yet.
    pub async fn on(database: Database) -> Self {
        let table = TestTable::start(database).await;
        let start: Timestamp = START.parse().expect("a timestamp");
        let millis = Arc::new(AtomicI64::new(start.as_millisecond()));
        let clock = Clock::from_fn({
            let millis = Arc::clone(&millis);
            move || Timestamp::from_millisecond(millis.load(Ordering::SeqCst)).expect("a timestamp")
        });
        let queue = LocalQueue::new();
        let service = Service {
            base_url: Some("https://monitor.test/api/v1".to_owned()),
            own_url: None,
            own_pages: None,
            id: None,
            sign_in_with: None,
            throttle: 1_000_000,
            time_scale: TimeScale::default(),
            tools: vec![Tool::Status],
            concurrency: None,
            lacks_browser: false,
            writes_blocks: Some(BlockVersion::Two),
            creates_teams: true,
            sends_mail: false,
            trusted_proxies: TrustedProxies::default(),
        };
        let metered = table.meter.client(table.database.http_client());
        let app = App {
            store: store(granted::client(table.faults.client(metered))),
            queue: Queue::Local(queue.clone()),
            scheduler: Scheduler::Local(LocalScheduler::new(clock.clone(), service.time_scale)),
            clock,
            entropy: counted(),
            service,
            health: Health::default(),
            remote_checks: RemoteChecks::default(),
            txt_records: TxtRecords::default(),
        };
        Self { app, queue, table, clock: millis }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        self.app.clock.now()
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: SignedDuration) {
        let millis = i64::try_from(by.as_millis()).expect("a short time");
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set_clock(&self, now: Timestamp) {
        self.clock.store(now.as_millisecond(), Ordering::SeqCst);
    }

    /// Faults between the SDK and the table.
    pub fn faults(&self) -> &Faults {
        &self.table.faults
    }

    /// The meter between the SDK and the table.
    pub fn meter(&self) -> &Meter {
        &self.table.meter
    }
}

/// Advances all timers of the runtime, which must be single-threaded. The clock of a [`TestApp`] stays the same.
pub async fn advance_timers(by: Duration) {
    tokio::time::pause();
    tokio::time::advance(by).await;
    tokio::time::resume();
}

/// Allows engines to connect to this machine.
pub fn loopback() -> Outbound {
    Outbound { allow: vec!["127.0.0.0/8".parse().expect("a network")], ..Outbound::default() }
}

/// Ids counted from 1, so that snapshots are the same in every run.
fn counted() -> Entropy {
    let drawn = AtomicU64::new(0);
    let small = AtomicU8::new(0);
    Entropy::from_fn(move |bytes| {
        if let [byte] = bytes {
            *byte = small.fetch_add(1, Ordering::SeqCst) & 0x7f;
            return;
        }
        let number = drawn.fetch_add(1, Ordering::SeqCst) + 1;
        bytes.fill(0);
        for (byte, digit) in bytes.iter_mut().rev().zip(number.to_le_bytes()) {
            *byte = digit;
        }
    })
}
