//! The credentials for an account, from the SDK's environment variables and profiles.

use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use tokio::sync::Mutex;
use vedette_runtime::aws;

use super::now;

/// Configures the SDK from the environment variables and profiles.
pub(crate) async fn sdk() -> SdkConfig {
    let version = BehaviorVersion::latest();
    let sdk = aws_config::defaults(version).http_client(aws::http_client()).load().await;
    let mut remembering = sdk.to_builder();
    remembering.set_credentials_provider(sdk.credentials_provider().map(|provider| {
        SharedCredentialsProvider::new(Remembered { provider, last: Mutex::default() })
    }));
    remembering.build()
}

/// Requests credentials once and keeps them until they expire, because the process that provides them may have to ask a
/// person.
#[derive(Debug)]
struct Remembered {
    provider: SharedCredentialsProvider,
    last: Mutex<Option<Credentials>>,
}

/// How long before they expire to renew credentials.
const RENEWED_BEFORE: Duration = Duration::from_mins(5);

impl ProvideCredentials for Remembered {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            let mut last = self.last.lock().await;
            let needed = now() + RENEWED_BEFORE;
            let lasts = |known: &&Credentials| known.expiry().is_none_or(|end| end > needed);
            if let Some(known) = last.as_ref().filter(lasts) {
                return Ok(known.clone());
            }
            let given = self.provider.provide_credentials().await?;
            Ok(last.insert(given).clone())
        })
    }
}
