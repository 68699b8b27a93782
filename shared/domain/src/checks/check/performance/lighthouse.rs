//! Reads the report of Lighthouse 13, also inside an answer of PageSpeed Insights 5.
//!
//! A report is external data with content from the page: anything missing or odd counts as not measured, and texts and
//! lists are limited.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::json::{Text, number};
use super::{CoreWebVitals, LabMetric, Opportunity, Savings, SpeedMetrics, field_data};
use crate::checks::check::CheckError;

/// [`CheckError::code`] of an audit without figures: the page did not load, or drew nothing.
pub const AUDIT_FAILED: &str = "audit_failed";

/// The most opportunities that are kept; Lighthouse 13 has about 40 audits that can be one.
const OPPORTUNITIES: usize = 60;

/// The groups of the performance category whose audits say what to do.
const ADVISORY: [&str; 2] = ["insights", "diagnostics"];

/// The contents of a Lighthouse report. It has no field data, which a lab cannot have.
///
/// # Errors
/// With [`AUDIT_FAILED`] if the audit has no result, with Lighthouse's own code as `data.reason`, or if this is not a
/// report.
pub fn report(report: &Value) -> Result<SpeedMetrics, CheckError> {
    if let Some(reason) = Text::NAME.of(&report["runtimeError"]["code"])
        && reason != "NO_ERROR"
    {
        let message = Text::LONG.of(&report["runtimeError"]["message"]);
        return Err(failed(message.as_deref().unwrap_or("the audit failed"), &reason));
    }
    let category = &report["categories"]["performance"];
    if !category.is_object() {
        return Err(failed("there is no performance report", "NO_REPORT"));
    }
    let audits = &report["audits"];
    Ok(SpeedMetrics {
        performance_score: score(&category["score"]).map(|score| (score * 100.0).round() as u32),
        core_web_vitals: vitals(audits),
        opportunities: opportunities(&category["auditRefs"], audits),
        ..SpeedMetrics::default()
    })
}

/// The contents of an answer of PageSpeed Insights 5, including field data.
///
/// # Errors
/// See [`report`].
pub fn pagespeed(answer: &Value) -> Result<SpeedMetrics, CheckError> {
    let metrics = report(&answer["lighthouseResult"])?;
    let (real_user_metrics, origin_metrics) = field_data::of_pagespeed(answer);
    Ok(SpeedMetrics { real_user_metrics, origin_metrics, ..metrics })
}

/// The error of an audit without figures; `reason` is for programs.
#[must_use]
pub fn failed(message: &str, reason: &str) -> CheckError {
    CheckError {
        message: message.to_owned(),
        code: AUDIT_FAILED.to_owned(),
        data: json!({ "reason": reason }),
    }
}

fn vitals(audits: &Value) -> CoreWebVitals {
    let metric = |name: &str| lab_metric(&audits[name]);
    CoreWebVitals {
        lcp: metric("largest-contentful-paint"),
        fcp: metric("first-contentful-paint"),
        cls: metric("cumulative-layout-shift"),
        tbt: metric("total-blocking-time"),
        // This one is observed; `metrics` also has a simulated one.
        ttfb: metric("server-response-time"),
        speed_index: metric("speed-index"),
        interactive: metric("interactive"),
    }
}

fn lab_metric(audit: &Value) -> LabMetric {
    LabMetric {
        value: number(&audit["numericValue"]),
        display_value: Text::SHORT.of(&audit["displayValue"]),
        score: score(&audit["score"]),
    }
}

/// The audits that did not pass, largest savings first.
fn opportunities(references: &Value, audits: &Value) -> Vec<Opportunity> {
    let references = references.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut found: Vec<_> = references
        .iter()
        .filter(|reference| {
            reference["group"].as_str().is_some_and(|group| ADVISORY.contains(&group))
        })
        .filter_map(|reference| opportunity(audits.get(reference["id"].as_str()?)?, reference))
        .take(OPPORTUNITIES)
        .collect();
    // Stable: equal savings stay in the report's order.
    found.sort_by(|a, b| by_savings(&b.savings, &a.savings));
    found
}

fn opportunity(audit: &Value, reference: &Value) -> Option<Opportunity> {
    let score = score(&audit["score"]).filter(|score| *score < 1.0)?;
    let id = Text::NAME.of(&reference["id"])?;
    Some(Opportunity {
        title: Text::LONG.of(&audit["title"]).unwrap_or_else(|| id.clone()),
        id,
        savings: savings(audit),
        score,
    })
}

fn savings(audit: &Value) -> Savings {
    let details = &audit["details"];
    let ms = number(&details["overallSavingsMs"]).or_else(|| {
        let metrics = audit["metricSavings"].as_object()?;
        // The layout shift has no unit; the others are milliseconds.
        let times = metrics.iter().filter(|(name, _)| *name != "CLS");
        times.filter_map(|(_, value)| number(value)).max_by(f64::total_cmp)
    });
    let bytes = number(&details["overallSavingsBytes"])
        .or_else(|| number(&details["debugData"]["wastedBytes"]));
    Savings {
        ms: ms.filter(|ms| *ms > 0.0),
        // The conversion saturates at the limits of the integer.
        bytes: bytes.map(|bytes| bytes.round() as u64).filter(|bytes| *bytes > 0),
        text: Text::SHORT.of(&audit["displayValue"]),
    }
}

fn by_savings(a: &Savings, b: &Savings) -> Ordering {
    let ms = |savings: &Savings| savings.ms.unwrap_or_default();
    ms(a).total_cmp(&ms(b)).then(a.bytes.cmp(&b.bytes))
}

/// From 0 to 1.
fn score(value: &Value) -> Option<f64> {
    value.as_f64().filter(|score| (0.0..=1.0).contains(score))
}
