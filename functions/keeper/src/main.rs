//! The keeper's Lambda functions; `Handler` says whether it sweeps or consumes the upkeep queue.

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use futures::future::join_all;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use tracing::{error, info};
use vedette_keeper::{sweep, upkeep_body};
use vedette_runtime::config::{Service, environment};
use vedette_runtime::{App, aws, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let app = Arc::new(aws::lambda_app(Service::read(&environment)?)?);
    app.store.warm_up().await?;
    match environment("_HANDLER").as_deref() {
        Some("sweep") => {
            run(service_fn(|_: LambdaEvent<serde_json::Value>| {
                let app = Arc::clone(&app);
                async move {
                    let swept = sweep(&app).await?;
                    info!(sent = swept.sent, failed = swept.failed, "swept");
                    Ok::<_, Error>(())
                }
            }))
            .await
        }
        Some("upkeep") => {
            run(service_fn(|event: LambdaEvent<SqsEvent>| {
                let app = Arc::clone(&app);
                async move { Ok::<_, Error>(consume(&app, &event.payload).await) }
            }))
            .await
        }
        other => Err(format!("the keeper has no handler `{}`", other.unwrap_or_default()).into()),
    }
}

/// Works off a batch; messages fail one by one.
async fn consume(app: &App, event: &SqsEvent) -> SqsBatchResponse {
    let outcomes = join_all(event.records.iter().map(|message| async move {
        let id = message.message_id.as_deref().unwrap_or_default();
        let outcome = upkeep_body(app, message.body.as_deref().unwrap_or_default()).await;
        let failure = outcome.err()?;
        error!(message = id, %failure, "message failed");
        // An empty id would fail the whole batch.
        Some(id).filter(|id| !id.is_empty())
    }));
    let mut response = SqsBatchResponse::default();
    for id in outcomes.await.into_iter().flatten() {
        response.add_failure(id);
    }
    response
}
