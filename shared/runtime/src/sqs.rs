//! The SQS queues of one deployment.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, Message as Received, MessageSystemAttributeName,
    SendMessageBatchRequestEntry,
};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use vedette_domain::checks::limits::LONGEST_DELAY;
use vedette_domain::message::Message;

use crate::on_demand::{OnDemand, on_demand};
use crate::{Destination, QueueError};

/// SQS queues of one deployment.
#[derive(Debug, Clone)]
pub struct SqsQueue {
    client: OnDemand<aws_sdk_sqs::Client>,
    url_prefix: String,
}

/// A message that was received.
#[derive(Debug, Clone)]
pub struct SqsBody {
    /// Its id in the log.
    pub id: String,
    /// What was sent.
    pub text: String,
    /// When it was sent; `None` if the queue does not say.
    pub sent_at: Option<Timestamp>,
    /// How often it was received, including this time.
    pub receives: u32,
    /// The receipt with which it is deleted or released.
    pub(crate) receipt: Option<String>,
}

/// The most messages of a call, according to SQS.
pub const SQS_CALL: usize = 10;

/// The calls that may be in progress while many messages are sent. At 15 ms each, they are 10,000 messages a second.
const CALLS: usize = 16;

const SENT_AT: MessageSystemAttributeName = MessageSystemAttributeName::SentTimestamp;
const RECEIVES: MessageSystemAttributeName = MessageSystemAttributeName::ApproximateReceiveCount;

impl SqsQueue {
    /// Queues whose URLs begin with the prefix, and the function that creates a client.
    pub fn new(
        client: impl FnOnce() -> aws_sdk_sqs::Client + Send + 'static,
        url_prefix: String,
    ) -> Self {
        Self { client: on_demand(client), url_prefix }
    }

    fn url(&self, queue: Destination) -> String {
        format!("{}{}", self.url_prefix, queue.name())
    }

    pub(crate) async fn send(&self, message: &Message, delay: Duration) -> Result<(), QueueError> {
        self.client
            .send_message()
            .queue_url(self.url(Destination::of(message)))
            .message_body(body(message)?)
            // Standard queues take turns between groups, so that a team's backlog delays no other team.
            .message_group_id(message.sender().to_string())
            .delay_seconds(delay_seconds(delay))
            .send()
            .await
            .map(drop)
            .map_err(broken)
    }

    /// Sends messages, ten in a call as SQS allows, with several calls at a time.
    pub(crate) async fn send_all(
        &self,
        messages: &[(Message, Duration)],
    ) -> Result<(), QueueError> {
        let mut by_queue: BTreeMap<Destination, Vec<&(Message, Duration)>> = BTreeMap::new();
        for delayed in messages {
            by_queue.entry(Destination::of(&delayed.0)).or_default().push(delayed);
        }
        let batches = by_queue.iter().flat_map(|(queue, messages)| {
            messages.chunks(SQS_CALL).map(|batch| self.send_batch(*queue, batch))
        });
        stream::iter(batches).buffer_unordered(CALLS).try_collect().await
    }

    /// Sends a batch. Messages that the queue refuses because it is busy are sent once more.
    async fn send_batch(
        &self,
        queue: Destination,
        batch: &[&(Message, Duration)],
    ) -> Result<(), QueueError> {
        let mut entries = Vec::with_capacity(batch.len());
        for (number, (message, delay)) in batch.iter().enumerate() {
            let entry = SendMessageBatchRequestEntry::builder()
                .id(number.to_string())
                .message_body(body(message)?)
                .message_group_id(message.sender().to_string())
                .delay_seconds(delay_seconds(*delay));
            entries.push(entry.build().map_err(broken)?);
        }
        for is_last in [false, true] {
            let sent = self
                .client
                .send_message_batch()
                .queue_url(self.url(queue))
                .set_entries(Some(entries.clone()))
                .send()
                .await
                .map_err(broken)?;
            let Some(failed) = sent.failed.first() else { break };
            if is_last {
                return Err(broken(format!("{}: {:?}", failed.code, failed.message)));
            }
            entries.retain(|entry| sent.failed.iter().any(|failed| failed.id == entry.id));
        }
        Ok(())
    }

