//! The auditor's API key, where it is kept in Secrets Manager: in no environment, and in no log.

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::BoxError;
use aws_types::SdkConfig;
use vedette_domain::config::Read;
use vedette_domain::tool::Tool;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Secrets Manager does not give it away.
    #[error("VEDETTE_PAGESPEED_SECRET: the secret cannot be read")]
    Refused(#[source] BoxError),
    /// It holds bytes.
    #[error("VEDETTE_PAGESPEED_SECRET: the secret is no text")]
    NoText,
}

/// Reads the key of PageSpeed Insights from the secret that the environment names. None where it names
/// none, or where this is the function of a tool that audits nothing and may not read it.
///
/// # Errors
///
/// When the secret cannot be read.
pub async fn auditor_key(
    tool: Tool,
    read: Read<'_>,
    sdk: &SdkConfig,
) -> Result<Option<String>, SecretError> {
    let audits = tool == Tool::Performance;
    let Some(arn) = read("VEDETTE_PAGESPEED_SECRET").filter(|_| audits) else { return Ok(None) };
    let secret = Client::new(sdk).get_secret_value().secret_id(arn).send().await;
    let secret = secret.map_err(|error| SecretError::Refused(error.into()))?.secret_string;
    secret.map(|key| Some(key.trim().to_owned())).ok_or(SecretError::NoText)
}
