//! What real visitors measured: the Chrome UX Report.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::{Text, number};

/// The most metrics that are read from a report; the Chrome UX Report has about ten.
const METRICS: usize = 30;

/// The most bins of a metric that are read; there are three.
const BINS: usize = 10;

/// The Chrome UX Report's last 28 days, of a page or an origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldData {
    /// The page or origin that the figures are about.
    pub id: Option<String>,
    /// `FAST`, `AVERAGE` or `SLOW`.
    pub overall_category: Option<String>,
    /// The metrics by name, such as `LARGEST_CONTENTFUL_PAINT_MS`.
    pub metrics: BTreeMap<String, FieldMetric>,
    /// Whether these are the origin's figures because the page has too few visitors.
    pub origin_fallback: bool,
}

/// One field metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldMetric {
    /// The 75th percentile, in the metric's unit; for the layout shift, a hundred times its score.
    pub percentile: Option<f64>,
    /// `FAST`, `AVERAGE` or `SLOW`.
    pub category: Option<String>,
    /// The share of visits in each bin.
    pub distributions: Vec<Distribution>,
}

/// One bin of a distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Its lower end, inclusive.
    pub min: Option<f64>,
    /// Its upper end; null for the last.
    pub max: Option<f64>,
    /// The share of visits, from 0 to 1.
    pub proportion: Option<f64>,
}

/// The field data of the page and of the origin in an answer of PageSpeed Insights. The page's data falls back to the
/// origin's.
pub(super) fn of_pagespeed(answer: &Value) -> (Option<FieldData>, Option<FieldData>) {
    let origin = of_experience(&answer["originLoadingExperience"]);
    let page = of_experience(&answer["loadingExperience"])
        .or_else(|| origin.clone().map(|origin| FieldData { origin_fallback: true, ..origin }));
    (page, origin)
}

/// `None` if there are no metrics: too few visitors.
fn of_experience(experience: &Value) -> Option<FieldData> {
    let metrics: BTreeMap<_, _> = experience["metrics"]
        .as_object()?
        .iter()
        .take(METRICS)
        .map(|(name, metric)| (Text::NAME.cut(name), field_metric(metric)))
        .collect();
    (!metrics.is_empty()).then(|| FieldData {
        id: Text::LONG.of(&experience["id"]),
        overall_category: Text::NAME.of(&experience["overall_category"]),
        metrics,
        origin_fallback: experience["origin_fallback"] == Value::Bool(true),
    })
}

fn field_metric(metric: &Value) -> FieldMetric {
    let bins = metric["distributions"].as_array().map(Vec::as_slice).unwrap_or_default();
    FieldMetric {
        percentile: number(&metric["percentile"]),
        category: Text::NAME.of(&metric["category"]),
        distributions: bins
            .iter()
            .take(BINS)
            .map(|bin| Distribution {
                min: number(&bin["min"]),
                max: number(&bin["max"]),
                proportion: number(&bin["proportion"]),
            })
            .collect(),
    }
}
