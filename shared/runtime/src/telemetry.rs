//! Logs: JSON lines on Lambda, readable ones on a terminal.

use std::io::IsTerminal as _;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{Targets, filter_fn};
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::environment;
use crate::terminal::Lines;

/// The embedded DynamoDB warns about every condition that fails, although that is how conflicts are found. After each
/// response with status 500, the SDK warns that there is no connection to close, because there is none.
const DEFAULT: &str =
    "info,dynoxide=error,aws_smithy_runtime::client::http::connection_poisoning=off";
/// The prefix of the targets of our own crates.
const OURS: &str = "vedette";

/// Sends logs to standard error. `VEDETTE_LOG` filters them (`info`, `vedette_checker=debug`). On Lambda, the
/// function's own log level applies if the variable is not set.
///
/// The thread that logs also writes, and waits for the reader. On Lambda, a separate thread would be frozen with its
/// function, and its lines would be lost.
pub fn init() {
    init_with(std::io::stderr);
}

/// Writes logs through `lines`, so that no thread waits for their reader.
pub fn init_behind(lines: Lines) {
    init_with(move || lines.clone());
}

fn init_with<W: for<'a> MakeWriter<'a> + Send + Sync + 'static>(writer: W) {
    let on_lambda = environment("AWS_LAMBDA_FUNCTION_NAME").is_some();
    let level = environment("VEDETTE_LOG").or_else(|| environment("AWS_LAMBDA_LOG_LEVEL"));
    let filter = filter(level.as_deref().unwrap_or(DEFAULT));
    let logs = fmt::layer().with_writer(writer);
    let registry = tracing_subscriber::registry().with(filter).with(filter_fn(is_harmless));
    if on_lambda {
        registry.with(logs.json().flatten_event(true).with_current_span(false)).init();
    } else {
        let is_terminal = std::io::stderr().is_terminal();
        registry.with(logs.with_target(false).with_ansi(is_terminal).compact()).init();
    }
}

/// The levels by the prefixes of targets; the default if the text is invalid.
fn filter(levels: &str) -> Targets {
    levels.parse().or_else(|_| DEFAULT.parse()).unwrap_or_default()
}

/// Whether it can be logged without revealing a secret, whatever the filter says. HTTP and AWS crates log headers and
/// signed requests at their finer levels, and any release may change which ones. At those levels, only our own crates
/// are logged.
fn is_harmless(what: &Metadata<'_>) -> bool {
    *what.level() <= Level::INFO || what.target().starts_with(OURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_told_for_all_or_by_target() {
        for (levels, target, level, is_logged) in [
            ("info", "vedette_checker", Level::INFO, true),
            ("INFO", "vedette_checker", Level::DEBUG, false),
            ("warn,vedette_checker=debug", "vedette_checker::engines", Level::DEBUG, true),
            ("warn,vedette_checker=debug", "vedette_api", Level::INFO, false),
            (DEFAULT, "dynoxide", Level::WARN, false),
            ("vedette_api=loud", "vedette_api", Level::INFO, true),
        ] {
            assert_eq!(filter(levels).would_enable(target, &level), is_logged, "{levels} {target}");
        }
    }
}
