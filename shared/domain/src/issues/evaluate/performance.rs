//! Performance: one audit compared with the site's budget.

use serde_json::json;

use super::{Evaluation, clipped, host};
use crate::checks::check::PerformanceResult;
use crate::issues::{Fingerprint, Outcome};
use crate::sites::settings::PerformanceSettings;

/// Evaluates a performance check: down when the score is below its limit, or a time above its limit. A figure equal to
/// its limit is within it.
///
/// A figure that was not measured breaks nothing. Returns `None` when no figure with a limit was measured: the audit
/// then says nothing about the issue.
pub(super) fn performance(
    result: &PerformanceResult,
    settings: &PerformanceSettings,
) -> Option<Evaluation> {
    let score = result.speed_metrics.performance_score;
    let (ttfb, load_time) = (result.ttfb_ms(), result.interactive_seconds());
    let max_ttfb = settings.max_ttfb_ms.map(|limit| f64::from(limit.get()));
    let max_load_time = settings.max_load_time_seconds.map(|limit| f64::from(limit.get()));

    // For each limited figure that was measured: the limit that it broke, if any.
    let verdicts = [
        score.map(|score| {
            (score < settings.min_score)
                .then(|| format!("score {score} is below {}", settings.min_score))
        }),
        ttfb.zip(max_ttfb).map(|(ttfb, max)| {
            (ttfb > max).then(|| format!("time to first byte {ttfb} ms is over {max} ms"))
        }),
        load_time
            .zip(max_load_time)
            .map(|(time, max)| (time > max).then(|| format!("load time {time} s is over {max} s"))),
    ];
    if verdicts.iter().all(Option::is_none) {
        return None;
    }
    let breaches: Vec<_> = verdicts.into_iter().flatten().flatten().collect();
    let (summary, outcome) = if breaches.is_empty() {
        let score = score.map(|score| format!(": score {score}")).unwrap_or_default();
        (format!("{} is within its performance budget{score}", host(&result.url)), Outcome::Up)
    } else {
        let (host, cause) = (host(&result.url), breaches.join(", "));
        (format!("{host} exceeds its performance budget: {cause}"), Outcome::Down)
    };
    Some(Evaluation {
        fingerprint: Fingerprint::PerformanceBudget,
        summary,
        measured: json!({
            "url": clipped(&result.url),
            "performance_score": score,
            "ttfb_ms": ttfb,
            "load_time_seconds": load_time,
            "response_time": result.response_time,
            "min_score": settings.min_score,
            "max_ttfb_ms": settings.max_ttfb_ms,
            "max_load_time_seconds": settings.max_load_time_seconds,
        }),
        outcome,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::checks::check::{CoreWebVitals, LabMetric, SpeedMetrics};

    pub(in crate::issues::evaluate) fn measured(
        score: Option<u32>,
        ttfb: Option<f64>,
        tti: Option<f64>,
    ) -> PerformanceResult {
        let metric = |value| LabMetric { value, ..LabMetric::default() };
        PerformanceResult {
            response_time: 41.5,
            url: "https://example.com/shop".to_owned(),
            speed_metrics: SpeedMetrics {
                performance_score: score,
                core_web_vitals: CoreWebVitals {
                    ttfb: metric(ttfb),
                    interactive: metric(tti),
                    ..CoreWebVitals::default()
                },
                ..SpeedMetrics::default()
            },
        }
    }

    fn limits(min_score: u32, ttfb: Option<u32>, time: Option<u32>) -> PerformanceSettings {
        PerformanceSettings {
            min_score,
            max_ttfb_ms: ttfb.and_then(NonZeroU32::new),
            max_load_time_seconds: time.and_then(NonZeroU32::new),
            ..PerformanceSettings::default()
        }
    }

    #[test]
    fn each_limit_is_judged_alone() {
        let all = limits(50, Some(800), Some(5));
        let score_only = limits(50, None, None);
        let cases = [
            (measured(Some(50), Some(800.0), Some(5000.0)), &all, Some(Ok(": score 50"))),
            (measured(Some(49), Some(80.0), Some(500.0)), &all, Some(Err("score 49 is below 50"))),
            (
                measured(Some(99), Some(800.5), Some(500.0)),
                &all,
                Some(Err("time to first byte 800.5 ms is over 800 ms")),
            ),
            (
                measured(Some(99), Some(8.0), Some(5001.0)),
                &all,
                Some(Err("load time 5.001 s is over 5 s")),
            ),
            (
                measured(Some(0), Some(900.0), Some(12_500.0)),
                &all,
                Some(Err(
                    "score 0 is below 50, time to first byte 900 ms is over 800 ms, load time \
                          12.5 s is over 5 s",
                )),
            ),
            // Without a limit, nothing is too slow.
            (measured(Some(50), Some(1e9), Some(1e9)), &score_only, Some(Ok(": score 50"))),
            // A figure that was not measured breaks nothing, and alone it says nothing.
            (measured(None, Some(80.0), None), &all, Some(Ok(""))),
            (
                measured(None, Some(801.0), None),
                &all,
                Some(Err("time to first byte 801 ms is over 800 ms")),
            ),
            (measured(None, None, None), &all, None),
            (measured(None, Some(1e9), Some(1e9)), &score_only, None),
        ];
        for (result, settings, expected) in cases {
            let found = performance(&result, settings);
            assert!(found.as_ref().is_none_or(Evaluation::has_past), "{found:?}");
            let summary = found.as_ref().map(|found| found.summary.clone());
            let outcome = found.map(|found| found.outcome);
            let (words, verdict) = match expected {
                None => (None, None),
                Some(Ok(score)) => (
                    Some(format!("example.com is within its performance budget{score}")),
                    Some(Outcome::Up),
                ),
                Some(Err(cause)) => (
                    Some(format!("example.com exceeds its performance budget: {cause}")),
                    Some(Outcome::Down),
                ),
            };
            assert_eq!((summary, outcome), (words, verdict), "{result:?}");
        }
    }

    #[test]
    fn the_context_says_what_was_measured() {
        let mut result = measured(Some(40), Some(900.0), None);
        let settings = limits(50, Some(800), None);
        let evaluation = performance(&result, &settings).expect("an observation");
        assert_eq!(evaluation.fingerprint, Fingerprint::PerformanceBudget);
        let expected = json!({
            "url": "https://example.com/shop",
            "performance_score": 40,
            "ttfb_ms": 900.0,
            "load_time_seconds": null,
            "response_time": 41.5,
            "min_score": 50,
            "max_ttfb_ms": 800,
            "max_load_time_seconds": null,
        });
        assert_eq!(evaluation.measured, expected);
        result.url = format!("https://example.com/{}", "ü".repeat(5000));
        let evaluation = performance(&result, &settings).expect("an observation");
        assert!(evaluation.measured.to_string().len() < 800);
        assert!(evaluation.summary.starts_with("example.com exceeds"));
    }
}
