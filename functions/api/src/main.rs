//! The Lambda function of one route, or of pings; its `Handler` names the route.

use std::sync::Arc;

use lambda_http::{Error, Request, RequestExt as _, run, service_fn};
use vedette_api::PING_FUNCTION;
use vedette_http::response::for_method;
use vedette_probe::txt::TxtResolver;
use vedette_runtime::config::{Service, environment};
use vedette_runtime::{TxtRecords, aws, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let name = environment("_HANDLER").unwrap_or_default();
    if name == PING_FUNCTION {
        return serve_pings().await;
    }
    let route = vedette_api::named(&name).ok_or_else(|| format!("no route is named `{name}`"))?;
    let sdk = aws::lambda_sdk_config(&environment)?;
    let mut app = aws::lambda_app(Service::read(&environment)?, &sdk)?;
    app.txt_records = TxtRecords::from_fn(TxtResolver::of_the_system().into_fn());
    let app = Arc::new(app);
    if route.audience.scope().is_some() {
        app.warm_up().await;
    }
    run(service_fn(|request: Request| {
        let app = Arc::clone(&app);
        async move {
            let deadline =
                request.lambda_context_ref().map_or(u64::MAX, |context| context.deadline);
            let left = app.clock.until(deadline);
            Ok::<_, Error>(vedette_api::answer_within(&app, route, request, left).await)
        }
    }))
    .await
}

/// Serves the addresses that jobs ping.
async fn serve_pings() -> Result<(), Error> {
    let sdk = aws::lambda_sdk_config(&environment)?;
    let app = Arc::new(aws::lambda_app(Service::read(&environment)?, &sdk)?);
    run(service_fn(|request: Request| {
        let app = Arc::clone(&app);
        async move {
            let (head, body) = request.into_parts();
            let response = vedette_api::answer_ping(&app, &head, body.as_ref()).await;
            Ok::<_, Error>(for_method(&head.method, response))
        }
    }))
    .await
}
