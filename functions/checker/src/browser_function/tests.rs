use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_types::region::Region;
use serde_json::json;
use tokio::time::{Instant, sleep};
use vedette_domain::checks::browser_job::{BrowserAnswer, BrowserWork, JobHeader};
use vedette_domain::checks::check::{PerformanceResult, SpeedMetrics, ToolResult};
use vedette_domain::sites::settings::LinksSettings;

use super::*;

const PAGE: &str = "https://example.com/cart";
const FUNCTION: &str = "vedette-browser";

/// A fake Lambda, which answers every call in the same way.
#[derive(Debug, Clone)]
struct Lambda {
    answer: Answer,
    asked: Arc<Mutex<Vec<HttpRequest>>>,
}

#[derive(Debug, Clone)]
enum Answer {
    /// With this status, header and body.
    Told(u16, (&'static str, &'static str), String),
    /// After a delay.
    Late(Duration, String),
    /// By closing the connection.
    Hangup,
}

impl HttpConnector for Lambda {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.asked.lock().expect("no panic").push(request);
        let response = |status: u16, (name, value): (&'static str, &'static str), body: String| {
            let status = status.try_into().expect("a status");
            let mut response = HttpResponse::new(status, SdkBody::from(body));
            response.headers_mut().insert(name, value);
            response
        };
        match self.answer.clone() {
            Answer::Told(status, header, body) => {
                HttpConnectorFuture::ready(Ok(response(status, header, body)))
            }
            Answer::Late(after, body) => HttpConnectorFuture::new(async move {
                sleep(after).await;
                Ok(response(200, ("x-amzn-requestid", "late"), body))
            }),
            Answer::Hangup => {
                HttpConnectorFuture::ready(Err(ConnectorError::io("it is closed".into())))
            }
        }
    }
}

impl Lambda {
    fn new(answer: Answer) -> Self {
        Self { answer, asked: Arc::default() }
    }

    fn telling(body: impl Into<String>) -> Self {
        Self::new(Answer::Told(200, ("x-amzn-requestid", "one"), body.into()))
    }

    fn function(&self) -> BrowserFunction {
        let connector = SharedHttpConnector::new(self.clone());
        let credentials = Credentials::new("AKIDTEST", "secret", None, None, "test");
        let sdk = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("eu-central-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .build();
        BrowserFunction::new(&sdk, FUNCTION.to_owned())
    }

    async fn run(&self, job: &BrowserJob) -> Result<Finish, BrowserUnavailable> {
        let now = "2026-11-20T12:00:00Z".parse().expect("a time");
        self.function().run(job, now).await
    }

    fn calls(&self) -> usize {
        self.asked.lock().expect("no panic").len()
    }
}

fn job(work: BrowserWork) -> BrowserJob {
    let header = Some(JobHeader::from(("Authorization", "Bearer of the site")));
    BrowserJob { url: PAGE.parse().expect("a URL"), header, work }
}

fn audited() -> Box<PerformanceResult> {
    let url = PAGE.to_owned();
    Box::new(PerformanceResult { response_time: 12.5, url, speed_metrics: SpeedMetrics::default() })
}

fn written(answer: &BrowserAnswer) -> String {
    serde_json::to_string(answer).expect("JSON")
}

/// The message of a check that the browser could not run.
fn message(finish: Result<Finish, BrowserUnavailable>) -> String {
    match finish {
        Ok(Finish::Failed(error)) if error.code == BROWSER_UNAVAILABLE => error.message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_function_is_called_once_and_its_answer_is_the_end_of_the_check() {
    let lambda = Lambda::telling(written(&BrowserAnswer::Audited(audited())));
    let job = job(BrowserWork::Audit);
    let finish = lambda.run(&job).await.expect("run");
    assert_eq!(finish, Finish::Completed(ToolResult::Performance(audited())));
    let asked = lambda.asked.lock().expect("no panic");
    let [request] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(request.method(), "POST");
    let url = "https://lambda.eu-central-1.amazonaws.com/2015-03-31/functions/vedette-browser/invocations";
    assert_eq!(request.uri(), url);
    assert!(
        request.headers().get("authorization").is_some_and(|signed| signed.contains("/lambda/"))
    );
    let sent = request.body().bytes().expect("a body");
    assert_eq!(serde_json::from_slice::<BrowserJob>(sent).expect("a job"), job);
}

#[tokio::test]
async fn a_lost_answer_says_nothing_of_the_page() {
    let refusals = [500, 502, 403, 404].map(|status| {
        let kind = ("x-amzn-errortype", "ServiceException:http://internal.amazon.com/");
        Answer::Told(status, kind, r#"{"Message":"by a test"}"#.to_owned())
    });
    for answer in refusals.into_iter().chain([Answer::Hangup]) {
        let lambda = Lambda::new(answer.clone());
        let lost = lambda.run(&job(BrowserWork::Audit)).await;
        assert!(matches!(lost, Err(BrowserUnavailable::Unanswered(_))), "{answer:?}: {lost:?}");
        assert_eq!(lambda.calls(), 1, "the browser would do its work twice");
    }
}

#[tokio::test]
async fn a_busy_function_is_asked_again_later() {
    let kind = ("x-amzn-errortype", "TooManyRequestsException");
    let lambda = Lambda::new(Answer::Told(429, kind, "{}".to_owned()));
    let busy = lambda.run(&job(BrowserWork::Audit)).await;
    assert!(matches!(busy, Err(BrowserUnavailable::Busy)), "{busy:?}");
    assert_eq!(lambda.calls(), 1);
}

#[tokio::test]
async fn a_function_that_crashes_or_returns_too_much_fails_the_check() {
    for kind in ["Runtime.ExitError", "Sandbox.Timedout", "Function.ResponseSizeTooLarge"] {
        let body = json!({ "errorType": kind, "errorMessage": "Bearer of the site" }).to_string();
        let lambda = Lambda::new(Answer::Told(200, ("x-amz-function-error", "Unhandled"), body));
        let said = message(lambda.run(&job(BrowserWork::Audit)).await);
        assert_eq!(said, "the browser ended without an answer");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_fails_the_check() {
    let audit = written(&BrowserAnswer::Audited(audited()));
    let crawl = job((&LinksSettings::default()).into());
    for (job, answer) in [
        (&crawl, audit),
        (&crawl, "null".to_owned()),
        (&job(BrowserWork::Audit), "<html>".to_owned()),
    ] {
        let said = message(Lambda::telling(answer).run(job).await);
        assert_eq!(said, "the browser gave an impossible answer");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_awaited_for_minutes_and_not_forever() {
    for job in [job(BrowserWork::Audit), job((&LinksSettings::default()).into())] {
        let limits = job.tool().limits();
        let answer = written(&BrowserAnswer::Failed(CheckError {
            message: "the audit failed".to_owned(),
            code: "audit_failed".to_owned(),
            data: json!({}),
        }));
        let late = Lambda::new(Answer::Late(limits.deadline + Duration::from_secs(10), answer));
        let Ok(Finish::Failed(error)) = late.run(&job).await else { panic!("no answer") };
        assert_eq!(error.code, "audit_failed");

        let never = Lambda::new(Answer::Late(Duration::from_hours(1), String::new()));
        let began = Instant::now();
        assert_eq!(message(never.run(&job).await), "the browser did not answer in time");
        assert!(began.elapsed() < limits.run.unsigned_abs(), "{}", job.tool());
    }
}
