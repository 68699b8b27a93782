//! An emulator for the AWS services that an operator's commands use: as much of each service as they need, with its
//! real answers and errors. It counts the calls.

mod browser;
mod scheduler;
mod sqs;
mod stack;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use aws_types::region::Region;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use serde_json::Value;
use tokio::net::TcpListener;
use vedette_embedded::TABLE;
use vedette_runtime::Destination;
use vedette_runtime::config::{Deployment, Schedules};

pub use browser::Browser;
pub use scheduler::PAGE as SCHEDULES_OF_A_PAGE;
pub use sqs::{QUEUE_URL_PREFIX, Sent};
pub use stack::STACK;

/// Where the account's services are.
pub const REGION: &str = "eu-central-1";

/// The services of one account in one region.
#[derive(Debug, Clone, Default)]
pub struct Aws(Arc<Mutex<AwsAccount>>);

/// The contents of the account, which tests can read and change.
#[derive(Debug, Default)]
pub struct AwsAccount {
    /// The schedules by name, whatever their group, as last written.
    pub schedules: BTreeMap<String, Value>,
    /// The queues by name, without the deployment's prefix.
    pub queues: BTreeMap<String, Vec<Sent>>,
    /// Whether SQS moves dead letters by itself.
    pub moves_messages: bool,
    moved: usize,
    drawn: i64,
    /// The state of the stack; empty if there is none.
    pub stack_status: String,
    /// The stack's outputs.
    pub outputs: BTreeMap<String, String>,
    /// Queues that no function receives from.
    pub disabled: BTreeSet<String>,
    /// How many functions can run at once.
    pub places: u64,
    /// The function with the browser.
    pub browser: Option<Browser>,
    /// What outposts answer, by region.
    pub outposts: BTreeMap<String, String>,
    /// Whether time to live is on for the table.
    pub forgets_expired: bool,
    /// Whether the table has point-in-time recovery.
    pub is_recoverable: bool,
    /// Operations, or services whose operation is in the path, that are refused after this many further calls, with
    /// this code.
    pub refusing: BTreeMap<String, (u64, String)>,
    /// The `Authorization` headers of all calls.
    pub authorizations: Vec<String>,
    /// How long each call takes, the table's included.
    pub latency: Duration,
    /// How often each operation was called.
    pub calls: BTreeMap<String, u64>,
    /// How many of these calls were refused.
    pub refused: u64,
    /// Calls to EventBridge Scheduler that are in progress, and the most that ever were at once.
    pub under_way: (usize, usize),
}

/// One request in its parts.
struct Call {
    service: String,
    authorization: String,
    /// The operation, if a header names it.
    target: String,
    method: String,
    /// Without the query.
    path: String,
    query: BTreeMap<String, String>,
    /// The original body, and the body as JSON.
    text: String,
    body: Value,
}

/// What a service answers.
struct Answer {
    status: u16,
    body: String,
}

impl Answer {
    fn json(body: &Value) -> Self {
        Self { status: 200, body: body.to_string() }
    }

    /// An error in the form of services that use JSON.
    fn refusal(status: u16, code: &str, message: &str) -> Self {
        let body = serde_json::json!({ "__type": code, "message": message, "Message": message });
        Self { status, body: body.to_string() }
    }
}

/// The names and URLs of a deployment's parts.
pub fn deployment(schedules: Schedules) -> Deployment {
    Deployment {
        table: TABLE.to_owned(),
        queue_url_prefix: QUEUE_URL_PREFIX.to_owned(),
        schedule_group: SCHEDULE_GROUP.to_owned(),
        schedule_target: SCHEDULE_TARGET.to_owned(),
        schedule_role: SCHEDULE_ROLE.to_owned(),
        schedule_dlq: SCHEDULES_DLQ.to_owned(),
        schedules,
    }
}

const SCHEDULE_GROUP: &str = "vedette";
const SCHEDULE_TARGET: &str = "arn:aws:scheduler:::aws-sdk:sqs:sendMessage";
const SCHEDULE_ROLE: &str = "arn:aws:iam::123456789012:role/vedette-schedules";
const SCHEDULES_DLQ: &str = "arn:aws:sqs:eu-central-1:123456789012:vedette-schedules-dlq";

