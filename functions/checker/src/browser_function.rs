//! The browser of a deployment on AWS: a function that may only write its log. It is called like an engine, with one
//! crawl or audit, and returns what the engine would have returned.

#[cfg(test)]
mod tests;

use aws_smithy_runtime_api::client::result::SdkError;
use aws_types::SdkConfig;
use jiff::Timestamp;
use tokio::time::timeout;
use tracing::{info, warn};
use vedette_domain::checks::browser_job::BrowserJob;
use vedette_domain::checks::check::{CheckError, Finish};
use vedette_ops::ErrorChain;
use vedette_probe::browser::BROWSER_UNAVAILABLE;

use crate::lambda::{Called, LambdaFunction, Outcome, TOO_MANY_REQUESTS};

/// Why the outcome of a check is unknown, so that it must run again.
#[derive(Debug, thiserror::Error)]
pub enum BrowserUnavailable {
    /// The maximum number of browsers is running.
    #[error("the browser function is busy")]
    Busy,
    /// The request was refused, or its answer was lost.
    #[error("the browser function does not answer: {0}")]
    Unanswered(String),
}

/// The function with the browser.
#[derive(Debug, Clone)]
pub struct BrowserFunction {
    function: LambdaFunction,
}

impl BrowserFunction {
    /// The function with this name.
    pub fn new(sdk: &SdkConfig, name: String) -> Self {
        Self { function: LambdaFunction::new(sdk, name) }
    }

    /// Runs a job in the browser function and waits for it. If something goes wrong in the browser, the check ends as
    /// `failed`, because the same page would cause it again. If the call itself fails, the page is not to blame.
    ///
    /// # Errors
    ///
    /// When the check must run again.
    pub(crate) async fn run(
        &self,
        job: &BrowserJob,
        now: Timestamp,
    ) -> Result<Finish, BrowserUnavailable> {
        let body = serde_json::to_string(job).map_err(|error| unanswered(&error))?;
        let limit = job.tool().limits().answer();
        let Ok(called) = timeout(limit, self.function.call(body, now.into())).await else {
            warn!(?limit, "the browser function does not answer in time");
            return Ok(failed("the browser did not answer in time"));
        };
        let Called { request_id, outcome } = match called {
            Ok(called) => called,
            Err(SdkError::ServiceError(refused)) => {
                let refusal = refused.into_err();
                return Err(match refusal.status {
                    TOO_MANY_REQUESTS => BrowserUnavailable::Busy,
                    _ => unanswered(&refusal),
                });
            }
            Err(silence) => return Err(unanswered(&silence)),
        };
        let answer = match outcome {
            Outcome::Answer(answer) => answer,
            Outcome::Crash(error) => {
                warn!(browser_request_id = request_id, error, "the browser function failed");
                return Ok(failed("the browser ended without an answer"));
            }
        };
        info!(browser_request_id = request_id, bytes = answer.len(), "the browser has answered");
        Ok(job.finish(&answer).unwrap_or_else(|error| {
            let error = ErrorChain(&error);
            warn!(browser_request_id = request_id, %error, "the browser's answer was refused");
            failed("the browser gave an impossible answer")
        }))
    }
}

fn unanswered(error: &(dyn std::error::Error + 'static)) -> BrowserUnavailable {
    BrowserUnavailable::Unanswered(ErrorChain(error).to_string())
}

/// A check that the browser could not run.
fn failed(message: &str) -> Finish {
    let data = serde_json::json!({});
    Finish::Failed(CheckError {
        message: message.to_owned(),
        code: BROWSER_UNAVAILABLE.to_owned(),
        data,
    })
}
