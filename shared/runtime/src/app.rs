use std::time::Duration;

use tokio::time::timeout;
use tracing::warn;
use vedette_domain::message::Message;
use vedette_ops::ErrorChain;
use vedette_store::{Store, StoreError};

use crate::config::Service;
use crate::{Clock, Entropy, Health, Queue, RemoteChecks, Scheduler, TxtRecords};

/// What every handler works with.
#[derive(Debug, Clone)]
pub struct App {
    /// The table.
    pub store: Store,
    /// Where to send messages.
    pub queue: Queue,
    /// What starts recurring runs.
    pub scheduler: Scheduler,
    /// The clock.
    pub clock: Clock,
    /// The source of random ids.
    pub entropy: Entropy,
    /// How this service is configured.
    pub service: Service,
    /// What keeps the service from working.
    pub health: Health,
    /// Other locations, which are asked before an outage counts.
    pub remote_checks: RemoteChecks,
    /// How TXT records are looked up.
    pub txt_records: TxtRecords,
}

/// How long a process waits for its first connection before it serves without it.
const WARM_UP: Duration = Duration::from_secs(1);

impl App {
    /// Opens the connection to the table, so that the first request does not wait for a handshake. This is optional, so
    /// a throttled table must not keep a function from starting.
    pub async fn warm_up(&self) {
        self.warm_up_with(self.store.warm_up()).await;
    }

    /// Like [`App::warm_up`], with a read that this process may make.
    pub async fn warm_up_with<T>(&self, read: impl Future<Output = Result<T, StoreError>>) {
        match timeout(WARM_UP, read).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => warn!(error = %ErrorChain(&error), "the table does not respond yet"),
            Err(_) => warn!("the table does not respond yet"),
        }
    }

    /// Sends a message about work that is already in the table. If it cannot be sent, redelivery finds the work in the
    /// table.
    pub async fn enqueue_or_leave(&self, message: Message, delay: Duration) {
        if let Err(error) = self.queue.send(&message, delay).await {
            warn!(?message, error = %ErrorChain(&error), "could not send a message; redelivery will send it");
        }
    }
}
