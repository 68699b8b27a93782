//! Secrets in Secrets Manager, so that they are in no environment and no log.

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::BoxError;
use aws_types::SdkConfig;
use vedette_ops::config::Read;

/// Why there is no secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Secrets Manager does not return it.
    #[error("{variable}: the secret cannot be read")]
    Refused {
        /// The variable with its ARN.
        variable: &'static str,
        /// The error.
        source: BoxError,
    },
    /// It contains bytes.
    #[error("{variable}: the secret is not text")]
    NoText {
        /// The variable with its ARN.
        variable: &'static str,
    },
}

/// Reads the secret whose ARN is in a variable; `None` if the variable is not set.
///
/// # Errors
///
/// When the secret cannot be read.
pub async fn secret(
    variable: &'static str,
    read: Read<'_>,
    sdk: &SdkConfig,
) -> Result<Option<String>, SecretError> {
    let Some(arn) = read(variable) else { return Ok(None) };
    let answer = Client::new(sdk).get_secret_value().secret_id(arn).send().await;
    let answer = answer.map_err(|error| SecretError::Refused { variable, source: error.into() })?;
    let text = answer.secret_string.ok_or(SecretError::NoText { variable })?;
    Ok(Some(text.trim().to_owned()))
}
