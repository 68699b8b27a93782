//! How a Lambda function consumes its queue.

use std::error::Error;
use std::future::ready;
use std::pin::pin;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{Instrument as _, error, error_span, warn};

use vedette_ops::ErrorChain;

use crate::sqs::{SQS_CALL, SqsBody, SqsQueue};
use crate::{App, Destination, QueueError};

/// The time that is reserved at the end of an invocation to report unfinished messages.
const MARGIN: Duration = Duration::from_secs(2);
/// After this time, a message that is still being handled is slow: it waits for a target, and hardly needs the processor.
pub const SLOW_AFTER: Duration = Duration::from_secs(1);
/// After this time, an invocation is slow, and the function receives more messages meanwhile. A full batch of checks
/// usually takes half as long, and an invocation that has asked for messages cannot end before SQS answers.
pub const REFILL_AFTER: Duration = Duration::from_secs(3);
/// How long the function then waits for a message. Each wait costs a request.
const WAIT: Duration = Duration::from_secs(2);

/// A function's queue.
#[derive(Debug, Clone)]
pub struct Consumer {
    queue: SqsQueue,
    source: Destination,
    /// How many messages are handled at once, apart from slow ones.
    busy: usize,
    /// How more messages are handled while some are slow.
    refill: Option<Refill>,
}

/// The messages that a function receives itself.
#[derive(Debug, Clone, Copy)]
struct Refill {
    /// How long one of them may take.
    longest: Duration,
    /// How many are handled at once, including those of the event source.
    most: usize,
}

/// What happens while messages are handled.
enum Step<P> {
    /// What messages need was read. The second value says whether the function has received them itself.
    Read(Vec<(SqsBody, P)>, bool),
    /// A message was handled. If it failed, the event source delivers it again.
    Handled(Option<String>),
    /// A message that the function has received itself was handled. This is the receipt with which to delete it.
    HandledOwn(Option<String>),
    /// Some messages were deleted.
    Deleted,
    /// The invocation is slow.
    Slow,
    /// More messages may have arrived.
    Received(Result<Vec<SqsBody>, QueueError>),
}

impl Consumer {
    /// Handles only the messages of the event source.
    ///
    /// # Errors
    ///
    /// When messages do not leave this process.
    pub fn new(app: &App, source: Destination) -> Result<Self, QueueError> {
        let queue = app.queue.sqs().ok_or_else(|| QueueError("it is not in SQS".into()))?;
        Ok(Self { queue: queue.clone(), source, busy: Semaphore::MAX_PERMITS, refill: None })
    }

    /// Handles more messages than the event source delivers. An invocation ends, and its place becomes free, only when
    /// its slowest message is done. Instead of waiting for one target that does not answer, it receives more messages
    /// itself, up to `most` at once, as long as there is time for one, which takes `longest`.
    #[must_use]
    pub fn refilling(self, longest: Duration, most: usize) -> Self {
        Self { refill: Some(Refill { longest, most }), ..self }
    }

    /// Handles at most this many messages at once, apart from those that have become slow ([`SLOW_AFTER`]). More would
    /// only compete for the processor, and each would take longer.
    #[must_use]
    pub fn with_busy(self, busy: usize) -> Self {
        Self { busy, ..self }
    }

    /// Handles all messages of a batch. Failed messages are delivered again one by one, and soon. A message
    /// that is not done when the invocation has only `left` of its time counts as failed.
    pub async fn consume<F, E>(
        &self,
        event: SqsEvent,
        left: Duration,
        handle: impl Fn(SqsBody) -> F + Sync,
    ) -> SqsBatchResponse
    where
        F: Future<Output = Result<(), E>> + Send,
        E: Into<Box<dyn Error>> + Send,
    {
        let nothing =
            |messages: Vec<SqsBody>| ready(messages.into_iter().map(|one| (one, ())).collect());
        self.consume_read(event, left, nothing, |message, ()| handle(message)).await
    }

