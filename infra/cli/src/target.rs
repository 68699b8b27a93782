//! The table that a command works on.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::time::timeout;
use vedette_checker::Config;
use vedette_embedded::{
    Database, Folder, FolderError, Fsync, Reached, Report, Socket, is_read_only, reach, store,
};
use vedette_ops::ErrorChain;
use vedette_ops::config::ConfigError;
use vedette_probe::txt::TxtResolver;
use vedette_runtime::config::{AuditorKind, Deployment, Service, environment};
use vedette_runtime::health::Notice;
use vedette_runtime::{
    App, Clock, Destination, Entropy, Health, LocalQueue, LocalScheduler, Queue, RemoteChecks,
    Scheduler, TxtRecords, aws,
};
use vedette_store::Store;

use crate::Failure;
use crate::aws::stack::Stack;
use crate::aws::{Account, Refusal};

/// How long a service may take to report its health.
const PATIENCE: Duration = Duration::from_secs(5);

/// The table that a command works on.
#[derive(Debug, Args)]
#[command(next_help_heading = crate::GLOBAL)]
pub(crate) struct Target {
    /// The data folder of the service on this machine, whether it is running or not
    #[arg(
        long,
        global = true,
        env = "VEDETTE_DATA",
        hide_env_values = true,
        value_name = "DIR",
        default_value = "data"
    )]
    data: PathBuf,
    /// Work on a deployment on AWS instead of --data
    #[arg(long, global = true)]
    aws: bool,
    /// The deployment's CloudFormation stack; without it, environment variables name its parts
    #[arg(long, global = true, value_name = "NAME")]
    stack: Option<String>,
}

/// A connection to the table on this machine, for the duration of a command.
pub(crate) struct Opened {
    pub(crate) app: App,
    /// The health report of the service that uses the table.
    pub(crate) notices: Vec<Notice>,
    /// The service that uses the table, if there is one.
    service: Option<Socket>,
    /// The file, if no service uses it. Nothing else can open it until the command is done.
    file: Option<(Database, Folder)>,
}

/// A deployment, and the account that it is in.
#[derive(Debug)]
pub(crate) struct Deployed {
    pub(crate) account: Account,
    pub(crate) deployment: Deployment,
}

impl Target {
    /// Whether the command works on a deployment.
    pub(crate) fn is_aws(&self) -> Result<bool, Failure> {
        match (&self.stack, self.aws) {
            (Some(_), false) => Err(Failure::Usage("--stack needs --aws".to_owned())),
            (_, is_aws) => Ok(is_aws),
        }
    }

    /// The deployment's stack, if it is named.
    pub(crate) fn stack(&self) -> Option<&str> {
        self.stack.as_deref()
    }

    /// The data folder, if the table is on this machine.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Opens the table on this machine.
    pub(crate) async fn open(&self) -> Result<Opened, Failure> {
        open_folder(&self.data).await
    }

    /// The health of the service that runs on the data folder.
    ///
    /// # Errors
    ///
    /// When none runs there, or it does not answer.
    pub(crate) async fn health(&self) -> Result<Vec<Notice>, Failure> {
        Ok(read_notices(self.report(Report::Health).await?))
    }

    /// What the service that runs on the data folder reports about itself; `None` if its version does not report it.
    ///
    /// # Errors
    ///
    /// When none runs there, or it does not answer.
    pub(crate) async fn report(&self, report: Report) -> Result<Option<Vec<u8>>, Failure> {
        let folder = self.data.display();
        let none = || {
            let which = if is_read_only(&self.data) { "; the folder is read-only" } else { "" };
            let why = format!("no service is running on the data folder `{folder}`{which}");
            Failure::Unreachable(why)
        };
        if !Folder::has_data(&self.data).unwrap_or(false) {
            return Err(none());
        }
        match reach(&self.data).await {
            Ok(Reached::Served(socket)) => reported(&socket, report, &self.data).await,
            Ok(Reached::Free(_)) => Err(none()),
            Err(error) => Err(not_reached(&self.data, error)),
        }
    }

    /// Adds to a failure which table does not answer.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Unreachable(why) => Failure::Unreachable(self.does_not_answer(&why)),
            other => other,
        }
    }

    fn does_not_answer(&self, why: &str) -> String {
        if self.aws {
            format!("the deployment's table does not answer: {why}")
        } else {
            format!("the table in {} does not answer: {why}", named(&self.data))
        }
    }
}

