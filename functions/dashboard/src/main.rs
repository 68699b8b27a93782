//! The Lambda functions of the dashboard: one shows pages, one handles forms, and one handles the forms for accounts
//! and talks to the OpenID provider. Another one shows status pages to their readers.

use std::future::ready;
use std::sync::Arc;

use aws_types::SdkConfig;
use lambda_http::{Error, Request, run, service_fn};
use tracing::error;
use vedette_dashboard::{
    Dashboard, Function, PAGES, Provider, ProviderConfig, PublicFunction, StatusPages, find_page,
    find_public, is_for_people, not_found, not_published,
};
use vedette_domain::status_pages::PageAddress;
use vedette_http::error::ApiError;
use vedette_http::response::for_method;
use vedette_ops::ErrorChain;
use vedette_probe::ssrf_guard::Outbound;
use vedette_probe::txt::TxtResolver;
use vedette_routing::serve;
use vedette_runtime::config::{Service, environment};
use vedette_runtime::{App, TxtRecords, aws, secret, telemetry};

/// The OpenID provider, if there is one. If its configuration is wrong, people can still sign in with links.
async fn provider(sdk: &SdkConfig) -> Option<Provider> {
    let stored = secret(ProviderConfig::SECRET, &environment, sdk).await;
    let read = || {
        let stored = stored?;
        let read = |name: &str| match (name, &stored) {
            (ProviderConfig::CLIENT_SECRET, Some(secret)) => Some(secret.clone()),
            _ => environment(name),
        };
        let Some(config) = ProviderConfig::read(&read)? else { return Ok(None) };
        Provider::new(config, Outbound::read(&environment)?).map(Some).map_err(Error::from)
    };
    read().unwrap_or_else(|problem: Error| {
        let problem = ErrorChain(&*problem);
        error!(%problem, "nobody can sign in at the OpenID provider until this is fixed");
        None
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let name = environment("_HANDLER").unwrap_or_default();
    let sdk = aws::lambda_sdk_config(&environment)?;
    let mut app = aws::lambda_app(Service::read(&environment)?, &sdk)?;
    app.txt_records = TxtRecords::from_fn(TxtResolver::of_the_system().into_fn());
    let app = Arc::new(app);
    if PublicFunction::ALL.into_iter().any(|function| function.name() == name) {
        return serve_readers(app).await;
    }
    let function = Function::ALL.into_iter().find(|function| function.name() == name);
    let function = function.ok_or_else(|| format!("no handler is named `{name}`"))?;
    // Only one function talks to the OpenID provider.
    let provider = if function == Function::Accounts { provider(&sdk).await } else { None };
    let dashboard = Dashboard::new(provider);
    // Only one function connects to addresses that people type.
    let dashboard = Arc::new(match function {
        Function::Write => dashboard.reaching(Outbound::read(&environment)?),
        Function::Read | Function::Accounts => dashboard,
    });
    app.warm_up().await;
    run(service_fn(|request: Request| {
        let (app, dashboard) = (Arc::clone(&app), Arc::clone(&dashboard));
        async move {
            let (head, body) = request.into_parts();
            let response = match find_page(PAGES, &head) {
                Some(page) => serve(&*dashboard, &app, page, &head, |_| ready(Ok(body))).await,
                None if is_for_people(&head) => not_found(&app, &head),
                None => ApiError::NotFound.into_response(),
            };
            Ok::<_, Error>(for_method(&head.method, response))
        }
    }))
    .await
}

/// Serves status pages to their readers.
async fn serve_readers(app: Arc<App>) -> Result<(), Error> {
    app.warm_up_with(app.store.published(&PageAddress::nowhere())).await;
    run(service_fn(|request: Request| {
        let app = Arc::clone(&app);
        async move {
            let (head, body) = request.into_parts();
            let response = match find_public(&head) {
                Some(page) => serve(&StatusPages, &app, page, &head, |_| ready(Ok(body))).await,
                None => not_published(&app, &head),
            };
            Ok::<_, Error>(for_method(&head.method, response))
        }
    }))
    .await
}