    /// Like [`Consumer::consume`], but first reads what the messages that arrive together need, which must not take
    /// long.
    pub async fn consume_read<P, G, F, E>(
        &self,
        event: SqsEvent,
        left: Duration,
        read: impl Fn(Vec<SqsBody>) -> G + Sync,
        handle: impl Fn(SqsBody, P) -> F + Sync,
    ) -> SqsBatchResponse
    where
        P: Send,
        G: Future<Output = Vec<(SqsBody, P)>> + Send,
        F: Future<Output = Result<(), E>> + Send,
        E: Into<Box<dyn Error>> + Send,
    {
        let deadline = Instant::now() + left.saturating_sub(MARGIN);
        let busy = Semaphore::new(self.busy);
        let is_time_for = |refill: &Refill| Instant::now() + refill.longest < deadline;
        let mut response = SqsBatchResponse::default();
        let mut steps: FuturesUnordered<BoxFuture<'_, Step<P>>> = FuturesUnordered::new();
        let (mut handled, mut is_receiving, mut is_slow) = (0, false, false);
        let (mut done, mut deleting) = (Vec::new(), 0);
        let messages: Vec<_> = event.records.into_iter().map(SqsBody::from).collect();
        handled += messages.len();
        steps.push(read(messages).map(|read| Step::Read(read, false)).boxed());
        if self.refill.is_some() {
            steps.push(sleep(REFILL_AFTER).map(|()| Step::Slow).boxed());
        }
        while handled > 0 || is_receiving || deleting > 0 {
            match steps.next().await {
                Some(Step::Read(messages, is_own)) => {
                    for (message, read) in messages {
                        let handle = |message| handle(message, read);
                        if is_own {
                            let done = self.handle_own(message, deadline, &busy, handle);
                            steps.push(done.map(Step::HandledOwn).boxed());
                        } else {
                            let done = self.handle(message, deadline, &busy, handle);
                            steps.push(done.map(|done| Step::Handled(done.err())).boxed());
                        }
                    }
                }
                Some(Step::Handled(failed)) => {
                    handled -= 1;
                    // An empty id would make the whole batch fail.
                    let named = failed.into_iter().filter(|id| !id.is_empty());
                    named.for_each(|id| response.add_failure(id));
                }
                Some(Step::HandledOwn(receipt)) => {
                    handled -= 1;
                    done.extend(receipt);
                }
                Some(Step::Deleted) => deleting -= 1,
                Some(Step::Slow) => is_slow = true,
                Some(Step::Received(Ok(messages))) => {
                    is_receiving = false;
                    handled += messages.len();
                    steps.push(read(messages).map(|read| Step::Read(read, true)).boxed());
                }
                Some(Step::Received(Err(error))) => {
                    warn!(error = %ErrorChain(&error), "could not receive more messages");
                    (is_receiving, is_slow) = (false, false);
                }
                None => break,
            }
            // As many in a call as SQS accepts, or fewer if nothing else will come.
            let is_last = handled == 0 && !is_receiving && !done.is_empty();
            if done.len() >= SQS_CALL || is_last {
                let deleted = self.delete(std::mem::take(&mut done));
                steps.push(deleted.map(|()| Step::Deleted).boxed());
                deleting += 1;
            }
            let places = self.refill.map_or(0, |refill| refill.most.saturating_sub(handled));
            if is_slow
                && !is_receiving
                && handled > 0
                && places > 0
                && self.refill.as_ref().is_some_and(is_time_for)
            {
                is_receiving = true;
                let receive = self.queue.receive(self.source, places, WAIT);
                steps.push(receive.map(Step::Received).boxed());
            }
        }
        response
    }

