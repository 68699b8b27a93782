//! Which table the command is about.

use std::path::PathBuf;

use aws_config::BehaviorVersion;
use clap::Args;
use vedette_checker::Config;
use vedette_domain::ErrorChain;
use vedette_embedded::{Database, Folder, Fsync, Reached, reach, store};
use vedette_runtime::config::{ConfigError, Deployment, Service, environment};
use vedette_runtime::{App, Clock, Entropy, LocalQueue, LocalScheduler, Queue, Scheduler, aws};
use vedette_store::Store;

use crate::Failure;

/// Which table the command is about.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The data folder of the service on this machine, whether it is running or not
    #[arg(long, global = true, env = "VEDETTE_DATA", value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// Work on the AWS deployment that the environment names, whatever --data says
    #[arg(long, global = true)]
    aws: bool,
}

/// The way to a table, as long as a command needs it.
pub(crate) struct Opened {
    pub(crate) app: App,
    /// The file, where no service has it: nobody else gets it until the command is done.
    file: Option<(Database, Folder)>,
}

impl Target {
    pub(crate) async fn open(&self) -> Result<Opened, Failure> {
        let service = Config::read(&environment)?.service;
        if self.aws {
            let version = BehaviorVersion::latest();
            let sdk = aws_config::defaults(version).http_client(aws::http_client()).load().await;
            let deployment = Deployment::read(&environment)?;
            return Ok(Opened { app: aws::app(service, deployment, &sdk), file: None });
        }
        let unreachable = |why: String| Failure::Unreachable(self.does_not_answer(&why));
        if !Folder::has_database(&self.data).map_err(|error| unreachable(error.to_string()))? {
            return Err(unreachable("there is none; vedette-local makes it".to_owned()));
        }
        Ok(match reach(&self.data).await.map_err(|error| unreachable(error.to_string()))? {
            Reached::Served(socket) => {
                Opened { app: local(store(socket.http_client()), service), file: None }
            }
            Reached::Free(folder) => {
                let database = Database::open(&folder, Fsync::Always).await;
                let database =
                    database.map_err(|error| unreachable(ErrorChain(&error).to_string()))?;
                let app = local(database.store(), service);
                Opened { app, file: Some((database, folder)) }
            }
        })
    }

    pub(crate) fn does_not_answer(&self, why: &str) -> String {
        if self.aws {
            format!("the deployment's table does not answer: {why}")
        } else {
            let folder = self.data.display();
            format!("the table in the data folder `{folder}` does not answer: {why}")
        }
    }
}

impl Opened {
    pub(crate) async fn close(self) {
        if let Some((database, folder)) = self.file {
            database.close().await;
            drop(folder);
        }
    }
}

fn local(store: Store, service: Service) -> App {
    let clock = Clock::system();
    App {
        store,
        // Messages and schedules live in the service's process, which finds its work in the table.
        queue: Queue::Local(LocalQueue::new()),
        scheduler: Scheduler::Local(LocalScheduler::new(clock.clone(), service.time_scale)),
        clock,
        entropy: Entropy::system(),
        service,
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}
