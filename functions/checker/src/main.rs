//! The Lambda function that consumes one check queue; its `Handler` names the tool.

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use tracing::info;
use vedette_checker::{CheckerError, Config, Engines, auditor_key, handle_body};
use vedette_runtime::config::environment;
use vedette_runtime::sqs::{SqsBody, consume};
use vedette_runtime::{aws, telemetry};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let key = auditor_key(&environment, &aws::lambda_sdk_config(&environment)?).await?;
    let read = |name: &str| match (name, &key) {
        ("VEDETTE_PAGESPEED_KEY", Some(key)) => Some(key.clone()),
        _ => environment(name),
    };
    let Config { service, outbound, engines } = Config::read(&read)?;
    let app = aws::lambda_app(service)?;
    let engines = Engines::new(outbound, engines)?;
    app.warm_up().await;
    run(service_fn(|event: LambdaEvent<SqsEvent>| {
        let (app, engines) = (&app, &engines);
        async move {
            let handle = |body: SqsBody| async move {
                let sent_at = body.sent_at.unwrap_or_else(|| app.clock.now());
                let handled = handle_body(app, engines, &body.text, sent_at).await?;
                info!(message = body.id, %handled);
                Ok::<_, CheckerError>(())
            };
            Ok::<_, Error>(consume(event.payload, handle).await)
        }
    }))
    .await
}
