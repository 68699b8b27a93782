//! The Lambda function that consumes one check queue, the browser function, or an outpost. Its `Handler` says which; in a
//! container image, the command line does.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;
use tokio::time::timeout;
use tracing::{Instrument as _, error_span, info};
use vedette_checker::{
    BROWSER, BUSY, BrowserFunction, Config, Engines, OUTPOST, Outposts, adopt_orphans, auditor_key,
    handle_batch,
};
use vedette_domain::checks::browser_job::{BrowserAnswer, BrowserJob};
use vedette_domain::checks::concurrency::limit_for_share;
use vedette_domain::checks::tool::Tool;
use vedette_domain::locations::{Answer, NoVote, Question};
use vedette_probe::txt::TxtResolver;
use vedette_runtime::config::environment;
use vedette_runtime::metrics::NAMESPACE;
use vedette_runtime::{
    Clock, Consumer, Destination, PrivateTargets, RemoteChecks, TxtRecords, aws, telemetry,
};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let argument = std::env::args().nth(1);
    let name = argument.or_else(|| environment("_HANDLER")).unwrap_or_default();
    if name == BROWSER {
        return browse().await;
    }
    if name == OUTPOST {
        return remote_check().await;
    }
    let tool = Tool::parse(&name).ok_or_else(|| format!("no tool is named `{name}`"))?;
    consume(tool).await
}

/// Handles the messages of a tool's queue.
async fn consume(tool: Tool) -> Result<(), Error> {
    let sdk = aws::lambda_sdk_config(&environment)?;
    let key = auditor_key(tool, &environment, &sdk).await?;
    let read = |name: &str| match (name, &key) {
        ("VEDETTE_PAGESPEED_KEY", Some(key)) => Some(key.clone()),
        _ => environment(name),
    };
    let Config { service, outbound, engines } = Config::of_function(tool, &read)?;
    let mut app = aws::lambda_app(service, &sdk)?;
    let browser_function = engines.browser_function.clone();
    let mut engines = Engines::new(outbound, engines)?;
    if let Some(name) = browser_function {
        engines = engines.with_browser_function(BrowserFunction::new(&sdk, name));
    }
    let engines = Arc::new(engines);
    if tool == Tool::Status {
        app.txt_records = TxtRecords::from_fn(TxtResolver::of_the_system().into_fn());
        let outposts = Arc::new(Outposts::read(&environment, &sdk, app.clock.clone())?);
        let private = Arc::clone(&engines) as Arc<dyn PrivateTargets>;
        app.remote_checks = RemoteChecks::new(outposts).sparing(private);
    }
    app.warm_up().await;
    let mut consumer = Consumer::new(&app, Destination::Tool(tool))?;
    if !tool.is_long() {
        let most = limit_for_share(Destination::Tool(tool).batch());
        consumer = consumer.refilling(tool.limits().run.unsigned_abs(), most).with_busy(BUSY);
    }
    let namespace = environment(NAMESPACE);
    run(service_fn(|event: LambdaEvent<SqsEvent>| {
        let (app, engines, consumer, namespace) = (&app, &engines, &consumer, &namespace);
        async move {
            let (request_id, left) =
                (event.context.request_id, app.clock.until(event.context.deadline));
            let (response, metrics) =
                handle_batch(app, engines, consumer, event.payload, left, &request_id).await;
            if let Some(namespace) = namespace {
                metrics.emit(namespace, tool, &request_id, app.clock.now());
            }
            Ok::<_, Error>(response)
        }
    }))
    .await
}

/// Checks what home asks about, as the outpost of a region. It creates no AWS client, because the function's role allows
/// none of the calls.
async fn remote_check() -> Result<(), Error> {
    let (outbound, engines) = Config::of_location(&environment)?;
    let engines = Engines::new(outbound, engines)?;
    run(service_fn(|event: LambdaEvent<Value>| {
        let engines = &engines;
        async move {
            let request_id = event.context.request_id;
            let answer = match serde_json::from_value::<Question>(event.payload) {
                Ok(question) => engines.look_for(&question).await,
                // The error would repeat parts of the question, so it is not logged.
                Err(_) => Answer::NotChecked(NoVote::Unreadable),
            };
            match &answer {
                Answer::Checked(saw) => info!(request_id, code = saw.code, "answered"),
                Answer::NotChecked(reason) => {
                    info!(request_id, reason = reason.as_str(), "did not check");
                }
            }
            Ok::<_, Error>(answer)
        }
    }))
    .await
}

/// Runs jobs that checkers pass on, one at a time. It creates no AWS client, because the function's role allows none of
/// the calls.
async fn browse() -> Result<(), Error> {
    let (outbound, engines) = Config::of_browser(&environment)?;
    let engines = Engines::new(outbound, engines)?;
    let clock = Clock::system();
    adopt_orphans();
    run(service_fn(|event: LambdaEvent<Value>| {
        let (engines, now) = (&engines, clock.now());
        async move {
            let request_id = event.context.request_id;
            // The error of a job from another version would repeat parts of it, so it is not logged.
            let job: BrowserJob = serde_json::from_value(event.payload).map_err(
                |_| "this is not a valid job: the function and the image have different versions",
            )?;
            let span = error_span!("job", request_id, tool = %job.tool());
            async {
                // After that, no caller waits for the answer any more.
                let done = timeout(job.tool().limits().answer(), engines.do_job(&job, now)).await;
                let answer = done.map_err(|_| "the job took too long")?;
                match &answer {
                    BrowserAnswer::Failed(error) => info!(code = error.code, "failed"),
                    BrowserAnswer::Crawled(_) | BrowserAnswer::Audited(_) => info!("completed"),
                }
                Ok::<_, Error>(answer)
            }
            .instrument(span)
            .await
        }
    }))
    .await
}
