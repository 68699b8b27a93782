//! Sends alerts and transactional emails concurrently: a receiver that hangs holds no place that another channel needs.

use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::timeout;
use vedette_notifier::send::{OutgoingMessage, SendOutcome, SendReason, Sender};
use vedette_notifier::{Recipient, Transport};
use vedette_runtime::QueueDelivery;

use crate::metrics::Counters;

/// After this time, a receiver counts as slow. Most answer sooner. The time is short because places are freed one share
/// at a time: a hundred receivers that hang at once delay another one by less than two seconds.
pub(crate) const SLOW_AFTER: Duration = Duration::from_millis(250);

/// Sends the messages of a delivery. The delivery gives up its place once a receiver is slow: until the receiver
/// answers, it only needs a socket and some memory.
pub(crate) struct PatientSender<'a> {
    pub(crate) sender: &'a Sender,
    pub(crate) delivery: &'a QueueDelivery,
    pub(crate) counters: &'a Counters,
}

impl Transport for PatientSender<'_> {
    async fn send(
        &self,
        to: Recipient<'_>,
        message: &OutgoingMessage,
        reason: SendReason,
        now: Timestamp,
    ) -> SendOutcome {
        let mut sending = pin!(Transport::send(self.sender, to, message, reason, now));
        let outcome = match timeout(SLOW_AFTER, sending.as_mut()).await {
            Ok(outcome) => outcome,
            Err(_) => {
                self.delivery.slow();
                sending.await
            }
        };
        self.counters.delivery(&outcome);
        outcome
    }
}