    /// Receives up to `most` messages, at most ten, and waits for the first of them.
    pub(crate) async fn receive(
        &self,
        queue: Destination,
        most: usize,
        wait: Duration,
    ) -> Result<Vec<SqsBody>, QueueError> {
        let received = self
            .client
            .receive_message()
            .queue_url(self.url(queue))
            .max_number_of_messages(i32::try_from(most.min(SQS_CALL)).unwrap_or(1))
            .wait_time_seconds(seconds(wait))
            .message_system_attribute_names(SENT_AT)
            .message_system_attribute_names(RECEIVES)
            .send()
            .await
            .map_err(broken)?;
        Ok(received.messages.unwrap_or_default().into_iter().map(SqsBody::from).collect())
    }

    /// Deletes at most ten messages. Those that SQS could not delete are tried once more.
    pub(crate) async fn delete(
        &self,
        queue: Destination,
        receipts: &[String],
    ) -> Result<(), QueueError> {
        let entry = |(number, receipt): (usize, &String)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(number.to_string());
            entry.receipt_handle(receipt).build().map_err(broken)
        };
        let all = receipts.iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>()?;
        let delete = async |entries| {
            let delete = self.client.delete_message_batch().queue_url(self.url(queue));
            let deleted = delete.set_entries(Some(entries)).send().await.map_err(broken)?;
            Ok::<_, QueueError>(deleted.failed)
        };
        let failed = delete(all.clone()).await?;
        if failed.is_empty() {
            return Ok(());
        }
        let has_failed = |id: &str| failed.iter().any(|failed| failed.id == id);
        let left = all.into_iter().filter(|entry| has_failed(&entry.id)).collect();
        match delete(left).await?.first() {
            Some(failed) => Err(broken(format!("{}: {:?}", failed.code, failed.message))),
            None => Ok(()),
        }
    }

    /// Makes the queue deliver a message again after `delay`, instead of after the queue's own time.
    pub(crate) async fn release(
        &self,
        queue: Destination,
        receipt: String,
        delay: Duration,
    ) -> Result<(), QueueError> {
        self.client
            .change_message_visibility()
            .queue_url(self.url(queue))
            .receipt_handle(receipt)
            .visibility_timeout(seconds(delay))
            .send()
            .await
            .map(drop)
            .map_err(broken)
    }
}

/// The body of a message.
fn body(message: &Message) -> Result<String, QueueError> {
    let body = match message {
        Message::Check(check) => serde_json::to_string(check),
        Message::Reconcile(maintenance) => serde_json::to_string(maintenance),
        Message::Alert(alert) => serde_json::to_string(alert),
        Message::Mail(letter) => serde_json::to_string(letter),
    };
    body.map_err(broken)
}

/// A delay in the form of SQS.
fn delay_seconds(delay: Duration) -> i32 {
    seconds(delay.min(LONGEST_DELAY.unsigned_abs()))
}

/// Whole seconds, as SQS requires; never less than requested.
fn seconds(time: Duration) -> i32 {
    i32::try_from(time.as_millis().div_ceil(1_000)).unwrap_or(i32::MAX)
}

fn broken(error: impl Into<Box<dyn Error + Send + Sync>>) -> QueueError {
    QueueError(error.into())
}

impl SqsBody {
    fn new(
        id: Option<String>,
        text: Option<String>,
        receipt: Option<String>,
        attribute: impl Fn(&MessageSystemAttributeName) -> Option<String>,
    ) -> Self {
        let sent_at = attribute(&SENT_AT)
            .and_then(|millis| Timestamp::from_millisecond(millis.parse().ok()?).ok());
        let receives = attribute(&RECEIVES).and_then(|receives| receives.parse().ok()).unwrap_or(1);
        let (id, text) = (id.unwrap_or_default(), text.unwrap_or_default());
        Self { id, text, sent_at, receives, receipt }
    }
}

impl From<Received> for SqsBody {
    fn from(message: Received) -> Self {
        let Received { message_id, body, receipt_handle, attributes, .. } = message;
        let attributes = attributes.unwrap_or_default();
        Self::new(message_id, body, receipt_handle, |name| attributes.get(name).cloned())
    }
}

impl From<SqsMessage> for SqsBody {
    fn from(message: SqsMessage) -> Self {
        let SqsMessage { message_id, body, receipt_handle, attributes, .. } = message;
        Self::new(message_id, body, receipt_handle, |name| attributes.get(name.as_str()).cloned())
    }
}
