//! Logs: JSON lines on Lambda, readable ones on a terminal.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::config::environment;

/// The embedded DynamoDB warns of every condition that fails, which is how conflicts are found.
const DEFAULT: &str = "info,dynoxide=error";

/// Sends logs to standard error; `VEDETTE_LOG` filters them (`info`, `vedette_checker=debug`).
/// On Lambda the function's own log level counts where that is not set.
pub fn init() {
    let on_lambda = environment("AWS_LAMBDA_FUNCTION_NAME").is_some();
    let level = environment("VEDETTE_LOG").or_else(|| environment("AWS_LAMBDA_LOG_LEVEL"));
    let filter = EnvFilter::new(level.unwrap_or_else(|| DEFAULT.to_owned()));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if on_lambda {
        logs.json().flatten_event(true).with_current_span(false).init();
    } else {
        logs.with_target(false).with_ansi(std::io::stderr().is_terminal()).compact().init();
    }
}
