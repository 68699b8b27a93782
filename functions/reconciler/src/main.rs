//! The reconciler's Lambda functions. `Handler` says whether a function redelivers overdue work, sends polled runs or
//! consumes the reconcile queue.

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use tracing::{info, warn};
use vedette_ops::ErrorChain;
use vedette_reconciler::{
    Gauge, Redelivered, dispatch, gauge, handle_body, is_time_for_gauge, rebuild_all, redeliver,
};
use vedette_runtime::config::{Service, environment};
use vedette_runtime::metrics::{self, Metric};
use vedette_runtime::{Consumer, Destination, SqsBody, aws, telemetry};

/// What a schedule requests from redelivery.
#[derive(Debug, serde::Deserialize)]
struct Scheduled {
    /// Set once a night; otherwise it is an ordinary pass.
    #[serde(default)]
    rebuild: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let sdk = aws::lambda_sdk_config(&environment)?;
    let app = aws::lambda_app(Service::read(&environment)?, &sdk)?;
    let handler = environment("_HANDLER");
    // The polling scheduler may read only polled runs, so it cannot open the connection with another read.
    if handler.as_deref() != Some("dispatch") {
        app.warm_up().await;
    }
    match handler.as_deref() {
        Some("redelivery") => {
            run(service_fn(|event: LambdaEvent<Scheduled>| {
                let app = &app;
                async move {
                    if event.payload.rebuild {
                        let teams = rebuild_all(app).await?;
                        info!(teams, "requested the nightly rebuild of all teams");
                        return Ok(());
                    }
                    let redelivered = redeliver(app).await?;
                    let Redelivered { sent, failed, unreadable } = redelivered;
                    info!(sent, failed, unreadable, "sent overdue work again");
                    let now = app.clock.now();
                    if is_time_for_gauge(now) {
                        // Overdue work has been sent, and the next period has a gauge of its own.
                        match gauge(app).await {
                            Ok(gauges) => {
                                for (tool, Gauge { due, done }) in gauges {
                                    let figures =
                                        [(Metric::RunsDue, due), (Metric::RunsDone, done)];
                                    metrics::emit_of_tool(tool, &figures, now);
                                }
                            }
                            Err(error) => {
                                warn!(error = %ErrorChain(&error), "could not compute the gauge");
                            }
                        }
                    }
                    Ok::<_, Error>(())
                }
            }))
            .await
        }
        Some("dispatch") => {
            run(service_fn(|_: LambdaEvent<serde_json::Value>| {
                let app = &app;
                async move {
                    let sent = dispatch(app).await?;
                    info!(sent, "sent recurring runs");
                    Ok::<_, Error>(())
                }
            }))
            .await
        }
        Some("reconcile") => {
            let consumer = Consumer::new(&app, Destination::Reconcile)?;
            run(service_fn(|event: LambdaEvent<SqsEvent>| {
                let (app, consumer) = (&app, &consumer);
                async move {
                    let handle = |body: SqsBody| async move { handle_body(app, &body.text).await };
                    let left = app.clock.until(event.context.deadline);
                    Ok::<_, Error>(consumer.consume(event.payload, left, handle).await)
                }
            }))
            .await
        }
        other => {
            Err(format!("the reconciler has no handler `{}`", other.unwrap_or_default()).into())
        }
    }
}
