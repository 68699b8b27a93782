//! Reads the report of Lighthouse 13, and the answer of PageSpeed Insights 5 around one.
//!
//! A report is data from outside, made of a page's own: what is missing or odd is not measured, and
//! texts and lists are bounded.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::json::{Text, number};
use super::{CoreWebVitals, LabMetric, Opportunity, Savings, SpeedMetrics, field_data};
use crate::checks::check::CheckError;

/// [`CheckError::code`] of an audit that gave no figures: the page did not load, or drew nothing.
pub const AUDIT_FAILED: &str = "audit_failed";

/// Opportunities kept at most; Lighthouse 13 has about forty audits that can be one.
const OPPORTUNITIES: usize = 60;

/// The groups of the performance category whose audits say what to do.
const ADVISORY: [&str; 2] = ["insights", "diagnostics"];

/// What a Lighthouse report says; without field data, which a lab cannot have.
///
/// # Errors
/// With [`AUDIT_FAILED`] when the audit did not get to a result, Lighthouse's own code as
/// `data.reason`, or when this is no report.
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

/// What an answer of PageSpeed Insights 5 says, field data included.
///
/// # Errors
/// As [`report`].
pub fn pagespeed(answer: &Value) -> Result<SpeedMetrics, CheckError> {
    let metrics = report(&answer["lighthouseResult"])?;
    let (real_user_metrics, origin_metrics) = field_data::of_pagespeed(answer);
    Ok(SpeedMetrics { real_user_metrics, origin_metrics, ..metrics })
}

/// An audit that gave no figures; `reason` is for programs.
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
        // Observed; `metrics` has a simulated one beside it.
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

/// The audits that did not pass, the largest savings first.
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
        // A float's conversion stays within the integer's range.
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
