//! For tests: runs commands on a table in memory with a fixed clock, and on an AWS emulator.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

use clap::Parser as _;
use jiff::Timestamp;
use serde_json::Value;
use vedette_domain::checks::history::block::BlockVersion;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_domain::source::TrustedProxies;
use vedette_embedded::{Database, TABLE};
use vedette_runtime::config::Service;
use vedette_runtime::{
    App, Clock, Entropy, Health, LocalQueue, LocalScheduler, Queue, RemoteChecks, Scheduler,
    TxtRecords,
};
use vedette_store::{Audit, SiteWithTools, Store};
use vedette_testkit::aws::{Aws, STACK};

use crate::aws::Account;
use crate::{Cli, Failure, execute_on_aws, run};

/// The site of [`Bench::site`].
pub(crate) const SITE: &str = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01";

pub(crate) struct Bench {
    pub(crate) app: App,
    /// The messages that commands sent.
    pub(crate) queue: LocalQueue,
    now: Arc<AtomicI64>,
}

/// The outcome of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: u8,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) said: String,
}

impl Ran {
    pub(crate) fn of(done: Result<(), Failure>, out: Vec<u8>) -> Self {
        let (code, said) = match done {
            Ok(()) => (0, String::new()),
            Err(failure) => (failure.exit_code(), failure.to_string()),
        };
        Self { code, out: String::from_utf8(out).expect("text"), said }
    }

    pub(crate) fn document(self, command: &str) -> Value {
        assert_eq!((self.code, self.said.as_str()), (0, ""), "{command}");
        serde_json::from_str(&self.out).expect("one JSON document")
    }

    fn refusal(self, command: &str) -> String {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{command}: {}", self.said);
        self.said
    }
}

/// A deployment without problems, in an AWS emulator.
pub(crate) struct Deployment {
    pub(crate) aws: Aws,
    pub(crate) account: Account,
    database: Database,
}

impl Deployment {
    /// The deployment's table.
    pub(crate) fn store(&self) -> Store {
        self.database.store()
    }

    pub(crate) async fn start() -> Self {
        let database = Database::memory().expect("a database");
        database.store().create_table().await.expect("a table");
        let aws = Aws::deployed(TABLE);
        let account = Account { sdk: aws.sdk(database.http_client()) };
        Self { aws, account, database }
    }

    /// Runs a command on the deployment's stack.
    pub(crate) async fn run(&self, command: &str) -> Ran {
        let words = ["vedette", "--aws", "--stack", STACK].into_iter();
        let cli = match Cli::try_parse_from(words.chain(command.split_whitespace())) {
            Ok(cli) => cli,
            Err(error) => return Ran::of(Err(Failure::Usage(error.to_string())), Vec::new()),
        };
        let mut out = Vec::new();
        let done = execute_on_aws(&cli, self.account.clone(), &mut out).await;
        Ran::of(done, out)
    }

    pub(crate) async fn json(&self, command: &str) -> Value {
        self.run(&format!("--json {command}")).await.document(command)
    }

    pub(crate) async fn refused(&self, command: &str) -> String {
        self.run(command).await.refusal(command)
    }
}

impl Bench {
    /// An empty table, the time 2026-11-20T09:54:00Z, and ids in order.
    pub(crate) async fn new() -> Self {
        let bench = Self::without_table();
        bench.app.store.create_table().await.expect("a table");
        bench
    }

    /// A DynamoDB that answers but has no table.
    pub(crate) fn without_table() -> Self {
        Self::on(&Database::memory().expect("a database"))
    }

    /// A table that does not answer.
    pub(crate) async fn closed() -> Self {
        let database = Database::memory().expect("a database");
        database.close().await;
        Self::on(&database)
    }

    fn on(database: &Database) -> Self {
        let start: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        let now = Arc::new(AtomicI64::new(start.as_second()));
        let clock = Clock::from_fn({
            let now = Arc::clone(&now);
            move || Timestamp::from_second(now.load(Ordering::Relaxed)).expect("a timestamp")
        });
        let drawn = AtomicU8::new(0);
        let queue = LocalQueue::new();
        let app = App {
            store: database.store(),
            queue: Queue::Local(queue.clone()),
            scheduler: Scheduler::Local(LocalScheduler::new(clock.clone(), TimeScale::default())),
            clock,
            entropy: Entropy::from_fn(move |bytes| {
                bytes.fill(drawn.fetch_add(1, Ordering::Relaxed) + 1);
            }),
            service: Service {
                base_url: None,
                own_url: Some("http://127.0.0.1:8080/api/v1".to_owned()),
                own_pages: None,
                id: None,
                sign_in_with: None,
                throttle: 60,
                time_scale: TimeScale::default(),
                tools: vec![Tool::Status],
                concurrency: None,
                lacks_browser: false,
                writes_blocks: Some(BlockVersion::Two),
                creates_teams: true,
                sends_mail: false,
                trusted_proxies: TrustedProxies::default(),
            },
            health: Health::default(),
            remote_checks: RemoteChecks::default(),
            txt_records: TxtRecords::default(),
        };
        Self { app, queue, now }
    }

    /// The command line with a separate app.
    pub(crate) fn over(app: App) -> Self {
        Self { app, ..Self::without_table() }
    }

    /// Sets the clock forward.
    pub(crate) fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Runs a command, written as in a shell without quotes.
    pub(crate) async fn run(&self, command: &str) -> Ran {
        self.run_words(command.split_whitespace().collect()).await
    }

    pub(crate) async fn run_words(&self, words: Vec<&str>) -> Ran {
        let cli = match Cli::try_parse_from([&["vedette"], words.as_slice()].concat()) {
            Ok(cli) => cli,
            Err(error) => {
                let code = u8::try_from(error.exit_code()).expect("an exit code");
                return Ran { code, out: String::new(), said: error.to_string() };
            }
        };
        let mut out = Vec::new();
        let done = run(&cli, &self.app, &self.app.health.notices(), None, &mut out).await;
        Ran::of(done, out)
    }

    /// Runs a command that must succeed, and reads the document that it prints.
    pub(crate) async fn json(&self, command: &str) -> Value {
        self.run(&format!("--json {command}")).await.document(command)
    }

    /// Runs a command that must be refused, and returns the reason.
    pub(crate) async fn refused(&self, command: &str) -> String {
        self.run(command).await.refusal(command)
    }

    /// Adds the user with this name, with a confirmed address.
    pub(crate) async fn user(&self, name: &str) {
        self.json(&format!("user create --name {name} --email {name}@example.com --verified"))
            .await;
    }

    /// Adds a team of the user's, on a plan.
    pub(crate) async fn team(&self, owner: &str, plan: &str) -> String {
        let command = format!("team create --name Shop --owner {owner}@example.com --plan {plan}");
        let team = self.json(&command).await;
        team["uuid"].as_str().expect("a uuid").to_owned()
    }

    /// Adds a site of a team, with the id [`SITE`].
    pub(crate) async fn site(&self, team: &str) {
        let now = self.app.clock.now();
        let team = self.app.store.team(TeamId::parse(team).expect("a team id"), now).await;
        let team = team.expect("an answer").expect("a team").team;
        let url = SiteUrl::parse("https://shop.example.com").expect("a URL");
        let id = SiteId::parse(SITE).expect("a site id");
        let site = Site { name: "Shop".to_owned(), ..Site::new(id, team.id, url, now) };
        let tools = Tool::ALL.map(|tool| (tool, ToolState::new())).into();
        let stored = SiteWithTools { site, tools };
        self.app.store.create_site(&team, &stored, None, None, Audit::None).await.expect("a site");
    }
}
