//! The consumers of the queues, and the scheduler that feeds them.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};
use vedette_checker::{Engines, Handled};
use vedette_domain::message::Message;
use vedette_domain::tool::Tool;
use vedette_runtime::{App, Destination, LocalQueue, LocalScheduler};

use crate::console::Console;

/// How long running checks may take to finish at the end.
const GRACE: Duration = Duration::from_secs(5);
/// How often a message is tried.
const TRIES: u32 = 5;
/// Before the second try; it doubles with every further one.
const FIRST_DELAY: Duration = Duration::from_secs(1);

/// What it takes to do what a message asks for.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) app: App,
    pub(crate) queue: LocalQueue,
    pub(crate) engines: Arc<Engines>,
    pub(crate) console: Console,
    pub(crate) stop: CancellationToken,
}

/// How many messages of a queue are worked on at a time. Each queue has its own limit, so that
/// targets that hang delay only checks of their own kind: a status check waits, a crawl keeps
/// connections open, an audit takes a whole core.
const fn limit(destination: Destination) -> usize {
    match destination {
        Destination::Tool(Tool::Status) => 256,
        Destination::Tool(Tool::Ssl | Tool::Dns) => 64,
        Destination::Tool(Tool::BrokenLinks) | Destination::Upkeep => 4,
        Destination::Tool(Tool::Performance) => 1,
    }
}

impl Worker {
    /// Works through a queue until it is stopped; then running checks get a few seconds.
    pub(crate) async fn consume(self, destination: Destination) {
        let slots = Arc::new(Semaphore::new(limit(destination)));
        let mut running = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                Some(ended) = running.join_next() => note_panic(destination, ended),
                next = self.next(destination, &slots) => {
                    let Some((slot, message)) = next else { break };
                    running.spawn(self.clone().deliver(message, slot, Arc::clone(&slots)));
                }
            }
        }
        let finished = async {
            while let Some(ended) = running.join_next().await {
                note_panic(destination, ended);
            }
        };
        if timeout(GRACE, finished).await.is_err() {
            warn!(
                queue = destination.name(),
                cut_off = running.len(),
                "work was cut off by the end"
            );
        }
    }

    /// The next message, taken only when somebody is free to work on it.
    async fn next(
        &self,
        destination: Destination,
        slots: &Arc<Semaphore>,
    ) -> Option<(OwnedSemaphorePermit, Message)> {
        // Fails only for a closed semaphore, and nobody closes it.
        let slot = Arc::clone(slots).acquire_owned().await.ok()?;
        Some((slot, self.queue.receive(destination).await))
    }

    /// Does what a message asks for, again after a while where that fails. Others have its place
    /// meanwhile.
    async fn deliver(self, message: Message, slot: OwnedSemaphorePermit, slots: Arc<Semaphore>) {
        let mut slot = Some(slot);
        let mut delay = FIRST_DELAY;
        for attempt in 1..=TRIES {
            let Err(error) = self.handle(&message).await else {
                return;
            };
            if attempt == TRIES {
                error!(?message, %error, "given up; the keeper's sweep will find it");
                return;
            }
            warn!(?message, %error, attempt, ?delay, "tried again later");
            drop(slot.take());
            let free = async {
                sleep(delay).await;
                Arc::clone(&slots).acquire_owned().await.ok()
            };
            slot = tokio::select! {
                // What is not done stands in the table, and the next start sends it again.
                () = self.stop.cancelled() => return,
                slot = free => slot,
            };
            delay *= 2;
        }
    }

    async fn handle(&self, message: &Message) -> Result<(), Box<dyn Error + Send + Sync>> {
        match message {
            Message::Check(check) => {
                let started = Instant::now();
                match vedette_checker::handle(&self.app, &self.engines, check).await? {
                    Handled::Finished(finished) => {
                        self.console.show(self.app.clock.now(), &finished, started.elapsed());
                    }
                    dropped @ Handled::Dropped(_) => debug!(?check, "{dropped}"),
                }
            }
            Message::Upkeep(upkeep) => vedette_keeper::upkeep(&self.app, upkeep).await?,
        }
        Ok(())
    }
}

fn note_panic(destination: Destination, ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        error!(queue = destination.name(), %error, "a message ended in a panic");
    }
}

/// Sends the message of every recurring run when its time has come.
pub(crate) async fn schedule(app: App, scheduler: LocalScheduler) {
    loop {
        let run = Message::Check(scheduler.next().await);
        // The local queue takes everything.
        if let Err(error) = app.queue.send(&run, Duration::ZERO).await {
            error!(?run, %error, "a run was lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use vedette_domain::id::SiteId;
    use vedette_domain::message::Upkeep;
    use vedette_probe::guard::Outbound;
    use vedette_runtime::config::EngineConfig;

    use super::*;
    use crate::tests::app_without_table;

    fn worker() -> (Worker, Message) {
        let queue = LocalQueue::new();
        let worker = Worker {
            app: app_without_table(&queue),
            queue,
            engines: Arc::new(
                Engines::new(Outbound::default(), EngineConfig::default()).expect("engines"),
            ),
            console: Console::start(true).expect("a quiet console"),
            stop: CancellationToken::new(),
        };
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        (worker, Message::Upkeep(Upkeep::Sync(site)))
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_is_tried_again_and_given_up_and_does_not_hold_its_place() {
        let (worker, message) = worker();
        let slots = Arc::new(Semaphore::new(1));
        let slot = Arc::clone(&slots).try_acquire_owned().expect("free");
        let started = Instant::now();
        let delivery = tokio::spawn(worker.deliver(message, slot, Arc::clone(&slots)));
        let place = slots.acquire().await.expect("the place of a message that waits");
        assert!(!delivery.is_finished());
        drop(place);
        delivery.await.expect("no panic");
        assert!(started.elapsed() >= Duration::from_secs(1 + 2 + 4 + 8), "{:?}", started.elapsed());
        assert_eq!(slots.available_permits(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_does_not_wait_for_what_is_to_be_tried_again() {
        let (worker, message) = worker();
        let stop = worker.stop.clone();
        let slots = Arc::new(Semaphore::new(1));
        let slot = Arc::clone(&slots).try_acquire_owned().expect("free");
        let delivery = tokio::spawn(worker.deliver(message, slot, Arc::clone(&slots)));
        let _place = slots.acquire().await.expect("the place of a message that waits");
        stop.cancel();
        timeout(GRACE, delivery).await.expect("soon").expect("no panic");
    }
}
