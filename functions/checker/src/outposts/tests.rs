use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use aws_types::region::Region;
use vedette_domain::locations::RemoteStatus;

use super::*;

/// Lambda, which answers each call in one way.
#[derive(Debug, Clone)]
struct Lambda {
    answer: (u16, &'static str, &'static str),
    asked: Arc<Mutex<Vec<HttpRequest>>>,
}

impl HttpConnector for Lambda {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.asked.lock().expect("no panic").push(request);
        let (status, header, body) = self.answer;
        let status = status.try_into().expect("a status");
        let mut response = HttpResponse::new(status, SdkBody::from(body));
        response.headers_mut().insert(header, "Unhandled");
        HttpConnectorFuture::ready(Ok(response))
    }
}

fn sdk(lambda: &Lambda) -> SdkConfig {
    let connector = SharedHttpConnector::new(lambda.clone());
    let credentials = Credentials::new("AKIDTEST", "secret", None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(http_client_fn(move |_, _| connector.clone()))
        .build()
}

async fn ask(
    answer: (u16, &'static str, &'static str),
) -> (Result<Answer, NoVote>, Vec<HttpRequest>) {
    let lambda = Lambda { answer, asked: Arc::default() };
    let read = |name: &str| match name {
        REGIONS => Some("us-east-1, ap-south-1".to_owned()),
        FUNCTION => Some("vedette-outpost".to_owned()),
        _ => None,
    };
    let outposts = Outposts::read(&read, &sdk(&lambda), Clock::system());
    let outposts = outposts.expect("a configuration");
    let names: Vec<String> = outposts.locations().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["ap-south-1", "us-east-1"]);
    let header = Some(("Authorization", "Bearer of-the-site"));
    let url = "https://example.com/health".parse().expect("a URL");
    let question = Question::new(url, header, Duration::from_secs(9));
    let answered = outposts.ask(&outposts.locations()[1], &question).await;
    let asked = std::mem::take(&mut *lambda.asked.lock().expect("no panic"));
    (answered, asked)
}

#[tokio::test]
async fn an_outpost_is_asked_in_its_region_once() {
    let (answer, asked) =
        ask((200, "x-amzn-requestid", r#"{"saw":{"code":503,"response_time":12.5}}"#)).await;
    let saw = RemoteStatus { code: 503, error: None, response_time: 12.5 };
    assert_eq!(answer, Ok(Answer::Checked(saw)));
    assert_eq!(asked.len(), 1);
    let request = &asked[0];
    let url =
        "https://lambda.us-east-1.amazonaws.com/2015-03-31/functions/vedette-outpost/invocations";
    assert_eq!(request.uri(), url);
    let authorization = request.headers().get("authorization").expect("signed");
    assert!(authorization.contains("/us-east-1/lambda/aws4_request"), "{authorization}");
    let body: serde_json::Value =
        serde_json::from_slice(request.body().bytes().expect("a body")).expect("JSON");
    let sample = include_str!("../../../../events/outpost/question.json");
    assert_eq!(body, serde_json::from_str::<serde_json::Value>(sample).expect("JSON"));
}

#[tokio::test]
async fn a_failed_call_of_an_outpost_is_no_vote() {
    let id = "x-amzn-requestid";
    for (answer, reason) in [
        ((429, "x-amzn-errortype", "{}"), NoVote::Busy),
        ((403, "x-amzn-errortype", "{}"), NoVote::NoAnswer),
        ((500, "x-amzn-errortype", "{}"), NoVote::NoAnswer),
        ((200, "x-amz-function-error", r#"{"errorType":"Runtime.ExitError"}"#), NoVote::NoAnswer),
        ((200, id, ""), NoVote::Unreadable),
        ((200, id, r#"{"saw":{"code":9,"response_time":1}}"#), NoVote::Unreadable),
    ] {
        let (answered, asked) = ask(answer).await;
        assert_eq!((answered, asked.len()), (Err(reason), 1), "{answer:?}");
    }
    let (answered, _) = ask((200, id, r#"{"silent":"offline"}"#)).await;
    assert_eq!(answered, Ok(Answer::NotChecked(NoVote::Offline)));
}

#[test]
fn regions_are_read_and_need_a_function() {
    let lambda = Lambda { answer: (200, "x", ""), asked: Arc::default() };
    let outposts = |regions: &str| {
        let read = |name: &str| (name == REGIONS).then(|| regions.to_owned());
        let outposts = Outposts::read(&read, &sdk(&lambda), Clock::system());
        outposts.map(|outposts| outposts.locations()).map_err(|error| error.name)
    };
    assert_eq!(outposts(""), Ok(Vec::new()));
    assert_eq!(outposts(&["eu-west-1"; REMOTE_LOCATIONS_MAX + 1].join(",")), Err(REGIONS));
    assert_eq!(outposts("us-east-1").expect_err("no function is named"), FUNCTION);
    assert_eq!(outposts("US East").expect_err("no region"), REGIONS);
}
