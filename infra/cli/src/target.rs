//! Which table the command is about.

use clap::Args;
use vedette_runtime::config::{Config, ConfigError, environment};
use vedette_runtime::{App, Clock, Entropy, LocalQueue, LocalScheduler, Queue, Scheduler, aws};

use crate::{Failure, args};

/// Which table the command is about.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Where the vedette-local process of this machine serves its table
    #[arg(
        long,
        global = true,
        env = "VEDETTE_DYNAMODB",
        value_name = "ADDR",
        default_value = "127.0.0.1:8788",
        value_parser = args::address
    )]
    dynamodb: String,
    /// Work on the AWS deployment that the environment names, whatever --dynamodb says
    #[arg(long, global = true)]
    aws: bool,
}

impl Target {
    pub(crate) async fn app(&self) -> Result<App, Failure> {
        let config = Config::read(&environment)?;
        if self.aws {
            return Ok(aws::app(&config).await?);
        }
        let clock = Clock::system();
        let endpoint = format!("http://{}", self.dynamodb);
        Ok(App {
            store: aws::local_store(&endpoint, aws::LOCAL_TABLE),
            // Messages and schedules live in the other process, which finds its work in the table.
            queue: Queue::Local(LocalQueue::new()),
            scheduler: Scheduler::Local(LocalScheduler::new(clock.clone(), config.service.pace)),
            clock,
            entropy: Entropy::system(),
            service: config.service,
        })
    }

    pub(crate) fn does_not_answer(&self, why: &str) -> String {
        if self.aws {
            format!("the deployment's table does not answer: {why}")
        } else {
            let address = &self.dynamodb;
            format!("the table at {address} does not answer; is vedette-local running? ({why})")
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}
