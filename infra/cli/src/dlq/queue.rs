//! The dead-letter queues of a deployment, and operations on their messages.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, Message, MessageSystemAttributeName,
    QueueAttributeName,
};
use vedette_runtime::Destination;

use super::dead_letter::{DeadLetter, Undelivered};
use crate::Failure;
use crate::aws::Refusal;
use crate::target::Deployed;

/// The name for scheduled messages that never reached a queue.
const SCHEDULES: &str = "schedules";
/// All queues that have dead letters.
pub(super) const NAMES: [&str; Destination::ALL.len() + 1] = {
    let mut names = [SCHEDULES; Destination::ALL.len() + 1];
    let mut position = 0;
    while position < Destination::ALL.len() {
        names[position] = Destination::ALL[position].name();
        position += 1;
    }
    names
};
/// The most messages that SQS returns for one request.
const AT_ONCE: usize = 10;
/// How long messages are hidden from others while they are read, if their release is lost.
const PEEK_VISIBILITY_SECONDS: i32 = 30;
/// How long messages are hidden while a batch is sent again.
const SEND_SECONDS: i32 = 60;
/// How long SQS may wait. Only if it may wait, it asks all of its servers.
const WAIT_SECONDS: i32 = 1;
/// The pause between two requests for SQS's progress in moving messages.
const MOVING: Duration = Duration::from_secs(1);

/// The dead-letter queue of a queue, or of the schedules.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    pub(crate) name: &'static str,
    prefix: String,
    client: Client,
}

/// Whether the error says that the queue does not exist.
pub(crate) fn is_missing(refusal: &Refusal) -> bool {
    refusal.code.ends_with("NonExistentQueue") || refusal.code == "QueueDoesNotExist"
}

/// Whether an error says that SQS does not support moving messages.
fn is_unsupported(refusal: &Refusal) -> bool {
    let codes = ["UnsupportedOperation", "InvalidAction", "UnknownOperationException"];
    codes.iter().any(|code| refusal.code.ends_with(code))
}

impl DeadLetters {
    /// The dead-letter queues of a deployment.
    pub(crate) fn of(deployed: &Deployed) -> impl Iterator<Item = Self> {
        let client = Client::new(&deployed.account.sdk);
        let prefix = deployed.deployment.queue_url_prefix.clone();
        NAMES.into_iter().map(move |name| Self {
            name,
            prefix: prefix.clone(),
            client: client.clone(),
        })
    }

    fn url(&self) -> String {
        format!("{}{}-dlq", self.prefix, self.name)
    }

    /// The queue that the messages came from. `None` for those of schedules, which name it themselves.
    fn source(&self) -> Option<String> {
        (self.name != SCHEDULES).then(|| format!("{}{}", self.prefix, self.name))
    }

    /// The failure for an error of SQS.
    pub(super) fn failure(&self, why: &Refusal) -> Failure {
        Failure::refused(format!("the dead letters of {}: {why}", self.name))
    }

    async fn attributes(
        &self,
        names: impl IntoIterator<Item = QueueAttributeName>,
    ) -> Result<HashMap<QueueAttributeName, String>, Refusal> {
        let names = names.into_iter().collect();
        let request = self.client.get_queue_attributes().queue_url(self.url());
        let answer = request.set_attribute_names(Some(names)).send().await.map_err(Refusal::of)?;
        Ok(answer.attributes.unwrap_or_default())
    }

    /// The approximate number of messages.
    pub(crate) async fn count(&self) -> Result<u64, Refusal> {
        let attributes = self
            .attributes([
                QueueAttributeName::ApproximateNumberOfMessages,
                QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            ])
            .await?;
        Ok(attributes.values().filter_map(|count| count.parse::<u64>().ok()).sum())
    }

    /// Reads messages, and leaves them in the queue. SQS counts this as receiving them.
    pub(super) async fn peek(&self, limit: usize) -> Result<Vec<DeadLetter>, Refusal> {
        let mut seen = Vec::new();
        let received = loop {
            let left = limit.saturating_sub(seen.len());
            if left == 0 {
                break Ok(());
            }
            match self.receive(left, PEEK_VISIBILITY_SECONDS).await {
                Ok(messages) if messages.is_empty() => break Ok(()),
                Ok(messages) => seen.extend(messages),
                Err(error) => break Err(error),
            }
        };
        // Even after an error, the received messages become visible again.
        self.release(&seen).await?;
        received?;
        Ok(seen.iter().map(|message| DeadLetter::read(self.name, message)).collect())
    }

    async fn receive(&self, most: usize, seconds: i32) -> Result<Vec<Message>, Refusal> {
        let answer = self
            .client
            .receive_message()
            .queue_url(self.url())
            .max_number_of_messages(i32::try_from(most.min(AT_ONCE)).unwrap_or(1))
            .visibility_timeout(seconds)
            .wait_time_seconds(WAIT_SECONDS)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .message_attribute_names("All")
            .send()
            .await
            .map_err(Refusal::of)?;
        Ok(answer.messages.unwrap_or_default())
    }

