//! The result of a `performance` check: what one page load measured, and what visitors measured.
//!
//! The API's sentence reads "`speed_metrics` with `performance_score`, `core_web_vitals`, `real_user_metrics`,
//! `origin_metrics`, `opportunities`": everything after "with" is inside `speed_metrics`. Every field is always
//! present, and null or empty if nothing was measured, so that there is one structure.

mod field_data;
mod json;
pub mod lighthouse;

use serde::{Deserialize, Serialize};

pub use self::field_data::{Distribution, FieldData, FieldMetric};

/// The result of a `performance` check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerformanceResult {
    /// The time from the start of a direct GET, including redirects, to the head of the final answer, in milliseconds.
    pub response_time: f64,
    /// The audited URL.
    pub url: String,
    /// What was measured.
    pub speed_metrics: SpeedMetrics,
}

/// What an audit measured, and the field data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpeedMetrics {
    /// The score of the performance category, 0 to 100; null if the audit could not measure everything that it needs.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub performance_score: Option<u32>,
    /// Measured in the lab, on one load of the page.
    pub core_web_vitals: CoreWebVitals,
    /// Measured by visitors of the page. If the page has too few visitors, these are the origin's values, marked as
    /// such.
    pub real_user_metrics: Option<FieldData>,
    /// Measured by visitors of all pages of the origin.
    pub origin_metrics: Option<FieldData>,
    /// What would make the page faster, largest savings first; empty in lists of checks.
    pub opportunities: Vec<Opportunity>,
}

/// The lab metrics.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreWebVitals {
    /// Largest Contentful Paint, in milliseconds.
    pub lcp: LabMetric,
    /// First Contentful Paint, in milliseconds.
    pub fcp: LabMetric,
    /// Cumulative Layout Shift, without a unit.
    pub cls: LabMetric,
    /// Total Blocking Time, in milliseconds.
    pub tbt: LabMetric,
    /// Observed Time to First Byte of the page itself, in milliseconds.
    pub ttfb: LabMetric,
    /// Speed Index, in milliseconds.
    pub speed_index: LabMetric,
    /// Time to Interactive, in milliseconds.
    pub interactive: LabMetric,
}

/// One lab metric.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabMetric {
    /// The value in the metric's unit; null if it was not measured.
    pub value: Option<f64>,
    /// The value for people, such as `1.2 s`.
    pub display_value: Option<String>,
    /// How good the value is, from 0 to 1.
    pub score: Option<f64>,
}

/// An audit that did not pass, and what could be saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Opportunity {
    /// Lighthouse's name for the audit, such as `unused-javascript`.
    pub id: String,
    /// The title for people.
    pub title: String,
    /// The estimated savings.
    pub savings: Savings,
    /// The score of the audit, from 0 to under 1.
    pub score: f64,
}

/// Estimated savings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Savings {
    /// Milliseconds of loading.
    pub ms: Option<f64>,
    /// Bytes of transfer.
    pub bytes: Option<u64>,
    /// The hint for people, such as `Est savings of 21 KiB`.
    pub text: Option<String>,
}

impl PerformanceResult {
    /// Time to First Byte, in milliseconds.
    #[must_use]
    pub(crate) fn ttfb_ms(&self) -> Option<f64> {
        self.speed_metrics.core_web_vitals.ttfb.value
    }

    /// Speed Index, in seconds: the `speed` of reports.
    #[must_use]
    pub(crate) fn speed_index_seconds(&self) -> Option<f64> {
        self.speed_metrics.core_web_vitals.speed_index.value.map(seconds)
    }

    /// Time to Interactive, in seconds: what `max_load_time_seconds` limits.
    #[must_use]
    pub fn interactive_seconds(&self) -> Option<f64> {
        self.speed_metrics.core_web_vitals.interactive.value.map(seconds)
    }
}

/// Rounded to the millisecond.
fn seconds(ms: f64) -> f64 {
    ms.round() / 1000.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_has_exactly_the_fields_of_the_api() {
        let metric = |value| LabMetric {
            value: Some(value),
            display_value: Some("x".to_owned()),
            score: Some(0.5),
        };
        let result = PerformanceResult {
            response_time: 41.25,
            url: "https://example.com/".to_owned(),
            speed_metrics: SpeedMetrics {
                performance_score: Some(93),
                core_web_vitals: CoreWebVitals {
                    ttfb: metric(120.0),
                    speed_index: metric(1500.0),
                    interactive: metric(2250.4),
                    ..CoreWebVitals::default()
                },
                opportunities: vec![Opportunity {
                    id: "unused-javascript".to_owned(),
                    title: "Reduce unused JavaScript".to_owned(),
                    savings: Savings { ms: Some(150.0), bytes: Some(21_000), text: None },
                    score: 0.5,
                }],
                ..SpeedMetrics::default()
            },
        };
        let missing = json!({"value": null, "display_value": null, "score": null});
        let there = |value: f64| json!({"value": value, "display_value": "x", "score": 0.5});
        let expected = json!({
            "response_time": 41.25,
            "url": "https://example.com/",
            "speed_metrics": {
                "performance_score": 93,
                "core_web_vitals": {
                    "lcp": missing, "fcp": missing, "cls": missing, "tbt": missing,
                    "ttfb": there(120.0),
                    "speed_index": there(1500.0),
                    "interactive": there(2250.4),
                },
                "real_user_metrics": null,
                "origin_metrics": null,
                "opportunities": [{
                    "id": "unused-javascript",
                    "title": "Reduce unused JavaScript",
                    "savings": {"ms": 150.0, "bytes": 21000, "text": null},
                    "score": 0.5,
                }],
            },
        });
        let json = serde_json::to_value(&result).expect("json");
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<PerformanceResult>(json).expect("readable"), result);
        assert_eq!(
            (result.ttfb_ms(), result.speed_index_seconds(), result.interactive_seconds()),
            (Some(120.0), Some(1.5), Some(2.25))
        );
    }
}
