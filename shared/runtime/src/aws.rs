//! Clients of AWS services. TLS is rustls with ring, which keeps cold starts short.

use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use vedette_ops::config::{ConfigError, Read, required};
use vedette_store::{Store, retry_config};

use crate::config::{Deployment, Schedules, Service, environment};
use crate::sdk_http;
use crate::{
    App, Clock, Entropy, EventBridgeScheduler, Health, PollingScheduler, Queue, RemoteChecks,
    Scheduler, SqsQueue, TxtRecords,
};

/// The app of a Lambda function, whose environment describes the deployment.
///
/// # Errors
///
/// The first variable that is missing.
pub fn lambda_app(service: Service, sdk: &SdkConfig) -> Result<App, ConfigError> {
    Ok(app(service, Deployment::read(&environment)?, sdk))
}

/// The app of a deployment.
pub fn app(service: Service, deployment: Deployment, sdk: &SdkConfig) -> App {
    let deployment = Arc::new(deployment);
    let sdk = sdk.to_builder().timeout_config(timeouts()).retry_config(retry_config()).build();
    let store = Store::new((&sdk).into(), deployment.table.clone());
    let queues = {
        let sdk = sdk.clone();
        move || aws_sdk_sqs::Client::new(&sdk)
    };
    let schedules = move || aws_sdk_scheduler::Client::new(&sdk);
    let schedules = EventBridgeScheduler::new(schedules, Arc::clone(&deployment));
    App {
        store: store.clone(),
        queue: Queue::Sqs(SqsQueue::new(queues, deployment.queue_url_prefix.clone())),
        scheduler: match deployment.schedules {
            Schedules::Each => Scheduler::EventBridge(schedules),
            Schedules::Polling => Scheduler::Polling(PollingScheduler { store, before: schedules }),
        },
        clock: Clock::system(),
        entropy: Entropy::system(),
        service,
        health: Health::default(),
        remote_checks: RemoteChecks::default(),
        txt_records: TxtRecords::default(),
    }
}

/// The SDK configuration of a Lambda function: the region and the credentials from its environment. There is no chain
/// of providers to ask or to load at a cold start.
///
/// # Errors
///
/// The first variable that is missing.
pub fn lambda_sdk_config(read: Read<'_>) -> Result<SdkConfig, ConfigError> {
    let credentials = Credentials::new(
        required(read, "AWS_ACCESS_KEY_ID")?,
        required(read, "AWS_SECRET_ACCESS_KEY")?,
        read("AWS_SESSION_TOKEN"),
        None,
        "environment",
    );
    let (region, endpoint) = (required(read, "AWS_REGION")?, read("AWS_ENDPOINT_URL"));
    let roots = match amazon_roots_suffice(&region, endpoint.as_deref()) {
        true => amazon_roots(),
        false => system_roots(),
    };
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(sdk_http::http_client(roots));
    config.set_endpoint_url(endpoint);
    Ok(config.build())
}

/// The SDK's HTTP client outside of Lambda. It trusts the system's certificate authorities.
pub fn http_client() -> SharedHttpClient {
    sdk_http::http_client(system_roots())
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn amazon_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(AMAZON_ROOTS).flatten());
    roots
}

/// The authorities that issue the certificates of AWS's endpoints: the five that
/// <https://www.amazontrust.com/repository/> recommends for a custom trust store. Reading the hundred or more that a
/// system trusts takes longer than everything else at a function's start.
const AMAZON_ROOTS: &[u8] = include_bytes!("amazon_roots.pem");

/// Whether [`AMAZON_ROOTS`] are enough. They are not for an https emulator, or in partitions that may have authorities
/// of their own. Over http there is no certificate to check.
fn amazon_roots_suffice(region: &str, endpoint: Option<&str>) -> bool {
    let is_apart =
        ["cn-", "us-iso", "eu-iso", "eusc-"].iter().any(|partition| region.starts_with(partition));
    !is_apart && endpoint.is_none_or(|url| url.starts_with("http:"))
}

/// How long to wait for an answer. DynamoDB answers in milliseconds, so a request that takes longer is better retried.
pub fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .operation_attempt_timeout(Duration::from_secs(4))
        .operation_timeout(Duration::from_secs(15))
        .build()
}

#[cfg(test)]
mod tests {
    use x509_parser::pem::Pem;

    use super::*;

    #[test]
    fn the_roots_are_those_of_amazon_trust_services() {
        let names = Pem::iter_from_buffer(AMAZON_ROOTS).map(|pem| {
            let pem = pem.expect("PEM");
            let certificate = pem.parse_x509().expect("a certificate");
            let name = certificate.subject().iter_common_name().next().expect("a name");
            name.as_str().expect("text").to_owned()
        });
        let starfield = "Starfield Services Root Certificate Authority - G2";
        let expected = (1..=4).map(|number| format!("Amazon Root CA {number}"));
        assert!(names.eq(expected.chain([starfield.to_owned()])));
    }

    #[test]
    fn elsewhere_the_system_says_whom_to_trust() {
        for (region, endpoint, is_amazon) in [
            ("eu-west-1", None, true),
            ("us-gov-west-1", None, true),
            ("cn-north-1", None, false),
            ("us-iso-east-1", None, false),
            ("eu-isoe-west-1", None, false),
            ("eusc-de-east-1", None, false),
            ("eu-west-1", Some("http://127.0.0.1:4566"), true),
            ("eu-west-1", Some("https://emulator.test"), false),
        ] {
            assert_eq!(amazon_roots_suffice(region, endpoint), is_amazon, "{region} {endpoint:?}");
        }
    }

    #[test]
    fn a_function_takes_region_and_credentials_from_its_environment() {
        let all = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"];
        let given = |name: &str| all.contains(&name).then(|| name.to_lowercase());
        let config = lambda_sdk_config(&given).expect("a configuration");
        assert_eq!(config.region(), Some(&Region::new("aws_region")));
        assert_eq!(config.endpoint_url(), None);
        assert!(config.credentials_provider().is_some());
        for missing in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"] {
            let without = |name: &str| given(name).filter(|_| name != missing);
            let error = lambda_sdk_config(&without).expect_err(missing);
            assert_eq!(error.to_string(), format!("{missing}: is not set"));
        }
    }
}
