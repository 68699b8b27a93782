//! The Lambda function that consumes one check queue; its `Handler` names the tool.

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::join_all;
use jiff::Timestamp;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use tracing::{error, info};
use vedette_checker::{Config, Engines, handle_body};
use vedette_runtime::config::environment;
use vedette_runtime::{App, aws, telemetry};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let Config { service, outbound, engines } = Config::read(&environment)?;
    let app = Arc::new(aws::lambda_app(service)?);
    let engines = Arc::new(Engines::new(outbound, engines)?);
    app.store.warm_up().await?;
    run(service_fn(|event: LambdaEvent<SqsEvent>| {
        let (app, engines) = (Arc::clone(&app), Arc::clone(&engines));
        async move { Ok::<_, Error>(consume(&app, &engines, &event.payload.records).await) }
    }))
    .await
}

/// Works off a batch; messages run at once, and fail one by one.
async fn consume(app: &App, engines: &Engines, messages: &[SqsMessage]) -> SqsBatchResponse {
    let outcomes = join_all(messages.iter().map(|message| async move {
        let id = message.message_id.as_deref().unwrap_or_default();
        let body = message.body.as_deref().unwrap_or_default();
        match handle_body(app, engines, body, sent_at(app, message)).await {
            Ok(handled) => {
                info!(message = id, %handled);
                None
            }
            Err(failure) => {
                error!(message = id, %failure, "message failed");
                // An empty id would fail the whole batch.
                Some(id).filter(|id| !id.is_empty())
            }
        }
    }));
    let mut response = SqsBatchResponse::default();
    for id in outcomes.await.into_iter().flatten() {
        response.add_failure(id);
    }
    response
}

/// When the message was sent, or now where the queue does not say.
fn sent_at(app: &App, message: &SqsMessage) -> Timestamp {
    message
        .attributes
        .get("SentTimestamp")
        .and_then(|millis| Timestamp::from_millisecond(millis.parse().ok()?).ok())
        .unwrap_or_else(|| app.clock.now())
}
