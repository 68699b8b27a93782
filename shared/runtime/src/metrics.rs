//! Metrics of a whole deployment for CloudWatch: log lines in the embedded metric format.

use std::io::{Write as _, stdout};

use jiff::Timestamp;
use serde_json::{Value, json};
use vedette_domain::checks::tool::Tool;

use crate::config::environment;

/// The variable with the namespace of a deployment's metrics. A process without it emits none.
pub const NAMESPACE: &str = "VEDETTE_METRICS";

/// A figure of the deployment. Each metric costs as much a month as 100,000 checks, so only those of runs are for each
/// tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Runs of a tool that were due in a period, for a sample of sites.
    RunsDue,
    /// Runs that were done.
    RunsDone,
    /// Missing schedules that the nightly rebuild created again.
    SchedulesRecreated,
    /// Alerts that no channel will get, because they were refused or the receiver's answer disabled the channel.
    AlertsGivenUp,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::RunsDue, Self::RunsDone, Self::SchedulesRecreated, Self::AlertsGivenUp];

    /// The name in CloudWatch.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunsDue => "RunsDue",
            Self::RunsDone => "RunsDone",
            Self::SchedulesRecreated => "SchedulesRecreated",
            Self::AlertsGivenUp => "AlertsGivenUp",
        }
    }
}

/// Emits figures for CloudWatch, whatever the log's filter is.
pub fn emit(figures: &[(Metric, u64)], now: Timestamp) {
    write(None, figures, now);
}

/// Emits figures of a tool, in the same way.
pub fn emit_of_tool(tool: Tool, figures: &[(Metric, u64)], now: Timestamp) {
    write(Some(tool), figures, now);
}

fn write(tool: Option<Tool>, figures: &[(Metric, u64)], now: Timestamp) {
    let Some(namespace) = environment(NAMESPACE) else { return };
    // If the log does not accept this line, it does not accept an error either.
    let _ = writeln!(stdout().lock(), "{}", line(&namespace, tool, figures, now));
}

/// The member `_aws` of a line, which tells CloudWatch which of the other members are metrics (the embedded metric
/// format). `metrics` are their names and units, and `dimensions` the names of their dimensions.
pub fn directive(namespace: &str, dimensions: &[&str], metrics: &[Value], now: Timestamp) -> Value {
    json!({
        "Timestamp": now.as_millisecond(),
        "CloudWatchMetrics": [{
            "Namespace": namespace,
            "Dimensions": [dimensions],
            "Metrics": metrics,
        }],
    })
}

fn line(namespace: &str, tool: Option<Tool>, figures: &[(Metric, u64)], now: Timestamp) -> Value {
    let metrics: Vec<_> = figures
        .iter()
        .map(|(metric, _)| json!({ "Name": metric.name(), "Unit": "Count" }))
        .collect();
    let dimensions = tool.map(|_| "Tool");
    let mut line = json!({ "_aws": directive(namespace, dimensions.as_slice(), &metrics, now) });
    if let Some(tool) = tool {
        line["Tool"] = json!(tool);
    }
    for (metric, value) in figures {
        line[metric.name()] = json!(value);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_one_line_whose_only_dimension_is_the_tool() {
        let figures = [(Metric::RunsDue, 3), (Metric::RunsDone, 0)];
        let mut expected = json!({
            "_aws": {
                "Timestamp": 0,
                "CloudWatchMetrics": [{
                    "Namespace": "Vedette/shop",
                    "Dimensions": [[]],
                    "Metrics": [
                        { "Name": "RunsDue", "Unit": "Count" },
                        { "Name": "RunsDone", "Unit": "Count" },
                    ],
                }],
            },
            "RunsDue": 3,
            "RunsDone": 0,
        });
        let line = |tool| line("Vedette/shop", tool, &figures, Timestamp::UNIX_EPOCH);
        assert_eq!(line(None), expected);
        expected["_aws"]["CloudWatchMetrics"][0]["Dimensions"] = json!([["Tool"]]);
        expected["Tool"] = json!("dns");
        assert_eq!(line(Some(Tool::Dns)), expected);
    }
}
