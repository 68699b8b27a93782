//! The messages of an invocation of the Lambda function.

use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use tokio::time::timeout;
use tracing::debug;
use vedette_ops::ErrorChain;
use vedette_runtime::{App, Consumer, SLOW_AFTER, SqsBody};
use vedette_store::RunContext;

use crate::{CheckerError, Engines, Incoming, Metrics, handle_body};

/// Short checks of a function that need the processor at once. With 256 MB, a function has a seventh of a processor, on
/// which ten checks take a tenth of a second, and each more would lengthen the response times that they measure.
pub const BUSY: usize = 10;

/// Handles the messages of an invocation that has this much time `left`. Returns those that failed, and what became of
/// the others.
pub async fn handle_batch(
    app: &App,
    engines: &Engines,
    consumer: &Consumer,
    event: SqsEvent,
    left: Duration,
    request_id: &str,
) -> (SqsBatchResponse, Metrics) {
    let metrics = Metrics::default();
    let read = |messages| read_together(app, messages);
    let handle = |body: SqsBody, read: Option<Box<RunContext>>| {
        let metrics = &metrics;
        async move {
            let sent_at = body.sent_at.unwrap_or_else(|| app.clock.now());
            let handled = Box::pin(handle_body(app, engines, &body.text, sent_at, read)).await?;
            metrics.add(&handled);
            handled.log(&body.id, request_id);
            Ok::<_, CheckerError>(())
        }
    };
    let response = consumer.consume_read(event, left, read, handle).await;
    (response, metrics)
}

/// Reads what the runs of messages need, each team once. Where that fails, each run reads by itself, and fails by itself.
async fn read_together(
    app: &App,
    messages: Vec<SqsBody>,
) -> Vec<(SqsBody, Option<Box<RunContext>>)> {
    let subject = |message: &SqsBody| Some(Incoming::parse(&message.text).ok()?.subject());
    let runs: Vec<_> = messages.iter().filter_map(subject).collect();
    let found = match timeout(SLOW_AFTER, app.store.run_contexts_relaxed(&runs)).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            debug!(error = %ErrorChain(&error), "could not read for a batch");
            Default::default()
        }
        Err(_) => Default::default(),
    };
    let with_context = |message: SqsBody| {
        let context = subject(&message).and_then(|run| found.get(&run).cloned());
        (message, context.map(Box::new))
    };
    messages.into_iter().map(with_context).collect()
}