    /// Handles a message of the event source, which deletes the message unless it is reported as failed.
    async fn handle<F, E>(
        &self,
        message: SqsBody,
        deadline: Instant,
        busy: &Semaphore,
        handle: impl FnOnce(SqsBody) -> F,
    ) -> Result<(), String>
    where
        F: Future<Output = Result<(), E>>,
        E: Into<Box<dyn Error>>,
    {
        let SqsBody { id, receives, receipt, .. } = message.clone();
        let span = error_span!("message", message_id = id);
        async {
            let handled = async {
                let place = busy.acquire().await;
                let mut handled = pin!(handle(message));
                match timeout(SLOW_AFTER, handled.as_mut()).await {
                    Ok(done) => done,
                    Err(_) => {
                        drop(place);
                        handled.await
                    }
                }
            };
            let failure = match timeout_at(deadline, handled).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => ErrorChain(&*error.into()).to_string(),
                Err(_) => "the invocation ran out of time".to_owned(),
            };
            error!(receives, error = failure, "could not handle a message");
            if let Some(receipt) = receipt
                && let Err(error) =
                    self.queue.release(self.source, receipt, retry_delay(receives)).await
            {
                warn!(error = %ErrorChain(&error), "could not delay a failed message; it will be delivered again after the visibility timeout");
            }
            Err(id)
        }
        .instrument(span)
        .await
    }

    /// Handles a message that the function has received itself. Returns the receipt with which to delete it, unless it
    /// failed.
    async fn handle_own<F, E>(
        &self,
        message: SqsBody,
        deadline: Instant,
        busy: &Semaphore,
        handle: impl FnOnce(SqsBody) -> F,
    ) -> Option<String>
    where
        F: Future<Output = Result<(), E>>,
        E: Into<Box<dyn Error>>,
    {
        let receipt = message.receipt.clone();
        let handled = self.handle(message, deadline, busy, handle).await;
        receipt.filter(|_| handled.is_ok())
    }

    /// Deletes handled messages.
    async fn delete(&self, receipts: Vec<String>) {
        for receipts in receipts.chunks(SQS_CALL) {
            if let Err(error) = self.queue.delete(self.source, receipts).await {
                // A message that is handled twice counts once.
                warn!(error = %ErrorChain(&error), "could not delete handled messages; they will be delivered again");
            }
        }
    }
}

