//! Prints measurements.

use std::io::Write as _;

/// Prints one line of a report.
pub(crate) fn line(text: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout().lock(), "{text}")
}

/// Prints whether a goal is reached: how many times better Vedette is than another tool, and should be.
pub(crate) fn goal(what: &str, ratio: f64, wanted: f64) -> std::io::Result<()> {
    let verdict = if ratio >= wanted { "met" } else { "NOT MET" };
    line(&format!("goal {verdict}: {what}: {ratio:.1}x, wanted {wanted:.0}x"))
}

/// Returns the median of the values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