/// Opens the table of a data folder.
pub(crate) async fn open_folder(data: &Path) -> Result<Opened, Failure> {
    let service = Config::read(&environment)?.service;
    if !Folder::has_data(data).map_err(|error| not_opened(data, &error))? {
        return Err(no_table(data));
    }
    Ok(match reach(data).await.map_err(|error| not_reached(data, error))? {
        Reached::Served(socket) => {
            let (pages, notices) = tokio::join!(
                reported(&socket, Report::Pages, data),
                reported(&socket, Report::Health, data),
            );
            let own_pages = pages?.and_then(|url| String::from_utf8(url).ok());
            let own_pages = own_pages.filter(|url| !url.is_empty());
            let notices = read_notices(notices?);
            let app = local(store(socket.http_client()), Service { own_pages, ..service });
            Opened { app, notices, service: Some(socket), file: None }
        }
        Reached::Free(folder) => {
            let database = Database::open(&folder, Fsync::Always).await;
            let database = database.map_err(|error| not_opened(data, &error))?;
            let app = local(database.store(), service);
            let refused = database.refusals().borrow().write.clone();
            let notices = refused.map(|why| Notice {
                since: app.clock.now(),
                what: format!("Nothing can be saved ({why})."),
                remedy: "Free space on the disk that holds the data folder, or make the folder writable. Until then, \
                         `vedette serve` only shows what was saved before."
                    .to_owned(),
            });
            let notices = notices.into_iter().collect();
            Opened { app, notices, service: None, file: Some((database, folder)) }
        }
    })
}

/// Creates a data folder with an empty table, if there is none.
pub(crate) async fn make_folder(data: &Path) -> Result<(), Failure> {
    Folder::make(data).map_err(|error| not_opened(data, &error))?;
    if Folder::has_data(data).map_err(|error| not_opened(data, &error))? {
        return Ok(());
    }
    if let Reached::Free(folder) = reach(data).await.map_err(|error| not_reached(data, error))? {
        let database = Database::open(&folder, Fsync::Always).await;
        database.map_err(|error| not_opened(data, &error))?.close().await;
    }
    Ok(())
}

fn named(data: &Path) -> String {
    let folder = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    format!("the data folder `{}`", folder.display())
}

/// The failure of a command because the folder has no table.
pub(crate) fn no_table(data: &Path) -> Failure {
    Failure::NotOpened(format!(
        "{} has no table; `vedette serve` creates one, and --data names another folder",
        named(data)
    ))
}

/// The failure of a command because the folder's table cannot be opened.
pub(crate) fn not_opened(data: &Path, error: &dyn Error) -> Failure {
    let folder = named(data);
    Failure::NotOpened(format!("the table in {folder} cannot be opened: {}", ErrorChain(error)))
}

fn not_reached(data: &Path, error: FolderError) -> Failure {
    match error {
        FolderError::ReadOnly(_) => Failure::OutOfReach(error.to_string()),
        error => not_opened(data, &error),
    }
}

impl Opened {
    /// Whether no service uses the table, and none can until it is closed.
    pub(crate) const fn is_alone(&self) -> bool {
        self.file.is_some()
    }

    pub(crate) async fn close(self) {
        self.pass_on().await;
        if let Some((database, folder)) = self.file {
            database.close().await;
            drop(folder);
        }
    }
}

impl Opened {
    /// Passes on the messages of the command to the service, so that it does the work at once. If that fails, the service
    /// finds the work in the table after some minutes.
    async fn pass_on(&self) {
        let (Some(service), Queue::Local(queue)) = (&self.service, &self.app.queue) else { return };
        let messages: Vec<_> =
            Destination::ALL.into_iter().flat_map(|queue_of| queue.drain(queue_of)).collect();
        if messages.is_empty() {
            return;
        }
        if let Ok(messages) = serde_json::to_vec(&messages) {
            drop(timeout(PATIENCE, service.pass_on(messages)).await);
        }
    }
}

/// What the service on a data folder reports about itself; `None` if its version does not report it.
async fn reported(
    socket: &Socket,
    report: Report,
    data: &Path,
) -> Result<Option<Vec<u8>>, Failure> {
    let service = || format!("the service on the data folder `{}`", data.display());
    match timeout(PATIENCE, socket.report(report)).await {
        Ok(Ok(said)) => Ok(said.map(Vec::from)),
        Ok(Err(error)) => Err(Failure::Unreachable(format!(
            "{} does not answer: {}",
            service(),
            ErrorChain(&error)
        ))),
        Err(_) => Err(Failure::Silent(format!(
            "{} has not answered for {} seconds",
            service(),
            PATIENCE.as_secs()
        ))),
    }
}

/// The problems in a service's report. Silence is one of them.
fn read_notices(report: Option<Vec<u8>>) -> Vec<Notice> {
    let known = report.and_then(|report| serde_json::from_slice(&report).ok());
    known.unwrap_or_else(|| {
        vec![Notice {
            since: Clock::system().now(),
            what: "The service does not report its health, because it has another version than this command."
                .to_owned(),
            remedy: "Restart the service, so that both have the same version.".to_owned(),
        }]
    })
}

/// The deployment of a stack, or the one that the environment names.
pub(crate) async fn open_deployment(
    account: Account,
    stack: Option<&str>,
) -> Result<(App, Deployed), Failure> {
    let region = account.region().ok_or_else(|| Failure::Usage(NO_REGION.to_owned()))?.to_owned();
    account.credentials().await.map_err(|error| Failure::Usage(no_credentials(&error)))?;
    let (service, deployment) = match stack {
        Some(name) => {
            let found = Stack::find(&account, name).await.map_err(|error| {
                if error.is_of_credentials() {
                    Failure::Usage(no_credentials(&error))
                } else {
                    Failure::refused(format!("the stack `{name}` cannot be read: {error}"))
                }
            })?;
            let stack = found.ok_or_else(|| Failure::Usage(no_stack(name, &region)))?;
            stack.deployment()?
        }
        None => named_by_the_environment()?,
    };
    let mut app = aws::app(service, deployment.clone(), &account.sdk);
    app.txt_records = txt_records();
    Ok((app, Deployed { account, deployment }))
}