/// When a message is delivered again: soon at first, and late enough in the end that an outage of a few minutes does
/// not use up its deliveries.
fn retry_delay(receives: u32) -> Duration {
    const FIRST: Duration = Duration::from_secs(5);
    const LONGEST: Duration = Duration::from_mins(15);
    FIRST.saturating_mul(4_u32.saturating_pow(receives.saturating_sub(1))).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use aws_lambda_events::event::sqs::SqsMessage;
    use aws_smithy_runtime_api::client::http::{
        HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
    };
    use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
    use aws_smithy_types::body::SdkBody;
    use jiff::Timestamp;
    use serde_json::{Value, json};
    use vedette_domain::checks::concurrency::{limit_for_share, team_share};
    use vedette_domain::checks::tool::Tool;

    use super::*;

    /// A queue that returns the given messages, and records the calls.
    #[derive(Debug, Clone, Default)]
    struct FakeSqs(Arc<Mutex<Inside>>);

    #[derive(Debug, Default)]
    struct Inside {
        waiting: VecDeque<Value>,
        asked: Vec<String>,
    }

    impl FakeSqs {
        fn consumer(&self, refill: Option<Refill>) -> Consumer {
            let connector = SharedHttpConnector::new(self.clone());
            let config = aws_sdk_sqs::Config::builder()
                .behavior_version(aws_sdk_sqs::config::BehaviorVersion::latest())
                .region(aws_sdk_sqs::config::Region::from_static("local"))
                .endpoint_url("http://queues")
                .allow_no_auth()
                .http_client(http_client_fn(move |_, _| connector.clone()))
                .build();
            let client = aws_sdk_sqs::Client::from_conf(config);
            let queue = SqsQueue::new(|| client, "http://queues/vedette-".to_owned());
            let source = Destination::Tool(Tool::Status);
            Consumer { queue, source, busy: Semaphore::MAX_PERMITS, refill }
        }

        fn put(&self, bodies: impl IntoIterator<Item = &'static str>) {
            let message = |body| json!({ "MessageId": body, "Body": body, "ReceiptHandle": body });
            self.0.lock().expect("no panic").waiting.extend(bodies.into_iter().map(message));
        }

        fn asked(&self) -> Vec<String> {
            std::mem::take(&mut self.0.lock().expect("no panic").asked)
        }
    }

    impl HttpConnector for FakeSqs {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            let operation = request.headers().get("x-amz-target").and_then(|t| t.split('.').nth(1));
            let asked: Value =
                serde_json::from_slice(request.body().bytes().expect("a body")).expect("json");
            let mut inner = self.0.lock().expect("no panic");
            let Inside { waiting, asked: log } = &mut *inner;
            let (answer, wait) = match operation {
                Some("ReceiveMessage") => {
                    let most = asked["MaxNumberOfMessages"].as_u64().expect("a number") as usize;
                    let given: Vec<_> = waiting.drain(..most.min(waiting.len())).collect();
                    let wait = if given.is_empty() { WAIT } else { Duration::ZERO };
                    (json!({ "Messages": given }), wait)
                }
                Some(operation) => {
                    let entries = asked["Entries"].as_array();
                    let receipts: Vec<_> = entries
                        .into_iter()
                        .flatten()
                        .filter_map(|entry| entry["ReceiptHandle"].as_str())
                        .collect();
                    let receipts = json!(receipts.join("+"));
                    let (receipt, time) = match entries {
                        Some(_) => (&receipts, &Value::Null),
                        None => (&asked["ReceiptHandle"], &asked["VisibilityTimeout"]),
                    };
                    log.push(format!("{operation} {receipt} {time}").replace('"', ""));
                    (json!({ "Successful": [], "Failed": [] }), Duration::ZERO)
                }
                None => panic!("no operation"),
            };
            HttpConnectorFuture::new(async move {
                sleep(wait).await;
                let body = SdkBody::from(answer.to_string());
                Ok(HttpResponse::new(200.try_into().expect("a status"), body))
            })
        }
    }

    /// Id, body and attributes of a message.
    type Sent<'a> = (Option<&'a str>, &'a str, &'a [(&'a str, &'a str)]);

    fn event<const N: usize>(messages: [Sent<'_>; N]) -> SqsEvent {
        let mut event = SqsEvent::default();
        event.records = messages
            .map(|(id, body, attributes)| {
                let mut message = SqsMessage::default();
                message.message_id = id.map(str::to_owned);
                message.receipt_handle = id.map(str::to_owned);
                message.body = Some(body.to_owned());
                let attributes = attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
                message.attributes.extend(attributes);
                message
            })
            .into();
        event
    }

    fn failed(response: &SqsBatchResponse) -> Vec<&str> {
        response.batch_item_failures.iter().map(|one| one.item_identifier.as_str()).collect()
    }

    const MINUTE: Duration = Duration::from_mins(1);

    #[tokio::test(start_paused = true)]
    async fn messages_fail_one_by_one_and_come_again_soon() {
        let sqs = FakeSqs::default();
        let event = event([
            (Some("one"), "good", &[("SentTimestamp", "1795168440000")]),
            (Some("two"), "bad", &[("SentTimestamp", "soon")]),
            (None, "bad", &[]),
            (Some("four"), "bad", &[("ApproximateReceiveCount", "3")]),
        ]);
        let handled = Mutex::new(Vec::new());
        let handle = |message: SqsBody| {
            handled.lock().expect("no panic").push((message.text.clone(), message.sent_at));
            async move { if message.text == "good" { Ok(()) } else { Err("not good") } }
        };
        let response = sqs.consumer(None).consume(event, MINUTE, handle).await;
        assert_eq!(failed(&response), ["two", "four"], "what has no id cannot be named");
        let mut asked = sqs.asked();
        asked.sort_unstable();
        assert_eq!(asked, ["ChangeMessageVisibility four 80", "ChangeMessageVisibility two 5"]);
        let sent_at = Timestamp::from_second(1_795_168_440).ok();
        let expected = [("good", sent_at), ("bad", None), ("bad", None), ("bad", None)];
        let expected = expected.map(|(text, sent_at)| (text.to_owned(), sent_at));
        assert_eq!(handled.into_inner().expect("no panic"), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_done_in_time_fails_before_the_invocation_ends() {
        let began = Instant::now();
        let handle = |message: SqsBody| async move {
            let seconds = if message.text == "slow" { 3_600 } else { 1 };
            sleep(Duration::from_secs(seconds)).await;
            Ok::<_, &str>(())
        };
        let event = event([(Some("one"), "slow", &[]), (Some("two"), "quick", &[])]);
        let response = FakeSqs::default().consumer(None).consume(event, MINUTE, handle).await;
        assert_eq!(failed(&response), ["one"]);
        assert_eq!(began.elapsed(), MINUTE - MARGIN);
    }

    #[tokio::test(start_paused = true)]
    async fn while_one_is_slow_others_are_received_handled_and_deleted() {
        let sqs = FakeSqs::default();
        sqs.put(["quick", "bad", "quick"]);
        let began = Instant::now();
        let handled = Mutex::new(0);
        let handle = |message: SqsBody| {
            *handled.lock().expect("no panic") += 1;
            async move {
                let seconds = if message.text == "slow" { 30 } else { 0 };
                sleep(Duration::from_secs(seconds)).await;
                if message.text == "bad" { Err("bad") } else { Ok(()) }
            }
        };
        let event = event([(Some("one"), "slow", &[]), (Some("two"), "quick", &[])]);
        let refill = Refill { longest: Duration::from_secs(40), most: 10 };
        let response = sqs.consumer(Some(refill)).consume(event, MINUTE, handle).await;
        assert_eq!(failed(&response), [""; 0], "what it received itself is its own business");
        assert_eq!(handled.into_inner().expect("no panic"), 5);
        assert_eq!(began.elapsed(), Duration::from_secs(30), "no longer than the slow one takes");
        let mut asked = sqs.asked();
        asked.sort_unstable();
        let deleted = "DeleteMessageBatch quick+quick null";
        assert_eq!(asked, ["ChangeMessageVisibility bad 5", deleted]);
    }

    #[tokio::test(start_paused = true)]
    async fn others_are_handled_while_more_hang_than_a_batch_holds() {
        const SLOW: &str = "slow";
        let sqs = FakeSqs::default();
        sqs.put([SLOW; 8].into_iter().chain(["quick"; 2]));
        let (hanging, quick) = (Semaphore::new(0), AtomicUsize::new(0));
        let handle = |message: SqsBody| {
            let (hanging, quick) = (&hanging, &quick);
            async move {
                if message.text == SLOW {
                    // Until all others are done.
                    hanging.acquire().await.expect("open").forget();
                } else if quick.fetch_add(1, Ordering::Relaxed) == 1 {
                    hanging.add_permits(18);
                }
                Ok::<_, &str>(())
            }
        };
        let given = std::array::from_fn::<_, 10, _>(|_| (Some("given"), SLOW, &[][..]));
        let refill = Refill { longest: Duration::from_secs(40), most: 50 };
        let response = sqs.consumer(Some(refill)).consume(event(given), MINUTE, handle).await;
        assert_eq!((failed(&response), quick.into_inner()), (vec![], 2));
        let receipts: Vec<_> = ["quick"; 2].into_iter().chain([SLOW; 8]).collect();
        let all = format!("DeleteMessageBatch {} null", receipts.join("+"));
        assert_eq!(sqs.asked(), [all], "all that it received itself are deleted, by one call");
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_few_of_a_batch_are_busy_at_once_and_slow_ones_let_the_others_begin() {
        let began = Instant::now();
        let (busy, most, last) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let handle = |message: SqsBody| {
            let (busy, most, last) = (&busy, &most, &last);
            async move {
                last.lock().expect("no panic").push(began.elapsed());
                most.fetch_max(busy.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                sleep(SLOW_AFTER.min(Duration::from_millis(200))).await;
                busy.fetch_sub(1, Ordering::Relaxed);
                let slow = if message.text == "slow" { 30 } else { 0 };
                sleep(Duration::from_secs(slow)).await;
                Ok::<_, &str>(())
            }
        };
        let text = |number| if number < 40 { "slow" } else { "quick" };
        let given = std::array::from_fn::<_, 50, _>(|number| (Some("id"), text(number), &[][..]));
        let consumer = FakeSqs::default().consumer(None).with_busy(10);
        let response = consumer.consume(event(given), MINUTE, handle).await;
        assert_eq!(failed(&response), [""; 0]);
        assert_eq!(most.into_inner(), 10);
        let last = last.into_inner().expect("no panic").into_iter().max();
        assert_eq!(last, Some(Duration::from_secs(4)), "after four times ten slow ones");
        assert_eq!(began.elapsed(), Duration::from_millis(33_200), "all slow ones wait at once");
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_finds_no_place_in_time_fails_as_a_slow_one_does() {
        let handle = |_| async {
            sleep(Duration::MAX).await;
            Ok::<_, &str>(())
        };
        let event = event([(Some("one"), "begun", &[]), (Some("two"), "waiting", &[])]);
        let consumer = FakeSqs::default().consumer(None).with_busy(1);
        let response = consumer.consume(event, MARGIN + SLOW_AFTER / 2, handle).await;
        let mut named = failed(&response);
        named.sort_unstable();
        assert_eq!(named, ["one", "two"]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_slow_message_of_fifty_neither_delays_nor_repeats_the_others() {
        let began = Instant::now();
        let handled = Mutex::new(BTreeMap::new());
        let handle = |message: SqsBody| {
            let handled = &handled;
            async move {
                let is_slow = message.text == "slow";
                sleep(if is_slow { Duration::MAX } else { Duration::from_millis(150) }).await;
                handled.lock().expect("no panic").insert(message.id, began.elapsed());
                if message.text == "bad" { Err("bad") } else { Ok(()) }
            }
        };
        let ids: Vec<_> = (0..50).map(|number| format!("m{number}")).collect();
        let text = |number| match number {
            0 => "slow",
            7 => "bad",
            _ => "quick",
        };
        let given = std::array::from_fn::<_, 50, _>(|number| {
            (Some(ids[number].as_str()), text(number), &[][..])
        });
        let consumer = FakeSqs::default().consumer(None).with_busy(10);
        let response = consumer.consume(event(given), MINUTE, handle).await;
        let mut named = failed(&response);
        named.sort_unstable();
        assert_eq!(named, ["m0", "m7"], "only these are delivered again");
        let handled = handled.into_inner().expect("no panic");
        assert_eq!(handled.len(), 49);
        assert!(handled.values().all(|at| *at < SLOW_AFTER), "{handled:?}");
    }

    /// The event source may deliver a batch of one team, whose targets all hang.
    #[tokio::test(start_paused = true)]
    async fn a_batch_that_hangs_leaves_a_quarter_of_the_places_to_others() {
        const BATCH: usize = Destination::Tool(Tool::Status).batch();
        let most = limit_for_share(BATCH);
        assert_eq!(team_share(most), BATCH);
        let sqs = FakeSqs::default();
        sqs.put(["quick"; 40]);
        let began = Instant::now();
        let quick = Mutex::new(Vec::new());
        let handle = |message: SqsBody| {
            let quick = &quick;
            async move {
                if message.text == "slow" {
                    sleep(Duration::from_secs(30)).await;
                } else {
                    quick.lock().expect("no panic").push(began.elapsed());
                }
                Ok::<_, &str>(())
            }
        };
        let given = std::array::from_fn::<_, BATCH, _>(|_| (Some("id"), "slow", &[][..]));
        let refill = Refill { longest: Duration::from_secs(40), most };
        let consumer = sqs.consumer(Some(refill)).with_busy(10);
        consumer.consume(event(given), 2 * MINUTE, handle).await;
        let quick = quick.into_inner().expect("no panic");
        assert_eq!(quick.len(), 40);
        assert!(quick.iter().all(|at| *at < Duration::from_secs(6)), "{quick:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_received_that_would_not_be_done_in_time_or_while_nothing_is_slow() {
        let refill = |longest| Some(Refill { longest, most: 10 });
        for (refill, seconds) in
            [(refill(MINUTE), 30), (refill(Duration::from_secs(40)), 0), (None, 30)]
        {
            let sqs = FakeSqs::default();
            sqs.put(["more"]);
            let handle = |message: SqsBody| async move {
                assert_ne!(message.text, "more");
                sleep(Duration::from_secs(seconds)).await;
                Ok::<_, &str>(())
            };
            let event = event([(Some("one"), "given", &[])]);
            sqs.consumer(refill).consume(event, MINUTE, handle).await;
            assert_eq!(sqs.asked(), [""; 0]);
        }
    }
}
