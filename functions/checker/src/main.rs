//! The Lambda function that consumes one check queue; its `Handler` names the tool, or the command line
//! where the function is a container image.

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use tracing::info;
use vedette_checker::{
    CheckerError, Config, Engines, Metrics, adopt_orphans, auditor_key, handle_body,
};
use vedette_domain::tool::Tool;
use vedette_runtime::config::environment;
use vedette_runtime::{BATCH, Consumer, Destination, SqsBody, aws, telemetry};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let argument = std::env::args().nth(1);
    let name = argument.or_else(|| environment("_HANDLER")).unwrap_or_default();
    let tool = Tool::parse(&name).ok_or_else(|| format!("no tool is named `{name}`"))?;
    let sdk = aws::lambda_sdk_config(&environment)?;
    let key = auditor_key(tool, &environment, &sdk).await?;
    let read = |name: &str| match (name, &key) {
        ("VEDETTE_PAGESPEED_KEY", Some(key)) => Some(key.clone()),
        _ => environment(name),
    };
    let Config { service, outbound, engines } = Config::of_function(tool, &read)?;
    let app = aws::lambda_app(service, &sdk)?;
    let engines = Engines::new(outbound, engines)?;
    if tool.is_long() {
        adopt_orphans();
    }
    app.warm_up().await;
    let mut consumer = Consumer::new(&app, Destination::Tool(tool))?;
    if !tool.is_long() {
        consumer = consumer.refilling(tool.limits().run.unsigned_abs(), BATCH);
    }
    let namespace = environment("VEDETTE_METRICS");
    run(service_fn(|event: LambdaEvent<SqsEvent>| {
        let (app, engines, consumer, namespace) = (&app, &engines, &consumer, &namespace);
        async move {
            let (request_id, left) =
                (event.context.request_id, app.clock.until(event.context.deadline));
            let metrics = Metrics::default();
            let handle = |body: SqsBody| {
                let (metrics, request_id) = (&metrics, &request_id);
                async move {
                    let sent_at = body.sent_at.unwrap_or_else(|| app.clock.now());
                    let handled = handle_body(app, engines, &body.text, sent_at).await?;
                    metrics.add(&handled);
                    info!(message_id = body.id, request_id, "{handled}");
                    Ok::<_, CheckerError>(())
                }
            };
            let response = consumer.consume(event.payload, left, handle).await;
            if let Some(namespace) = namespace {
                metrics.emit(namespace, tool, app.clock.now());
            }
            Ok::<_, Error>(response)
        }
    }))
    .await
}
