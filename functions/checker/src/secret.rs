//! The auditor's API key, if it is stored in Secrets Manager.

use aws_types::SdkConfig;
use vedette_domain::checks::tool::{Need, Tool};
use vedette_ops::config::Read;
use vedette_runtime::{SecretError, secret};

/// Reads the key of PageSpeed Insights from the secret that the environment names. `None` if it names no secret, or if
/// this function's tool audits nothing and may not read the secret.
///
/// # Errors
///
/// When the secret cannot be read.
pub async fn auditor_key(
    tool: Tool,
    read: Read<'_>,
    sdk: &SdkConfig,
) -> Result<Option<String>, SecretError> {
    match tool.definition().needs {
        Some(Need::Auditor) => secret("VEDETTE_PAGESPEED_SECRET", read, sdk).await,
        Some(Need::Resolvers) | None => Ok(None),
    }
}