impl Aws {
    /// A complete deployment with nothing wrong, and room for it.
    pub fn deployed(table: &str) -> Self {
        let aws = Self::default();
        let mut account = aws.account();
        let queues = Destination::ALL.map(Destination::name);
        account.make_queues(queues);
        let dead = queues.map(|queue| format!("{queue}-dlq"));
        account.make_queues(dead.iter().map(String::as_str).chain(["schedules-dlq"]));
        account.stack_status = "CREATE_COMPLETE".to_owned();
        account.outputs = [
            ("TableName", table),
            ("ApiBaseUrl", "https://monitor.test/api/v1"),
            ("Auditor", "pagespeed"),
            ("QueueUrlPrefix", QUEUE_URL_PREFIX),
            ("ScheduleGroupName", SCHEDULE_GROUP),
            ("ScheduleTargetArn", SCHEDULE_TARGET),
            ("ScheduleRoleArn", SCHEDULE_ROLE),
            ("SchedulesDlqArn", SCHEDULES_DLQ),
            ("SchedulesMode", "each"),
            ("WritesBlocks", "false"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        account.places = 1_000;
        account.forgets_expired = true;
        account.is_recoverable = true;
        drop(account);
        aws
    }

    /// Serves everything except DynamoDB on a port of this machine, and returns the endpoint.
    pub async fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let aws = self.clone();
        let router = Router::new().fallback(move |request: Request| {
            let aws = aws.clone();
            async move { aws.answer_http(request).await }
        });
        tokio::spawn(async move { axum::serve(listener, router).await.expect("a server") });
        endpoint
    }

    pub(crate) async fn answer_http(&self, request: Request) -> (StatusCode, String) {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, 1 << 20).await.expect("a body");
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let Answer { status, body } = match header("x-amz-sso_bearer_token") {
            Some(token) => self.account().sso(token, &parts.uri.to_string()),
            None => {
                let (method, uri) = (parts.method.as_str(), parts.uri.to_string());
                self.answer(Call::read(method, &uri, header, &body)).await
            }
        };
        (StatusCode::from_u16(status).expect("a status"), body)
    }

    /// The account.
    pub fn account(&self) -> MutexGuard<'_, AwsAccount> {
        self.0.lock().expect("an account")
    }

    /// The configuration of the SDK's clients for these services, with DynamoDB behind its own HTTP client.
    pub fn sdk(&self, table: SharedHttpClient) -> SdkConfig {
        let credentials = Credentials::new("AKIDTEST", "secret", None, None, "test");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static(REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(SharedHttpClient::new(Emulator { aws: self.clone(), table }))
            .build()
    }

    async fn answer(&self, call: Call) -> Answer {
        let latency = {
            let mut account = self.account();
            if call.service == scheduler::SERVICE {
                let (now, most) = account.under_way;
                account.under_way = (now + 1, most.max(now + 1));
            }
            account.latency
        };
        // Let another client begin before this call is answered.
        tokio::task::yield_now().await;
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let browser = self.account().browser.clone();
        if let Some(browser) = browser.filter(|_| call.path.ends_with("/invocations")) {
            *self.account().calls.entry("Invoke".to_owned()).or_default() += 1;
            return browser.call(call.body).await;
        }
        let mut account = self.account();
        account.authorizations.push(call.authorization.clone());
        let operation = call.target.rsplit('.').next().unwrap_or_default();
        let operation = if operation.is_empty() { &call.service } else { operation };
        if let Some((calls, code)) = account.refusing.get_mut(operation) {
            match calls.checked_sub(1) {
                Some(left) => *calls = left,
                // An error that the SDK does not retry.
                None => return Answer::refusal(400, code, "by a test"),
            }
        }
        let (operation, answer) = match call.service.as_str() {
            scheduler::SERVICE => {
                account.under_way.0 -= 1;
                let (operation, answer) = account.scheduler(&call);
                (operation.to_owned(), answer)
            }
            sqs::SERVICE => account.sqs(&call),
            "cloudformation" => account.cloudformation(&call),
            "lambda" => account.lambda(&call),
            other => panic!("there is no emulator for {other}"),
        };
        *account.calls.entry(operation).or_default() += 1;
        if answer.status >= 400 {
            account.refused += 1;
        }
        answer
    }
}

