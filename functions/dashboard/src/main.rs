//! The Lambda functions of the pages: one shows them, one does what their forms ask for, and one does so with
//! accounts and asks the OpenID provider.

use std::future::ready;
use std::sync::Arc;

use lambda_http::{Error, Request, run, service_fn};
use vedette_dashboard::{ACCOUNTS, Provider, ProviderConfig, READ, WRITE, find, not_found, serve};
use vedette_runtime::config::{Service, environment};
use vedette_runtime::{aws, outbound, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let name = environment("_HANDLER").unwrap_or_default();
    if ![READ, WRITE, ACCOUNTS].contains(&name.as_str()) {
        return Err(format!("no handler is named `{name}`").into());
    }
    let sdk = aws::lambda_sdk_config(&environment)?;
    // One function alone asks the OpenID provider.
    let config = if name == ACCOUNTS { ProviderConfig::read(&environment)? } else { None };
    let provider = match config {
        Some(config) => Some(Arc::new(Provider::new(config, outbound(&environment)?)?)),
        None => None,
    };
    let app = Arc::new(aws::lambda_app(Service::read(&environment)?, &sdk)?);
    app.warm_up().await;
    run(service_fn(|request: Request| {
        let (app, provider) = (Arc::clone(&app), provider.clone());
        async move {
            let (head, body) = request.into_parts();
            Ok::<_, Error>(match find(&head) {
                Some(page) => {
                    serve(&app, provider.as_deref(), page, &head, |_| ready(Ok(body))).await
                }
                None => not_found(),
            })
        }
    }))
    .await
}
