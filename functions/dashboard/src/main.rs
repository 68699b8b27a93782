//! The Lambda functions of the pages: one shows them, one does what their forms ask for, and one does so with
//! accounts and asks the OpenID provider.

use std::future::ready;
use std::sync::Arc;

use aws_types::SdkConfig;
use lambda_http::{Error, Request, run, service_fn};
use tracing::error;
use vedette_dashboard::{Dashboard, Function, PAGES, Provider, ProviderConfig, not_found};
use vedette_domain::ErrorChain;
use vedette_probe::ssrf_guard::Outbound;
use vedette_routing::{find, serve};
use vedette_runtime::config::{Service, environment};
use vedette_runtime::{aws, secret, telemetry};

/// The OpenID provider, if there is one. Where its configuration is wrong, people still sign in by links.
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
    let function = Function::ALL.into_iter().find(|function| function.name() == name);
    let function = function.ok_or_else(|| format!("no handler is named `{name}`"))?;
    let sdk = aws::lambda_sdk_config(&environment)?;
    // One function alone asks the OpenID provider.
    let provider = if function == Function::Accounts { provider(&sdk).await } else { None };
    let dashboard = Dashboard::new(provider);
    // One function alone looks at what people type.
    let dashboard = Arc::new(match function {
        Function::Write => dashboard.reaching(Outbound::read(&environment)?),
        Function::Read | Function::Accounts => dashboard,
    });
    let app = Arc::new(aws::lambda_app(Service::read(&environment)?, &sdk)?);
    app.warm_up().await;
    run(service_fn(|request: Request| {
        let (app, dashboard) = (Arc::clone(&app), Arc::clone(&dashboard));
        async move {
            let (head, body) = request.into_parts();
            Ok::<_, Error>(match find(PAGES, &head) {
                Some(page) => serve(&*dashboard, &app, page, &head, |_| ready(Ok(body))).await,
                None => not_found(&app, &head),
            })
        }
    }))
    .await
}
