//! The keeper's Lambda functions; `Handler` says whether it sweeps or consumes the upkeep queue.

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use tracing::info;
use vedette_keeper::{sweep, upkeep_body};
use vedette_runtime::config::{Service, environment};
use vedette_runtime::sqs::{SqsBody, consume};
use vedette_runtime::{aws, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let app = aws::lambda_app(Service::read(&environment)?)?;
    app.store.warm_up().await?;
    match environment("_HANDLER").as_deref() {
        Some("sweep") => {
            run(service_fn(|_: LambdaEvent<serde_json::Value>| {
                let app = &app;
                async move {
                    let swept = sweep(app).await?;
                    info!(sent = swept.sent, failed = swept.failed, "swept");
                    Ok::<_, Error>(())
                }
            }))
            .await
        }
        Some("upkeep") => {
            run(service_fn(|event: LambdaEvent<SqsEvent>| {
                let app = &app;
                async move {
                    let handle = |body: SqsBody| async move { upkeep_body(app, &body.text).await };
                    Ok::<_, Error>(consume(event.payload, handle).await)
                }
            }))
            .await
        }
        other => Err(format!("the keeper has no handler `{}`", other.unwrap_or_default()).into()),
    }
}
