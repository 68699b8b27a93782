//! A stand-in for those services of AWS that an operator's commands ask: as much of each as they use,
//! with its real answers and refusals. It counts what it is asked for.

mod scheduler;

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
use serde_json::Value;

pub use scheduler::PAGE as SCHEDULES_OF_A_PAGE;

/// Where the account's services are.
pub const REGION: &str = "eu-central-1";

/// The services of one account in one region.
#[derive(Debug, Clone, Default)]
pub struct Aws(Arc<Mutex<Account>>);

/// What is in the account, for tests to look at and to arrange.
#[derive(Debug, Default)]
pub struct Account {
    /// Names of the schedules, whatever their group.
    pub schedules: BTreeSet<String>,
    /// How long each call takes, the table's included.
    pub latency: Duration,
    /// How often each operation was asked for.
    pub calls: BTreeMap<String, u64>,
    /// How many of these calls were refused.
    pub refused: u64,
    /// Calls to EventBridge Scheduler under way at this moment, and the most that ever were.
    pub under_way: (usize, usize),
}

/// One request, taken apart.
struct Call {
    service: String,
    method: String,
    /// Without the query.
    path: String,
    query: BTreeMap<String, String>,
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

    /// A refusal as services with JSON write it.
    fn refusal(status: u16, code: &str, message: &str) -> Self {
        let body = serde_json::json!({ "__type": code, "message": message, "Message": message });
        Self { status, body: body.to_string() }
    }
}

impl Aws {
    /// The account.
    pub fn account(&self) -> MutexGuard<'_, Account> {
        self.0.lock().expect("an account")
    }

    /// What the SDK's clients of these services are made of, with DynamoDB behind an HTTP client of
    /// its own.
    pub fn sdk(&self, table: SharedHttpClient) -> SdkConfig {
        let credentials = Credentials::new("AKIDTEST", "secret", None, None, "test");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static(REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(SharedHttpClient::new(StandIn { aws: self.clone(), table }))
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
        // Who asks beside it begins before this is answered.
        tokio::task::yield_now().await;
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let mut account = self.account();
        let (operation, answer) = match call.service.as_str() {
            scheduler::SERVICE => {
                account.under_way.0 -= 1;
                account.scheduler(&call)
            }
            other => panic!("there is no stand-in for {other}"),
        };
        *account.calls.entry(operation.to_owned()).or_default() += 1;
        if answer.status >= 400 {
            account.refused += 1;
        }
        answer
    }
}

impl Account {
    /// How often an operation was asked for.
    pub fn calls_of(&self, operation: &str) -> u64 {
        self.calls.get(operation).copied().unwrap_or_default()
    }
}

impl Call {
    fn read(request: &HttpRequest) -> Self {
        let authorization = request.headers().get("authorization").expect("a signed request");
        // `AWS4-HMAC-SHA256 Credential=<key>/<day>/<region>/<service>/aws4_request, …`
        let service = authorization.split('/').nth(3).expect("a scope").to_owned();
        let uri = request.uri();
        let (_, from_host) = uri.split_once("://").unwrap_or(("", uri));
        let (_, path) = from_host.split_once('/').unwrap_or((from_host, ""));
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query = query.split('&').filter_map(|pair| pair.split_once('='));
        Self {
            service,
            method: request.method().to_owned(),
            path: path.to_owned(),
            query: query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        }
    }
}

#[derive(Debug)]
struct StandIn {
    aws: Aws,
    table: SharedHttpClient,
}

impl HttpClient for StandIn {
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
                return table.call(request).await;
            }
            let call = Call::read(&request);
            let Answer { status, body } = aws.answer(call).await;
            let status = status.try_into().expect("a status");
            Ok(HttpResponse::new(status, SdkBody::from(body)))
        })
    }
}

fn is_of_table(request: &HttpRequest) -> bool {
    request.headers().get("x-amz-target").is_some_and(|target| target.starts_with("DynamoDB_"))
}
