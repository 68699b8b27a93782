//! Prints measurements.

use std::io::Write as _;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

/// Prints one line of a report.
pub(crate) fn line(text: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout().lock(), "{text}")
}

/// Prints rows under their headings, as Markdown. All columns but the first contain numbers.
pub(crate) fn table(headings: Vec<String>, rows: Vec<Vec<String>>) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(headings);
    rows.into_iter().for_each(|row| {
        table.add_row(row);
    });
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    line(&table.to_string())
}

/// Returns the percentile of sorted values at this share.
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let place = (last as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// The median in milliseconds.
pub(crate) fn median_ms(times: &[Duration]) -> f64 {
    let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1_000.0).collect();
    times.sort_unstable_by(f64::total_cmp);
    percentile(&times, 0.5)
}
