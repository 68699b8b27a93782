use std::time::Duration;

use tokio::time::timeout;
use tracing::warn;
use vedette_domain::ErrorChain;
use vedette_domain::message::Message;
use vedette_store::Store;

use crate::config::Service;
use crate::{Clock, Entropy, Health, Queue, Scheduler, Witnesses};

/// What every handler works with.
#[derive(Debug, Clone)]
pub struct App {
    /// The table.
    pub store: Store,
    /// Where messages go.
    pub queue: Queue,
    /// Who fires recurring runs.
    pub scheduler: Scheduler,
    /// What time it is.
    pub clock: Clock,
    /// Where random ids come from.
    pub entropy: Entropy,
    /// How this service is set up.
    pub service: Service,
    /// What keeps it from doing its work.
    pub health: Health,
    /// Other locations, which are asked before an outage is believed.
    pub witnesses: Witnesses,
}

/// How long a process waits for its first connection before it serves without.
const WARM_UP: Duration = Duration::from_secs(1);

impl App {
    /// Opens the connection to the table, so that the first request does not wait for a handshake.
    /// Without it everything works as well, so a throttled table must not end a function before it
    /// has begun.
    pub async fn warm_up(&self) {
        match timeout(WARM_UP, self.store.warm_up()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(error = %ErrorChain(&error), "the table does not answer yet"),
            Err(_) => warn!("the table does not answer yet"),
        }
    }

    /// Sends a message of work that is in the table already. What cannot be sent is left to
    /// redelivery, which finds it there.
    pub async fn enqueue_or_leave(&self, message: Message, delay: Duration) {
        if let Err(error) = self.queue.send(&message, delay).await {
            warn!(?message, error = %ErrorChain(&error), "a message is left to redelivery");
        }
    }
}
