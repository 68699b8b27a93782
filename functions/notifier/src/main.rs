//! The Lambda function that consumes the alert queue.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use vedette_notifier::handle_body;
use vedette_notifier::send::{MailConfig, MailWay, Sender};
use vedette_probe::guard::{Guard, Outbound};
use vedette_runtime::config::{Service, environment};
use vedette_runtime::{Consumer, Destination, SqsBody, aws, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let sdk = aws::lambda_sdk_config(&environment)?;
    let mail = MailConfig::read(&environment, MailWay::Ses(Box::new(sdk.clone())))?;
    let sender = Sender::new(Arc::new(Guard::new(Outbound::read(&environment)?)?), mail);
    let app = aws::lambda_app(Service::read(&environment)?, &sdk)?;
    let consumer = Consumer::new(&app, Destination::Alerts)?;
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
