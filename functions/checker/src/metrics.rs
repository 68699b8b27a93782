//! What became of the messages of a batch: one log line, from which CloudWatch also extracts metrics (the embedded metric
//! format). Metrics are by tool and never by site: each costs as much a month as 100,000 checks.

use std::io::{Write as _, stdout};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_runtime::metrics::directive;

use crate::{Finished, Handled};

/// The most values of a metric that CloudWatch accepts in one line.
const VALUES_MAX: usize = 100;

/// The messages of a batch that were handled.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    checks: usize,
    failures: usize,
    dropped: usize,
    postponed: usize,
    /// Whole milliseconds.
    lags: Vec<u64>,
    probe_times: Vec<u64>,
}

impl Metrics {
    /// Counts the outcome of a message.
    pub fn add(&self, handled: &Handled) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Finished { check, lag, probe_time, .. } = match handled {
            Handled::Finished(finished) => &**finished,
            Handled::Dropped(_) => return counts.dropped += 1,
            Handled::Postponed => return counts.postponed += 1,
        };
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        counts.checks += 1;
        counts.failures += usize::from(check.status == CheckStatus::Failed);
        counts.lags.extend(lag.map(milliseconds));
        counts.probe_times.extend(probe_time.map(milliseconds));
    }

    /// Writes the summary of a batch, whatever the log's filter is, if there were any messages.
    pub fn emit(self, namespace: &str, tool: Tool, request_id: &str, now: Timestamp) {
        let mut out = stdout().lock();
        for line in self.lines(namespace, tool, request_id, now) {
            // If the log does not accept this line, it does not accept an error either.
            let _ = writeln!(out, "{line}");
        }
    }

    /// The summary of a batch: one line, and another one for each [`VALUES_MAX`] further values.
    pub fn lines(
        self,
        namespace: &str,
        tool: Tool,
        request_id: &str,
        now: Timestamp,
    ) -> Vec<Value> {
        let Counts { checks, failures, dropped, postponed, lags, probe_times } =
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if checks + dropped + postponed == 0 {
            return Vec::new();
        }
        let chunk = |values: &[u64], number: usize| {
            values.chunks(VALUES_MAX).nth(number).map(<[u64]>::to_vec).unwrap_or_default()
        };
        (0..lags.len().max(probe_times.len()).div_ceil(VALUES_MAX).max(1))
            .map(|number| {
                let first = usize::from(number == 0);
                let mut line = json!({
                    "level": "INFO",
                    "message": "handled a batch",
                    "request_id": request_id,
                    "Tool": tool,
                    "Checks": checks * first,
                    "Failures": failures * first,
                    "dropped": dropped * first,
                    "postponed": postponed * first,
                });
                let mut metrics = vec![
                    json!({ "Name": "Checks", "Unit": "Count" }),
                    json!({ "Name": "Failures", "Unit": "Count" }),
                ];
                for (name, values) in [("Lag", &lags), ("ProbeTime", &probe_times)] {
                    let values = chunk(values, number);
                    if !values.is_empty() {
                        metrics.push(json!({ "Name": name, "Unit": "Milliseconds" }));
                        line[name] = values.into();
                    }
                }
                line["_aws"] = directive(namespace, &["Tool"], &metrics, now);
                line
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(counts: Counts) -> Vec<Value> {
        let metrics = Metrics(Mutex::new(counts));
        metrics.lines("prod", Tool::Dns, "request-1", Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_batch_is_one_line_by_tool() {
        let (lags, probe_times) = (vec![12, 30], vec![1, 2, 4]);
        let counts = Counts { checks: 3, failures: 1, lags, probe_times, ..Counts::default() };
        let told = lines(counts);
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
        assert_eq!((&line["Lag"], &line["ProbeTime"]), (&json!([12, 30]), &json!([1, 2, 4])));
    }

    #[test]
    fn no_metric_has_more_values_than_cloudwatch_takes_and_none_counts_twice() {
        assert_eq!(lines(Counts::default()), [Value::Null; 0]);
        let lags = vec![1; 101];
        let told = lines(Counts { checks: 101, failures: 2, lags, ..Counts::default() });
        let lengths: Vec<_> =
            told.iter().map(|line| line["Lag"].as_array().expect("values").len()).collect();
        assert_eq!(lengths, [100, 1]);
        let sum = |name: &str| told.iter().filter_map(|line| line[name].as_u64()).sum::<u64>();
        assert_eq!((sum("Checks"), sum("Failures")), (101, 2));
    }

    /// CloudWatch refuses a metric without values.
    #[test]
    fn a_batch_without_checks_is_counted_and_has_no_empty_metric() {
        let told = lines(Counts { dropped: 2, postponed: 1, ..Counts::default() });
        let [line] = <[_; 1]>::try_from(told).expect("one line");
        let metrics = &line["_aws"]["CloudWatchMetrics"][0]["Metrics"];
        assert_eq!(metrics.as_array().expect("metrics").len(), 2, "{metrics}");
        assert_eq!((&line["dropped"], &line["postponed"]), (&json!(2), &json!(1)));
        assert_eq!((&line["Checks"], &line["Lag"]), (&json!(0), &Value::Null));
    }
}