    async fn release(&self, messages: &[Message]) -> Result<(), Refusal> {
        for batch in messages.chunks(AT_ONCE) {
            let entries = batch.iter().enumerate().map(|(number, message)| {
                ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(number.to_string())
                    .set_receipt_handle(message.receipt_handle.clone())
                    .visibility_timeout(0)
                    .build()
            });
            let entries = entries.collect::<Result<_, _>>().map_err(Refusal::silence)?;
            let release = self.client.change_message_visibility_batch().queue_url(self.url());
            release.set_entries(Some(entries)).send().await.map_err(Refusal::of)?;
        }
        Ok(())
    }

    /// Sends all messages again, and returns how many. SQS moves them if it can.
    pub(super) async fn redrive(&self) -> Result<u64, Failure> {
        if self.count().await.map_err(|why| self.failure(&why))? == 0 {
            return Ok(0);
        }
        if self.source().is_some() {
            match self.start_move().await {
                Ok(()) => return self.moved().await,
                Err(refusal) if is_unsupported(&refusal) => {}
                Err(refusal) => return Err(self.failure(&refusal)),
            }
        }
        let mut outcome = Outcome::default();
        let done = self.send_again(&mut outcome).await;
        let Outcome { sent, left } = outcome;
        let name = self.name;
        match done {
            Err(why) => Err(Failure::refused(format!(
                "the dead letters of {name}: {why}; messages sent again before that: {sent}"
            ))),
            Ok(()) if left > 0 => Err(Failure::refused(format!(
                "the dead letters of {name}: not of this deployment and left: {left}; sent again: \
                 {sent}"
            ))),
            Ok(()) => Ok(sent),
        }
    }

    async fn start_move(&self) -> Result<(), Refusal> {
        let start = self.client.start_message_move_task().source_arn(self.arn().await?);
        start.send().await.map(drop).map_err(Refusal::of)
    }

    async fn arn(&self) -> Result<String, Refusal> {
        let mut attributes = self.attributes([QueueAttributeName::QueueArn]).await?;
        Ok(attributes.remove(&QueueAttributeName::QueueArn).unwrap_or_default())
    }

    /// Waits until SQS has moved all messages, and returns how many.
    async fn moved(&self) -> Result<u64, Failure> {
        let arn = self.arn().await.map_err(|why| self.failure(&why))?;
        loop {
            let tasks = self.client.list_message_move_tasks().source_arn(&arn).max_results(1);
            let tasks = tasks.send().await.map_err(|error| self.failure(&Refusal::of(error)))?;
            let Some(task) = tasks.results.unwrap_or_default().into_iter().next() else {
                return Ok(0);
            };
            let moved = u64::try_from(task.approximate_number_of_messages_moved).unwrap_or(0);
            match task.status.as_deref() {
                Some("RUNNING") => tokio::time::sleep(MOVING).await,
                Some("COMPLETED") => return Ok(moved),
                status => {
                    let reason = task.failure_reason.as_deref().or(status).unwrap_or("no reason");
                    return Err(Failure::refused(format!(
                        "the dead letters of {}: {reason}; messages sent again before that: {moved}",
                        self.name
                    )));
                }
            }
        }
    }

    /// Sends one message after the other, and deletes each only after it was sent. If this is interrupted, a message
    /// may be sent twice, but none is lost.
    async fn send_again(&self, outcome: &mut Outcome) -> Result<(), Refusal> {
        loop {
            let messages = self.receive(AT_ONCE, SEND_SECONDS).await?;
            if messages.is_empty() {
                return Ok(());
            }
            for message in messages {
                let Some((queue, body, group)) = self.addressed(&message) else {
                    outcome.left += 1;
                    continue;
                };
                let send = self.client.send_message().queue_url(queue).message_body(body);
                send.set_message_group_id(group).send().await.map_err(Refusal::of)?;
                let delete = self.client.delete_message().queue_url(self.url());
                let delete = delete.set_receipt_handle(message.receipt_handle);
                delete.send().await.map_err(Refusal::of)?;
                outcome.sent += 1;
            }
        }
    }

    /// The queue for a message, which must belong to the deployment, with the message's body and group.
    fn addressed(&self, message: &Message) -> Option<(String, String, Option<String>)> {
        let body = message.body().unwrap_or_default();
        if let Some(source) = self.source() {
            let group = MessageSystemAttributeName::MessageGroupId;
            let group = message.attributes().and_then(|attributes| attributes.get(&group).cloned());
            return Some((source, body.to_owned(), group));
        }
        let Undelivered { queue_url, message_body, message_group_id } =
            serde_json::from_str(body).ok()?;
        queue_url.starts_with(&self.prefix).then_some((queue_url, message_body, message_group_id))
    }
}

/// The outcome of sending messages again.
#[derive(Debug, Default)]
struct Outcome {
    sent: u64,
    /// Messages that belong to no queue of the deployment.
    left: u64,
}
