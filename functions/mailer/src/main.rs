//! The Lambda function that consumes the queue of transactional emails.

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use vedette_mailer::handle_body;
use vedette_notifier::send::{MailConfig, MailTransport};
use vedette_runtime::config::{Service, environment};
use vedette_runtime::{Consumer, Destination, SqsBody, aws, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let sdk = aws::lambda_sdk_config(&environment)?;
    let mut mail = MailConfig::read(&environment, MailTransport::Ses(Box::new(sdk.clone())))?;
    let app = aws::lambda_app(Service::read(&environment)?, &sdk)?;
    mail.report_to(app.health.clone());
    let consumer = Consumer::new(&app, Destination::Mailer)?;
    run(service_fn(|event: LambdaEvent<SqsEvent>| {
        let (app, mail, consumer) = (&app, &mail, &consumer);
        async move {
            let handle = |body: SqsBody| async move { handle_body(app, mail, &body.text).await };
            let left = app.clock.until(event.context.deadline);
            Ok::<_, Error>(consumer.consume(event.payload, left, handle).await)
        }
    }))
    .await
}
