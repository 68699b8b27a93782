//! The Lambda function of all pages.

use std::sync::Arc;

use lambda_http::{Error, Request, run, service_fn};
use vedette_dashboard::{HANDLER, find, not_found, serve};
use vedette_runtime::config::{Service, environment};
use vedette_runtime::{aws, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let name = environment("_HANDLER").unwrap_or_default();
    if name != HANDLER {
        return Err(format!("no handler is named `{name}`").into());
    }
    let sdk = aws::lambda_sdk_config(&environment)?;
    let app = Arc::new(aws::lambda_app(Service::read(&environment)?, &sdk)?);
    // It may read channels only, and few look at its pages: nothing is opened beforehand.
    run(service_fn(|request: Request| {
        let app = Arc::clone(&app);
        async move {
            let (head, _) = request.into_parts();
            Ok::<_, Error>(match find(&head) {
                Some(page) => serve(&app, page, &head).await,
                None => not_found(),
            })
        }
    }))
    .await
}
