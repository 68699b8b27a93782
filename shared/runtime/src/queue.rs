use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::error::DisplayErrorContext;
use tokio::sync::Notify;
use tokio::time::Instant;
use vedette_domain::message::Message;
use vedette_domain::tool::Tool;

/// Where messages go: SQS, or this process.
#[derive(Debug, Clone)]
pub enum Queue {
    /// One SQS queue for each destination.
    Sqs(SqsQueue),
    /// Timers of this process.
    Local(LocalQueue),
}

/// A message that could not be sent. Whatever it asks for stands in the table, so it will be sent
/// again.
#[derive(Debug, thiserror::Error)]
#[error("the queue does not take messages: {0}")]
pub struct QueueError(String);

/// A queue of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// Checks of a tool.
    Tool(Tool),
    /// The keeper's work.
    Upkeep,
}

impl Destination {
    /// All queues.
    pub const ALL: [Self; 6] = [
        Self::Tool(Tool::Status),
        Self::Tool(Tool::Ssl),
        Self::Tool(Tool::Dns),
        Self::Tool(Tool::BrokenLinks),
        Self::Tool(Tool::Performance),
        Self::Upkeep,
    ];

    /// Where a message goes.
    pub const fn of(message: &Message) -> Self {
        match message {
            Message::Check(check) => Self::Tool(check.tool),
            Message::Upkeep(_) => Self::Upkeep,
        }
    }

    /// The queue's name after the deployment's prefix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tool(tool) => tool.as_str(),
            Self::Upkeep => "upkeep",
        }
    }
}

impl Queue {
    /// Sends a message, to be delivered at least once, not before the delay has passed. SQS delays
    /// by whole seconds, 15 minutes at most.
    ///
    /// # Errors
    ///
    /// When the queue does not take it.
    pub async fn send(&self, message: &Message, delay: Duration) -> Result<(), QueueError> {
        match self {
            Self::Sqs(queue) => queue.send(message, delay).await,
            Self::Local(queue) => {
                queue.send(message.clone(), delay);
                Ok(())
            }
        }
    }
}

/// SQS queues of one deployment.
#[derive(Debug, Clone)]
pub struct SqsQueue {
    client: aws_sdk_sqs::Client,
    url_prefix: String,
}

const SQS_DELAY_MAX: Duration = Duration::from_mins(15);

impl SqsQueue {
    /// Queues whose URLs begin with the prefix.
    pub const fn new(client: aws_sdk_sqs::Client, url_prefix: String) -> Self {
        Self { client, url_prefix }
    }

    async fn send(&self, message: &Message, delay: Duration) -> Result<(), QueueError> {
        let body = body(message)?;
        let seconds = delay.min(SQS_DELAY_MAX).as_millis().div_ceil(1_000);
        self.client
            .send_message()
            .queue_url(format!("{}{}", self.url_prefix, Destination::of(message).name()))
            .message_body(body)
            .delay_seconds(i32::try_from(seconds).unwrap_or(0))
            .send()
            .await
            .map(drop)
            .map_err(|error| QueueError(DisplayErrorContext(error).to_string()))
    }
}

/// The body by which a message travels.
fn body(message: &Message) -> Result<String, QueueError> {
    let body = match message {
        Message::Check(check) => serde_json::to_string(check),
        Message::Upkeep(upkeep) => serde_json::to_string(upkeep),
    };
    body.map_err(|error| QueueError(error.to_string()))
}

/// Queues within this process: nothing outlives it, the table brings everything back.
#[derive(Debug, Clone, Default)]
pub struct LocalQueue(Arc<[Lane; 6]>);

#[derive(Debug, Default)]
struct Lane {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    sent: u64,
    messages: BTreeMap<(Instant, u64), Message>,
}

impl LocalQueue {
    /// Empty queues.
    pub fn new() -> Self {
        Self::default()
    }

    fn lane(&self, destination: Destination) -> &Lane {
        let place = Destination::ALL.iter().position(|other| *other == destination);
        &self.0[place.unwrap_or(0)]
    }

    fn send(&self, message: Message, delay: Duration) {
        let lane = self.lane(Destination::of(&message));
        let mut waiting = lane.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.sent += 1;
        let place = (Instant::now() + delay, waiting.sent);
        waiting.messages.insert(place, message);
        drop(waiting);
        lane.changed.notify_one();
    }

    /// The next message of a queue whose delay has passed; waits for one.
    pub async fn receive(&self, destination: Destination) -> Message {
        let lane = self.lane(destination);
        loop {
            let next = {
                let mut waiting = lane.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                match waiting.messages.first_entry() {
                    Some(first) if first.key().0 <= Instant::now() => return first.remove(),
                    Some(first) => Some(first.key().0),
                    None => None,
                }
            };
            match next {
                Some(due) => tokio::select! {
                    () = tokio::time::sleep_until(due) => {}
                    () = lane.changed.notified() => {}
                },
                None => lane.changed.notified().await,
            }
        }
    }

    /// Takes everything that waits in a queue, in the order in which it would be delivered, with
    /// what is left of its delay.
    pub fn drain(&self, destination: Destination) -> Vec<(Message, Duration)> {
        let lane = self.lane(destination);
        let mut waiting = lane.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        std::mem::take(&mut waiting.messages)
            .into_iter()
            .map(|((due, _), message)| (message, due.saturating_duration_since(now)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use vedette_domain::id::SiteId;
    use vedette_domain::message::Upkeep;

    use super::*;

    fn upkeep(last: u8) -> Message {
        let id = format!("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e{last:02x}");
        Message::Upkeep(Upkeep::Sync(SiteId::parse(&id).expect("a site id")))
    }

    #[tokio::test(start_paused = true)]
    async fn messages_come_when_their_delay_has_passed() {
        let queue = LocalQueue::new();
        queue.send(upkeep(1), Duration::from_secs(120));
        queue.send(upkeep(2), Duration::ZERO);
        let started = Instant::now();
        assert_eq!(queue.receive(Destination::Upkeep).await, upkeep(2));
        assert_eq!(started.elapsed(), Duration::ZERO);
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.receive(Destination::Upkeep).await }
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        queue.send(upkeep(3), Duration::from_secs(10));
        assert_eq!(waiting.await.expect("received"), upkeep(3), "a sooner message overtakes");
        assert_eq!(started.elapsed(), Duration::from_secs(70));
        assert_eq!(queue.drain(Destination::Upkeep), [(upkeep(1), Duration::from_secs(50))]);
        assert_eq!(queue.drain(Destination::Upkeep), []);
    }
}