/// The token that the portal of IAM Identity Center knows.
pub const SSO_TOKEN: &str = "a-token-of-the-portal";

impl AwsAccount {
    /// Refuses an operation, or a service whose operation is in the path, after this many further calls.
    pub fn refuse_after(&mut self, operation: &str, calls: u64, code: &str) {
        self.refusing.insert(operation.to_owned(), (calls, code.to_owned()));
    }

    /// The portal's credentials for a role.
    fn sso(&mut self, token: &str, uri: &str) -> Answer {
        *self.calls.entry("GetRoleCredentials".to_owned()).or_default() += 1;
        if token != SSO_TOKEN || !uri.contains("role_name=Operator") {
            return Answer::refusal(
                401,
                "UnauthorizedException",
                "Session token not found or invalid",
            );
        }
        Answer::json(&serde_json::json!({ "roleCredentials": {
            "accessKeyId": "AKIDSSO",
            "secretAccessKey": "secret",
            "sessionToken": "session",
            "expiration": 4_102_444_800_000_i64,
        } }))
    }

    /// How often an operation was called.
    pub fn calls_of(&self, operation: &str) -> u64 {
        self.calls.get(operation).copied().unwrap_or_default()
    }
}

impl Call {
    fn read<'a>(
        method: &str,
        uri: &str,
        header: impl Fn(&str) -> Option<&'a str>,
        body: &[u8],
    ) -> Self {
        // `AWS4-HMAC-SHA256 Credential=<key>/<day>/<region>/<service>/aws4_request, …`
        let authorization = header("authorization").expect("a signed request");
        let service = authorization.split('/').nth(3).expect("a scope").to_owned();
        let (_, from_host) = uri.split_once("://").unwrap_or(("", uri));
        let (_, path) = from_host.split_once('/').unwrap_or((from_host, ""));
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query = query.split('&').filter_map(|pair| pair.split_once('='));
        Self {
            service,
            authorization: authorization.to_owned(),
            target: header("x-amz-target").unwrap_or_default().to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            text: String::from_utf8_lossy(body).into_owned(),
            body: serde_json::from_slice(body).unwrap_or_default(),
        }
    }
}

#[derive(Debug)]
struct Emulator {
    aws: Aws,
    table: SharedHttpClient,
}

impl HttpClient for Emulator {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let table = self.table.http_connector(settings, components);
        SharedHttpConnector::new(Connector { aws: self.aws.clone(), table })
    }
}

#[derive(Debug)]
struct Connector {
    aws: Aws,
    table: SharedHttpConnector,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (aws, table) = (self.aws.clone(), self.table.clone());
        HttpConnectorFuture::new(async move {
            if is_of_table(&request) {
                let latency = aws.account().latency;
                tokio::time::sleep(latency).await;
                let target = request.headers().get("x-amz-target").unwrap_or_default();
                let told = aws.account().table_settings(target);
                if let Some(Answer { status, body }) = told {
                    let status = status.try_into().expect("a status");
                    return Ok(HttpResponse::new(status, SdkBody::from(body)));
                }
                return table.call(request).await;
            }
            let header = |name: &str| request.headers().get(name);
            let body = request.body().bytes().unwrap_or_default();
            let call = Call::read(request.method(), request.uri(), header, body);
            let Answer { status, body } = aws.answer(call).await;
            let status = status.try_into().expect("a status");
            Ok(HttpResponse::new(status, SdkBody::from(body)))
        })
    }
}

fn is_of_table(request: &HttpRequest) -> bool {
    request.headers().get("x-amz-target").is_some_and(|target| target.starts_with("DynamoDB_"))
}
