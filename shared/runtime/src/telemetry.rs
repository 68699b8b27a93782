//! Logs: JSON lines on Lambda, readable ones on a terminal.

use std::io::IsTerminal as _;

use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::environment;

/// The embedded DynamoDB warns of every condition that fails, which is how conflicts are found.
const DEFAULT: &str = "info,dynoxide=error";
/// What the targets of our own crates begin with.
const OURS: &str = "vedette";

/// Sends logs to standard error; `VEDETTE_LOG` filters them (`info`, `vedette_checker=debug`).
/// On Lambda the function's own log level counts where that is not set.
pub fn init() {
    let on_lambda = environment("AWS_LAMBDA_FUNCTION_NAME").is_some();
    let level = environment("VEDETTE_LOG").or_else(|| environment("AWS_LAMBDA_LOG_LEVEL"));
    let filter = EnvFilter::new(level.unwrap_or_else(|| DEFAULT.to_owned()));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let harmless = filter_fn(is_harmless);
    if on_lambda {
        logs.json().flatten_event(true).with_current_span(false).finish().with(harmless).init();
    } else {
        let is_terminal = std::io::stderr().is_terminal();
        logs.with_target(false).with_ansi(is_terminal).compact().finish().with(harmless).init();
    }
}

/// Whether it can be said without giving a secret away, whatever the filter says. HTTP and AWS
/// crates tell headers and signed requests in their finer levels, and which ones do may change with
/// any of them: of those levels ours alone are heard.
fn is_harmless(what: &Metadata<'_>) -> bool {
    *what.level() <= Level::INFO || what.target().starts_with(OURS)
}