/// The deployment that the environment names.
pub(crate) fn named_by_the_environment() -> Result<(Service, Deployment), Failure> {
    // The tools of this machine may be different from those of the deployment.
    if AuditorKind::read(&environment)?.is_none() {
        let problem =
            "must name the auditor of the deployment; with --stack, it is found".to_owned();
        return Err(ConfigError { name: AuditorKind::VARIABLE, problem }.into());
    }
    Ok((Service::read(&environment)?, Deployment::read(&environment)?))
}

pub(crate) const NO_REGION: &str = "no region is set; set AWS_REGION, or `region` in the profile";

pub(crate) fn no_credentials(why: &Refusal) -> String {
    format!("there are no valid AWS credentials: {why}")
}

pub(crate) fn no_stack(name: &str, region: &str) -> String {
    format!("there is no stack `{name}` in {region}")
}

/// TXT records, as the name servers of this machine tell them.
fn txt_records() -> TxtRecords {
    TxtRecords::from_fn(TxtResolver::of_the_system().into_fn())
}

fn local(store: Store, service: Service) -> App {
    let clock = Clock::system();
    App {
        store,
        // The service has its queues and schedules in memory. Messages are passed on to it when the command is done.
        queue: Queue::Local(LocalQueue::new()),
        scheduler: Scheduler::Local(LocalScheduler::new(clock.clone(), service.time_scale)),
        clock,
        entropy: Entropy::system(),
        service,
        health: Health::default(),
        remote_checks: RemoteChecks::default(),
        txt_records: txt_records(),
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use vedette_domain::checks::tool::Tool;
    use vedette_testkit::aws::{AwsAccount as Arranged, STACK};

    use super::*;
    use crate::testing;

    async fn opened(
        arrange: impl FnOnce(&mut Arranged),
        stack: &str,
    ) -> Result<(App, Deployed), Failure> {
        let deployment = testing::Deployment::start().await;
        arrange(&mut deployment.aws.account());
        open_deployment(deployment.account, Some(stack)).await
    }

    #[tokio::test]
    async fn the_stack_says_where_everything_is_and_which_tools_run() {
        let (app, deployed) = opened(|_| {}, STACK).await.expect("found");
        assert_eq!(app.service.tools, Tool::ALL, "audits run there, whatever this machine has");
        let Deployment { table, queue_url_prefix, schedule_group, .. } = &deployed.deployment;
        assert_eq!((table.as_str(), schedule_group.as_str()), ("vedette", "vedette"));
        assert_eq!(queue_url_prefix, vedette_testkit::aws::QUEUE_URL_PREFIX);
        assert!(app.store.all_teams().await.expect("the table").is_empty());

        let none = |account: &mut Arranged| {
            account.outputs.insert("Auditor".to_owned(), "none".to_owned());
        };
        let (app, _) = opened(none, STACK).await.expect("found");
        assert!(!app.service.tools.contains(&Tool::Performance));
    }

    #[test]
    fn a_stack_is_one_of_aws() {
        use clap::Parser as _;
        let parsed = |words: &[&str]| crate::Cli::try_parse_from(words).expect("a command").target;
        assert!(parsed(&["vedette", "doctor", "--aws", "--stack", "shop"]).is_aws().expect("fits"));
        assert!(!parsed(&["vedette", "doctor"]).is_aws().expect("fits"));
        let failure = parsed(&["vedette", "--stack", "shop", "doctor"]).is_aws();
        assert_eq!(failure.expect_err("--aws is missing").exit_code(), 2);
    }

    #[tokio::test]
    async fn a_stack_that_cannot_be_used_is_told_from_a_wrong_name() {
        let failure = opened(|_| {}, "shop").await.map(drop).expect_err("another stack");
        assert_eq!(failure.to_string(), "there is no stack `shop` in eu-central-1");
        let without = |account: &mut Arranged| _ = account.outputs.remove("Auditor");
        let failure = opened(without, STACK).await.map(drop).expect_err("an output is missing");
        let expected = "the stack `vedette` and this command have different versions: its output \
                        Auditor is not set";
        assert_eq!((failure.exit_code(), failure.to_string().as_str()), (2, expected));
        let expired = |account: &mut Arranged| {
            account.refuse_after("cloudformation", 0, "ExpiredToken");
        };
        let failure = opened(expired, STACK).await.map(drop).expect_err("expired");
        let expected = "there are no valid AWS credentials: ExpiredToken: by a test";
        assert_eq!((failure.exit_code(), failure.to_string().as_str()), (2, expected));
    }
}
