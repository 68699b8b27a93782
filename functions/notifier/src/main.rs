//! The Lambda function that consumes the alert queue.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use vedette_domain::alerts::channel_state::LEASE;
use vedette_notifier::handle_body;
use vedette_notifier::send::{MailTransport, SendConfig, Sender};
use vedette_probe::ssrf_guard::SsrfGuard;
use vedette_runtime::config::{Service, environment};
use vedette_runtime::{Consumer, Destination, SqsBody, aws, telemetry};

/// The most messages that an invocation handles at once. Most of them wait for a receiver, each with a socket and about
/// 100 KB.
const AT_ONCE: usize = 100;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let sdk = aws::lambda_sdk_config(&environment)?;
    let SendConfig { mail, receivers } =
        SendConfig::read(&environment, MailTransport::Ses(Box::new(sdk.clone())))?;
    let app = aws::lambda_app(Service::read(&environment)?, &sdk)?;
    let guard = Arc::new(SsrfGuard::new(receivers)?);
    let sender = Sender::new(guard, mail).reporting_to(app.health.clone());
    let consumer = Consumer::new(&app, Destination::Alerts)?;
    let consumer = consumer.refilling(LEASE.unsigned_abs(), AT_ONCE);
    run(service_fn(|event: LambdaEvent<SqsEvent>| {
        let (app, sender, consumer) = (&app, &sender, &consumer);
        async move {
            let handle = |body: SqsBody| async move { handle_body(app, sender, &body.text).await };
            let left = app.clock.until(event.context.deadline);
            Ok::<_, Error>(consumer.consume(event.payload, left, handle).await)
        }
    }))
    .await
}
