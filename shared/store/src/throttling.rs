//! Retries of requests that DynamoDB had no capacity for.

use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::InterceptorContext;
use aws_sdk_dynamodb::config::retry::{ClassifyRetry, RetryAction, RetryConfig};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::CancellationReason;

/// How the SDK retries: DynamoDB answers in milliseconds and recovers in seconds.
pub fn retry_config() -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(8)
        .with_initial_backoff(Duration::from_millis(50))
        .with_max_backoff(Duration::from_secs(2))
}

/// Retries a transaction that was cancelled for lack of capacity. The SDK itself recognizes throttling only in other
/// requests.
#[derive(Debug)]
pub(crate) struct ThrottledTransactions;

impl ClassifyRetry for ThrottledTransactions {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        let error = match context.output_or_error() {
            Some(Err(error)) => error.as_operation_error(),
            _ => None,
        };
        match error.and_then(|error| error.downcast_ref()) {
            Some(TransactWriteItemsError::TransactionCanceledException(canceled))
                if is_throttled(canceled.cancellation_reasons()) =>
            {
                RetryAction::throttling_error()
            }
            _ => RetryAction::NoActionIndicated,
        }
    }

    fn name(&self) -> &'static str {
        "throttled transactions"
    }
}

/// Whether capacity was the only reason. If a condition failed as well, it would fail again.
fn is_throttled(reasons: &[CancellationReason]) -> bool {
    let mut codes =
        reasons.iter().filter_map(CancellationReason::code).filter(|code| *code != "None");
    let throttled = |code| matches!(code, "ThrottlingError" | "ProvisionedThroughputExceeded");
    codes.next().is_some_and(throttled) && codes.all(throttled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_throttled_and_nothing_else_is_tried_again() {
        for (codes, expected) in [
            (&["None", "ThrottlingError"][..], true),
            (&["ProvisionedThroughputExceeded", "None", "ThrottlingError"], true),
            (&["ConditionalCheckFailed", "ThrottlingError"], false),
            (&["ThrottlingError", "ConditionalCheckFailed"], false),
            (&["TransactionConflict"], false),
            (&["None"], false),
            (&[], false),
        ] {
            let reasons: Vec<_> = codes
                .iter()
                .map(|code| CancellationReason::builder().code(*code).build())
                .collect();
            assert_eq!(is_throttled(&reasons), expected, "{codes:?}");
        }
    }
}
