//! Metrics of checks for CloudWatch: one log line for each batch, in the embedded metric format. Metrics are by tool
//! and never by site: each costs as much a month as 100,000 checks.

use std::io::{Write as _, stdout};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use vedette_domain::checks::tool::{CheckStatus, Tool};

use crate::{Finished, Handled};

/// The most values of a metric that CloudWatch accepts in one line.
const VALUES_MAX: usize = 100;

/// The checks of a batch.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    checks: usize,
    failures: usize,
    lags: Vec<f64>,
    probe_times: Vec<f64>,
}

impl Metrics {
    /// Counts the outcome of a message.
    pub fn add(&self, handled: &Handled) {
        let Handled::Finished(finished) = handled else { return };
        let Finished { check, lag, probe_time, .. } = &**finished;
        let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.checks += 1;
        counts.failures += usize::from(check.status == CheckStatus::Failed);
        counts.lags.extend(lag.map(milliseconds));
        counts.probe_times.extend(probe_time.map(milliseconds));
    }

    /// Writes the metrics for CloudWatch, if there were any checks.
    pub fn emit(self, namespace: &str, tool: Tool, now: Timestamp) {
        let mut out = stdout().lock();
        for line in self.lines(namespace, tool, now) {
            // If the log does not accept this line, it does not accept an error either.
            let _ = writeln!(out, "{line}");
        }
    }

    fn lines(self, namespace: &str, tool: Tool, now: Timestamp) -> Vec<String> {
        let Counts { checks, failures, lags, probe_times } =
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if checks == 0 {
            return Vec::new();
        }
        let chunk = |values: &[f64], number: usize| {
            values.chunks(VALUES_MAX).nth(number).map(<[f64]>::to_vec).unwrap_or_default()
        };
        (0..lags.len().max(probe_times.len()).div_ceil(VALUES_MAX).max(1))
            .map(|number| {
                let (lag, probe_time) = (chunk(&lags, number), chunk(&probe_times, number));
                let first = usize::from(number == 0);
                json!({
                    "_aws": {
                        "Timestamp": now.as_millisecond(),
                        "CloudWatchMetrics": [{
                            "Namespace": namespace,
                            "Dimensions": [["Tool"]],
                            "Metrics": [
                                { "Name": "Checks", "Unit": "Count" },
                                { "Name": "Failures", "Unit": "Count" },
                                { "Name": "Lag", "Unit": "Milliseconds" },
                                { "Name": "ProbeTime", "Unit": "Milliseconds" },
                            ],
                        }],
                    },
                    "Tool": tool,
                    "Checks": checks * first,
                    "Failures": failures * first,
                    "Lag": lag,
                    "ProbeTime": probe_time,
                })
                .to_string()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn lines(counts: Counts) -> Vec<Value> {
        let metrics = Metrics(Mutex::new(counts));
        let lines = metrics.lines("prod", Tool::Dns, Timestamp::UNIX_EPOCH);
        lines.iter().map(|line| serde_json::from_str(line).expect("json")).collect()
    }

    #[test]
    fn a_batch_is_one_line_by_tool() {
        let lags = vec![12.5, 30.0];
        let told = lines(Counts { checks: 3, failures: 1, lags, probe_times: vec![1.0, 2.0, 4.5] });
        let [line] = <[_; 1]>::try_from(told).expect("one line");
        let (metrics, values) = (&line["_aws"]["CloudWatchMetrics"][0], &line);
        assert_eq!(metrics["Namespace"], "prod");
        assert_eq!(metrics["Dimensions"], json!([["Tool"]]));
        for metric in metrics["Metrics"].as_array().expect("metrics") {
            let name = metric["Name"].as_str().expect("a name");
            assert!(values[name].is_number() || values[name].is_array(), "{name}");
        }
        assert_eq!(
            (&line["Tool"], &line["Checks"], &line["Failures"]),
            (&json!("dns"), &json!(3), &json!(1))
        );
        assert_eq!(
            (&line["Lag"], &line["ProbeTime"]),
            (&json!([12.5, 30.0]), &json!([1.0, 2.0, 4.5]))
        );
    }

    #[test]
    fn no_metric_has_more_values_than_cloudwatch_takes_and_none_counts_twice() {
        assert_eq!(lines(Counts::default()), [Value::Null; 0]);
        let told =
            lines(Counts { checks: 101, failures: 2, lags: vec![1.0; 101], probe_times: vec![] });
        let lengths: Vec<_> =
            told.iter().map(|line| line["Lag"].as_array().expect("values").len()).collect();
        assert_eq!(lengths, [100, 1]);
        let sum = |name: &str| told.iter().filter_map(|line| line[name].as_u64()).sum::<u64>();
        assert_eq!((sum("Checks"), sum("Failures")), (101, 2));
    }
}
